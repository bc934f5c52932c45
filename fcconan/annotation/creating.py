"""`annotate new`: a campaign on pairs of a corpus, pairs of two lists of texts, or replies of systems."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from fcconan.annotation.campaigns import Settings, Unit, create
from fcconan.annotation.gold_questions import add_gold_questions, unit_of
from fcconan.annotation.progress import next_step
from fcconan.annotation.sampling import (
    ABOUT,
    TEXTS,
    TFIDF,
    Content,
    check_texts,
    default_encoder,
    read_corpus,
    records,
    sample_pairs,
    with_ids,
)
from fcconan.data import (
    REPLY,
    RowSource,
    in_language,
    is_blank,
    make_hs_id,
    make_pair_id,
    name_with_hash,
    normalise,
    read,
    read_text,
    reply_texts,
    task_path,
)
from fcconan.errors import InputError
from fcconan.groups import AtLeastOne, NotNegative, Rows
from fcconan.judging import Task, draw_pairs, load_task, reply_pairs
from fcconan.result import Result
from fcconan.retrieval import Dense, SentenceEncoder, TfIdf

if TYPE_CHECKING:
    from pandas import DataFrame

NEEDED = {"pair": "--corpus with --hs, or lists as --hs FILE and --cns FILE", "reply": "--replies"}
NEEDED["comparison"] = NEEDED["reply"]


def new_campaign(
    campaign: Path,
    *,
    task: str,
    corpus: RowSource | None = None,
    replies: RowSource | None = None,
    hs: int | Path | None = None,
    cns: int | Path | None = None,
    pairs: AtLeastOne | None = None,
    language: str = "en",
    neighbours: AtLeastOne = 2,
    neighbours_count_itself: bool = False,
    encoder: str | None = None,
    group_by: str | None = None,
    divisible_by: AtLeastOne = 1,
    gold: Path | None = None,
    qualification: Path | None = None,
    seed: Annotated[int, NotNegative] = 0,
    rows: Rows = Rows(),
) -> Result:
    """Make a campaign: the units that are judged, from a corpus, two lists of texts, or replies.

    From a corpus, HS are drawn as in FC-CONAN. CNs are drawn from the nearest neighbours of their CNs in the corpus,
    and every HS is paired with every CN. No pair occurs in the corpus, also not with another case or punctuation.

    Args:
        campaign: Folder of the new campaign; its name is that of the campaign.
        task: Annotation task: a name of the catalogue, a file or a folder.
        corpus: Existing pairs: a dataset, its folder, or a file with hate_speech and counter_narrative. With two
            lists: pairs that are left out.
        replies: Replies to rate or compare: a dataset, its folder, or a file.
        hs: Number of HS to draw, or a list of HS: text with one per line, or rows.
        cns: Number of CNs to draw (default: as many as possible), or a list of CNs.
        pairs: Number of comparisons, drawn at random; default: all pairs of systems on each item.
        language: Language of the texts, as in ISO 639-1. Raters read the task in this language if it has a translation.
        neighbours: Nearest CNs of each original CN that can be drawn.
        neighbours_count_itself: Count the CN itself as its first neighbour (as in FC-CONAN), and drop originals
            afterwards.
        encoder: Encoder that finds near CNs: minilm, tfidf, a folder or a name on the Hub; default: minilm for English.
        group_by: Column of groups, such as hs_code; at most one HS of each group is drawn.
        divisible_by: Divisor of the number of drawn pairs, such as the number of annotators.
        gold: Gold questions to mix into the work: rows with texts (counter_narrative, text, or text_a and text_b) and
            the correct answer (label, or columns of aspects).
        qualification: Questions of the qualification test, in the same form.
        seed: Seed of all random choices; also the default of later steps.
        rows: Which rows are read.

    Returns:
        `counts`: one row for each count of read, selected and omitted texts and units, with `name` and `number`.

    Raises:
        InputError: The folder exists, the sources do not fit the task, a text is missing, or there are fewer texts than
            requested.

    Examples:
        >>> found = new_campaign(folder / "duels", task="pairwise", replies="demo", pairs=6)
        >>> found.to_frame().set_index("name")["number"]["comparisons"].item()
        6
    """
    import pandas as pd

    folder, path = Path(campaign), task_path(task)
    if folder.exists():
        raise InputError(f"{folder} exists: choose another folder for the new campaign")
    name = re.sub(r"[^a-z0-9]+", "-", folder.resolve().name.lower()).strip("-")
    if not name:
        raise InputError(f"found the folder {folder}, expected a name with letters a-z or digits: choose another one")
    if not re.fullmatch("[a-z]{2}", language):
        raise InputError(
            f"found the language {language}, expected two letters of ISO 639-1: give such as --language en"
        )
    of = load_task(translated := in_language(path, language))
    files = {option: Path(each) for option, each in (("hs", hs), ("cns", cns)) if isinstance(each, str | Path)}
    is_full = len(files) == 2 or (corpus is not None and hs is not None and "cns" not in files)
    if (replies is not None or not is_full) if of.unit == "pair" else replies is None:
        raise InputError(f"the task {of.name} has the unit {of.unit}, expected {NEEDED[of.unit]}: give this")
    made_from: dict[str, Any] = {}
    counts: dict[str, int] = {}
    untranslated = language != "en" and translated == path
    notes = [f"The task {of.name} has no translation into {language}: raters read {path.name}."] * untranslated
    if replies is not None:
        table, _, made_from["replies"] = read("replies", replies, rows=rows)
        made_from["pairs"] = pairs
        content = _reply_units(table, made_from["replies"], of, pairs, seed)
    else:
        known: Any = None
        if corpus is not None:
            known, counts, made_from["corpus"] = read_corpus(corpus, language=language, group_by=group_by, rows=rows)
        lists: list[Any] = [_read_list(file, option[:2], rows.rename) for option, file in files.items()]
        made_from |= {"hs": hs, "cns": cns} | {option: name_with_hash(file) for option, file in files.items()}
        if len(lists) == 2:
            content = _combined(lists[0], lists[1], known)
        else:
            chosen, why = (encoder, None) if encoder else default_encoder(language)
            notes += [f"Neighbours are found by {chosen} ({why}); --encoder chooses another one."] * (why is not None)
            model = None if chosen == TFIDF else SentenceEncoder(chosen)
            how: Any = {"neighbours": neighbours, "neighbours_count_itself": neighbours_count_itself}
            how |= {"divisible_by": divisible_by}
            numbers: Any = {"hs": lists[0]["hs_id"].tolist() if lists else hs, "cns": cns}
            retriever = TfIdf() if model is None else Dense(chosen, model)
            content = sample_pairs(known, retriever, **numbers, **how, seed=seed)
            encoded = chosen if model is None else dict(model.configuration)
            made_from |= {"group_by": group_by, **how, "encoder": encoded}
    for option, role, file in (("gold", "anchor", gold), ("qualification", "quiz", qualification)):
        if file is not None:
            made_from[option] = add_gold_questions(content, Path(file), role, of)
    units, texts, found = content
    counts |= found
    guidelines = in_language(path.with_name("guidelines.md"), language)
    text = guidelines.read_text(encoding="utf-8") if guidelines.is_file() else None
    settings = Settings(name=name, language=language, seed=seed, made_from=made_from | {"counts": counts})
    made = create(folder, settings, of, units, texts, text)
    return Result(
        "annotate new",
        {"counts": pd.DataFrame([*counts.items()], columns=["name", "number"])},
        {"campaign": name, "task": of.name, **made_from, "language": language, "seed": seed},
        [*notes, next_step(made)],
        captions={"counts": f"{len(units)} units of {of.name} in {folder}"},
    )


def _read_list(file: Path, side: str, rename: Mapping[str, str]) -> "DataFrame":
    """Returns the texts of a list with ids, words and metadata.

    Args:
        file: A text in each line (.txt), or rows with a column `text`, or `hate_speech` (`counter_narrative`).
        side: `hs` or `cn`.
        rename: Name of a column -> its name in the file; columns that the file lacks are ignored.

    Raises:
        InputError: The file cannot be read, or a text is missing.
    """
    import pandas as pd

    if file.suffix == ".txt":
        lines = map(str.strip, read_text(file).split("\n"))
        table = pd.DataFrame({"text": [*filter(None, lines)]})
    else:
        table = read("rows", file)[0]
    table = table.assign(**{ours: table[theirs] for ours, theirs in rename.items() if theirs in table})
    column = TEXTS[side] if TEXTS[side] in table or "text" not in table else "text"
    check_texts(table, [column], file.name)
    table = with_ids(table.assign(text=table[column]), side, "text")
    return table.reindex(columns=[f"{side}_id", "text", *ABOUT[side], "source_id", f"{side}_words"])


def _combined(hs: "DataFrame", cns: "DataFrame", corpus: "DataFrame | None") -> Content:
    """Returns the content of a campaign on the pairs of two lists, without those of a corpus."""
    known = set() if corpus is None else {*zip(corpus["hs_words"], corpus["cn_words"], strict=True)}
    one, other = hs.drop_duplicates("hs_words"), cns.drop_duplicates("cn_words")
    combined = one[["hs_id", "hs_words"]].merge(other[["cn_id", "cn_words"]], how="cross")
    units = [
        Unit(make_pair_id(row.hs_id, row.cn_id), hs_id=row.hs_id, cn_id=row.cn_id)
        for row in combined.itertuples()
        if (row.hs_words, row.cn_words) not in known
    ]
    if not units:
        raise InputError(f"all {len(combined)} pairs of the lists occur in --corpus, expected new ones: give others")
    counts = {"hs_given": len(hs), "hs_twice": len(hs) - len(one), "hs_sampled": len(one)}
    counts |= {"cns_given": len(cns), "cns_twice": len(cns) - len(other), "cns_sampled": len(other)}
    counts |= {"combinations": len(combined)}
    counts |= {} if corpus is None else {"dropped_as_existing": len(combined) - len(units)}
    texts = {"hs.jsonl": records(one.drop(columns="hs_words")), "cn.jsonl": records(other.drop(columns="cn_words"))}
    return units, texts, counts | {"pairs": len(units)}


def _reply_units(table: "DataFrame", name: str, task: Task, pairs: int | None, seed: int) -> Content:
    """Returns the content of a campaign on replies: each with words, or pairs with different texts.

    Args:
        table: Replies, as `read` returns them.
        name: Their name, for messages.
        task: Task of the campaign.
        pairs: Number of comparisons; None for all.
        seed: Seed of the selection.

    Raises:
        InputError: No reply has words, a message has none, no reply has a text that the task shows, or there are fewer
            comparisons than requested.
    """
    replies = reply_texts(table, name)
    replies = replies.assign(**{each: table[each] for each in ("strategy", "background") if each in table})
    there = replies[~replies["text"].map(is_blank)]
    if there.empty:
        raise InputError(f"{name} has no reply with a word, expected texts: check the column of the texts")
    check_texts(there, ["hate_speech"], name)
    there = there.assign(hs_id=there["hs_id"].fillna(there["hate_speech"].map(make_hs_id)))
    rows = records(there[[each for each in (*REPLY.kinds, "background") if each in there]])
    counts = {
        "replies": len(replies),
        "systems": there["system"].nunique(),
        "items": there["item_id"].nunique(),
        "empty": len(replies) - len(rows),
        "same_text": len(rows) - len({(row["item_id"], normalise(row["text"])) for row in rows}),
    }
    for shown in {"background", "references"} & {*task.context}:
        counts[f"without_{shown}"] = without = sum(shown not in row for row in rows)
        if without == len(rows):
            raise InputError(
                f"found no reply with {shown}, which the task {task.name} shows: name it with --rename.{shown} COLUMN, "
                "or choose another task"
            )
    if task.unit == "reply":
        return [*map(unit_of, rows)], {"replies.jsonl": rows}, counts
    every = reply_pairs(rows)
    different = [pair for pair in every if len({normalise(each["text"]) for each in pair}) > 1]
    if pairs is not None and pairs > len(different):
        raise InputError(
            f"found {len(different)} pairs of different texts, expected {pairs}: give --pairs up to {len(different)}"
        )
    units = [unit_of(a, b) for a, b in draw_pairs(different, pairs, seed)]
    used = {key for unit in units for key in (unit.reply_a, unit.reply_b)}
    counts |= {"possible": len(every), "identical": len(every) - len(different), "comparisons": len(units)}
    return units, {"replies.jsonl": [row for row in rows if row["reply_id"] in used]}, counts
