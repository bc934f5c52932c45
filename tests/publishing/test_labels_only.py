"""Attempts to get a text out of a labels-only folder: by every column and carrier, as a long and as a short text."""

import hashlib
import re
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
import yaml

from fcconan import publish
from fcconan.building import build
from fcconan.data import make_cn_id, make_hs_id, make_item_id, make_pair_id, make_reply_id
from fcconan.errors import InputError
from tests import small
from tests.publishing.hub import Hub

LONG = "The Ombrey never return a book to the library in the old town."
SHORT = "Tessok cheat at cards."
SHORTEST = "Tessok cheat."
TEXTS = (LONG, SHORT, SHORTEST)
# Attempts at each place: a text as it is, and as a name.
WRITTEN = {
    "long": LONG,
    "long name": LONG.rstrip(".").replace(" ", "-").lower(),
    "short": SHORT,
    "short name": SHORT.rstrip(".").replace(" ", "_"),
    "shortest name": SHORTEST.rstrip(".").title().replace(" ", ""),
}
HS, CN = [make_hs_id(text) for text in TEXTS], make_cn_id("They bake.")
Rows = list[dict[str, str]]
Files = dict[str, Rows]


def pairs() -> tuple[Files, dict[str, Any]]:
    """A file of pairs with two further columns."""
    about = dict.fromkeys(("hs_type", "hs_subtype", "cn_type", "gender", "target", "version"), "code")
    rows = [
        {"source_id": f"s{n}", "hate_speech": text, "counter_narrative": "They bake."} for n, text in enumerate(TEXTS)
    ]
    return {"pairs": [row | about for row in rows]}, {
        "kind": "pairs",
        "pairs": [{"config": "pairs", "source": "pairs"}],
        "extra_columns": {"target": "string", "version": "string"},
        "expect": {"rows": {"pairs": {"train": 3}}},
    }


def votes() -> tuple[Files, dict[str, Any]]:
    """A campaign on pairs."""
    judged = [make_pair_id(key, CN) for key in HS]
    both = [{"rater": rater, "role": "annotator", "round": "main"} for rater in ("anna", "ben")]
    about = {"cn_type": "facts", "gender": "female", "education": "phd", "age": "31", "source_id": "a"}
    final = {"label": "appropriate", "valid": "1", "n_validators": "1", "reason": ""}
    files = {
        "hs": [
            {"hs_id": key, "text": text, "hs_type": "sly", "hs_subtype": "a"}
            for key, text in zip(HS, TEXTS, strict=True)
        ],
        "cn": [{"cn_id": CN, "text": "They bake.", **about}],
        "pairs": [{"pair_id": pair, **final, "original_index": "0"} for pair in judged],
        "votes": [{"pair_id": pair, **by, "label": "appropriate"} for pair in judged for by in both],
    }
    counts = dict.fromkeys(("diamond", "gold", "silver", "bronze"), 3)
    rows = {name: {"test": 3} for tier in counts for name in (tier, "qrels" if tier == "bronze" else f"{tier}-qrels")}
    rows |= {"corpus": {"test": 1}, "queries": {"test": 3}, "votes": {"test": 6}}
    return files, {"kind": "campaign", "expect": {"rows": rows}}


def replies() -> Rows:
    """A reply of each of two systems to each message."""
    found = []
    for key, text in zip(HS, TEXTS, strict=True):
        item = make_item_id(key, [])
        for system in ("one", "two"):
            row = {"reply_id": make_reply_id(item, system, "No."), "item_id": item, "hs_id": key, "hate_speech": text}
            found.append(row | {"text": "No.", "system": system, "strategy": "facts", "references": "[]"})
    return found


def ratings() -> tuple[Files, dict[str, Any]]:
    """A campaign on ratings of replies."""
    by = {"rater": "anna", "role": "annotator", "round": "main", "aspect": "tact", "value": "2", "explanation": SHORT}
    files = {"replies": replies(), "ratings": [{"reply_id": row["reply_id"], **by} for row in replies()]}
    rows = {"replies": {"test": 6}, "ratings": {"test": 6}}
    return files, {"kind": "campaign", "aspects": {"tact": {"low": 1, "high": 5}}, "expect": {"rows": rows}}


def comparisons() -> tuple[Files, dict[str, Any]]:
    """A campaign on comparisons of replies."""
    ends = [(a["reply_id"], b["reply_id"]) for a, b in zip(replies()[::2], replies()[1::2], strict=True)]
    by = {"rater": "anna", "role": "annotator", "round": "main", "verdict": "a", "reason": "", "shown_first": "a"}
    final = {"verdict": "a", "reason": "", "decided": "votes", "valid": "1", "n_validators": "1"}
    files = {
        "replies": replies(),
        "comparisons": [{"reply_a": a, "reply_b": b, **by} for a, b in ends],
        "labels": [{"reply_a": a, "reply_b": b, **final} for a, b in ends],
    }
    rows = {"replies": {"test": 6}, "comparisons": {"test": 3}, "labels": {"test": 3}}
    return files, {"kind": "campaign", "expect": {"rows": rows}}


