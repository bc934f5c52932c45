"""What the documents show as commands, programs and files, with the place where each stands."""

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
_FENCE = re.compile(r"^(?P<indent> *)```(?P<info>[^\n`]*)\n(?P<text>.*?)^(?P=indent)```$", re.MULTILINE | re.DOTALL)
_NAMED = re.compile(r"# (?P<name>[\w./-]+\.(?:ya?ml|py))\n")


@dataclass(frozen=True)
class Block:
    """A fenced block.

    Attributes:
        page: Path of the document in the repository.
        line: Of its first line of text.
        language: What stands behind the fence.
        text: Without the fences.
        file: The name that its first line (`# prices.yaml`) or its title (`title="answers.csv"`) gives it.
    """

    page: str
    line: int
    language: str
    text: str
    file: str | None

    @property
    def place(self) -> str:
        """Where it stands, for messages."""
        return f"{self.page}:{self.line}"

    def commands(self) -> list[tuple[int, str]]:
        """Returns the lines of a shell block with their numbers; continued lines are one."""
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
    """Returns the documents with commands for people, as paths in the repository."""
    return ["README.md", "CONTRIBUTING.md", *(f"docs/{path.name}" for path in sorted((ROOT / "docs").glob("*.md")))]


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
        found.append(Block(page, line, language, match["text"], file))
    return found


def spans(text: str) -> list[str]:
    """Returns the inline code of a document; what stands in its blocks is not inline."""
    prose = re.sub(r"^ *\|", "", _FENCE.sub("", text), flags=re.MULTILINE)
    return [" ".join(span.split()) for _, span in re.findall(r"(?<!`)(`+)(?!`)(.+?)(?<!`)\1(?!`)", prose, re.DOTALL)]
