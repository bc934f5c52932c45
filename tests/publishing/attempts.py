"""Attempts to publish a text of a source dataset: in every column of every kind, and in every other public string."""

import base64
import json
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from fcconan.building.quotations import squeezed
from fcconan.data.forms import CODE, ID, NUMBER, PRINTED, SCALE, TEXT
from fcconan.data.ids import file_sha256
from fcconan.data.manifest import read_manifest
from fcconan.data.schemas import DTYPES, LIST_TYPES, PUBLISHED, Column
from tests.publishing.hub import Hub

ROW = dict[str, Any]
RESULTS = ("agreement", "correlations", "leaderboard", "reproduction", "tournament")
TABLE = "ratings"
GOLD = "gold/test-00000-of-00001.parquet"
TRICKS: dict[str, Callable[[str], str]] = {
    "plain": str,
    "underscores": lambda text: text.replace(" ", "_"),
    "hyphens": lambda text: text.replace(" ", "-").rstrip("."),
    "joined": lambda text: text.replace(" ", ""),
    "camel": lambda text: text.title().replace(" ", ""),
    "upper": lambda text: text.upper().replace(" ", "_"),
    "dots": lambda text: text.replace(" ", "."),
    "slash": lambda text: text.replace(" ", "/"),
    "plus": lambda text: text.replace(" ", "+"),
    "percent": lambda text: text.replace(" ", "%20"),
    "percent-twice": lambda text: text.replace(" ", "%2520"),
    "entity": lambda text: text.replace(" ", "&nbsp;"),
    "escape": lambda text: text.replace(" ", "\\u0020"),
    "zero-width": lambda text: text.replace(" ", "\u200b"),
    "zero-width-inside": lambda text: "\u2060".join(text.replace(" ", "_")),
    "soft-hyphens": lambda text: "\u00ad".join(text),
    "no-break": lambda text: text.replace(" ", "\u00a0"),
    "full-width": lambda text: "".join(chr(ord(each) + 0xFEE0) if "!" <= each <= "~" else each for each in text),
    "number": lambda text: text.replace(" ", "_").rstrip(".") + "_17",
    "prefix": lambda text: "run-" + text.replace(" ", "-").rstrip("."),
    "inside": lambda text: "x" + text.replace(" ", "").rstrip(".").lower() + "-v2",
    "camel-inside": lambda text: "my" + text.title().replace(" ", "").rstrip("."),
    "digits-inside": lambda text: "1".join(text.replace(" ", "")[at : at + 3] for at in range(0, len(text), 3)),
    "list": lambda text: json.dumps(text.split()),
    "commas": lambda text: ",".join(text.split()),
    "semicolons": lambda text: "; ".join(text.split()),
}


@dataclass(frozen=True)
class Attempt:
    """One attempt.

    Attributes:
        name: Column or other place, and how the text is written.
        text: The text.
        make: Writes what is published, and returns its path.
        options: Of `publish`.
        repo: The repository.
    """

    name: str
    text: str
    make: Callable[[], Path]
    options: dict[str, Any] = field(default_factory=dict)
    repo: str = "my-name/data"


def honest_row(config: str) -> ROW:
    """Returns a row with all columns of a kind that may be published."""
    return {
        column.name: _honest(column)
        for column in PUBLISHED[config].columns
        if column.form is not TEXT or "_id" in config
    }


def _honest(column: Column) -> Any:
    if column.kind in ("int", "float", "bool"):
        return {"int": 1, "float": 1.0, "bool": True}[column.kind]
    if column.kind in LIST_TYPES:
        return ["cn-0123456789ab" if column.form is ID else "system-a"]
    if column.form is SCALE:
        return "[1.0, 5.0]"
    if column.form is PRINTED:
        return "Table 1"
    values = {id(ID): "re-0123456789ab", id(CODE): "0123456789ab", id(NUMBER): "+0.12"}
    return values.get(id(column.form), min(column.form.words, default="system-a"))


