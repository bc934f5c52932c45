"""What the tests compare with: upstream files and figures, read and computed without the package's own code."""

import hashlib
import unicodedata
from collections import Counter
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow.parquet as pq

FC_CONAN = "jnqeras/FC-CONAN-dataset"
CONAN = "marcoguerini/CONAN"
CN_EVAL = "hitz-zentroa/cn-eval"
CS_EVAL = "AmeyHengle/cs-eval"
LLM_CN_EVAL = "OSU-NLP-Group/LLM-CN-Eval"

# JudgeLM-33B over the whole test set of CONAN, percent of all points.
JUDGELM_33B_SHARES = {
    "zephyr_zs": 19.82,
    "llama_zs_chat": 19.54,
    "mistral_zs_instruct": 16.01,
    "mistral_instruct": 11.67,
    "zephyr": 9.47,
    "mistral": 7.76,
    "gold_truth": 6.54,
    "llama_chat": 5.13,
    "mistral_zs": 4.07,
}

Row = dict[str, Any]


@cache
def read_csv(path: Path) -> list[dict[str, str]]:
    """Every cell as text; nothing is a missing value."""
    frame = pd.read_csv(path, dtype=str, keep_default_na=False, encoding="utf-8")
    return [dict(zip(frame.columns, row, strict=True)) for row in frame.itertuples(index=False, name=None)]


def rows(folder: Path, config: str, split: str) -> list[Row]:
    found: list[Row] = pq.read_table(_parquet(folder, config, split)).to_pylist()
    return found


def columns(folder: Path, config: str, split: str, *names: str) -> list[list[Any]]:
    """Some columns of a large table; much cheaper than its rows."""
    table = pq.read_table(_parquet(folder, config, split), columns=list(names))
    return [table[name].to_pylist() for name in names]


def _parquet(folder: Path, config: str, split: str) -> Path:
    return folder / config / f"{split}-00000-of-00001.parquet"


def normalised(text: str) -> str:
    return " ".join(unicodedata.normalize("NFC", text).split())


def text_id(prefix: str, text: str) -> str:
    return f"{prefix}-{hashlib.sha256(normalised(text).encode()).hexdigest()[:12]}"


def ids(hate_speech: str, counter_narrative: str) -> Row:
    hs, cn = text_id("hs", hate_speech), text_id("cn", counter_narrative)
    return {"pair_id": f"{hs}:{cn}", "hs_id": hs, "cn_id": cn}


EDUCATION = {
    "": None,
    "Some university without degree": "some_university",
    "High school": "high_school",
    "Less than high school": "below_high_school",
    "Bachelor": "bachelor",
    "Master": "master",
    "PhD": "phd",
}


def person_and_topic(row: dict[str, str]) -> Row:
    """The columns of the contract that follow from CONAN's columns about topic and author."""
    return {
        "hs_type": _several(row["hsType"]),
        "hs_subtype": _several(row["hsSubType"]),
        "cn_type": _several(row["cnType"]),
        "age": int(float(row["age"])) if row["age"] else None,
        "gender": row["gender"] or None,
        "education": EDUCATION[row["educationLevel"]],
    }


def _several(cell: str) -> str | None:
    return "; ".join(part.strip() for part in cell.split(",")) if cell else None


def cohen_kappa(first: Sequence[str], second: Sequence[str]) -> float:
    n = len(first)
    observed = sum(a == b for a, b in zip(first, second, strict=True)) / n
    one, two = Counter(first), Counter(second)
    expected = sum(one[label] * two[label] for label in one) / n**2
    return (observed - expected) / (1 - expected)