MADE = {made.__name__: made for made in (pairs, votes, ratings, comparisons)}
COLUMNS = {
    "pairs": {"pairs": "source_id hs_type hs_subtype cn_type gender target version"},
    "votes": {
        "hs": "hs_type hs_subtype",
        "cn": "cn_type gender education source_id",
        "votes": "rater role round",
    },
    "ratings": {"replies": "system strategy item_id", "ratings": "rater role round aspect explanation"},
    "comparisons": {
        "replies": "system strategy item_id",
        "comparisons": "rater role round reason shown_first",
        "labels": "decided",
    },
}
RECIPE = (
    *("title", "summary", "homepage", "citation", "excluded name", "excluded reason", "name", "file", "source"),
    *("config", "split", "column"),
    *(f"card {part}" for part in small.CARD),
)
PLACES = [
    f"{made} {file}.{column}"
    for made, files in COLUMNS.items()
    for file, columns in files.items()
    for column in columns.split()
]
PLACES += [f"recipe {place}" for place in RECIPE]


def put(text: str, place: str, files: Files, data: dict[str, Any]) -> None:
    """Puts a text into a place of a dataset: a column, or a part of the recipe."""
    made, _, where = place.partition(" ")
    if made != "recipe":
        file, _, column = where.partition(".")
        for row in files[file][: 1 if column == "source_id" else None : 2 if column == "rater" else 1]:  # keys
            row[column] = text
        if where == "ratings.aspect":
            data["aspects"] = {text: data["aspects"]["tact"]}
        elif where == "comparisons.reason":
            for row in files[file]:
                row["verdict"] = "invalid"
        return
    slug = re.sub("[^a-z0-9]+", "-", text.lower().rstrip("."))
    match where.split():
        case ["card", part]:
            data["card"] |= {part: f"As they say: {text}" if part in ("uses", "misuse") else text}
        case ["excluded", part]:
            data["excluded"] = {text: "Old."} if part == "name" else {"old.csv": text}
        case ["config"]:
            data["pairs"][0]["config"] = slug
            data["expect"]["rows"] = {slug: {"train": 3}}
        case ["split"]:
            data["pairs"][0]["split"] = slug.replace("-", "_")
            data["expect"]["rows"]["pairs"] = {slug.replace("-", "_"): 3}
        case ["name"]:
            data["name"] = slug
        case ["column"]:
            data["extra_columns"] = {text: "string", "version": "string"}
            files["pairs"] = [
                {text if name == "target" else name: value for name, value in row.items()} for row in files["pairs"]
            ]
        case ["source"]:
            data["pairs"][0]["source"] = text
            files[text] = files.pop("pairs")
        case ["file"]:
            data["file"] = text
        case [part]:
            data[part] = f"https://example.org/{text}" if part == "homepage" else text


def write(folder: Path, files: Files, changes: dict[str, Any]) -> str:
    """Writes the files and the recipe, and returns the recipe's path."""
    data = small.about_recipe("attempt") | changes
    stem, data["sources"] = data.pop("file", None), {}
    for name, rows in files.items():
        path = folder / f"{stem or name}.csv"
        small.write_csv(path, rows)
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
        data["sources"][name] = {"path": path.name, "sha256": digest, "columns": {each: each for each in rows[0]}}
    path = folder / "recipe.yaml"
    path.write_text(yaml.safe_dump(data, sort_keys=False, allow_unicode=True), encoding="utf-8")
    return str(path)


def letters(content: str) -> str:
    return "".join(re.findall(r"[^\W_]+", content)).casefold()


def public(folder: Path, hub: Hub) -> str:
    """Returns everything that a reader of a folder and of the Hub sees: names, cells, metadata and requests."""
    found = [body.decode("utf-8", "replace") for body in hub.received()]
    for path in folder.rglob("*"):
        found.append(path.relative_to(folder).as_posix())
        if path.suffix == ".parquet":
            file = pq.ParquetFile(path)
            groups = [file.metadata.row_group(number).to_dict() for number in range(file.num_row_groups)]  # statistics
            found += [repr(file.schema_arrow.metadata), repr(groups), repr(file.read().to_pylist())]
        elif path.is_file():
            found.append(path.read_text(encoding="utf-8"))
    return letters("\n".join(found))


def changes_of(made: str) -> tuple[Files, dict[str, Any]]:
    files, data = MADE.get(made, pairs)()
    return files, data | {"card": dict.fromkeys(small.CARD, "A test.")}


@pytest.mark.parametrize("made", MADE)
def test_the_untouched_folders_are_published_and_the_full_ones_hold_the_texts(
    made: str, tmp_path: Path, hub: Hub
) -> None:
    recipe = write(tmp_path, *changes_of(made))
    build(recipe, out=tmp_path / "labels", labels_only=True)
    publish(str(tmp_path / "labels"), "my-name/attempt")
    assert "my-name/attempt" in hub.repos
    assert not [text for text in TEXTS if letters(text) in public(tmp_path / "labels", hub)]
    build(recipe, out=tmp_path / "full")
    assert all(letters(text) in public(tmp_path / "full", hub) for text in TEXTS)


@pytest.mark.parametrize("writing", WRITTEN)
@pytest.mark.parametrize("place", PLACES)
def test_no_text_gets_out(place: str, writing: str, tmp_path: Path, hub: Hub) -> None:
    files, data = changes_of(place.split()[0])
    put(WRITTEN[writing], place, files, data)
    folder = tmp_path / "labels"
    try:
        build(write(tmp_path, files, data), out=folder, labels_only=True)
        publish(str(folder), "my-name/attempt")
    except InputError as refused:
        assert re.search("quotes a text|in a labels-only folder|reads like a text", str(refused))
        assert not folder.exists()
    assert letters(WRITTEN[writing]) not in public(folder, hub)