def write(folder: Path, config: str, rows: list[ROW], *, name: str | None = None, **more: Any) -> Path:
    """Writes rows in the format of the command that computes them."""
    folder.mkdir(parents=True, exist_ok=True)
    if config not in RESULTS:
        path = folder / f"{name or config}.jsonl"
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        return path
    path = folder / f"{name or config}.json"
    key = "systems" if config == "tournament" else "rows"
    path.write_text(json.dumps({"signature": "fcconan:1|seed:0", key: rows} | more), encoding="utf-8")
    return path


def columns_of_strings() -> list[tuple[str, Column]]:
    """Returns all string columns of all published kinds of rows."""
    return [
        (config, column)
        for config, schema in PUBLISHED.items()
        for column in schema.columns
        if DTYPES[column.kind] == "string"
    ]


def _cells(folder: Path, texts: dict[str, str]) -> Iterator[Attempt]:
    for config, column in columns_of_strings():
        for name, trick in (("long", "plain"), ("short", "plain"), ("short", "underscores"), ("shortest", "hyphens")):
            value = TRICKS[trick](texts[name])
            cell: Any = [value] if column.kind in LIST_TYPES else value
            place = f"{config}/{column.name}/{name}/{trick}"
            path = partial(
                write, folder / place, config, [honest_row(config), honest_row(config) | {column.name: cell}]
            )
            yield Attempt(place, texts[name], path, {"labels_only": trick != "underscores"})
    for config, name in (
        ("ratings", "system"),
        ("replies", "reply_id"),
        ("comparisons", "system_a"),
        ("votes", "rater"),
    ):
        for trick, written in TRICKS.items():
            for length in ("short", "shortest"):
                place = f"tricks/{config}/{name}/{length}/{trick}"
                path = partial(write, folder / place, config, [honest_row(config) | {name: written(texts[length])}])
                yield Attempt(place, texts[length], path, {"labels_only": True})


def _other_places(folder: Path, texts: dict[str, str], about: Path) -> Iterator[Attempt]:
    row = honest_row(TABLE)
    for length, text in texts.items():
        for trick in ("plain", "underscores", "hyphens", "zero-width", "percent"):
            value = TRICKS[trick](text)
            at = folder / "other" / length / trick
            plain = partial(write, at / "plain", TABLE, [row])

            def made(place: str, source: Callable[[], Path], repo: str = "my-name/data", /, **options: Any) -> Attempt:
                return Attempt(f"{place}/{length}/{trick}", text, source, {"labels_only": True} | options, repo)  # noqa: B023

            yield made("title", plain, title=value)
            yield made("file-name", partial(write, at / "file", TABLE, [row], name=value.replace("/", "")))
            yield made("folder-name", partial(_folder, at / "folder" / value.replace("/", ""), row))
            yield made("column-name", partial(write, at / "column", TABLE, [row | {value: 1}]))
            yield made("column-name-of-strings", partial(write, at / "strings", TABLE, [row | {value: "a"}]))
            yield made("unknown-column", partial(write, at / "unknown", TABLE, [row | {"remark": value}]))
            yield made("record", partial(write, at / "record", TABLE, [row | {"remark": {value: value}}]))
            yield made(
                "list", partial(write, at / "list", "replies", [honest_row("replies") | {"flags": text.split()}])
            )
            yield made(
                "result-key", partial(write, at / "key", "leaderboard", [honest_row("leaderboard") | {value: 1}])
            )
            for config in RESULTS:
                good = honest_row(config)
                yield made(f"{config}-note", partial(write, at / config / "note", config, [good | {"note": value}]))
                for kind, signature in (
                    ("string", f"metric:{value}|seed:0"),
                    ("key", f"{value}:1|seed:0"),
                    ("words", "|".join(f"{word}:{word}" for word in text.split())),
                    ("object", {value: value}),
                    ("list", [value, f"data:{value}"]),
                    ("commas", "raters:" + ",".join(text.split())),
                ):
                    path = partial(write, at / config / kind, config, [good], signature=signature, notes=[value])
                    yield made(f"{config}-signature-{kind}", path)
            run = partial(_run, at / "run" / "mine.trec", value)
            yield made("run", run)
            if trick == "hyphens":
                name = value.replace(",", "").replace("'", "")
                yield made("repository", plain, f"my-name/{name[:90]}")
                yield made("tag", plain, tag=name[:100])
            reply = pq.read_table(about / "replies/test-00000-of-00001.parquet").to_pylist()[0]
            for column in ("text", "hate_speech", "remark", "system"):
                path = partial(write, at / "about" / column, "replies", [reply | {column: f"{value}, of course"}])
                yield made(f"about/{column}", path, labels_only=False, about=about)
            judged = row | {"reply_id": reply["reply_id"], "explanation": f"{value} is rude"}
            path = partial(write, at / "about" / "explanation", TABLE, [judged])
            yield made("about/explanation", path, labels_only=False, about=about)


