"""`finetune`: tiny models learn a few pairs about invented peoples, and every number is computed by hand."""

import json
import math
import shutil
import signal
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import yaml

from fcconan import InputError, finetune
from tests.conftest import RunCli
from tests.models.tiny_chat import TEXTS, tiny_chat

# 18 pairs of one message are one group; the two pairs of another one are a tenth, and so the held-out part.
TRAIN = [(TEXTS[0], f"{TEXTS[place % 7 + 1]} {place}") for place in range(18)]
HELD = [(TEXTS[2], f"{TEXTS[5]} {place}") for place in (20, 21)]
FAST: Any = {"prompt": "message", "learning_rate": (1e-2,), "batch_size": 6}


def rows(pairs: list[tuple[str, str]]) -> list[dict[str, str]]:
    return [{"hate_speech": message, "counter_narrative": reply} for message, reply in pairs]


PAIRS = rows(TRAIN + HELD)


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_chat(tmp_path_factory.mktemp("tiny") / "tiny")


@pytest.fixture(scope="module")
def tuned(tiny: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("tuned") / "out"
    finetune(PAIRS, model=str(tiny), out=out, epochs=3, **FAST)
    return out


def gpt2(folder: Path, layers: int) -> Path:
    """Writes a GPT-2 without a chat template."""
    from transformers import GPT2Config, GPT2LMHeadModel

    tiny_chat(folder, template=None)
    sizes = {"n_positions": 512, "n_embd": 16, "n_layer": layers, "n_head": 2}
    GPT2LMHeadModel(GPT2Config(vocab_size=400, bos_token_id=2, eos_token_id=2, **sizes)).save_pretrained(folder)
    return folder


def token_losses(model: Any, folder: Path, pairs: list[tuple[str, str]]) -> list[Any]:
    """Returns the loss of each token of the replies and of their end tokens, one pair at a time."""
    import torch
    from transformers import AutoTokenizer

    tokenizer, losses = AutoTokenizer.from_pretrained(folder), []
    for message, reply in pairs:
        asked = [{"role": "user", "content": message}]
        prompt = tokenizer.apply_chat_template(asked, add_generation_prompt=True, tokenize=False)
        start, end = (len(tokenizer(text).input_ids) for text in (prompt, prompt + reply + tokenizer.eos_token))
        tokens = tokenizer(prompt + reply + tokenizer.eos_token).input_ids
        scores = model(input_ids=torch.tensor([tokens])).logits[0].log_softmax(-1)
        losses += [-scores[place - 1, tokens[place]] for place in range(start, end)]
    return losses


def mean(model: Any, folder: Path, pairs: list[tuple[str, str]]) -> float:
    import torch

    with torch.no_grad():
        losses = token_losses(model, folder, pairs)
    return float(sum(losses) / len(losses))


def stored(out: Path, table: str = "runs") -> pd.DataFrame:
    return pd.DataFrame(json.loads((out / "finetune.json").read_text())["tables"][table])


def weights(out: Path) -> dict[str, Any]:
    from safetensors.torch import load_file

    return load_file(next(out.glob("*model.safetensors")))


def test_perplexity_by_hand(tuned: Path, tiny: Path) -> None:
    from transformers import AutoModelForCausalLM

    runs, base = stored(tuned), AutoModelForCausalLM.from_pretrained(tiny)
    best = runs[runs["chosen"]].iloc[0]
    before, after = mean(base, tiny, HELD), mean(AutoModelForCausalLM.from_pretrained(tuned).eval(), tuned, HELD)
    assert runs["loss"].iloc[0] == pytest.approx(before, rel=1e-5)
    assert best["loss"] == pytest.approx(after, rel=1e-5) and best["perplexity"] == pytest.approx(math.exp(after), 1e-4)
    assert best["perplexity"] == runs["perplexity"].min() and after < before - 0.5
    assert runs[["epoch", "step"]].to_numpy().tolist() == [[0, 0], [1, 3], [2, 6], [3, 9]]
    splits = stored(tuned, "splits").set_index("split")
    assert splits["pairs"].to_dict() == {"train": 18, "held_out": 2}
    assert splits.loc["held_out", "reply_tokens"] == len(token_losses(base, tiny, HELD))


def test_a_step_is_that_of_adam_on_reply_tokens(tiny: Path, tmp_path: Path) -> None:
    import torch
    from transformers import AutoModelForCausalLM

    preset = tmp_path / "mine.yaml"
    preset.write_text("{method: full, schedule: constant, learning_rate: [0.001], batch_size: 18}")
    found = finetune(PAIRS, model=str(tiny), out=tmp_path / "out", preset=str(preset), prompt="message", max_steps=1)
    model = AutoModelForCausalLM.from_pretrained(tiny)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    losses = token_losses(model, tiny, TRAIN)  # in one piece; Trainer computes 9 parts of 2 pairs
    loss = torch.stack(losses).mean()
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    assert found.to_frame()["training_loss"].iloc[1] == pytest.approx(loss.item(), rel=1e-5)
    tuned = weights(tmp_path / "out")
    expected = {name: each for name, each in model.state_dict().items() if name in tuned}
    assert len(expected) == len(tuned)
    for name, each in expected.items():
        close = torch.isclose(tuned[name], each, rtol=0, atol=2e-5)
        assert close.float().mean() > 0.999, name  # the sign of a gradient of nearly 0 may differ
    assert json.loads((tmp_path / "out" / "config.json").read_text())["use_cache"] is True


@pytest.mark.parametrize("layers", [2, 12])  # peft shortens long lists of names
def test_adapters_are_in_the_attention_blocks_only(layers: int, tmp_path: Path) -> None:
    model = gpt2(tmp_path / "gpt", layers)
    before = {path.name: path.read_bytes() for path in model.iterdir()}
    found = finetune(
        PAIRS, model=str(model), out=tmp_path / "out", prompt_format="dialogpt", max_steps=1, seed=1, **FAST
    )
    assert {path.name: path.read_bytes() for path in model.iterdir()} == before
    assert not list((tmp_path / "out").glob("model*.safetensors"))
    names = {name.split(".lora_")[0].rpartition("transformer.")[2] for name in weights(tmp_path / "out")}
    assert names == {f"h.{layer}.attn.{name}" for layer in range(layers) for name in ("c_attn", "c_proj")}
    assert {each.shape[each.shape.index(16)] for each in weights(tmp_path / "out").values()} == {16}
    template = (Path("annotations") / "generation" / "formats" / "dialogpt.jinja").read_text()
    assert (tmp_path / "out" / "chat_template.jinja").read_text() == template
    assert found.identity["prompt_format"].startswith("dialogpt@") and found.to_frame()["step"].tolist() == [0, 1]


def test_seeds_and_the_search_over_learning_rates(tiny: Path, tuned: Path, tmp_path: Path) -> None:
    given = FAST | {"learning_rate": (1e-6, 1e-2)}
    found = finetune(PAIRS, model=str(tiny), out=tmp_path / "same", epochs=3, **given)
    best = found.to_frame().query("chosen")
    assert best["learning_rate"].tolist() == ["0.01"] and found.to_frame()["perplexity"].idxmin() == best.index[0]
    assert weights(tmp_path / "same").keys() == weights(tuned).keys()
    assert all((each == weights(tuned)[name]).all() for name, each in weights(tmp_path / "same").items())
    pd.testing.assert_frame_equal(stored(tmp_path / "same").tail(4).reset_index(drop=True), stored(tuned))
    finetune(PAIRS, model=str(tiny), out=tmp_path / "other", epochs=3, seed=1, **FAST)
    assert any((each != weights(tuned)[name]).any() for name, each in weights(tmp_path / "other").items())
    assert sorted(path.name for path in tmp_path.iterdir()) == ["other", "same"]


def test_training_ends_where_the_loss_rises(tiny: Path, tmp_path: Path) -> None:
    preset = tmp_path / "mine.yaml"
    preset.write_text("{method: full, schedule: constant, learning_rate: [0.1], patience: 1}")
    found = finetune(PAIRS, model=str(tiny), out=tmp_path / "out", preset=str(preset), prompt="message")
    losses = found.to_frame()["loss"].tolist()[1:]
    assert len(losses) < 10 and losses[-1] > min(losses) == losses[-2]
    assert found.to_frame()["chosen"].tolist().index(True) == len(losses) - 1


def test_a_killed_run_ends_with_the_same_model(tiny: Path, tuned: Path, tmp_path: Path) -> None:
    given = FAST | {"model": str(tiny), "out": tmp_path / "out", "epochs": 3}
    process = get_context("fork").Process(target=finetune, args=(PAIRS,), kwargs=given)
    process.start()
    while process.is_alive():
        if any(tmp_path.glob("out.unfinished/rate-*/checkpoint-*/trainer_state.json")):
            process.kill()
            process.join()
    half = next(tmp_path.glob("out.unfinished/rate-*")) / "checkpoint-999"  # as a kill may leave it
    half.mkdir()
    assert process.exitcode == -signal.SIGKILL and not (tmp_path / "out").exists()
    finetune(PAIRS, **given)
    assert all((each == weights(tuned)[name]).all() for name, each in weights(tmp_path / "out").items())
    pd.testing.assert_frame_equal(stored(tmp_path / "out"), stored(tuned))
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_presets_are_those_of_the_papers() -> None:
    known = yaml.safe_load((Path("annotations") / "generation" / "finetuning.yaml").read_text())
    paper, dialogpt = known["pairwise-qlora"], known["dialogpt"]
    assert paper["lora"] == {"r": 16, "lora_alpha": 16, "lora_dropout": 0.05, "bias": "none"}
    assert [paper[name] for name in ("method", "schedule", "batch_size", "epochs", "patience")] == [
        *("qlora", "inverse_sqrt", 32, 10, 3)
    ]
    rates = paper["learning_rate"]
    assert (min(rates), max(rates)) == (1e-6, 1e-3) and {6e-6, 1e-5, 2e-5, 3e-5, 1e-4, 1e-3} < set(rates)  # Table 3
    assert known["pairwise-lora"] == paper | {"method": "lora"}
    assert [dialogpt[name] for name in ("method", "learning_rate", "schedule", "batch_size", "epochs", "patience")] == [
        *("full", [5e-5], "linear", 4, 2, 0)
    ]


def test_the_demo_is_learnt_in_a_few_steps(run_cli: RunCli, demo: Path, tiny: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    words = ["finetune", demo, "--model", tiny, "--out", out, "--max-steps", 2, "--learning-rate", 1e-2]
    done = run_cli(*words, "--report", tmp_path / "page")
    assert done.returncode == 0, done.stderr
    assert stored(out)["step"].tolist() == [0, 2] and stored(out, "splits")["pairs"].sum() == 44
    assert "|data:demo@" in done.stdout and "|steps:2\n" in done.stdout
    assert "learning rate 0.01" in (tmp_path / "page" / "index.html").read_text()
    again = run_cli(*words)
    assert again.returncode == 2 and "out exists: choose another name, or give --force" in again.stderr
    assert run_cli(*words, "--force").returncode == 0


def test_pairs_that_are_left_out(tiny: Path, tmp_path: Path) -> None:
    given = pd.DataFrame(rows([*TRAIN, (TEXTS[0], "long " * 600), *HELD, ("The Dravene sing.", "They do not.")]))
    given["label"] = ["appropriate"] * 21 + ["not_appropriate"]
    given["hs_code"] = [*["a"] * 19, "b", "b", "c"]
    given = given.rename(columns={"counter_narrative": "CN"})
    found = finetune(given, model=str(tiny), out=tmp_path / "out", learning_rate=(1e-3,), max_steps=1)
    assert found.notes[0] == "1 of 22 pairs are labelled as not appropriate and left out."
    assert found.to_frame("splits")[["pairs", "too_long"]].to_numpy().tolist() == [[18, 1], [2, 0]]


def test_mistakes_are_named(tiny: Path, tmp_path: Path) -> None:
    bare, adapter, other = tiny_chat(tmp_path / "bare", template=None), tmp_path / "adapter", tmp_path / "other"
    shutil.copytree(tiny, adapter)
    (adapter / "adapter_config.json").write_text(json.dumps({"base_model_name_or_path": str(tiny)}))
    (tmp_path / "other.unfinished").mkdir()
    (tmp_path / "other.unfinished" / "identity.json").write_text("{}")
    (tmp_path / "mine.yaml").write_text("{rank: 4}")
    mistakes: list[tuple[str, Any, dict[str, Any]]] = [
        ("holds no fine-tuned model: choose another folder", PAIRS, {"out": bare}),
        ("other.unfinished is of another training", PAIRS, {"out": other}),
        ("unknown preset 'dialog': did you mean 'dialogpt'?", PAIRS, {"preset": "dialog"}),
        ("expected only the settings method, lora", PAIRS, {"preset": str(tmp_path / "mine.yaml")}),
        ("found {'max_steps': 0}, expected 1 or more", PAIRS, {"max_steps": 0}),
        ("found learning rates [3.0], expected numbers between", PAIRS, {"learning_rate": (3.0,)}),
        ("the prompt grounded shows background", PAIRS, {"prompt": "grounded"}),
        ("found no chat template in", PAIRS, {"model": str(bare)}),
        ("adapter is an adapter, expected a whole model", PAIRS, {"model": str(adapter)}),
        ("found no folder ./nowhere", PAIRS, {"model": "./nowhere"}),
        ("for the 4 bits of qlora: use --preset pairwise-lora", PAIRS, {"preset": "pairwise-qlora"}),
        ("has no column counter_narrative, only hate_speech", [{"hate_speech": "a"}], {}),
        ("has 1 pairs with an empty text", [*PAIRS, *rows([("a", " ")])], {}),
        ("the 18 pairs are connected by messages and CNs", rows(TRAIN), {}),
        ("found no pairs for held_out in", [*rows(TRAIN), *rows([("a", "long " * 600)])], {}),
    ]
    for message, pairs, options in mistakes:
        with pytest.raises(InputError) as caught:
            finetune(pairs, **{"model": str(tiny), "out": tmp_path / "out", **options})
        assert message in str(caught.value) and "\n" not in str(caught.value), (message, str(caught.value))
    assert not (tmp_path / "out").exists()


def test_a_model_that_diverges_is_refused(tiny: Path, tmp_path: Path) -> None:
    from transformers import AutoModelForCausalLM

    model = AutoModelForCausalLM.from_pretrained(tiny)
    model.lm_head.weight.data[0] = math.nan
    shutil.copytree(tiny, tmp_path / "broken")
    model.save_pretrained(tmp_path / "broken")
    with pytest.raises(InputError, match="the training diverged at every learning rate"):
        finetune(PAIRS, model=str(tmp_path / "broken"), out=tmp_path / "out", epochs=2, **FAST)
    assert [path.name for path in tmp_path.iterdir()] == ["broken"]
