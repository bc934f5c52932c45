"""Where adapters go, what a loss is, and which models cannot be tuned."""

import json
import math
import shutil
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from fcconan.errors import InputError
from fcconan.generation.finetuning.model import (
    EncodedPair,
    PretrainedModel,
    attention_layers,
    attention_pattern,
    four_bit_configuration,
    mean_loss,
    quiet_training,
    reply_loss,
)
from fcconan.generation.finetuning.run import perplexity
from fcconan.generation.finetuning.search import Finetuner
from fcconan.generation.finetuning.settings import FinetuningSettings, load_finetuning
from tests.models.tiny_chat import tiny_chat


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_chat(tmp_path_factory.mktemp("tiny") / "tiny")


def test_the_loss_weighs_tokens_and_not_batches(tiny: Path) -> None:
    import torch
    from transformers import AutoModelForCausalLM

    model = AutoModelForCausalLM.from_pretrained(tiny)
    pairs = [EncodedPair((5, 6, 7), 2), EncodedPair(tuple(range(40, 60)), 3), EncodedPair((9, 8, 7, 6, 5), 1)]
    by_hand: list[list[float]] = []
    with torch.no_grad():
        for pair in pairs:
            scores = model(input_ids=torch.tensor([pair.tokens])).logits[0].log_softmax(-1)
            places = range(pair.prompt, len(pair.tokens))
            by_hand.append([-float(scores[place - 1, pair.tokens[place]]) for place in places])
    every = [loss for losses_of_one in by_hand for loss in losses_of_one]
    assert [len(each) for each in by_hand] == [pair.reply for pair in pairs] == [1, 17, 4]
    for batch_size in (1, 2, 3):
        assert mean_loss(model, pairs, batch_size=batch_size, padding=0) == pytest.approx(sum(every) / 22, rel=1e-5)
    means = sum(sum(each) / len(each) for each in by_hand) / 3
    assert abs(means - sum(every) / 22) > 0.01  # what a mean of means would be
    assert perplexity(0.0) == 1.0
    assert perplexity(1_000.0) is None
    logits, labels = torch.zeros(1, 3, 4), torch.tensor([[-100, 2, -100]])
    assert float(reply_loss(logits, labels)) == pytest.approx(math.log(4))


SMALL = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "vocab_size": 50}
ATTENTION = {
    "gpt2": (
        {"n_embd": 16, "n_layer": 2, "n_head": 2, "vocab_size": 50},
        "transformer.h.{}.attn.",
        ["c_attn", "c_proj"],
    ),
    "mistral": (
        {**SMALL, "intermediate_size": 16, "num_key_value_heads": 2},
        "model.layers.{}.self_attn.",
        ["q_proj", "k_proj", "v_proj", "o_proj"],
    ),
    "gpt_neox": ({**SMALL, "intermediate_size": 16}, "gpt_neox.layers.{}.attention.", ["query_key_value", "dense"]),
    "bloom": (
        {"hidden_size": 16, "n_layer": 2, "n_head": 2, "vocab_size": 50},
        "transformer.h.{}.self_attention.",
        ["query_key_value", "dense"],
    ),
    "opt": (
        {**SMALL, "ffn_dim": 16, "word_embed_proj_dim": 16},
        "model.decoder.layers.{}.self_attn.",
        ["k_proj", "v_proj", "q_proj", "out_proj"],
    ),
}


@pytest.mark.parametrize("kind", ATTENTION)
def test_adapters_go_to_the_attention_blocks(kind: str) -> None:
    from transformers import AutoConfig, AutoModelForCausalLM

    settings, path, names = ATTENTION[kind]
    model = AutoModelForCausalLM.from_config(AutoConfig.for_model(kind, **settings))
    expected = sorted(path.format(layer) + name for layer in range(2) for name in names)
    assert sorted(name for name, _ in attention_layers(model)) == expected
    pattern = attention_pattern(model, kind)
    assert len(pattern.split("|")) == len(names)
    base: Any = SimpleNamespace(name=kind, source="somewhere", revision=None)
    with quiet_training():
        adapted = PretrainedModel._with_adapters(base, model, FinetuningSettings(rank=4, alpha=12, dropout=0.25))
    built = adapted.peft_config["default"]
    assert (built.r, built.lora_alpha, built.lora_dropout, built.bias, built.target_modules) == (
        4,
        12,
        0.25,
        "none",
        pattern,
    )
    assert (built.task_type, built.fan_in_fan_out) == ("CAUSAL_LM", kind == "gpt2")
    layers = [layer for layer in adapted.modules() if hasattr(layer, "lora_A")]
    assert {layer.scaling["default"] for layer in layers} == {12 / 4}
    assert {layer.lora_dropout["default"].p for layer in layers} == {0.25}
    trained = {name.split(".lora_")[0] for name, each in adapted.named_parameters() if each.requires_grad}
    assert sorted(name.removeprefix("base_model.model.") for name in trained) == expected


def test_a_model_without_attention_is_told_so() -> None:
    import torch

    with pytest.raises(InputError, match="box has no attention blocks with linear layers: take method full"):
        attention_pattern(torch.nn.Sequential(torch.nn.Linear(2, 2)), "box")


def test_four_bit_is_as_in_the_paper_and_refused_without_cuda(tiny: Path) -> None:
    import torch

    four_bit = four_bit_configuration()
    assert four_bit.load_in_4bit is True
    assert four_bit.bnb_4bit_quant_type == "nf4"
    assert four_bit.bnb_4bit_compute_dtype == torch.bfloat16
    assert four_bit.bnb_4bit_use_double_quant is False
    with pytest.raises(InputError) as refused:
        Finetuner(PretrainedModel(str(tiny)), SimpleNamespace(), load_finetuning("pairwise-qlora"), device="cpu")  # type: ignore[arg-type]
    assert str(refused.value) == (
        "method qlora holds the model in 4 bit, which needs a CUDA device, not cpu: take method lora (preset "
        "pairwise-lora)"
    )


def test_models_that_cannot_be_tuned_are_refused(tiny: Path, tmp_path: Path) -> None:
    adapter = tmp_path / "adapter"
    adapter.mkdir()
    (adapter / "adapter_config.json").write_text("{}")
    (adapter / "adapter_model.safetensors").write_text("")
    with pytest.raises(InputError, match="holds an adapter: fine-tune the model that it belongs to"):
        PretrainedModel(str(adapter))
    with pytest.raises(InputError, match="the model nobody/nothing cannot be loaded"):
        PretrainedModel("nobody/nothing")
    with pytest.raises(InputError, match=f"found no folder {tmp_path}/nothing"):
        PretrainedModel(str(tmp_path / "nothing"))
    with pytest.raises(InputError, match="there is no device 'abacus' to train on: give cpu"):
        Finetuner(PretrainedModel(str(tiny)), SimpleNamespace(), FinetuningSettings(), device="abacus")  # type: ignore[arg-type]
    endless = tmp_path / "endless"
    shutil.copytree(tiny, endless)
    written = json.loads((endless / "tokenizer_config.json").read_text())
    (endless / "tokenizer_config.json").write_text(json.dumps({**written, "eos_token": None}))
    with pytest.raises(InputError, match=r"the tokenizer of endless has no end token \(eos_token\)"):
        PretrainedModel(str(endless)).tokenizer()
