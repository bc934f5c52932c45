"""New campaigns: the units that are judged, from a corpus, two lists of texts, or replies of systems."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from fcconan.building import dataset_folder
from fcconan.data import recipe_names, task_names
from fcconan.errors import InputError
from fcconan.services.campaign_folders import CampaignResult, count_option, file_option
from fcconan.services.configuration import argument, option
from fcconan.services.options import PartSelection, Seed
from fcconan.services.rows import open_rows, wanted

if TYPE_CHECKING:
    from fcconan.annotation import CampaignContent, Corpus
    from fcconan.judging import Task

_NO_SLUG = re.compile(r"[^a-z0-9]+")
DRAWING = "Choice of pairs"
Row = dict[str, Any]


class CampaignOptions(Seed, PartSelection):
    """Options of `new_campaign`: the task, and the sources of the units."""

    task: str = option(
        help="Annotation task: a name of the catalogue, a file or a folder.", metavar="NAME|FILE", complete=task_names
    )
    corpus: str | None = option(
        None,
        help="Existing pairs for which new pairs are chosen: a dataset, its folder, or a file with both texts.",
        metavar="NAME|FILE",
        complete=recipe_names,
        role="read",
    )
    hs: int | None = count_option("Number of HS to draw.")
    cns: int | None = count_option("Number of CNs to draw; default: as many as possible.")
    hs_file: Path | None = file_option(
        "List of HS (text with one per line, or rows); with --corpus alone: HS to draw from."
    )
    cn_file: Path | None = file_option("List of CNs (text with one per line, or rows); pairs of --corpus are left out.")
    replies: str | None = option(
        None,
        help="Replies to rate or compare: a dataset, its folder, or a file.",
        metavar="NAME|FILE",
        complete=recipe_names,
        role="read",
    )
    pairs: int | None = count_option("Number of comparisons to choose, spread over systems and items.")
    language: str = option("en", help="Language of the texts, as in ISO 639-1.", pattern=r"^[a-z]{2}$")
    neighbours: int = count_option("Nearest CNs of each original CN to add.", 2, group=DRAWING, rare=True)
    neighbours_count_itself: bool = option(
        False,
        help="Count the CN itself as its first neighbour (as in FC-CONAN), and drop originals afterwards.",
        group=DRAWING,
        rare=True,
    )
    encoder: str | None = option(
        None,
        help="Encoder that finds near CNs: minilm, tfidf, a folder or a name on the Hub; default: minilm for English.",
        group=DRAWING,
        rare=True,
        metavar="NAME",
    )
    group_by: str | None = option(
        None,
        help="Column of groups, such as hs_code; at most one HS of each group is drawn.",
        group=DRAWING,
        rare=True,
        metavar="COLUMN",
    )
    divisible_by: int = count_option(
        "Divisor of the number of pairs, such as the number of annotators.", 1, group=DRAWING, rare=True
    )
    gold: Path | None = file_option("Gold questions to mix into the work: rows with the correct answer.", rare=True)
    qualification: Path | None = file_option(
        "Questions of the qualification test: rows with the correct answer.", rare=True
    )
    campaign_name: str | None = option(
        None,
        help="Name of the campaign in lower case; default: the folder's.",
        rare=True,
        metavar="NAME",
        pattern=r"^[a-z0-9]+(-[a-z0-9]+)*$",
    )


@dataclass(frozen=True, repr=False)
class NewCampaignResult(CampaignResult):
    """The units of a new campaign. The main table has one row for each count of selected and omitted units.

    Attributes:
        title: A line with the name, the folder and the number of units.
        notes: Sentences about the choice of neighbours, and about an existing campaign.
    """

    title: str
    notes: Sequence[str]

    def rows(self) -> list[Row]:
        """Returns name, number and meaning of each count."""
        from fcconan.annotation import COUNT_DESCRIPTIONS

        counts: Mapping[str, int] = self.data["made_from"]["counts"]
        return [
            {"name": name, "number": number, "meaning": COUNT_DESCRIPTIONS[name]} for name, number in counts.items()
        ]


def new_campaign(
    campaign: Annotated[Path | str, argument("Folder of the new campaign.", path=True, role="release")],
    options: CampaignOptions,
    *,
    corpus: Any = None,
    replies: Any = None,
) -> NewCampaignResult:
    """Makes the folder of an annotation campaign. The same call again changes nothing.

    Args:
        campaign: The folder; it must be new, empty, or a campaign with the same options.
        options: The options.
        corpus: The pairs as a data frame, a `datasets.Dataset` or rows, instead of the option `corpus`.
        replies: The replies in one of these forms, instead of the option `replies`.

    Returns:
        The counts of units. The main table has the columns `name`, `number` and `meaning`.

    Raises:
        InputError: The sources do not fit the task or cannot be read, or the folder has other content.

    Examples:
        >>> found = new_campaign(folder / "duels", CampaignOptions(task="pairwise", replies="demo", pairs=6))
        >>> found.to_frame().set_index("name")["number"]["comparisons"].item()
        6
    """
    from fcconan.annotation import Settings, add_gold_questions, create_campaign
    from fcconan.data import name_with_hash, row_file, task_path
    from fcconan.judging import load_task

    folder = Path(campaign)
    corpus = options.corpus if corpus is None else corpus
    replies = options.replies if replies is None else replies
    task = load_task(options.task)
    name = options.campaign_name or _NO_SLUG.sub("-", folder.resolve().name.lower()).strip("-")
    if not name:
        raise InputError(f"{folder} makes no name of a campaign, which has a-z, 0-9 and hyphens: give --campaign-name")
    settings = Settings(name=name, language=options.language, seed=options.seed)
    _check_sources(task, options, corpus=corpus, replies=replies)
    notes: list[str] = []
    made, sources = _made(task, options, corpus, replies, notes)
    if options.group_by is not None:
        sources["one_per"] = options.group_by
    for role, known in (("anchor", options.gold), ("quiz", options.qualification)):
        if known is not None:
            from fcconan.annotation import read_list

            sources[role] = name_with_hash(row_file(known))
            made = add_gold_questions(made, read_list(known), role, task)  # type: ignore[arg-type]
    made = replace(made, made_from={"kind": made.made_from["kind"], **sources, **made.made_from})
    guidelines = task_path(options.task).with_name("guidelines.md")
    text = guidelines.read_text(encoding="utf-8") if guidelines.is_file() else None
    if not create_campaign(folder, settings, task, made, text):
        notes.append(f"{folder} exists with the same options: nothing was changed")
    data = {"campaign": str(folder), **settings.model_dump(), "made_from": made.made_from}
    title = f"Campaign {settings.name} in {folder}: {len(made.units)} units of {task.name} ({task.unit})"
    return NewCampaignResult(data, settings.name, title, notes)


def _made(
    task: "Task", options: CampaignOptions, corpus: Any, replies: Any, notes: list[str]
) -> "tuple[CampaignContent, dict[str, str]]":
    """Returns the units with their texts, and the sources for the report."""
    from fcconan.annotation import (
        Neighbours,
        comparison_units,
        default_encoder,
        list_texts,
        neighbour_finder,
        pair_lists,
        read_list,
        reply_units,
        sample_pairs,
    )
    from fcconan.data import name_with_hash, row_file

    hs_file, cn_file = options.hs_file, options.cn_file
    sizes: dict[str, Any] = {
        "n_hs": options.hs,
        "n_cns": options.cns,
        "divisible_by": options.divisible_by,
        "seed": options.seed,
    }
    if replies is not None:
        table = open_rows("replies", replies, options)
        sources = {"replies": "+".join(table.names)} | _selection(options)
        makers: dict[str, Callable[..., CampaignContent]] = {
            "reply": reply_units,
            "comparison": partial(comparison_units, n_pairs=options.pairs, seed=options.seed),
        }
        return makers[task.unit](table, task.context), sources
    if hs_file is not None and cn_file is not None:
        known, sources = (None, {}) if corpus is None else _corpus(corpus, options, None)
        sources |= {"hs_file": name_with_hash(row_file(hs_file)), "cn_file": name_with_hash(row_file(cn_file))}
        texts = (
            list_texts(read_list(hs_file, options.rename), "hs"),
            list_texts(read_list(cn_file, options.rename), "cn"),
        )
        return pair_lists(*texts, corpus=known, **sizes), sources | _selection(options)
    found, sources = _corpus(corpus, options, options.group_by)
    among = None
    if hs_file is not None:
        sources["hs_file"] = name_with_hash(row_file(hs_file))
        listed = list_texts(read_list(hs_file, options.rename), "hs")
        among = list(dict.fromkeys(row["hs_id"] for row in listed))
    encoder = options.encoder
    if encoder is None:
        encoder, why = default_encoder(options.language)
        notes.append(f"neighbours are found by {encoder} ({why}); --encoder chooses another one")
    near = Neighbours(neighbour_finder(encoder), options.neighbours, options.neighbours_count_itself)
    return sample_pairs(found, near, among=among, **sizes), sources


def _corpus(source: Any, options: CampaignOptions, group_by: str | None) -> "tuple[Corpus, dict[str, str]]":
    """Reads the pairs of a corpus, and returns it with its description for the report."""
    from fcconan.annotation import read_corpus
    from fcconan.data import open_table

    place = dataset_folder(source) if isinstance(source, str | Path) else source
    subset = options.subset or _subset(place, source, options.language)
    table = open_table(
        "pairs", [place], split=options.split, part=subset, rename=options.rename, filter=wanted(options)
    )
    corpus = read_corpus(table, language=options.language, one_per=group_by)
    return corpus, {"corpus": table.population} | ({"config": subset} if table.folders else {})


def _subset(place: Any, source: Any, language: str) -> str:
    """Returns the config of a dataset with the pairs of a language, or with all pairs."""
    from fcconan.data import list_configs

    configs = list_configs(place) if isinstance(place, Path) and place.is_dir() else set()
    found = next((each for each in (language, "pairs") if each in configs), None)
    if found is None and len(configs) > 1:
        raise InputError(
            f"{source} has the parts {', '.join(sorted(configs))}: choose the one that holds pairs in the language "
            f"{language} by --subset"
        )
    return found or next(iter(configs), "pairs")


def _selection(options: CampaignOptions) -> dict[str, str]:
    """Returns the chosen columns and rows for the report; the signature of a corpus has its own."""
    filters = {name: "/".join(sorted(values)) for name, values in wanted(options).items()}
    chosen = {"columns": options.rename, "where": filters}
    return {name: " ".join(f"{key}={each[key]}" for key in sorted(each)) for name, each in chosen.items() if each}


def _check_sources(task: "Task", options: CampaignOptions, *, corpus: Any, replies: Any) -> None:
    """Checks that the sources fit the task, and that every option has an effect.

    Raises:
        InputError: The sources do not fit, or an option has no effect.
    """
    of_pairs = corpus is not None or options.hs_file is not None or options.cn_file is not None
    if task.unit == "pair":
        of_lists = options.hs_file is not None and (options.cn_file is not None or corpus is not None)
        is_drawn = corpus is not None and options.cn_file is None and options.hs is not None
        if replies is not None or not (of_lists or is_drawn):
            raise InputError(
                f"the task {task.name} judges pairs: give --corpus with --hs NUMBER (45 in FC-CONAN) or --hs-file, or "
                "--hs-file and --cn-file"
            )
    elif replies is None or of_pairs:
        raise InputError(f"the task {task.name} judges replies: give --replies, and neither --corpus nor lists")
    if task.unit != "comparison":
        options.refuse("pairs", why=f"it counts comparisons, and {task.name} has none")
    if corpus is None or options.cn_file is not None:
        why = "this campaign finds no neighbours in a corpus"
        options.refuse("encoder", "group_by", "neighbours_count_itself", why=why)
    if replies is not None:
        options.refuse("hs", "cns", "divisible_by", why="this campaign draws no HS and CNs")
