"""`fcconan annotate new`."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fcconan.cli.options import seed_option
from fcconan.errors import InputError

if TYPE_CHECKING:
    from fcconan.annotation import Corpus, Material
    from fcconan.data import PlacedRow
    from fcconan.judging import Task

NAME = "new"
EXAMPLE = (
    "Example: fcconan annotate new campaign --task appropriateness --corpus conan --hs 45 --cns 129 --divisible-by 9"
)
_NO_SLUG = re.compile(r"[^a-z0-9]+")
_LANGUAGE = re.compile(r"[a-z]{2}")
_KNOWN = {
    "anchor": "whose right answer is known, mixed into the work",
    "quiz": "whose right answer is known, before it",
}
_AS_COLUMN = "NAME=COLUMN, such as counter_narrative=reply"
Row = dict[str, Any]


def run(
    campaign: Annotated[Path, typer.Argument(help="The folder of the new campaign.")],
    task: Annotated[str, typer.Option("--task", help="What is asked: a task of the catalogue, a file or a folder.")],
    corpus: Annotated[
        str | None,
        typer.Option(
            "--corpus", help="Pairs to find new ones for: a dataset by name, its folder, or a file with both texts."
        ),
    ] = None,
    hs: Annotated[int | None, typer.Option("--hs", min=1, help="Draw so many HS.")] = None,
    cns: Annotated[
        int | None, typer.Option("--cns", min=1, help="Draw so many CNs; default: as many as can be.")
    ] = None,
    neighbours: Annotated[int, typer.Option("--neighbours", min=1, help="Nearest CNs of each original CN.")] = 2,
    count_itself: Annotated[
        bool,
        typer.Option(
            "--neighbours-count-itself",
            help="As in FC-CONAN: the CN itself is the first of its neighbours, and originals are dropped afterwards.",
        ),
    ] = False,
    encoder: Annotated[
        str | None,
        typer.Option(
            "--encoder",
            help="What is near: minilm, tfidf, a model folder or a name on the Hub; default: minilm for English.",
        ),
    ] = None,
    one_per: Annotated[
        str | None, typer.Option("--one-per", help="A column such as hs_code: draw one HS of each value at most.")
    ] = None,
    divisible_by: Annotated[
        int, typer.Option("--divisible-by", min=1, help="Such as the number of annotators: no pair is left over.")
    ] = 1,
    hs_file: Annotated[
        Path | None,
        typer.Option(
            "--hs-file", help="A list of HS (.txt with one a line, or rows); with --corpus alone: HS to draw from."
        ),
    ] = None,
    cn_file: Annotated[
        Path | None, typer.Option("--cn-file", help="A list of CNs; pairs of --corpus are left out.")
    ] = None,
    replies: Annotated[
        str | None,
        typer.Option("--replies", help="Replies to rate or compare: a dataset by name, its folder, or a file."),
    ] = None,
    pairs: Annotated[
        int | None, typer.Option("--pairs", min=1, help="Choose so many comparisons, spread over systems and items.")
    ] = None,
    anchors: Annotated[
        Path | None, typer.Option("--anchors", help="Rows with the right answer, to be mixed into the work.")
    ] = None,
    quiz: Annotated[
        Path | None, typer.Option("--quiz", help="Rows with the right answer, to be asked before the work.")
    ] = None,
    config: Annotated[
        str | None, typer.Option("--config", help="Part of a dataset; default: the one of the language, or replies.")
    ] = None,
    split: Annotated[str | None, typer.Option("--split", help="Split of a dataset, where it has several.")] = None,
    column: Annotated[
        list[str] | None, typer.Option("--column", help="NAME=COLUMN of the files, such as counter_narrative=reply.")
    ] = None,
    where: Annotated[list[str] | None, typer.Option("--where", help="COLUMN=VALUE: only these rows.")] = None,
    language: Annotated[str, typer.Option("--language", help="Of the texts, as in ISO 639-1.")] = "en",
    name: Annotated[str | None, typer.Option("--name", help="Of the campaign; default: of the folder.")] = None,
    seed: Annotated[int, seed_option("Decides every draw of the campaign.")] = 0,
    json_file: Annotated[Path | None, typer.Option("--json", help="Write the report to this file.")] = None,
) -> None:
    """Make a campaign: what is judged, from a corpus, two lists of texts, or replies."""
    from fcconan.annotation import Settings, add_known, make_once
    from fcconan.cli.files import check_files
    from fcconan.cli.judge.inputs import named
    from fcconan.cli.output import check_json_target, print_table, write_json
    from fcconan.data import task_path
    from fcconan.judging import load_task

    asked = load_task(task)
    settings = Settings(name=_name(name, campaign), language=_language(language), seed=seed)
    _check_sources(asked, corpus=corpus, lists=(hs_file, cn_file), replies=replies, hs=hs, pairs=pairs)
    near = {"--encoder": encoder, "--one-per": one_per, "--neighbours-count-itself": count_itself or None}
    _check_unused(near, "this campaign finds no neighbours in a corpus", used=corpus is not None and cn_file is None)
    sizes = {"--hs": hs, "--cns": cns, "--divisible-by": None if divisible_by == 1 else divisible_by}
    _check_unused(sizes, "this campaign draws no HS and CNs", used=replies is None)
    read = [hs_file, cn_file, anchors, quiz, *(Path(each) for each in (corpus, replies) if each)]
    check_json_target(json_file, campaign)
    check_files({"--json": json_file, "CAMPAIGN": campaign}, read=read)
    given = _Given(named("--column", column, _AS_COLUMN), _wanted(where), config, split, language)
    if replies is not None:
        made = _from_replies(given, replies, asked, pairs=pairs, seed=seed)
    elif hs_file is not None and cn_file is not None:
        known = None if corpus is None else _corpus(given, corpus, None)
        made = _from_lists(given, hs_file, cn_file, known, hs=hs, cns=cns, divisible_by=divisible_by, seed=seed)
    else:
        made = _from_corpus(
            _corpus(given, str(corpus), one_per),
            encoder,
            language,
            among=None if hs_file is None else _hs_list(given, hs_file),
            k=neighbours,
            count_itself=count_itself,
            hs=hs,
            cns=cns,
            divisible_by=divisible_by,
            seed=seed,
        )
    sources = dict(given.sources)
    if one_per is not None:
        sources["one_per"] = one_per
    for role, file in (("anchor", anchors), ("quiz", quiz)):
        if file is not None:
            sources[role] = _named_file(file)
            made = add_known(made, _placed(file), role, asked)  # type: ignore[arg-type]
    made = replace(made, made_from={"kind": made.made_from["kind"], **sources, **made.made_from})
    beside = task_path(task).with_name("guidelines.md")
    guidelines = beside.read_text(encoding="utf-8") if beside.is_file() else None
    new = make_once(campaign, settings, asked, made, guidelines)
    print_table(
        f"Campaign {settings.name} in {campaign}: {len(made.units)} units of {asked.name} ({asked.unit})",
        ("", "number", ""),
        _explained(made),
    )
    if not new:
        print(f"{campaign} was there already, as these arguments make it: nothing was changed")
    if json_file is not None:
        write_json(json_file, {"campaign": str(campaign), **settings.model_dump(), "made_from": made.made_from})


@dataclass
class _Given:
    """What options say about files, and what was read.

    Attributes:
        columns: Name here -> name in the files.
        where: Columns and the values that are wanted.
        config: Part of a dataset.
        split: Of the part.
        language: Of the texts.
        sources: What was read, for the report.
    """

    columns: dict[str, str]
    where: dict[str, set[str]]
    config: str | None
    split: str | None
    language: str
    sources: dict[str, str] = field(default_factory=dict)

    def options(self) -> dict[str, str]:
        """Says in the report which columns and rows were chosen; of a corpus its signature does."""
        chosen = {"columns": self.columns, "where": {name: "/".join(sorted(each)) for name, each in self.where.items()}}
        return {name: " ".join(f"{key}={each[key]}" for key in sorted(each)) for name, each in chosen.items() if each}


def _name(name: str | None, folder: Path) -> str:
    found = name or _NO_SLUG.sub("-", folder.resolve().name.lower()).strip("-")
    if not found or _NO_SLUG.sub("-", found).strip("-") != found:
        raise InputError(f"the campaign's name is {found!r}, expected a-z, 0-9 and single hyphens: give --name")
    return found


def _language(language: str) -> str:
    if not _LANGUAGE.fullmatch(language):
        raise InputError(f"--language is {language!r}: give a code of ISO 639-1, such as en")
    return language


def _check_sources(
    task: "Task",
    *,
    corpus: str | None,
    lists: Sequence[Path | None],
    replies: str | None,
    hs: int | None,
    pairs: int | None,
) -> None:
    """Checks that what is given is what the task judges.

    Raises:
        InputError: It is not.
    """
    of_pairs = corpus is not None or any(lists)
    if task.unit == "pair" and (replies is not None or not of_pairs):
        raise InputError(f"the task {task.name} judges pairs: give --corpus, or --hs-file and --cn-file")
    if task.unit != "pair" and (replies is None or of_pairs):
        raise InputError(f"the task {task.name} judges replies: give --replies, and neither --corpus nor lists")
    if task.unit != "comparison" and pairs is not None:
        raise InputError(f"--pairs counts comparisons, and {task.name} has none: leave it out")
    if corpus is None and not all(lists) and any(lists):
        raise InputError("one list of texts is given: give --hs-file and --cn-file, or --hs-file and --corpus")
    if corpus is not None and lists[0] is None and lists[1] is not None:
        raise InputError("the CNs of --cn-file need HS: give --hs-file as well, or leave it out")
    if corpus is not None and not any(lists) and hs is None:
        raise InputError("say how many HS are drawn from the corpus: give --hs, as 45 in FC-CONAN")


def _check_unused(options: Mapping[str, object], why: str, *, used: bool) -> None:
    """Checks that no option is given that would do nothing.

    Raises:
        InputError: One is.
    """
    given = [option for option, value in options.items() if value is not None]
    if given and not used:
        raise InputError(f"{', '.join(given)}: {why}; leave it out")


def _from_corpus(
    corpus: "Corpus",
    encoder: str | None,
    language: str,
    *,
    among: list[str] | None,
    k: int,
    count_itself: bool,
    hs: int | None,
    cns: int | None,
    divisible_by: int,
    seed: int,
) -> "Material":
    from fcconan.annotation import Neighbours, construct, neighbour_finder, usual_encoder

    if encoder is None:
        encoder, why = usual_encoder(language)
        print(f"neighbours are found by {encoder} ({why}); --encoder chooses another one")
    near = Neighbours(neighbour_finder(encoder), k, count_itself)
    return construct(corpus, near, n_hs=hs, n_cns=cns, among=among, divisible_by=divisible_by, seed=seed)


def _from_lists(
    given: _Given,
    hs_file: Path,
    cn_file: Path,
    corpus: "Corpus | None",
    *,
    hs: int | None,
    cns: int | None,
    divisible_by: int,
    seed: int,
) -> "Material":
    from fcconan.annotation import list_texts, pair_lists

    given.sources |= {"hs_file": _named_file(hs_file), "cn_file": _named_file(cn_file)} | given.options()
    return pair_lists(
        list_texts(_placed(hs_file, given.columns), "hs"),
        list_texts(_placed(cn_file, given.columns), "cn"),
        corpus=corpus,
        n_hs=hs,
        n_cns=cns,
        divisible_by=divisible_by,
        seed=seed,
    )


def _from_replies(given: _Given, source: str, task: "Task", *, pairs: int | None, seed: int) -> "Material":
    from fcconan.annotation import comparison_units, reply_units
    from fcconan.data import open_table
    from fcconan.services import dataset_folder

    table = open_table(
        "replies",
        [source],
        split=given.split,
        part=given.config or "replies",
        rename=given.columns,
        locate=dataset_folder,
    )
    given.sources["replies"] = "+".join(table.names)
    given.sources |= given.options()
    rows = _chosen(table, given.where)
    if task.unit == "reply":
        return reply_units(rows, task.context)
    return comparison_units(rows, task.context, n_pairs=pairs, seed=seed)


def _hs_list(given: _Given, file: Path) -> list[str]:
    from fcconan.annotation import list_texts

    given.sources["hs_file"] = _named_file(file)
    return list(dict.fromkeys(row["hs_id"] for row in list_texts(_placed(file, given.columns), "hs")))


def _corpus(given: _Given, source: str, one_per: str | None) -> "Corpus":
    from fcconan.annotation import read_corpus
    from fcconan.data import open_table
    from fcconan.services import dataset_folder

    place = dataset_folder(source)
    config = given.config or _config(place, source, given.language)
    table = open_table("pairs", [place], split=given.split, part=config, rename=given.columns, filter=given.where)
    corpus = read_corpus(table, language=given.language, one_per=one_per)
    given.sources["corpus"] = table.population
    if table.folders:
        given.sources["config"] = config
    return corpus


def _config(place: Path, source: str, language: str) -> str:
    """Returns the part of a dataset that holds the pairs of a language, or all pairs."""
    from fcconan.data import parts_of

    configs = parts_of(place) if place.is_dir() else set()
    found = next((each for each in (language, "pairs") if each in configs), None)
    if found is None and len(configs) > 1:
        raise InputError(
            f"{source} has the parts {', '.join(sorted(configs))}, and none is called {language}: choose one with "
            "--config"
        )
    return found or next(iter(configs), "pairs")


def _wanted(where: list[str] | None) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for each in where or ():
        name, equals, value = each.partition("=")
        if not (name and equals):
            raise InputError(f"--where {each}: expected COLUMN=VALUE, such as cn_type=facts")
        found.setdefault(name, set()).add(value)
    return found


def _chosen(rows: Iterable[Row], where: dict[str, set[str]]) -> Iterator[Row]:
    n_chosen = 0
    for row in rows:
        if missing := where.keys() - row.keys():
            raise InputError(f"replies have no column {min(missing)!r}, but {', '.join(row)}: name one of these")
        if all(str(row[name]) in values for name, values in where.items()):
            n_chosen += 1
            yield row
    if not n_chosen:
        raise InputError("no reply has what --where asks for: ask for less")


def _placed(file: Path, columns: dict[str, str] | None = None) -> "Iterator[PlacedRow]":
    """Yields the rows of a file of rows, or the lines of a text file as rows with `text`."""
    from fcconan.data import SUFFIXES, PlacedRow, read_rows

    if file.suffix == ".txt":
        yield from _lines(file)
        return
    if file.suffix not in SUFFIXES:
        raise InputError(f"{file} is no list: expected a name that ends in .txt, {', '.join(SUFFIXES)}")
    for number, row in enumerate(read_rows(file), start=1):
        renamed = {name: row[theirs] for name, theirs in (columns or {}).items() if theirs in row}
        yield PlacedRow({**row, **renamed}, f"{file.name}, row {number}")


def _lines(file: Path) -> "Iterator[PlacedRow]":
    from fcconan.data import PlacedRow

    try:
        content = file.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"{file}: byte {error.start} is not UTF-8: save it as UTF-8") from error
    except OSError as error:
        raise InputError(f"{file} cannot be read ({error.strerror}): check the path") from error
    for number, line in enumerate(content.split("\n"), start=1):
        if line.strip():
            yield PlacedRow({"text": line.strip()}, f"{file.name}, line {number}")


def _named_file(file: Path) -> str:
    from fcconan.data import name_with_hash

    if not file.is_file():
        raise InputError(f"there is no file {file}: check the path")
    return name_with_hash(file)


def _explained(made: "Material") -> list[tuple[str, int, str]]:
    from fcconan.annotation import WHY, WHY_LISTS, WHY_REPLIES

    kind = {"corpus": WHY, "lists": WHY_LISTS}.get(made.made_from["kind"], WHY_REPLIES) | _KNOWN
    return [(key.replace("_", " "), number, kind[key]) for key, number in made.made_from["counts"].items()]
