"""Folders that peft wrote: the adapter runs on the model that it was trained upon."""

import json
import shutil
import sys
from pathlib import Path
from typing import Any
from warnings import catch_warnings

import pytest

from fcconan.errors import InputError
from fcconan.models.local import LocalModel
from fcconan.models.requests import ChatRequest, ChatResponse, Sampling
from tests.models.stored import records
from tests.models.tiny_chat import END, START, TEMPLATE, TEXTS, tiny_chat

CALLS = [ChatRequest([{"role": "user", "content": text}], Sampling(max_tokens=12)) for text in TEXTS[:3]]


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_chat(tmp_path_factory.mktemp("base") / "tiny")


@pytest.fixture(scope="module")
def adapter(base: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return adapted(base, tmp_path_factory.mktemp("adapters") / "tuned", seed=1)


def adapted(base: Path, folder: Path, *, seed: int) -> Path:
    """Writes an adapter with random weights."""
    import torch
    from peft import LoraConfig, get_peft_model
    from transformers import AutoModelForCausalLM

    state = torch.get_rng_state()
    torch.manual_seed(seed)
    settings = LoraConfig(r=2, lora_alpha=8, target_modules=["q_proj", "v_proj"], init_lora_weights=False)
    with catch_warnings(action="ignore", category=FutureWarning):  # peft asks transformers in an old way
        get_peft_model(AutoModelForCausalLM.from_pretrained(base), settings).save_pretrained(str(folder))
    torch.set_rng_state(state)
    return folder


def replies(model: LocalModel) -> list[ChatResponse]:
    return list(model.replies(CALLS))


def texts(journal: Path) -> list[str]:
    return [each["response"]["choices"][0]["message"]["content"] for each in records(journal)]


def merged(base: Path, adapter: Path) -> list[str]:
    """What the base says with the adapter's products added to its weights."""
    from peft import PeftModel
    from transformers import AutoModelForCausalLM, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(base)
    model: Any = AutoModelForCausalLM.from_pretrained(base)
    with catch_warnings(action="ignore", category=FutureWarning):
        model = PeftModel.from_pretrained(model, adapter).merge_and_unload()
    found = []
    for text in TEXTS[:3]:
        prompt = tokenizer(f"{START}user\n{text}{END}\n{START}assistant\n", return_tensors="pt")
        out = model.generate(**prompt, do_sample=False, max_new_tokens=12)
        found.append(tokenizer.decode(out[0, prompt["input_ids"].shape[1] :], skip_special_tokens=True))
    return found


def test_an_adapter_runs_on_its_base(base: Path, adapter: Path, tmp_path: Path) -> None:
    assert {path.name for path in adapter.iterdir()} >= {"adapter_config.json", "adapter_model.safetensors"}
    model = LocalModel(adapter, journal=tmp_path / "tuned", device="cpu")
    replies(model)
    assert texts(tmp_path / "tuned") == merged(base, adapter)
    replies(LocalModel(base, journal=tmp_path / "base", device="cpu"))
    assert texts(tmp_path / "tuned") != texts(tmp_path / "base")
    assert model.name == "tuned"
    assert model.configuration["base"] == {"model": "tiny", "revision": None}
    assert model._limit == 512  # of the base's configuration


def test_the_identity_covers_adapter_and_base(base: Path, adapter: Path, tmp_path: Path) -> None:
    def identity(folder: Path) -> Any:
        return LocalModel(folder, journal=tmp_path / "journal").configuration["weights"]

    other = adapted(base, tmp_path / "other" / "tuned", seed=2)
    assert identity(other) != identity(adapter)
    shutil.copytree(adapter, tmp_path / "copy" / "tuned")
    assert identity(tmp_path / "copy" / "tuned") == identity(adapter)
    moved = tmp_path / "moved"
    shutil.copytree(adapter, moved / "tuned")
    shutil.copytree(base, moved / "tuned" / "tiny")
    settings = moved / "tuned" / "adapter_config.json"
    # A path is looked for from where the program runs, and then from the adapter.
    settings.write_text(json.dumps(json.loads(settings.read_text()) | {"base_model_name_or_path": "tiny"}))
    before = identity(moved / "tuned")
    shutil.copytree(tiny_chat(tmp_path / "changed" / "tiny", seed=3), moved / "tuned" / "tiny", dirs_exist_ok=True)
    assert identity(moved / "tuned") != before


def test_a_tokenizer_beside_the_adapter_comes_before_that_of_the_base(
    base: Path, adapter: Path, tmp_path: Path
) -> None:
    from transformers import AutoTokenizer

    def prompt_of(folder: Path) -> str:
        model = LocalModel(folder, journal=tmp_path / "journal", device="cpu")
        return str(model._tokenizer.decode(model._prompt(CALLS[0])))

    bare = tmp_path / "bare"
    shutil.copytree(adapter, bare)
    assert prompt_of(bare) == f"{START}user\n{TEXTS[0]}{END}\n{START}assistant\n"
    (bare / "chat_template.jinja").write_text(TEMPLATE.replace("assistant", "reader"), encoding="utf-8")
    assert prompt_of(bare).endswith(f"{START}reader\n")
    tokenizer = AutoTokenizer.from_pretrained(base)
    tokenizer.chat_template = TEMPLATE.replace("assistant", "baker")
    tokenizer.save_pretrained(bare)
    assert prompt_of(bare).endswith(f"{START}baker\n")


def test_without_the_package_for_adapters_one_line_says_how_to_get_it(
    adapter: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    journal = tmp_path / "journal"
    answered = replies(LocalModel(adapter, journal=journal, device="cpu"))
    monkeypatch.setitem(sys.modules, "peft", None)
    assert replies(LocalModel(adapter, journal=journal, device="cpu")) == answered  # nothing is loaded for it
    with pytest.raises(InputError) as caught:
        replies(LocalModel(adapter, journal=tmp_path / "other", device="cpu"))
    assert str(caught.value).startswith("models on this machine need a package that is missing (")
    assert str(caught.value).endswith(
        "`pip install 'fcconan[neural,finetune]'`, and the package named here"
    ) and "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (
            '{"base_model_name_or_path": "/gone/tiny"}',
            r"tuned is an adapter and needs its base model /gone/tiny: no model folder at",
        ),
        (
            '{"base_model_name_or_path": "ombrey/tiny"}',
            r"base model ombrey/tiny: the model ombrey/tiny cannot be fo",
        ),
        ('{"base_model_name_or_path": null}', r"adapter_config.json lacks base_model_name_or_path: add the"),
        ("[]", r"adapter_config.json lacks base_model_name_or_path: add the"),
        ("{", r"adapter_config.json lacks base_model_name_or_path: add the"),
    ],
)
def test_an_adapter_without_its_base_is_refused(adapter: Path, tmp_path: Path, content: str, message: str) -> None:
    folder = tmp_path / "tuned"
    shutil.copytree(adapter, folder)
    (folder / "adapter_config.json").write_text(content)
    with pytest.raises(InputError, match=message) as caught:
        LocalModel(folder, journal=tmp_path / "journal")
    assert "\n" not in str(caught.value)
