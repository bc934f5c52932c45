"""Makes dataset folders from rows, runs or results."""

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.resources import files as resources
from pathlib import Path
from typing import Any

from fcconan.building import (
    LANGUAGES,
    Built,
    Recipe,
    card_metadata,
    card_text,
    columns_in_markdown,
    default_table,
    find_strings,
    release_manifest,
    restricted_columns,
    table_texts,
    write_files,
)
from fcconan.data import MANIFEST, describe_config, normalise, temporary_folder
from fcconan.errors import InputError
from fcconan.publishing.contents import Contents, read_contents
from fcconan.publishing.forms import check_titles, clean_signature
from fcconan.publishing.known_texts import KnownTexts, read_folder_texts
from fcconan.publishing.options import PublishingOptions
from fcconan.publishing.restricted import format_columns, is_redistributable
from fcconan.publishing.row_tables import RESULT_SUFFIX, find_foreign_texts, has_rows, read_tables

KIND = "rows"
# Texts by people and systems, without explanations by judges.
SOURCE_TEXT_COLUMNS = ("hate_speech", "counter_narrative", "text", "references")
ANSWER_LOG = "journal.jsonl"  # answers of models
TASK_CATEGORIES = {
    "replies": "text-generation",
    "rankings": "text-retrieval",
    "results": "text-retrieval",
    "tests": "text-retrieval",
    "comparisons": "text-ranking",
    "tournament": "text-ranking",
}


def is_release(source: Path) -> bool:
    """Returns whether a path is a folder by `fcconan build`.

    Raises:
        InputError: The path does not exist.
    """
    if not source.exists():
        raise InputError(f"there is no {source}: give a folder that `fcconan build` wrote, or a file of rows")
    return source.is_dir() and (source / MANIFEST).exists()


@contextmanager
def stage_rows(source: Path, known: KnownTexts, options: PublishingOptions) -> Iterator[tuple[Contents, KnownTexts]]:
    """Writes rows as a temporary dataset folder.

    Args:
        source: A file of rows, a TREC run, a result, or a folder of them.
        known: Texts that must not occur outside of text columns.
        options: Options of the publication.

    Yields:
        The content of the folder, and the known texts with those of the rows and of `about`.

    Raises:
        InputError: A file cannot be read, or the rows have texts that are not in `about`.
    """
    about, labels_only = options.about, options.labels_only
    chosen, left_out = _find_files(source)
    tables, signatures = read_tables(chosen, options.drop_columns)
    dataset = read_contents(about).manifest if about is not None else None
    own = {*read_folder_texts(about)} if about is not None else set()
    known = known.with_texts(own | {text for table in tables for text in table_texts(table, SOURCE_TEXT_COLUMNS)})
    free = dataset is not None and is_redistributable(dataset)
    if free and not labels_only:
        foreign = find_foreign_texts(tables, {*map(normalise, own)})
        if foreign:
            raise InputError(
                f"{source} contains texts that are not in {about} ({'; '.join(foreign)}): give the dataset with these "
                "texts, --labels-only, or leave the columns out with --drop-column"
            )
    restricted = restricted_columns(tables)
    built = Built(tables, {}, {}, [], [])
    written = built.labels_only() if labels_only else built
    for table in written.tables:
        if not table.columns:
            raise InputError(
                f"{source} has only text columns, so --labels-only leaves no column: leave --labels-only out"
            )
    title, origin = options.title, "--title"
    if title is None:
        title = source.resolve().stem.replace("-", " ").replace("_", " ")
        origin = "the name of the file or folder, which is the title without --title,"
    check_titles({origin: title} | ({"the name of the dataset of --about": dataset["name"]} if dataset else {}), known)
    recipe = _make_recipe(written, " ".join(title.split()), options, dataset, redistributable=free)
    names = frozenset(
        name  # names outside of text columns, which are checked before the upload
        for table in tables
        for column, kind in table.columns.items()
        if kind in ("string", "strings")
        for name in find_strings(table.data[column])
    )
    signatures = [clean for each in signatures if (clean := clean_signature(each, names, known))]
    with temporary_folder("fcconan-rows-") as folder:
        _write_folder(folder, written, recipe, restricted, labels_only, dataset, signatures)
        contents = read_contents(folder)
        notes = [f"Left out as text: {format_columns(restricted)}."] if labels_only and restricted else []
        yield Contents(contents.folder, contents.manifest, contents.hashes, left_out, notes), known


