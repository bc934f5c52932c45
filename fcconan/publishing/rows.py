"""Makes a dataset folder of rows, runs or results, to be published like any other."""

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.resources import files as resources
from pathlib import Path
from typing import Any, cast

import fcconan
from fcconan.building import (
    LANGUAGES,
    Built,
    Recipe,
    Table,
    card_metadata,
    check_card,
    config_versions,
    fingerprint,
    restricted_columns,
    table_bytes,
    table_path,
    write_manifest,
)
from fcconan.data import CARD, FORMAT, MANIFEST, NORMALISATION_VERSION, normalise, temporary_folder
from fcconan.errors import InputError
from fcconan.publishing.contents import Contents, read_contents
from fcconan.publishing.forms import check_titles, clean_signature
from fcconan.publishing.known_texts import KnownTexts, texts_of, texts_of_folder
from fcconan.publishing.restricted import listed, may_be_passed_on
from fcconan.publishing.row_tables import RESULT_SUFFIX, foreign_texts, holds_rows, read_tables

KIND = "rows"
SPOKEN = ("hate_speech", "counter_narrative", "text", "references")  # columns of what people and systems wrote
JOURNAL = "journal.jsonl"  # the answers of models, as `evaluate-generators` keeps them beside its rows
MEANING = {
    "replies": "counter-narratives that named systems wrote",
    "ratings": "one rater's value for one aspect of one reply",
    "comparisons": "one rater's verdict between two replies",
    "votes": "one person's label on one pair",
    "rankings": "one system's ordered CNs for one HS, as in a TREC run",
    "results": "a retrieval benchmark: one metric of one system on one partition",
    "tests": "paired tests between two retrieval systems",
    "tournament": "systems ranked by comparisons",
    "leaderboard": "systems ranked by ratings",
    "correlations": "how raters and metrics agree with people",
    "agreement": "how raters agree with one another",
    "reproduction": "published figures next to recomputed ones",
}
TASKS = {
    "replies": "text-generation",
    "rankings": "text-retrieval",
    "results": "text-retrieval",
    "tests": "text-retrieval",
    "comparisons": "text-ranking",
    "tournament": "text-ranking",
}


@dataclass(frozen=True)
class _About:
    """What `card_metadata` wants to know of a recipe."""

    title: str
    languages: list[str]
    card_licence: str
    task_categories: list[str]
    annotations_creators: list[str]
    language_creators: list[str]
    synthetic: bool


def is_release(source: Path) -> bool:
    """Whether a path is a folder that `fcconan build` wrote.

    Raises:
        InputError: There is nothing.
    """
    if not source.exists():
        raise InputError(f"there is no {source}: give a folder that `fcconan build` wrote, or a file of rows")
    return source.is_dir() and (source / MANIFEST).exists()


@contextmanager
def stage_rows(
    source: Path,
    known: KnownTexts,
    *,
    labels_only: bool = False,
    about: Path | None = None,
    title: str | None = None,
    licence: str | None = None,
    language: str | None = None,
    dropped: Collection[str] = (),
) -> Iterator[tuple[Contents, KnownTexts]]:
    """Writes rows as a dataset folder that is removed in the end.

    Args:
        source: A file of rows, a TREC run, a result, or a folder of them.
        known: The texts that no string outside of a column of texts may be.
        labels_only: Leave the columns of text out.
        about: The dataset folder that the rows are about.
        title: Of the card.
        licence: Of the card.
        language: Of the rows.
        dropped: Columns to leave out.

    Yields:
        The folder's contents, and the known texts with those of the rows and of `about`.

    Raises:
        InputError: A file cannot be read, or the rows hold texts that are not of `about`.
    """
    chosen, left_out = _files(source)
    tables, signatures = read_tables(chosen, dropped)
    dataset = _dataset(about) if about is not None else None
    own = {*texts_of_folder(about)} if about is not None else set()
    known = known.with_texts(own | {text for table in tables for text in texts_of(table, SPOKEN)})
    free = dataset is not None and may_be_passed_on(dataset)
    if free and not labels_only:
        foreign = foreign_texts(tables, {*map(normalise, own)})
        if foreign:
            raise InputError(
                f"{source} holds texts that are not in {about} ({'; '.join(foreign)}): give the dataset that they are "
                "of, --labels-only, or leave the columns out with --drop-column"
            )
    restricted = restricted_columns(tables)
    built = Built(tables, {}, {}, [], [])
    written = built.labels_only() if labels_only else built
    for table in written.tables:
        if not table.columns:
            raise InputError(f"{source} holds nothing but text, so --labels-only leaves nothing: leave it out")
    asked = title if title is not None else source.resolve().stem.replace("-", " ").replace("_", " ")
    origin = "--title" if title is not None else "the name of the file or folder, which is the title without --title,"
    check_titles({origin: asked} | ({"the name of the dataset of --about": dataset["name"]} if dataset else {}), known)
    details = _about(written, " ".join(asked.split()), licence or "other", language or "en", dataset)
    signatures = [each for each in (clean_signature(each, _names(tables), known) for each in signatures) if each]
    with temporary_folder("fcconan-rows-") as folder:
        _write(folder, written, details, restricted, labels_only, dataset, free, signatures)
        contents = read_contents(folder)
        notes = [f"Left out as text: {listed(restricted)}."] if labels_only and restricted else []
        yield Contents(contents.folder, contents.manifest, contents.hashes, left_out, notes), known


