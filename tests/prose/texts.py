"""Text that people read: comments, docstrings, messages and help in Python files, and pages."""

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from tests.documented.blocks import GENERATED

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ("fcconan", "docs", "builders", "benchmarks", "examples")
FILES = ("README.md", "CONTRIBUTING.md", "dataset_card.md", "Makefile", "pyproject.toml")
SUFFIXES = (".py", ".pyi", ".md", ".yaml", ".js", ".css")

# A sentence ends here; a list item, a cell of a table and a heading are sentences of their own.
_END = re.compile(r"(?<=[.!?:;])\s+(?=[^a-z])|\n\s*\n|\n\s*(?:[-*|#>]|\d+\.)\s|\s\|\s")
_FENCE = re.compile(r"^( *)```.*?^\1```", re.MULTILINE | re.DOTALL)


class Text(NamedTuple):
    """A piece of text.

    Attributes:
        path: File, relative to the root of the repository.
        line: First line.
        text: Comment, string or line of a page.
        is_docstring: Whether it documents a module, class or function.
    """

    path: str
    line: int
    text: str
    is_docstring: bool = False


def text_files() -> list[Path]:
    """Returns the files with text for people, without vendored ones."""
    files = [path for folder in FOLDERS for path in sorted((ROOT / folder).rglob("*")) if path.suffix in SUFFIXES]
    files += [ROOT / name for name in FILES]
    files = [path for path in files if not {"vendor", "vendored", "__pycache__"} & set(path.parts)]
    return [path for path in files if path.relative_to(ROOT).as_posix() not in GENERATED]


def _python_texts(path: str, source: str) -> Iterator[Text]:
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            yield Text(path, token.start[0], token.string)
    tree = ast.parse(source)
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    docstrings = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, documented) and node.body and isinstance(node.body[0], ast.Expr)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value.strip():
            yield Text(path, node.lineno, node.value, id(node) in docstrings)


def read_texts(path: Path) -> list[Text]:
    """Returns the texts of a file: strings with a space and comments of Python, lines of anything else."""
    name, source = path.relative_to(ROOT).as_posix(), path.read_text(encoding="utf-8")
    if path.suffix in (".py", ".pyi"):
        return list(_python_texts(name, source))
    return [Text(name, number, line) for number, line in enumerate(source.splitlines(), 1)]


def sentences(page: str) -> list[str]:
    """Splits a Markdown page into sentences; code blocks are left out."""
    parts = _END.split(_FENCE.sub("\n\n", page))
    return [" ".join(part.strip(" \n-*|#>").split()) for part in parts if part and re.search(r"\w", part)]


def count_words(text: str) -> int:
    """Counts the words of a text, as `wc -w` does."""
    return len(text.split())
