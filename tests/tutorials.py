"""Executes the notebooks in docs/tutorials: `python -m tests.tutorials --update [NAME ...]` stores their outputs.

A test executes them too and compares the outputs. Notebooks run in a temporary folder, offline, with caches of their
own. What depends on the machine or the moment is left out of the files: paths, execution counts and times.
"""

import os
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import nbformat
from nbclient import NotebookClient

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "docs" / "tutorials"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))
CONFIGURATION = """
c = get_config()
c.InlineBackend.figure_formats = {"retina"}
c.HistoryManager.enabled = False
c.IPKernelApp.log_level = 40  # errors
"""
KERNEL = {"display_name": "Python 3", "language": "python", "name": "python3"}
NOWHERE = "http://127.0.0.1:9"  # a proxy that does not exist: a notebook that uses the network fails at once
IMAGE = "image/png"

Notebook = Any  # nbformat is not typed


def environment(folder: Path) -> dict[str, str]:
    """Returns the environment of a kernel: offline, with caches in a folder, and without progress bars."""
    inherited = {name: value for name, value in os.environ.items() if name not in ("FCCONAN_MIRROR", "OPENAI_BASE_URL")}
    return inherited | {
        "FCCONAN_CACHE": str(folder / "fcconan"),
        "FCCONAN_RAW_URL": NOWHERE,
        "HF_HOME": str(folder / "huggingface"),
        "IPYTHONDIR": str(folder / "ipython"),
        "JUPYTER_RUNTIME_DIR": str(folder / "jupyter"),
        "HTTP_PROXY": NOWHERE,
        "HTTPS_PROXY": NOWHERE,
        "NO_PROXY": "127.0.0.1",
        "HF_HUB_OFFLINE": "1",
        "HF_DATASETS_OFFLINE": "1",
        "HF_DATASETS_DISABLE_PROGRESS_BARS": "1",
        "TQDM_DISABLE": "1",
        "NUMBA_DISABLE_JIT": "1",
        "OMP_NUM_THREADS": "1",
        "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]).rstrip(os.pathsep),
        "PYTHONWARNINGS": "ignore:IProgress not found",
    }


def execute(path: Path) -> Notebook:
    """Returns a notebook with new outputs.

    Raises:
        CellExecutionError: A cell fails.
    """
    notebook = nbformat.read(path, as_version=4)
    with TemporaryDirectory(prefix="tutorial-") as name:
        folder = Path(name).resolve()
        profile = folder / "ipython" / "profile_default"
        profile.mkdir(parents=True)
        (profile / "ipython_kernel_config.py").write_text(CONFIGURATION, encoding="utf-8")
        (folder / "work").mkdir()
        client = NotebookClient(notebook, timeout=300, kernel_name="python3", coalesce_streams=True)
        client.resources = {"metadata": {"path": str(folder / "work")}}
        client.execute(env=environment(folder))
        return tidy(notebook, str(folder / "work"))


def tidy(notebook: Notebook, folder: str) -> Notebook:
    """Removes from a notebook what depends on the machine or the moment."""
    notebook.metadata = {"kernelspec": KERNEL, "language_info": {"name": "python"}}
    for number, cell in enumerate(notebook.cells):
        cell.id = f"cell-{number:02}"
        cell.metadata = {name: value for name, value in cell.metadata.items() if name == "alt"}
        if cell.cell_type != "code":
            continue
        cell.execution_count = None
        for output in cell.outputs:
            if "execution_count" in output:
                output.execution_count = None
            if "text" in output:
                output.text = output.text.replace(folder, ".")
            for kind, value in output.get("data", {}).items():
                if kind.startswith("text/"):
                    output.data[kind] = value.replace(folder, ".")
    return notebook


def texts(cell: Mapping[str, Any]) -> list[str]:
    """Returns the outputs of a cell as text without what varies between versions; an image is its type only."""
    found = []
    for output in cell.get("outputs", []):
        data = output.get("data", {})
        if IMAGE in data:
            found.append(IMAGE)
        else:
            found.append(re.sub(r"\bfcconan:\d[\w.]*", "fcconan:VERSION", output.get("text") or data["text/plain"]))
    return found


def main(arguments: list[str]) -> None:
    if arguments[:1] != ["--update"]:
        sys.exit("Usage: python -m tests.tutorials --update [NAME ...]")
    chosen = [path for path in NOTEBOOKS if not arguments[1:] or path.stem in arguments[1:]]
    for path in chosen:
        nbformat.write(execute(path), path)
        print(path.relative_to(ROOT))


if __name__ == "__main__":
    main(sys.argv[1:])