def _find_files(source: Path) -> tuple[list[Path], list[str]]:
    """Returns the files of rows, and the other files of a folder."""
    if not source.is_dir():
        if source.suffix != RESULT_SUFFIX and not has_rows(source):
            raise InputError(
                f"{source} is not a file of rows, run or result: found the suffix {source.suffix or 'none'}, expected "
                " .parquet, .jsonl, .csv, .tsv, .trec, .run or .json"
            )
        return [source], []
    present = sorted(path for path in source.rglob("*") if path.is_file())
    releases = [path.parent for path in present if path.name == MANIFEST]  # published separately
    # Skipped: duplicate results in the output of `fcconan bench`, and labels, which are published with the dataset.
    chosen = [
        path
        for path in present
        if not any(part.startswith(".") for part in path.relative_to(source).parts)  # hidden files, such as backups
        and path.name != ANSWER_LOG
        and not any(path.is_relative_to(release) for release in releases)
        and "qrels" not in path.relative_to(source).parts[:-1]
        and not (path.name == "results.json" and path.with_suffix(".csv") in present)
        and has_rows(path)
    ]
    if not chosen:
        raise InputError(f"{source} has no {MANIFEST}, and no file of rows, run or result: give another folder")
    return chosen, [path.relative_to(source).as_posix() for path in present if path not in chosen]


def _make_recipe(
    built: Built, title: str, options: PublishingOptions, dataset: dict[str, Any] | None, *, redistributable: bool
) -> Recipe:
    """Returns the entries of a recipe for card and manifest."""
    if options.language not in LANGUAGES:
        raise InputError(f"--language {options.language!r}: expected a code of ISO 639-1, such as en")
    configs = [table.config for table in built.tables]
    kinds = {kind for table in built.tables for kind in table.data.get("rater_kind", ())}
    creators = ["machine-generated"] if kinds & {"model", "metric"} else []
    creators += ["expert-generated"] if "human" in kinds else []
    values: dict[str, Any] = {
        "name": f"rows:{title}",
        "title": title,
        "kind": KIND,
        "languages": [options.language],
        "card_licence": options.licence,
        "task_categories": list(
            dict.fromkeys(TASK_CATEGORIES.get(config, "text-classification") for config in configs)
        ),
        "annotations_creators": creators or ["no-annotation"],
        "language_creators": ["machine-generated" if "replies" in configs else "other"],
        "synthetic": bool(dataset and dataset.get("synthetic")),
        "redistributable": redistributable,
    }
    return Recipe.model_construct(**values)


def _write_folder(
    folder: Path,
    built: Built,
    recipe: Recipe,
    restricted: dict[str, list[str]],
    labels_only: bool,
    dataset: dict[str, Any] | None,
    signatures: list[str],
) -> None:
    manifest = release_manifest(
        recipe,
        built,
        labels_only=labels_only,
        tier_rule=None,
        restricted_columns=restricted,
        about=dataset and {"name": dataset["name"], "fingerprint": dataset.get("fingerprint")},
        signatures=signatures,
    )
    card = card_text(
        resources("fcconan.publishing").joinpath("rows_card.md.jinja").read_text(encoding="utf-8"),
        card_metadata(recipe, built, manifest["versions"], labels_only=labels_only),
        about=recipe,
        tables=built.tables,
        meaning=describe_config,
        columns=columns_in_markdown(built.tables),
        example=default_table(built.tables),
        labels_only=labels_only,
        dataset=dataset,
        signatures=signatures,
        has_text=bool(restricted_columns(built.tables)),
        key=manifest["fingerprint"],
    )
    write_files(folder, built, card, manifest)
