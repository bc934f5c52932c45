"""`fcconan annotate queue`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fcconan.cli.options import seed_option

if TYPE_CHECKING:
    from fcconan.annotation import Batch

NAME = "queue"
EXAMPLE = "Example: fcconan annotate queue my-campaign --scores minilm.trec --scores judge.parquet --batch 100"
SAYS = {
    "go_on": "go on: the target is not reached, as far as the draws can tell",
    "probably_reached": "the target is probably reached; the interval does not say so yet",
    "reached": "stop: the target is reached",
    "all_judged": "stop: every unit is judged",
}


def run(
    folder: Annotated[Path, typer.Argument(metavar="CAMPAIGN", help="The campaign's folder.")],
    scores: Annotated[
        list[Path] | None,
        typer.Option("--scores", help="Scores of a retriever or judge: a TREC run, or rows; repeat it for several."),
    ] = None,
    batch: Annotated[int, typer.Option("--batch", min=1, help="Units in a batch.")] = 100,
    random_share: Annotated[
        float, typer.Option("--random-share", help="The part of a batch that is drawn by chance.")
    ] = 0.2,
    positive: Annotated[
        str | None,
        typer.Option("--positive", help="What is looked for: a label, or grades such as 'relevance>=4'."),
    ] = None,
    target_recall: Annotated[
        float, typer.Option("--target-recall", help="The share of the positives that is wanted.")
    ] = 0.9,
    confidence: Annotated[float, typer.Option("--confidence", help="Of the interval.")] = 0.95,
    encoder: Annotated[
        str | None,
        typer.Option("--encoder", help="tfidf, minilm, or a sentence-transformers model. Default: as in `new`."),
    ] = None,
    while_open: Annotated[
        bool, typer.Option("--while-open", help="Make a batch although the last one is not answered yet.")
    ] = False,
    show: Annotated[bool, typer.Option("--show", help="Only say where the queue stands.")] = False,
    seed: Annotated[int | None, seed_option("Default: follows from the campaign's.")] = None,
    json_file: Annotated[Path | None, typer.Option("--json", help="Write the result to this file.")] = None,
) -> None:
    """Give raters the next batch: likely positives by what a model learned so far, and some by chance."""
    from fcconan.annotation import (
        Campaign,
        Queue,
        check,
        check_size,
        derived_seed,
        problem_of,
        queue_summary,
        read_positive,
        read_scores,
        step,
        usual_encoder,
    )
    from fcconan.cli.files import check_files
    from fcconan.cli.output import check_json_target, print_table, write_json

    check_size(batch, random_share)
    check(confidence=confidence, target=target_recall)
    check_files({"--json": json_file}, read=scores or (), folders=[folder])
    check_json_target(json_file, folder)
    campaign = Campaign(folder)
    wanted = read_positive(positive, campaign.task)
    units = campaign.units()
    found = [score for path in scores or () for score in read_scores(path, units, wanted)]
    drawn = derived_seed(campaign.settings.seed, "queue", seed)
    made, notes = None, []
    with campaign.changing():
        queue = Queue(campaign, wanted)
        result = queue_summary(queue, None, target=target_recall, confidence=confidence)
        if not show and (while_open or not queue.waiting) and (queue.left or queue.relieved):
            chosen, why = (encoder, "as asked for") if encoder else usual_encoder(campaign.settings.language)
            problem = problem_of(campaign, found, chosen)
            made = step(
                campaign, queue, problem, size=batch, random_share=random_share, seed=drawn, while_open=while_open
            )
            result = queue_summary(queue, made, target=target_recall, confidence=confidence)
            notes.append(f"Texts are compared by {chosen} ({why}).")
    n_items = sum(unit.role == "item" for unit in units.values())
    result["scores"] = [
        {"name": score.name, "missing": n_items - len(score.values), "unknown": score.n_unknown} for score in found
    ]
    print_table(f"Queue of {campaign.settings.name}: {result['positive']}", ("what", "value"), _rows(result))
    for note in [*notes, *_notes(result, made, folder)]:
        typer.echo(note)
    if result["decision"] in SAYS:
        typer.echo(f"{SAYS[result['decision']]} ({target_recall:.0%} of the positives).")
    if json_file is not None:
        write_json(json_file, result)


def _notes(result: dict[str, Any], made: "Batch | None", folder: Path) -> list[str]:
    """Returns what there is to know about the scores, the new batch, and what the queue waits for."""
    units = result["units"]
    notes = [
        f"{score['name']}: {score['missing']} units have no score and are taken as average, "
        f"{score['unknown']} scores are of no unit."
        for score in result["scores"]
        if score["missing"] or score["unknown"]
    ]
    if made is not None:
        counts = result["batch"]
        again = f", {counts['again']} of raters who left" if counts["again"] else ""
        notes.append(f"{made.round} is new: {counts['likely']} likely, {counts['drawn']} drawn by chance{again}.")
        if counts["answered"]:
            notes.append(f"{counts['answered']} of them were answered in other rounds and are given to nobody.")
    elif units["waiting"]:
        notes.append(
            f"{units['waiting']} units wait for answers, so there is no new batch: import them, or give --while-open."
        )
    if units["stuck"]:
        notes.append(
            f"{units['stuck']} units wait for a rater who never had them, and the estimate with them: let "
            f"one join with `fcconan annotate raters {folder} --join PSEUDONYM`."
        )
    if units["outside_not_answered"]:
        notes.append(
            f"{units['outside_not_answered']} units were given out before the queue began and are not "
            "answered yet: import their answers."
        )
    return notes


def _rows(result: dict[str, Any]) -> list[tuple[str, str]]:
    units, known = result["units"], result["estimate"]
    interval = f"{known['confidence']:.0%} interval"
    rows = [
        ("units", f"{units['all']}"),
        ("judged", f"{units['judged']}"),
        ("waiting for answers", f"{units['waiting']}"),
        ("positives found", f"{known['found']}"),
        ("drawn by chance", f"{known['n_draws']}"),
        ("positives unseen", "not known yet" if known["unseen"] is None else f"{known['unseen']:.0f}"),
        (f"positives unseen, {interval}", f"{known['low']} to {known['high']}"),
        ("recall", _percent(known["recall"])),
        (
            f"recall, {interval}",
            f"{_percent(known['recall_low'])} to {_percent(known['recall_high'])}"
            if known["n_draws"]
            else _percent(None),
        ),
    ]
    for name, what in (("outside", "given out before the queue"), ("skipped", "skipped by all")):
        if units[name]:
            rows.append((what, f"{units[name]}"))
    return rows


def _percent(share: float | None) -> str:
    return "not known yet" if share is None else f"{share:.1%}"