def _folder(folder: Path, row: ROW) -> Path:
    return write(folder, TABLE, [row]).parent


def _run(path: Path, value: str) -> Path:
    path.parent.mkdir(parents=True)
    line = f"hs-0123456789ab Q0 cn-0123456789ab 1 2.5 {value.replace(' ', '_')}\n"
    path.write_text(line, encoding="utf-8")
    return path


def _releases(folder: Path, texts: dict[str, str], labels: Path) -> Iterator[Attempt]:
    for length, text in texts.items():
        for trick in ("plain", "underscores", "zero-width"):
            value = TRICKS[trick](text)
            for place, change in _changes(value):
                release = folder / "release" / place / length / trick
                yield Attempt(f"release/{place}/{length}/{trick}", text, partial(_released, release, labels, change))


def _released(release: Path, labels: Path, change: Callable[[Path], None]) -> Path:
    shutil.copytree(labels, release)
    change(release)
    manifest = read_manifest(release)
    for name, written in manifest["files"].items():
        written["sha256"] = file_sha256(release / name)
    (release / "manifest.json").write_text(json.dumps(manifest, ensure_ascii=False), encoding="utf-8")
    return release


def _changes(value: str) -> Iterator[tuple[str, Callable[[Path], None]]]:
    def card(written: str) -> Callable[[Path], None]:
        def change(release: Path) -> None:
            path = release / "README.md"
            path.write_text(path.read_text(encoding="utf-8") + written, encoding="utf-8")

        return change

    def front(written: str, tag: str = "") -> Callable[[Path], None]:
        def change(release: Path) -> None:
            path = release / "README.md"
            head, tags, rest = path.read_text(encoding="utf-8").partition("tags:\n")
            path.write_text(head + written + tags + tag + rest, encoding="utf-8")

        return change

    def manifest(**more: Any) -> Callable[[Path], None]:
        def change(release: Path) -> None:
            path = release / "manifest.json"
            path.write_text(json.dumps(json.loads(path.read_text(encoding="utf-8")) | more), encoding="utf-8")

        return change

    def table(changed: Callable[[pa.Table], pa.Table]) -> Callable[[Path], None]:
        def change(release: Path) -> None:
            found = pq.read_table(release / GOLD)
            pq.write_table(changed(found), release / GOLD)

        return change

    yield "card-line", card(f"\n> {value}\n")
    yield "card-quotation", card(f'\nThey say: "{value}" and more.\n')
    yield "card-cell", card(f"\n| a | {value} |\n")

    def bytes_of(changed: Callable[[bytes], bytes]) -> Callable[[Path], None]:
        def change(release: Path) -> None:
            (release / GOLD).write_bytes(changed((release / GOLD).read_bytes()))

        return change

    yield "card-tag", card(f"\n<{value}>\n")
    yield "card-attribute", card(f'\n<b title="{value}">bold</b>\n')
    yield "card-filler", card("\n" + value.replace(" ", "\u3164") + "\n")
    yield "card-front", front(f"extra: {json.dumps(value)}\n")
    yield "card-front-bytes", front(f"extra: !!binary {base64.b64encode(value.encode()).decode()}\n")
    yield "card-hub-tag", front("", f"- {value.replace(' ', '-')}\n")
    yield "manifest-tag", manifest(notes=[f"<{value}>"])
    yield "file-footer", bytes_of(lambda file: _inserted(file, value))
    yield "file-dictionary", lambda release: _unused_word(release / GOLD, value)
    yield "file-duplicate-key", table(lambda found: _described_twice(found, value))
    yield "zone", table(lambda found: found.append_column("remark", _column(found, pa.timestamp("s", tz=value), 0)))
    yield "manifest-note", manifest(notes=[value])
    yield "manifest-key", manifest(facts={value: 1})
    yield "manifest-new-key", manifest(**{value: 1})
    yield "manifest-title", manifest(title=value)
    yield "metadata", table(lambda found: found.replace_schema_metadata({"comment": value}))
    yield "metadata-key", table(lambda found: found.replace_schema_metadata({value: "1"}))
    yield "metadata-of-field", table(lambda found: found.cast(_described(found.schema, value)))
    yield "new-column", table(lambda found: found.append_column("remark", _column(found, pa.string(), value)))
    yield "column-name", table(lambda found: found.append_column(value, _column(found, pa.int32(), 1)))
    yield "bytes", table(lambda found: found.append_column("remark", _column(found, pa.binary(), value.encode())))
    yield "record", table(lambda found: found.append_column("remark", pa.array([{"a": value}] * len(found))))
    yield (
        "dictionary",
        table(lambda found: found.append_column("remark", pa.array([value] * len(found)).dictionary_encode())),
    )
    for name in ("source_id", "hs_type", "gender", "label", "pair_id"):
        yield (
            f"cell-{name}",
            table(
                lambda found, name=name: found.set_column(  # type: ignore[misc]
                    found.column_names.index(name), name, _column(found, pa.string(), value)
                )
            ),
        )


