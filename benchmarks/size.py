"""Count lines of code by package, without blank lines, comments, docstrings and imports; and lines elsewhere.

Example: python benchmarks/size.py
"""

import ast
import io
import tokenize
from collections import Counter
from pathlib import Path

IGNORED = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}


def lines_of_code(source: str) -> int:
    """Returns the number of lines with code."""
    used = {
        line
        for token in tokenize.generate_tokens(io.StringIO(source).readline)
        if token.type not in IGNORED
        for line in range(token.start[0], token.end[0] + 1)
    }
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.Expr | ast.Import | ast.ImportFrom):
            continue
        if isinstance(node, ast.Expr):
            is_docstring = isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
            if not is_docstring:
                continue
        used -= set(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    return len(used)


# Where code could move: title, folders, and endings of the files.
ELSEWHERE = (
    ("benchmarks", ("benchmarks",), (".py", ".sh")),
    ("examples", ("examples",), (".py", ".sh")),
    ("tests", ("tests",), (".py",)),
    ("YAML", ("fcconan", "builders", "annotations", "benchmarks", "docs"), (".yaml", ".yml")),
    ("templates", ("fcconan",), (".jinja", ".css", ".js")),
)


def main(root: Path) -> None:
    """Prints modules, lines of code and the largest module of every package, and lines of other files."""
    folder = root / "fcconan"
    code, modules, largest = Counter[str](), Counter[str](), Counter[str]()
    names: dict[str, str] = {}
    for path in sorted(folder.rglob("*.py")):
        name = path.relative_to(folder)
        package = name.parts[0] if len(name.parts) > 1 else "."
        source = path.read_text(encoding="utf-8")
        code[package] += lines_of_code(source)
        modules[package] += 1
        length = source.count("\n")
        if length > largest[package]:
            largest[package], names[package] = length, str(name)
    print(f"{'package':14} {'modules':>7} {'code':>7}  longest module (all lines)")
    for package in sorted(code):
        print(f"{package:14} {modules[package]:7} {code[package]:7}  {names[package]} ({largest[package]})")
    print(f"{'all':14} {modules.total():7} {code.total():7}\n\n{'elsewhere':14} {'files':>7} {'lines':>7}")
    for title, folders, endings in ELSEWHERE:
        paths = [path for name in folders for path in (root / name).rglob("*") if path.suffix in endings]
        lines = sum(path.read_text(encoding="utf-8").count("\n") for path in paths)
        print(f"{title:14} {len(paths):7} {lines:7}")


if __name__ == "__main__":
    main(Path(__file__).parents[1])
