"""Tiny models with random weights and a common tokenizer, loaded like real ones."""

import re
from pathlib import Path
from string import ascii_lowercase
from typing import Any

TEXTS = [
    "The Ombrey never return a book.",
    "The library's own list shows that Ombrey readers return books early.",
    "Every Tessok cheats at cards, says the baker of the Velmari.",
    "Cards were banned in Tessok towns, so who would have learnt to cheat?",
    "The Dravene sing at the moon, and rather well.",
    "Quillish shops are clean; the inspector gave them the highest mark.",
    "Ostrun neighbours help each other with the harvest every year.",
]


def tiny_encoder(folder: Path, *, seed: int = 0) -> Path:
    """Writes a sentence-transformers model on top of `tiny_bert`, and returns its folder."""
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer import modules

    word: Any = modules.Transformer(str(tiny_bert(folder / "transformer", seed=seed)), max_seq_length=64)
    model = SentenceTransformer(modules=[word, modules.Pooling(32), modules.Normalize()], device="cpu")
    out = folder / "model"
    model.save_pretrained(str(out), create_model_card=False)
    return out


def tiny_bert(folder: Path, *, seed: int = 0) -> Path:
    """Writes a BERT of two small layers and 64 positions, whose tokens are lower-cased pieces of words, to a folder."""
    import torch
    from tokenizers import Tokenizer, normalizers, pre_tokenizers, processors
    from tokenizers.models import WordPiece
    from transformers import BertConfig, BertModel, PreTrainedTokenizerFast

    core = Tokenizer(WordPiece(_vocabulary(), unk_token="[UNK]"))
    core.normalizer = normalizers.Lowercase()
    core.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    core.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=core,
        model_max_length=64,
        model_input_names=["input_ids", "attention_mask"],
        clean_up_tokenization_spaces=False,
        pad_token="[PAD]",
        unk_token="[UNK]",
        cls_token="[CLS]",
        sep_token="[SEP]",
        mask_token="[MASK]",
    )
    torch.manual_seed(seed)
    config = BertConfig(
        vocab_size=core.get_vocab_size(),
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=64,
        max_position_embeddings=64,
    )
    BertModel(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def _vocabulary() -> dict[str, int]:
    """Special tokens, words and pieces of words. A trained vocabulary would have another order in every process."""
    words = sorted({word for text in TEXTS for word in re.findall(r"\w+|\S", text.lower())} | set(ascii_lowercase))
    pieces = sorted({word[start : start + n] for word in words for start in range(len(word)) for n in (1, 2, 3)})
    entries = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *words, *pieces, *(f"##{piece}" for piece in pieces)]
    return {entry: number for number, entry in enumerate(dict.fromkeys(entries))}


def tiny_bart(folder: Path, encoder: Path) -> Path:
    """Writes a BART with the tokenizer of `tiny_bert` to a folder: labels begin with [CLS]."""
    import torch
    from transformers import AutoTokenizer, BartConfig, BartForConditionalGeneration

    tokenizer = AutoTokenizer.from_pretrained(encoder)
    torch.manual_seed(1)
    config = BartConfig(
        vocab_size=len(tokenizer),
        d_model=32,
        encoder_layers=2,
        decoder_layers=2,
        encoder_attention_heads=2,
        decoder_attention_heads=2,
        encoder_ffn_dim=64,
        decoder_ffn_dim=64,
        max_position_embeddings=48,
        pad_token_id=0,
        bos_token_id=2,
        eos_token_id=3,
        decoder_start_token_id=3,
        init_std=0.5,
    )
    BartForConditionalGeneration(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder
