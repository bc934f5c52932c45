"""A hook of MkDocs: shows every notebook as a page with its stored outputs, and offers it for download.

No cell is executed. A notebook is read as JSON, so that the documentation needs no further package.
"""

import html
import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

ENDING = ".ipynb"


class Notebook(File):
    """A notebook as a page: links to it lead to the page."""

    def is_documentation_page(self) -> bool:
        """Returns True; for MkDocs only Markdown files are pages."""
        return True


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Replaces notebooks by pages."""
    for file in [file for file in files if file.src_uri.endswith(ENDING)]:
        files.remove(file)
        files.append(Notebook.generated(config, file.src_uri, content=page(Path(config.docs_dir, file.src_uri))))
    return files


def on_post_build(config: MkDocsConfig) -> None:
    """Copies the notebooks to the site."""
    for path in Path(config.docs_dir).rglob(f"*{ENDING}"):
        shutil.copyfile(path, Path(config.site_dir) / path.relative_to(config.docs_dir))


def page(path: Path) -> str:
    """Returns a notebook as Markdown."""
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    blocks = [block for cell in cells for block in _blocks(cell)]
    download = f'<a href="{path.name}" download>Download this page as a notebook</a>'
    return "\n\n".join([blocks[0], download, *blocks[1:]])


def _blocks(cell: dict[str, Any]) -> Iterator[str]:
    source = "".join(cell["source"])
    if cell["cell_type"] == "markdown":
        heading, _, rest = source.partition("\n")
        yield from (heading, rest) if heading.startswith("# ") else (source,)
        return
    yield _fenced(source, ".python")
    for output in cell["outputs"]:
        data = {kind: "".join(value) for kind, value in output.get("data", {}).items()}
        if "image/png" in data:
            width = output.get("metadata", {}).get("image/png", {}).get("width", "")
            alternative = html.escape(cell["metadata"].get("alt", ""))
            encoded = data["image/png"].replace("\n", "")
            yield f'<p><img alt="{alternative}" width="{width}" src="data:image/png;base64,{encoded}"></p>'
        elif "text/html" in data:
            yield _table(data["text/html"])
        else:
            yield _fenced("".join(output.get("text", "")) or data["text/plain"], ".text .output .no-copy")


def _fenced(text: str, classes: str) -> str:
    fence = "`" * max(3, *(len(run) + 1 for run in re.findall("`+", text) or [""]))
    return f"{fence} {{ {classes} }}\n{text.rstrip()}\n{fence}"


def _table(text: str) -> str:
    """Returns a table of pandas without its styles: those of the site apply."""
    table = re.search(r"<table.*</table>", text, re.DOTALL)
    assert table is not None, "only tables of pandas are shown as HTML"
    plain = re.sub(r"<table[^>]*>", "<table>", table.group()).replace(' style="text-align: right;"', "")
    return f'<div class="output">\n{plain.replace("<th></th>", "<td></td>")}\n</div>'