def _column(table: pa.Table, kind: pa.DataType, value: Any) -> pa.Array:
    return pa.array([value] * len(table), kind)


def _inserted(file: bytes, value: str) -> bytes:
    """Returns a Parquet file with additional bytes before its footer, which readers ignore."""
    footer = len(file) - 8 - int.from_bytes(file[-8:-4], "little")
    return file[:footer] + value.encode() + file[footer:]


def _unused_word(path: Path, value: str) -> None:
    """Writes a column whose dictionary has an unused entry."""
    table = pq.read_table(path)
    column = table["label"].combine_chunks().dictionary_encode()
    wider = pa.DictionaryArray.from_arrays(column.indices, pa.array([*column.dictionary.to_pylist(), value]))
    table = table.set_column(table.column_names.index("label"), "label", wider).replace_schema_metadata(None)
    pq.write_table(table, path, store_schema=False, compression="none")


def _described_twice(table: pa.Table, value: str) -> pa.Table:
    """Returns a table whose metadata have a key twice: with a text, and with the features."""
    features = json.loads(table.schema.metadata[b"huggingface"])["info"]
    return table.replace_schema_metadata(
        {"huggingface": f'{{"info": {json.dumps(value)}, "info": {json.dumps(features)}}}'}
    )


def _described(schema: pa.Schema, value: str) -> pa.Schema:
    return schema.set(0, schema.field(0).with_metadata({"comment": value}))


def attempts(folder: Path, texts: dict[str, str], *, about: Path, labels: Path) -> list[Attempt]:
    """Returns all attempts.

    Args:
        folder: An empty folder.
        texts: Texts of source datasets, by a word for their length.
        about: A redistributable dataset folder.
        labels: A labels-only dataset folder.
    """
    return [*_cells(folder, texts), *_other_places(folder, texts, about), *_releases(folder, texts, labels)]


def leaks(hub: Hub, text: str) -> bool:
    """Returns whether a text reached the Hub in any notation."""
    wanted = squeezed(text)
    for request in hub.log:
        if wanted in squeezed(f"{request.path} {request.query}"):
            return True
        if request.body[:4] == b"PAR1":
            schema = pq.read_schema(pa.BufferReader(request.body))
            described = [schema.metadata, *(each.metadata for each in schema)]
            if wanted in squeezed(" ".join(map(str, described))):
                return True
    return any(wanted in squeezed(body.decode("utf-8", "ignore")) for body in hub.received())
