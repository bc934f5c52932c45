"""A tiny sentence-transformers model with random weights, made where it is needed and loaded like a real one."""

from pathlib import Path
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
    """Writes a BERT of two small layers with a tokenizer trained on the texts above, and returns the folder."""
    import torch
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer import modules
    from tokenizers import Tokenizer, normalizers, pre_tokenizers, processors, trainers
    from tokenizers.models import WordPiece
    from transformers import BertConfig, BertModel, PreTrainedTokenizerFast

    folder.mkdir(parents=True, exist_ok=True)
    tokenizer = Tokenizer(WordPiece(unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.Lowercase()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    tokenizer.train_from_iterator(TEXTS, trainers.WordPieceTrainer(vocab_size=300, special_tokens=special))
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    fast = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, pad_token="[PAD]", unk_token="[UNK]", cls_token="[CLS]", sep_token="[SEP]"
    )
    torch.manual_seed(seed)
    config = BertConfig(
        vocab_size=tokenizer.get_vocab_size(),
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=64,
        max_position_embeddings=64,
    )
    transformer = folder / "transformer"
    BertModel(config).save_pretrained(transformer)
    fast.save_pretrained(transformer)
    word: Any = modules.Transformer(str(transformer), max_seq_length=64)
    model = SentenceTransformer(modules=[word, modules.Pooling(32), modules.Normalize()], device="cpu")
    out = folder / "model"
    model.save_pretrained(str(out), create_model_card=False)
    return out
