"""Small tokenizers that treat special tokens, spaces and beginnings as those of real models do."""

from typing import Any

WORDS = (
    "Answer kindly. Tessok cheat. No. Ombrey sing. They do. [INST] [/INST] <<SYS>> <</SYS>> ### Input: Output: "
    "<|system|> <|user|> <|assistant|>"
).split()


def llama_like(template: str | None = None) -> Any:
    """A tokenizer with the special tokens, begin-of-text rule and space marks of Llama-2, Mistral and Zephyr.

    It sets a space mark at the beginning of a text and after every special token; and when it is asked for special
    tokens, it puts one at the beginning, whether or not one stands there.
    """
    from tokenizers import Regex, Tokenizer, decoders, normalizers, pre_tokenizers, processors, trainers
    from tokenizers.models import WordLevel

    core = Tokenizer(WordLevel(unk_token="<unk>"))
    core.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    core.pre_tokenizer = pre_tokenizers.Split(Regex(r"\n|▁?[^▁\n]+|▁"), "isolated")
    core.decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.Fuse(), decoders.Strip(" ", 1, 0)])
    trainer = trainers.WordLevelTrainer(special_tokens=["<unk>", "<s>", "</s>"], show_progress=False)
    core.train_from_iterator(["\n", " \n", *WORDS, *(f"\n{word}" for word in WORDS)], trainer)
    core.post_processor = processors.TemplateProcessing(single="<s> $A", special_tokens=[("<s>", 1)])
    return _wrapped(core, template, bos_token="<s>", eos_token="</s>", unk_token="<unk>")


def gpt_like(template: str | None = None) -> Any:
    """A tokenizer with the special token and space marks of GPT-2 and DialoGPT."""
    from tokenizers import Tokenizer, decoders, pre_tokenizers, trainers
    from tokenizers.models import WordLevel

    end = "<|endoftext|>"
    core = Tokenizer(WordLevel(unk_token=end))
    core.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)
    core.decoder = decoders.ByteLevel()
    trainer = trainers.WordLevelTrainer(special_tokens=[end], show_progress=False)
    core.train_from_iterator([" ".join(WORDS), *WORDS, "\n", "\n\n"], trainer)
    return _wrapped(core, template, bos_token=end, eos_token=end, unk_token=end)


def letters(template: str, *, merges: list[tuple[str, str]]) -> Any:
    """A tokenizer of single letters and some pairs of them, which knows no borders of words."""
    from tokenizers import Tokenizer, decoders
    from tokenizers.models import BPE

    pieces = ["</s>", *":abcxyz ", *("".join(pair) for pair in merges)]
    core = Tokenizer(BPE({piece: number for number, piece in enumerate(pieces)}, merges))
    core.decoder = decoders.Fuse()
    core.add_special_tokens(["</s>"])
    return _wrapped(core, template, eos_token="</s>")


def _wrapped(core: Any, template: str | None, **special: str) -> Any:
    from transformers import PreTrainedTokenizerFast

    return PreTrainedTokenizerFast(
        tokenizer_object=core, clean_up_tokenization_spaces=False, chat_template=template, **special
    )
