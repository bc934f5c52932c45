"""A small exhaustively paired dataset about invented peoples, written as upstream files with a recipe of its own."""

import csv
import hashlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import yaml

HS = ["The Ombrey never return a book.", "Every Tessok cheats at cards.", "Nobody needs Velmari bakers."]
CN = [
    "The library's own list shows that Ombrey readers return books early.",
    "None",
    "NA",
    "Cards were banned in Tessok towns, so who would have learnt to cheat?",
]
COLUMNS = (
    "original_index",
    "hate_speech",
    "counter_narrative",
    "label",
    "valid",
    "hs_type",
    "hs_subtype",
    "cn_type",
    "age",
    "gender",
    "education",
    "source_id",
    "vote_1",
    "vote_2",
    "vote_3",
)
# HS, CN, label, valid, votes; and, worked out by hand, agreement and tier under the released and the strict rule.
PAIRS: list[tuple[int, int, str, str, str, str, str, str]] = [
    (0, 0, "1", "1", "222", "unanimous", "diamond", "diamond"),
    (0, 1, "0", "1", "00", "unanimous", "diamond", "diamond"),
    (0, 2, "0", "1", "001", "majority", "diamond", "gold"),
    (0, 3, "0", "1", "01", "adjudicated", "gold", "gold"),
    (1, 0, "0", "1", "", "single", "silver", "silver"),
    (1, 1, "0", "0", "", "single", "bronze", "bronze"),
    (1, 2, "1", "1", "12", "adjudicated", "gold", "gold"),
    (1, 3, "1", "0", "22", "unanimous", "bronze", "bronze"),
    (2, 0, "1", "1", "022", "majority", "diamond", "gold"),
    (2, 3, "0", "0", "000", "unanimous", "bronze", "bronze"),
]
NESTED = {"diamond": 1, "gold": 2, "silver": 3, "bronze": 4}
TRAIN = [
    ("t0", "The Dravene shout at the moon.", "The Dravene sing at the moon, and rather well."),
    ("t1", "The Dravene shout at the moon.", CN[1]),
    ("t2", "Quillish shops are dirty.", 'The inspector gave them the highest mark, "spotless".'),
]
ROWS = {"diamond": 4, "gold": 6, "silver": 7, "bronze": 10}


def bronze_rows() -> list[dict[str, str]]:
    """Returns the rows of the broadest tier, as text."""
    rows = []
    for index, (hs, cn, label, valid, votes, *_) in enumerate(PAIRS):
        padded = [*votes, "", "", ""][:3]
        values = [str(index), HS[hs], CN[cn], label, valid, "Prejudice", "habits , trade", "facts", "25.0", "female"]
        rows.append(dict(zip(COLUMNS, [*values, "Master", f"id{cn}", *padded], strict=True)))
    return rows


def write_csv(path: Path, rows: list[dict[str, str]], columns: tuple[str, ...] | None = None) -> None:
    """Writes rows as CSV."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, columns or tuple(rows[0]))
        writer.writeheader()
        writer.writerows(rows)


def pinned(path: Path, columns: Iterable[str]) -> dict[str, Any]:
    """Returns the source of a recipe that is a file, pinned as it is now."""
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    return {"path": path.name, "sha256": digest, "columns": {column: column for column in columns}}


def write_files(folder: Path) -> None:
    """Writes the upstream files."""
    folder.mkdir(parents=True, exist_ok=True)
    rows = bronze_rows()
    for tier, rank in NESTED.items():
        kept = [row for row, pair in zip(rows, PAIRS, strict=True) if NESTED[pair[6]] <= rank]
        write_csv(folder / f"{tier}.csv", kept, COLUMNS)
    positive = sorted({row["counter_narrative"] for row in rows if row["label"] == "1"})
    write_csv(folder / "pool.csv", [{"counter_narrative": text} for text in positive])
    write_csv(folder / "queries.csv", [{"hate_speech": text} for text in HS])
    write_csv(
        folder / "train.csv",
        [{"source_id": key, "hate_speech": hs, "counter_narrative": cn} for key, hs, cn in TRAIN],
    )


CARD = ("motivation", "composition", "collection", "uses", "misuse", "sensitive", "terms")


def about_recipe(name: str) -> dict[str, Any]:
    """Returns the parts of a recipe that say something about it."""
    return {
        "name": name,
        "title": name.title(),
        "summary": "Pairs about invented peoples.",
        "languages": ["en"],
        "synthetic": True,
        "homepage": f"https://example.org/{name}",
        "card_licence": "apache-2.0",
        "task_categories": ["text-retrieval"],
        "annotations_creators": ["machine-generated"],
        "language_creators": ["expert-generated"],
        "citation": f"@misc{{{name}, title = {{{{{name.title()}}}}}}}",
        "card": dict.fromkeys(CARD, "A test."),
    }


def recipe_data(folder: Path) -> dict[str, Any]:
    """Returns the recipe as plain data, pinned to the files as they are now."""
    sources: dict[str, Any] = {}
    for path in sorted(folder.glob("*.csv")):
        name = path.stem
        columns = (
            COLUMNS
            if name in NESTED
            else {
                "pool": ("counter_narrative",),
                "queries": ("hate_speech",),
                "train": ("source_id", "hate_speech", "counter_narrative"),
            }[name]
        )
        sources[name] = pinned(path, columns)
    return {
        **about_recipe("small"),
        "kind": "exhaustive",
        "sources": sources,
        "expect": {
            "rows": {
                **{tier: {"test": rows} for tier, rows in ROWS.items()},
                **{f"{tier}-qrels": {"test": rows} for tier, rows in ROWS.items() if tier != "bronze"},
                "qrels": {"test": 10},
                "corpus": {"test": 4},
                "queries": {"test": 3},
                "train": {"train": 2, "shared_cn": 1},
                "votes": {"test": 22},
            },
            "facts": {"pool": 3, "diamond_appropriate": 2},
        },
        "expect_by_tier_rule": {
            "strict": {
                "rows": {"diamond": {"test": 2}, "diamond-qrels": {"test": 2}},
                "facts": {"diamond_appropriate": 1},
            }
        },
    }


def write_recipe(folder: Path, data: dict[str, Any] | None = None) -> Path:
    """Writes the recipe next to its files and returns its path."""
    path = folder / "small.yaml"
    path.write_text(yaml.safe_dump(data or recipe_data(folder), sort_keys=False, allow_unicode=True), encoding="utf-8")
    return path


def write_small(folder: Path) -> Path:
    """Writes files and recipe, and returns the recipe's path."""
    write_files(folder)
    return write_recipe(folder)
