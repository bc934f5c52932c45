"""Compiles the tests, and what they import, once for a clone: `python -m tests.compile_once`, before workers start.

The packages are installed uncompiled, and Python compiles what is first imported. Several workers that start at one
moment each compile all of it; after this they read what lies there.
"""

import importlib
import io
import sys
from contextlib import redirect_stdout

import pytest

# What several test modules import inside functions.
LATER = (
    "accelerate",
    "bm25s",
    "datasets",
    "distributed",
    "ir_datasets",
    "matplotlib.backends.backend_svg",
    "matplotlib.figure",
    "openai",
    "peft",
    "ranx",
    "rouge_score.rouge_scorer",
    "sentence_transformers",
    "sentence_transformers.sentence_transformer.losses",
    "torch",
    "torch._dynamo",
    "transformers.generation",
    "transformers.models.auto",
    "transformers.models.bert.modeling_bert",
    "transformers.models.gpt2.modeling_gpt2",
    "transformers.models.llama.modeling_llama",
    "transformers.trainer",
)


def main() -> int:
    """Collects all tests and imports the rest; returns 0 even if something fails, for the tests then say it better."""
    with redirect_stdout(io.StringIO()):
        pytest.main(["--collect-only", "-qq"])
    for name in LATER:
        try:
            importlib.import_module(name)
        except ImportError as error:
            print(f"{name}: {error}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
