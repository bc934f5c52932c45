"""Tiny models that are fine-tuned here, on one core of the CPU, and what comes of stopping them."""

import gc
import json
import math
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from fcconan.data.ids import make_cn_id
from fcconan.data.locks import locked
from fcconan.errors import InputError
from fcconan.generation.finetuning import run as finetune_run
from fcconan.generation.finetuning.data import TrainingSplit, prepare_pairs
from fcconan.generation.finetuning.model import PretrainedModel, mean_loss
from fcconan.generation.finetuning.run import last_whole_checkpoint, retry_out_of_memory
from fcconan.generation.finetuning.search import CARD, CURVE, REPORT, Finetuner, FinetuningData
from fcconan.generation.finetuning.settings import FinetuningSettings
from fcconan.generation.prompts import load_generation_prompt
from fcconan.generation.training_pool import Pair
from fcconan.models.chat_template import load_format
from fcconan.reporting.plots import curve_plot
from tests.models.tiny_chat import TEXTS, tiny_chat

pytestmark = pytest.mark.long

# Stated before the first training of this test: the perplexity of unseen pairs falls by a factor of e at least.
MARGIN = 1.0
LORA = FinetuningSettings(
    method="lora", learning_rates=(1e-2,), schedule="constant", batch_size=8, epochs=4, patience=2, dtype="float32"
)
FULL = replace(LORA, method="full", learning_rates=(3e-3,))
SHORT = replace(LORA, epochs=2, batch_size=4)


@pytest.fixture(scope="module", autouse=True)
def _imported() -> None:
    """Imports what every training needs, and keeps it out of the collections of garbage that end each of them."""
    import matplotlib.figure
    import peft
    import torch
    from transformers import Trainer

    assert matplotlib and peft and torch and Trainer
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_chat(tmp_path_factory.mktemp("tiny") / "tiny")


