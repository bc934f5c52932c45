"""A tiny chat model, made where it is needed and loaded like a real one."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.retrieval import tiny

TEXTS = [*tiny.TEXTS, "1 2 3 4 5 6 7 8 9 10"]
PADDING, START, END = "<|padding|>", "<|start|>", "<|end|>"
TEMPLATE = (
    "{% for message in messages %}"
    "{% if message.role == 'tool' %}{{ raise_exception('no tools here') }}{% endif %}"
    "<|start|>{{ message.role }}\n{{ message.content }}<|end|>\n"
    "{% endfor %}{% if add_generation_prompt %}<|start|>assistant\n{% endif %}"
)


def tiny_chat(
    folder: Path,
    *,
    seed: int = 0,
    context: int = 512,
    template: str | None = TEMPLATE,
    says: Sequence[str] = (),
) -> Path:
    """Writes a Llama of two small layers with a byte-level tokenizer, and returns the folder.

    Args:
        folder: Where.
        seed: Of the weights.
        context: The longest prompt and answer together, in tokens.
        template: The chat template; None for a model without one.
        says: What it is trained to answer, one of these to each of the texts above in turn and something like them to
            others. Without any, its weights are random, and it babbles.
    """
    import torch
    from tokenizers import Tokenizer, decoders, pre_tokenizers, trainers
    from tokenizers.models import BPE
    from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast
    from transformers.utils import logging

    logging.disable_progress_bar()
    folder.mkdir(parents=True, exist_ok=True)
    core = Tokenizer(BPE())
    core.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    core.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=400, special_tokens=[PADDING, START, END], initial_alphabet=alphabet, show_progress=False
    )
    core.train_from_iterator(TEXTS, trainer)
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=core,
        pad_token=PADDING,
        eos_token=END,
        additional_special_tokens=[START],
        clean_up_tokenization_spaces=False,
        model_input_names=["input_ids", "attention_mask"],
        chat_template=template,
    )
    tokenizer.save_pretrained(folder)
    generator = torch.random.get_rng_state()
    torch.manual_seed(seed)
    end = core.token_to_id(END)
    config = LlamaConfig(
        vocab_size=core.get_vocab_size(),
        hidden_size=48,
        intermediate_size=96,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=context,
        # Large, so that babble hangs on the prompt and the most likely token is well ahead of the others.
        initializer_range=0.02 if says else 0.3,
        tie_word_embeddings=False,
        bos_token_id=None,
        eos_token_id=end,
        pad_token_id=core.token_to_id(PADDING),
    )
    model = LlamaForCausalLM(config)
    with torch.no_grad():
        model.lm_head.weight[end] *= 2  # so that some of the answers end by themselves
    if says:
        _train(model, tokenizer, says)
    torch.random.set_rng_state(generator)
    # Servers draw only for models that say so; temperature 0 in a request still takes the most likely token.
    model.generation_config.do_sample = True
    model.save_pretrained(folder)
    return folder


def model_that_says(folder: Path, answers: Sequence[str], *, context: int = 4096) -> Path:
    """Writes a tiny chat model that answers every prompt by one of these, and returns the folder.

    Nothing is trained, so it holds for every prompt and on every machine. Each answer is a token of its own. What
    attention takes from the prompt chooses among the answers, and nothing else does anything. Every token but an answer
    leads to an answer, and an answer leads to the end.
    """
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    tiny_chat(folder, context=context)
    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModelForCausalLM.from_pretrained(folder)
    tokenizer.add_tokens(list(answers))
    model.resize_token_embeddings(len(tokenizer), mean_resizing=False)
    said, end = tokenizer.convert_tokens_to_ids(list(answers)), tokenizer.convert_tokens_to_ids(END)
    # What these places of an embedding hold: whether a token is of a prompt, or an answer, and what was read of others.
    prompt, answer, read = 0, 1, slice(24, None)
    with torch.no_grad():
        for layer in model.model.layers:
            layer.self_attn.q_proj.weight *= 20  # few tokens are heeded, and other ones in every prompt
            layer.self_attn.o_proj.weight[: read.start] = 0
            layer.mlp.down_proj.weight.zero_()
        seen, led = model.model.embed_tokens.weight, model.lm_head.weight
        seen[:, read] = 0
        seen[:, prompt], seen[:, answer] = 1, 0
        seen[said] = 0
        seen[said, answer] = 1
        led.zero_()
        led[said, read] = torch.randn(
            len(answers), seen.shape[1] - read.start, generator=torch.Generator().manual_seed(0)
        )
        led[said, prompt] = led[end, answer] = 100
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def _train(model: Any, tokenizer: Any, says: Sequence[str]) -> None:
    import torch

    asked = [
        tokenizer.apply_chat_template(
            [{"role": "user", "content": text}], add_generation_prompt=True, tokenize=True, return_dict=False
        )
        for text in TEXTS
    ]
    answers = [tokenizer(says[place % len(says)] + END)["input_ids"] for place in range(len(asked))]
    width = max(len(prompt) + len(answer) for prompt, answer in zip(asked, answers, strict=True))
    tokens = torch.full((len(asked), width), tokenizer.pad_token_id)
    labels = torch.full((len(asked), width), -100)  # no loss
    for row, (prompt, answer) in enumerate(zip(asked, answers, strict=True)):
        tokens[row, : len(prompt) + len(answer)] = torch.tensor(prompt + answer)
        labels[row, len(prompt) : len(prompt) + len(answer)] = torch.tensor(answer)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
    for _ in range(60):
        loss = model(input_ids=tokens, attention_mask=(tokens != tokenizer.pad_token_id).long(), labels=labels).loss
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
