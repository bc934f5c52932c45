"""Fenced blocks and inline code of the documents, with their positions."""

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
GENERATED = {"docs/columns.md", "docs/options.md"}  # by `make docs`; not in the repository
_FENCE = re.compile(r"^(?P<indent> *)```(?P<info>[^\n`]*)\n(?P<text>.*?)^(?P=indent)```$", re.MULTILINE | re.DOTALL)
_NAMED = re.compile(r"# (?P<name>[\w./-]+\.(?:ya?ml|py))\n")


@dataclass(frozen=True)
class Block:
    """A fenced block.

    Attributes:
        page: Path of the document in the repository.
        line: Line number of the first line of text.
        language: Language of the block.
        text: Content of the block.
        file: File name, from the first line (`# prices.yaml`) or the title (`title="answers.csv"`).
        is_output: Whether the block is the output of the block before it (`text title="output"`).
    """

    page: str
    line: int
    language: str
    text: str
    file: str | None
    is_output: bool = False

    @property
    def place(self) -> str:
        """Position of the block, for messages."""
        return f"{self.page}:{self.line}"

    def commands(self) -> list[tuple[int, str]]:
        """Returns the commands of a shell block with their line numbers; continued lines are joined."""
        found: list[tuple[int, str]] = []
        begun: tuple[int, str] | None = None
        for number, line in enumerate(self.text.splitlines(), start=self.line):
            begun = (begun[0], f"{begun[1]} {line.strip()}") if begun else (number, line.strip())
            if begun[1].endswith("\\"):
                begun = (begun[0], begun[1].removesuffix("\\").rstrip())
                continue
            found.append(begun)
            begun = None
        assert begun is None, f"{self.place}: the block ends with a backslash"
        return [(number, line) for number, line in found if line and not line.startswith("#")]


def pages() -> list[str]:
    """Returns the paths of the documents in the repository."""
    found = {f"docs/{path.name}" for path in (ROOT / "docs").glob("*.md")} - GENERATED
    return ["README.md", "CONTRIBUTING.md", *sorted(found)]


def read(page: str) -> str:
    """Returns the text of a document."""
    return (ROOT / page).read_text(encoding="utf-8")


def blocks(text: str, page: str) -> list[Block]:
    """Returns the fenced blocks of a document, in order."""
    found = []
    for match in _FENCE.finditer(text):
        language, _, rest = match["info"].strip().partition(" ")
        title = re.search(r'title="([^"]+)"', rest)
        named = _NAMED.match(match["text"])
        file = title[1] if title else named["name"] if named else None
        line = text.count("\n", 0, match.start("text")) + 1
        is_output = language == "text" and file == "output"
        found.append(Block(page, line, language, match["text"], None if is_output else file, is_output))
    return found


def spans(text: str) -> list[str]:
    """Returns the inline code of a document, without its blocks."""
    prose = re.sub(r"^ *\|", "", _FENCE.sub("", text), flags=re.MULTILINE)
    return [" ".join(span.split()) for _, span in re.findall(r"(?<!`)(`+)(?!`)(.+?)(?<!`)\1(?!`)", prose, re.DOTALL)]