def _names(tables: list[Table]) -> frozenset[str]:
    """Returns the strings of all columns that are not texts; they are checked before anything is sent."""
    return frozenset(
        each
        for table in tables
        for name, kind in table.columns.items()
        if kind in ("string", "strings")
        for value in table.data[name]
        for each in (value if isinstance(value, list) else [value])
        if isinstance(each, str)
    )


def _dataset(about: Path) -> dict[str, Any]:
    """Returns the manifest of the dataset that rows are about, whose files must be those of its build."""
    return read_contents(about).manifest


def _files(source: Path) -> tuple[list[Path], list[str]]:
    """Returns the files of rows, and the other files of a folder."""
    if not source.is_dir():
        if source.suffix != RESULT_SUFFIX and not holds_rows(source):
            raise InputError(
                f"{source} is no file of rows, run or result: its name ends in {source.suffix or 'nothing'}, expected "
                ".parquet, .jsonl, .csv, .tsv, .trec, .run or .json"
            )
        return [source], []
    present = sorted(path for path in source.rglob("*") if path.is_file())
    releases = [path.parent for path in present if path.name == MANIFEST]  # which are published as such
    # A report of `fcconan bench` holds its results twice, and the labels, which are published with the dataset.
    chosen = [
        path
        for path in present
        if not any(part.startswith(".") for part in path.relative_to(source).parts)  # copies that editors keep
        and path.name != JOURNAL
        and not any(path.is_relative_to(release) for release in releases)
        and "qrels" not in path.relative_to(source).parts[:-1]
        and not (path.name == "results.json" and path.with_suffix(".csv") in present)
        and holds_rows(path)
    ]
    if not chosen:
        raise InputError(f"{source} holds no {MANIFEST}, and no file of rows, run or result: give another folder")
    return chosen, [path.relative_to(source).as_posix() for path in present if path not in chosen]


def _about(built: Built, title: str, licence: str, language: str, dataset: dict[str, Any] | None) -> _About:
    if language not in LANGUAGES:
        raise InputError(f"--language {language!r}: expected a code of ISO 639-1, such as en")
    configs = [table.config for table in built.tables]
    kinds = {kind for table in built.tables for kind in table.data.get("rater_kind", ())}
    creators = ["machine-generated"] if kinds & {"model", "metric"} else []
    creators += ["expert-generated"] if "human" in kinds else []
    return _About(
        title=title,
        languages=[language],
        card_licence=licence,
        task_categories=list(dict.fromkeys(TASKS.get(config, "text-classification") for config in configs)),
        annotations_creators=creators or ["no-annotation"],
        language_creators=["machine-generated" if "replies" in configs else "other"],
        synthetic=bool(dataset and dataset.get("synthetic")),
    )


def _write(
    folder: Path,
    built: Built,
    about: _About,
    restricted: dict[str, list[str]],
    labels_only: bool,
    dataset: dict[str, Any] | None,
    free: bool,
    signatures: list[str],
) -> None:
    versions = config_versions(built)
    for table in built.tables:
        path = folder / table_path(table.config, table.split)
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(table_bytes(table.arrow()))
    card = _card(built, about, versions, labels_only=labels_only, dataset=dataset, signatures=signatures)
    (folder / CARD).write_text(card, encoding="utf-8")
    manifest = {
        "format": FORMAT,
        "name": f"rows:{about.title}",
        "title": about.title,
        "kind": KIND,
        "synthetic": about.synthetic,
        "labels_only": labels_only,
        "redistributable": free,
        "tier_rule": None,
        "package": {"name": "fcconan", "version": fcconan.__version__},
        "normalisation": NORMALISATION_VERSION,
        "fingerprint": fingerprint(versions),
        "versions": versions,
        "aliases": {},
        "counts": {table.config: {table.split: len(table)} for table in built.tables},
        "restricted_columns": restricted,
        "about": _named(dataset),
        "signatures": signatures,
    }
    write_manifest(folder, manifest)


def _named(dataset: dict[str, Any] | None) -> dict[str, Any] | None:
    return {"name": dataset["name"], "fingerprint": dataset.get("fingerprint")} if dataset else None


def _card(
    built: Built,
    about: _About,
    versions: dict[str, str],
    *,
    labels_only: bool,
    dataset: dict[str, Any] | None,
    signatures: list[str],
) -> str:
    import jinja2
    import yaml

    metadata = card_metadata(cast(Recipe, about), built, versions, labels_only=labels_only)
    environment = jinja2.Environment(undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    template = resources("fcconan.publishing").joinpath("rows_card.md.jinja").read_text(encoding="utf-8")
    body = environment.from_string(template).render(
        about=about,
        tables=built.tables,
        meaning=MEANING,
        labels_only=labels_only,
        dataset=dataset,
        signatures=signatures,
        has_text=any(_has_text(table) for table in built.tables),
        key=fingerprint(versions),
    )
    front = yaml.safe_dump(metadata, sort_keys=False, allow_unicode=True, width=10**6)
    text = f"---\n{front}---\n\n{body.strip()}\n"
    check_card(text)
    return text


def _has_text(table: Table) -> bool:
    return table.labels_only().columns != table.columns