@pytest.fixture(scope="module")
def tuned(tiny: Path, demo: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with `lora` and `full`, both fine-tuned on the pairs of the demo."""
    folder = tmp_path_factory.mktemp("tuned")
    for name, settings in (("lora", LORA), ("full", FULL)):
        of_demo(tiny, demo, settings).run(folder / name)
    return folder


def of_demo(model: Path, demo: Path, settings: FinetuningSettings) -> Finetuner:
    parts, notes = prepare_pairs(demo, validation="0.2", seed=settings.seed)
    return Finetuner(
        PretrainedModel(str(model)),
        FinetuningData(load_generation_prompt("message"), None, parts, notes),
        settings,
        plot=curve_plot,
    )


def of_few(model: Path, settings: FinetuningSettings, **lesson: Any) -> Finetuner:
    """Of eight pairs to learn from and two for validation, all short."""
    pairs = [
        Pair(f"{message} {reply}", make_cn_id(reply), message, reply, frozenset())
        for message, reply in zip(TEXTS * 2, [*TEXTS[3:], *TEXTS], strict=False)
    ]
    chosen = {"prompt": load_generation_prompt("message"), "template": None, **lesson}
    return Finetuner(
        PretrainedModel(str(model)),
        FinetuningData(parts=TrainingSplit(pairs[:8], pairs[8:10]), **chosen),
        settings,
        plot=curve_plot,
    )


def weights_of(folder: Path) -> bytes:
    return next(folder.glob("*model.safetensors")).read_bytes()


@pytest.mark.parametrize("method", ["lora", "full"])
def test_the_loss_of_unseen_pairs_falls(tuned: Path, method: str) -> None:
    report = json.loads((tuned / method / REPORT).read_text())
    before, after = report["before"], report["after"]
    assert after["validation_loss"] < before["validation_loss"] - MARGIN
    for each in (before, after):
        assert each["perplexity"] == pytest.approx(math.exp(each["validation_loss"]), rel=1e-12)
    (run,) = report["runs"]
    losses = [entry["validation_loss"] for entry in run["curve"]]
    assert after["validation_loss"] == min(losses) == losses[report["best_epoch"] - 1]
    assert run["curve"][-1]["training_loss"] < run["curve"][0]["training_loss"] - MARGIN
    assert report["parts"]["train"]["pairs"] + report["parts"]["validation"]["pairs"] == 44
    assert report["seconds"] > 0
    assert report["peak_bytes"] > 50 * 2**20
    assert (report["prompt"]["name"], report["format"], report["computed_in"]) == ("message", None, "float32")
    assert not (tuned / f"{method}.partial").exists()


def test_the_folder_holds_the_model_and_no_text(tuned: Path, demo: Path) -> None:
    shared = {CARD, CURVE, REPORT, "chat_template.jinja", "tokenizer.json", "tokenizer_config.json"}
    adapters = {path.name for path in (tuned / "lora").iterdir()}
    model = {path.name for path in (tuned / "full").iterdir()}
    assert adapters == shared | {"adapter_config.json", "adapter_model.safetensors"}
    assert model == shared | {"config.json", "generation_config.json", "model.safetensors"}
    assert json.loads((tuned / "full" / "config.json").read_text())["use_cache"] is True
    parts, _ = prepare_pairs(demo, validation="0.2", seed=LORA.seed)
    for path in (tuned / "lora" / name for name in (CARD, CURVE, REPORT, "adapter_config.json")):
        assert not any(pair.counter_narrative in path.read_text() for pair in parts.train)


ELSEWHERE = """
import json, sys
from pathlib import Path
import torch
from peft import PeftModel
from transformers import AutoModelForCausalLM
from tests.generation.test_finetuning import LORA, of_demo
tiny, demo, adapter, out = map(Path, sys.argv[1:])
model = PeftModel.from_pretrained(AutoModelForCausalLM.from_pretrained(tiny), adapter).eval()
finetuner = of_demo(tiny, demo, LORA)
total = tokens = 0
with torch.no_grad():
    for pair in finetuner._encoded["validation"]:
        scores = model(input_ids=torch.tensor([pair.tokens])).logits[0].log_softmax(-1)
        for place in range(pair.prompt, len(pair.tokens)):
            total -= float(scores[place - 1, pair.tokens[place]])
            tokens += 1
print(json.dumps(total / tokens), flush=True)
finetuner.run(out)
"""


@pytest.fixture(scope="module")
def elsewhere(tiny: Path, demo: Path, tuned: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[float, Path]:
    """What a fresh process finds as the loss of the adapters, and the folder of a training in it that is killed."""
    out = tmp_path_factory.mktemp("elsewhere") / "lora"
    root = Path(__file__).parents[2]
    process = subprocess.Popen(
        [sys.executable, "-c", ELSEWHERE, *map(str, (tiny, demo, tuned / "lora", out))],
        cwd=root,
        env={**os.environ, "PYTHONPATH": str(root)},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    for _ in range(12_000):
        if any(out.parent.glob("lora.partial/rate-*/checkpoint-*/trainer_state.json")) or process.poll() is not None:
            break
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    said, _ = process.communicate()
    return float(said), out


@pytest.mark.long
def test_adapters_load_in_a_fresh_process(tuned: Path, elsewhere: tuple[float, Path]) -> None:
    kept = json.loads((tuned / "lora" / REPORT).read_text())["after"]["validation_loss"]
    assert elsewhere[0] == pytest.approx(kept, rel=1e-5)


@pytest.mark.long
def test_a_killed_training_ends_with_the_same_loss(
    tiny: Path, demo: Path, tuned: Path, elsewhere: tuple[float, Path]
) -> None:
    _, out = elsewhere
    assert not out.exists(), "it was too fast to be killed"
    checkpoints = [
        path.parent.name for path in out.parent.glob("lora.partial/rate-0.01/checkpoint-*/trainer_state.json")
    ]
    assert checkpoints
    report = of_demo(tiny, demo, LORA).run(out)
    whole = json.loads((tuned / "lora" / REPORT).read_text())
    assert losses(report) == losses(whole)
    assert weights_of(out) == weights_of(tuned / "lora")
    assert not out.with_name("lora.partial").exists()


@pytest.mark.parametrize("method", ["lora", "full"])
def test_a_tuned_folder_answers_as_a_local_model(tiny: Path, tuned: Path, tmp_path: Path, method: str) -> None:
    from fcconan.models import ChatRequest, LocalModel, Sampling
    from tests.test_local_models import Kept

    call = ChatRequest([{"role": "user", "content": TEXTS[0]}], Sampling(max_tokens=8, top_logprobs=1))

    def answer(folder: Path) -> Any:
        (reply,) = LocalModel(str(folder), Kept()).replies([call])
        return reply

    before, after = answer(tiny), answer(tuned / method)
    assert after.prompt_tokens == before.prompt_tokens  # the same prompt
    assert (after.text or after.cut) != (before.text or before.cut)


class Stopped(BaseException):
    """As Ctrl-C."""


def stopped_after(epochs: int, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Stops the training in the middle of the epoch after some."""
    loss, calls = mean_loss, []

    def counted(*arguments: Any, **named: Any) -> float:
        calls.append(1)
        if len(calls) == epochs + 2:  # the first is that of the untuned model
            raise Stopped
        return loss(*arguments, **named)

    with monkeypatch.context() as patch:
        patch.setattr(finetune_run, "mean_loss", counted)
        yield


THREE = replace(SHORT, epochs=3)


@pytest.mark.parametrize("settings", [THREE, replace(THREE, method="full", accumulation=2)], ids=["lora", "full"])
def test_an_interrupted_training_ends_with_the_same_weights(
    tiny: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, settings: FinetuningSettings
) -> None:
    whole = of_few(tiny, settings).run(tmp_path / "whole")
    for _ in stopped_after(1, monkeypatch):
        with pytest.raises(Stopped):
            of_few(tiny, settings).run(tmp_path / "cut")
    assert not (tmp_path / "cut").exists()
    # Half a checkpoint, as a kill leaves it, is not gone on with.
    half = tmp_path / "cut.partial" / f"rate-{settings.learning_rates[0]!r}" / "checkpoint-999"
    half.mkdir()
    (half / "trainer_state.json").write_text("{")
    # The steps of the second and third epoch are done, those of the first are not: it goes on from its checkpoint.
    steps = rates_of_steps(monkeypatch)
    cut = of_few(tiny, settings).run(tmp_path / "cut")
    assert len(steps) == 2 * 2
    assert weights_of(tmp_path / "cut") == weights_of(tmp_path / "whole")
    assert (cut["after"], losses(cut)) == (whole["after"], losses(whole))
    assert len(losses(cut)) == settings.epochs
    assert (tmp_path / "cut" / CURVE).read_text() == (tmp_path / "whole" / CURVE).read_text()


def rates_of_steps(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Returns a list that gets the learning rate of every step from now on."""
    import torch

    step, rates = torch.optim.AdamW.step, list[float]()

    def noted(self: Any, *arguments: Any, **named: Any) -> Any:
        rates.append(self.param_groups[0]["lr"])
        return step(self, *arguments, **named)

    monkeypatch.setattr(torch.optim.AdamW, "step", noted)
    return rates


def test_the_learning_rate_falls_with_the_inverse_square_root(
    tiny: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import torch
    from transformers import get_inverse_sqrt_schedule

    rates = rates_of_steps(monkeypatch)
    settings = replace(SHORT, schedule="inverse_sqrt", warmup_steps=2, batch_size=2)
    of_few(tiny, settings).run(tmp_path / "out")
    done = list(rates)
    optimizer = torch.optim.AdamW([torch.nn.Parameter(torch.zeros(1))], lr=1e-2)
    schedule = get_inverse_sqrt_schedule(optimizer, num_warmup_steps=2)
    expected = []
    for _ in range(8):
        expected.append(schedule.get_last_lr()[0])
        optimizer.step()
        schedule.step()
    assert done == pytest.approx(expected, rel=1e-12)
    assert done[:4] == pytest.approx([0.0, 0.5e-2, 1e-2, 1e-2 / math.sqrt(1.5)])


def test_a_training_that_is_finished_is_not_done_again(
    tiny: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = replace(SHORT, epochs=1)
    out = tmp_path / "out"
    report = of_few(tiny, settings).run(out)
    monkeypatch.setattr(finetune_run, "_train", None)
    before = {path.name: path.read_bytes() for path in out.iterdir()}
    assert of_few(tiny, settings).finished(out) == of_few(tiny, settings).run(out) == json.loads(json.dumps(report))
    assert {path.name: path.read_bytes() for path in out.iterdir()} == before
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
    refusal = "is there and not empty: choose another --out"
    for other in (
        of_few(tiny, replace(settings, rank=8)),
        of_few(tiny, settings, prompt=load_generation_prompt("plain")),
    ):
        assert other.finished(out) is None
        with pytest.raises(InputError, match=refusal):
            other.run(out)
    for text in ("{", "[]", "{}"):
        (out / REPORT).write_text(text)
        with pytest.raises(InputError, match=refusal):
            of_few(tiny, settings).run(out)


def losses(report: dict[str, Any]) -> list[tuple[float, float]]:
    return [(entry["training_loss"], entry["validation_loss"]) for run in report["runs"] for entry in run["curve"]]


def test_of_several_learning_rates_the_best_is_kept_and_none_is_trained_twice(
    tiny: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = replace(SHORT, learning_rates=(1e-2, 1e29, 1e-4))
    trained: list[float] = []
    train = finetune_run._train

    def counted(rate: float, *arguments: Any) -> Any:
        trained.append(rate)
        if trained == [1e-2, 1e29, 1e-4]:
            raise Stopped
        return train(rate, *arguments)

    monkeypatch.setattr(finetune_run, "_train", counted)
    with pytest.raises(Stopped):
        of_few(tiny, settings).run(tmp_path / "out")
    report = of_few(tiny, settings).run(tmp_path / "out")
    assert trained == [1e-2, 1e29, 1e-4, 1e-4]
    assert [(run["learning_rate"], run["reason"]) for run in report["runs"]] == [
        (1e-2, None),
        (1e29, "diverged"),
        (1e-4, None),
    ]
    finite = {run["learning_rate"]: run["perplexity"] for run in report["runs"] if run["reason"] is None}
    assert report["learning_rate"] == min(finite, key=lambda rate: float(finite[rate])) == 1e-2
    assert report["after"]["perplexity"] == finite[1e-2]
    curve = (tmp_path / "out" / CURVE).read_text()
    assert "learning rate 1e+29" in curve
    assert curve.count('id="training-curve-validation-') == 3


def test_edited_results_of_an_unfinished_training_are_computed_again(
    tiny: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    settings = replace(SHORT, epochs=1, learning_rates=(1e-2, 1e-4))
    report = of_few(tiny, settings).run(tmp_path / "whole")
    trained: list[float] = []
    train = finetune_run._train

    def counted(rate: float, *arguments: Any) -> Any:
        trained.append(rate)
        if trained == [1e-2, 1e-4]:
            raise Stopped
        return train(rate, *arguments)

    monkeypatch.setattr(finetune_run, "_train", counted)
    with pytest.raises(Stopped):
        of_few(tiny, settings).run(tmp_path / "out")
    partial = tmp_path / "out.partial"
    kept = [partial / "untuned.json", partial / f"rate-{1e-2!r}" / "result.json"]
    for path in kept:  # still JSON, with another loss
        path.write_text(path.read_text().replace("0", "1"))
    again = of_few(tiny, settings).run(tmp_path / "out")
    assert trained == [1e-2, 1e-4, 1e-2, 1e-4]
    assert (losses(again), again["before"], again["after"]) == (losses(report), report["before"], report["after"])
    assert weights_of(tmp_path / "out") == weights_of(tmp_path / "whole")
    said = capsys.readouterr().err
    assert all(f"note: {path} is damaged" in said for path in kept)


def test_a_training_that_diverges_writes_no_model(tiny: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"training diverged at every learning rate \(1e\+29\): give a smaller one"):
        of_few(tiny, replace(SHORT, learning_rates=(1e29,))).run(tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


def test_the_curve_cuts_off_what_rose_far_above_the_start(tiny: Path, tuned: Path) -> None:
    report = json.loads((tuned / "lora" / REPORT).read_text())
    kept = (tuned / "lora" / CURVE).read_text()
    assert curve_plot(report) + "\n" == kept
    assert "epoch 0 is the untuned model" in kept
    assert "cut off" not in kept
    (run,) = report["runs"]
    high = {**run, "learning_rate": 1e-3, "curve": [{**run["curve"][0], "validation_loss": 1e9}]}
    lost = {**run, "learning_rate": 1e-4, "curve": [{**run["curve"][0], "validation_loss": None}]}
    curve = curve_plot({**report, "runs": [run, high, lost]})
    assert "Losses far above the start are cut off." in curve
    assert "1e9" not in curve
    assert curve.count('id="training-curve-training-') == 3


def test_training_ends_where_nothing_is_gained(tiny: Path, tmp_path: Path) -> None:
    # One epoch at this rate brings the weights so far away that none of the next three is better.
    settings = replace(SHORT, method="full", learning_rates=(3.0,), epochs=9, patience=1)
    report = of_few(tiny, settings).run(tmp_path / "out")
    curve = [entry["validation_loss"] for entry in report["runs"][0]["curve"]]
    worse = next(place for place in range(1, len(curve)) if curve[place] >= min(curve[:place]))
    assert worse == len(curve) - 1 < 8
    assert report["best_epoch"] == worse
    history = [{"validation_loss": value} for value in (3.0, 2.0, 2.5, 2.0, 2.1)]
    entries = [{"epoch": place, "step": place, **entry} for place, entry in enumerate(history, start=1)]
    for patience, over in ((2, [False, False, False, True]), (3, [False] * 4), (0, [False] * 5)):
        settings = FinetuningSettings(epochs=6, patience=patience)
        assert [finetune_run._is_finished(entries[:number], settings) for number in range(1, len(over) + 1)] == over
    assert finetune_run._is_finished(entries, FinetuningSettings(epochs=5, patience=0))


def test_another_unfinished_training_is_not_gone_on_with(
    tiny: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    for _ in stopped_after(1, monkeypatch):
        with pytest.raises(Stopped):
            of_few(tiny, SHORT).run(out)
    with pytest.raises(InputError) as refused:
        of_few(tiny, replace(SHORT, rank=8, learning_rates=(1e-3,))).run(out)
    assert str(refused.value) == (
        f"{out}.partial holds an unfinished training with another learning_rates, rank: finish it with the "
        "original options, or remove it"
    )
    with pytest.raises(InputError, match="with another pairs: finish it"):
        of_few(tiny, SHORT, prompt=load_generation_prompt("plain")).run(out)
    with locked(tmp_path / "out.partial"), pytest.raises(InputError, match="another process is using"):
        of_few(tiny, SHORT).run(out)
    out.mkdir()
    (out / "mine.txt").write_text("mine")
    with pytest.raises(InputError, match="is there and not empty: choose another --out"):
        of_few(tiny, SHORT).run(out)


def test_a_batch_that_does_not_fit_is_halved(
    tiny: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    load = PretrainedModel.load
    most = [2]

    def crowded(self: PretrainedModel, settings: FinetuningSettings, device: str) -> Any:
        model = load(self, settings, device)

        def check(module: Any, arguments: Any, named: dict[str, Any]) -> None:
            if len(named["input_ids"]) > most[0]:
                raise RuntimeError("[enforce fail at alloc_cpu.cpp] DefaultCPUAllocator: can't allocate memory")

        model.register_forward_pre_hook(check, with_kwargs=True)
        return model

    said: list[str] = []
    monkeypatch.setattr(PretrainedModel, "load", crowded)
    settings = replace(SHORT, batch_size=6, epochs=1)
    halved = of_few(tiny, settings).run(tmp_path / "halved", notify=said.append)
    assert said == ["out of memory: 3 pairs at a time from now on, in 2 parts of a batch",
                    "out of memory: 1 pairs at a time from now on, in 6 parts of a batch"]  # fmt: skip
    assert halved["runs"][0]["accumulation"] == 6
    monkeypatch.setattr(PretrainedModel, "load", load)
    asked = of_few(tiny, replace(settings, accumulation=6)).run(tmp_path / "asked")
    assert weights_of(tmp_path / "halved") == weights_of(tmp_path / "asked")
    assert losses(halved) == losses(asked)
    # Accumulation changes what dropout draws, and else nothing but the last bits.
    without = replace(settings, dropout=0.0)
    reports = [of_few(tiny, replace(without, accumulation=n)).run(tmp_path / f"parts-{n}") for n in (1, 3)]
    assert sum(losses(reports[0]), ()) == pytest.approx(sum(losses(reports[1]), ()), rel=1e-4)
    assert capfd.readouterr() == ("", "")

    monkeypatch.setattr(PretrainedModel, "load", crowded)
    most[0] = 0
    with pytest.raises(InputError, match=r"one pair at a time does not fit into memory .* give a smaller --max-length"):
        of_few(tiny, settings).run(tmp_path / "none")
    with pytest.raises(RuntimeError, match="something else"):
        retry_out_of_memory(lambda parts: raise_(RuntimeError("something else")), settings, tmp_path, said.append)


def raise_(error: Exception) -> None:
    raise error


def test_a_model_without_padding_and_chat_template_learns_in_a_named_format(tmp_path: Path) -> None:
    from transformers import AutoTokenizer, GPT2Config, GPT2LMHeadModel

    from tests.models.tiny_chat import END

    tokenizer = AutoTokenizer.from_pretrained(tiny_chat(tmp_path / "chat", template=None))
    tokenizer.pad_token = None
    tokenizer.save_pretrained(tmp_path / "gpt")
    size = len(tokenizer)
    end = tokenizer.convert_tokens_to_ids(END)
    config = GPT2Config(
        vocab_size=size, n_positions=96, n_embd=16, n_layer=1, n_head=2, bos_token_id=end, eos_token_id=end
    )
    GPT2LMHeadModel(config).save_pretrained(tmp_path / "gpt")
    with pytest.raises(InputError, match=r"gpt has no chat template: name a format with --prompt-format \(dialogpt, "):
        of_few(tmp_path / "gpt", SHORT)
    dialogpt = load_format("dialogpt")
    finetuner = of_few(tmp_path / "gpt", SHORT, template=dialogpt)
    assert finetuner.plan()["max_length"] == 96  # the model's context
    report = finetuner.run(tmp_path / "out")
    assert report["format"] == {"name": "dialogpt", "hash": dialogpt.hash}
    assert report["after"]["validation_loss"] < report["before"]["validation_loss"]
    assert (tmp_path / "out" / "chat_template.jinja").read_text() == dialogpt.template
    assert AutoTokenizer.from_pretrained(tmp_path / "out").pad_token is None


def test_the_newest_whole_checkpoint_is_found(tmp_path: Path) -> None:
    assert last_whole_checkpoint(tmp_path) is None
    for step, whole in ((2, True), (10, True), (12, False)):
        (tmp_path / f"checkpoint-{step}").mkdir()
        (tmp_path / f"checkpoint-{step}" / "trainer_state.json").write_text("{}" if whole else "{")
    (tmp_path / "checkpoint-14").mkdir()
    assert last_whole_checkpoint(tmp_path) == tmp_path / "checkpoint-10"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["checkpoint-10", "checkpoint-2"]
