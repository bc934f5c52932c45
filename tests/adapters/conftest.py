"""The demo dataset, built once for the tests of a process; they must not change it."""

import json
from pathlib import Path

import pytest

from fcconan.building import build


@pytest.fixture(scope="package")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("adapters") / "demo"
    build("demo", out=folder)
    return folder


@pytest.fixture
def beir(tmp_path: Path) -> Path:
    """A folder in the format of BEIR, with three files of qrels."""
    folder = tmp_path / "shelves"
    (folder / "qrels").mkdir(parents=True)
    corpus = {"c1": "Ask the library.", "c2": "Nobody at the feast fell ill.", "c3": "They lent me theirs."}
    queries = {"q1": "The Ombrey never return a book.", "q2": "The Dravene ruin each feast.", "q3": "Ombrey steal."}
    for name, texts in {"corpus": corpus, "queries": queries}.items():
        lines = [json.dumps({"_id": key, "title": "", "text": text}) + "\n" for key, text in texts.items()]
        (folder / f"{name}.jsonl").write_text("".join(lines), encoding="utf-8")
    qrels = {"dev": "q2 c2 1\nq2 c1 0\nq2 c3 0\n", "test": "q1 c1 1\nq1 c3 1\n", "train": "q3 c3 1\n"}
    for name, text in qrels.items():
        (folder / "qrels" / f"{name}.tsv").write_text("query-id\tcorpus-id\tscore\n" + text.replace(" ", "\t"))
    return folder
