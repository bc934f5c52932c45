"""`annotate import`: answers of returned files are checked and added to a campaign, all or none.

An answer belongs to a question: round, rater, unit and aspect. A later import may add answers and repeat existing ones.
Changed answers must be allowed; the history keeps the earlier answer. An empty cell does not remove an answer. A file
that was imported before is ignored; `imports.jsonl` has the hashes.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING

from fcconan.annotation.campaigns import Answer, Campaign, Row
from fcconan.annotation.label_studio import read_tasks
from fcconan.annotation.progress import next_step
from fcconan.annotation.questions import (
    COMMENT,
    IDS,
    SECONDS,
    SKIP,
    TITLES,
    Question,
    handed_out,
    questions,
    to_number,
    turned,
)
from fcconan.annotation.sheets import unguarded
from fcconan.data import count_noun, file_sha256, normalise, read_file
from fcconan.errors import InputError
from fcconan.result import Result

if TYPE_CHECKING:
    from pandas import DataFrame

NOT_SKIPPED = ("", "0", "0.0", "no", "false")
Held = Mapping[tuple[str, str, str, str], Answer]


def import_answers(
    campaign: Path,
    *files: Path,
    round: str | None = None,
    user_map: Path | None = None,
    allow_changes: bool = False,
    allow_withdrawn: bool = False,
    dry_run: bool = False,
) -> Result:
    """Check the returned files of raters, and add their answers to the campaign.

    If one file is invalid, no answer is added.

    Args:
        campaign: Folder of the campaign.
        files: Files that raters returned: CSV, or Label Studio's JSON.
        round: Refuse files of other rounds.
        user_map: CSV of the columns user (in the tool) and rater (pseudonym); it is not stored.
        allow_changes: Accept answers that replace earlier ones; the earlier ones are preserved.
        allow_withdrawn: Accept answers to units that were withdrawn.
        dry_run: Check the files; change nothing.

    Returns:
        `files`: one row for each file, with its `round` and `raters`, the numbers of `units`, `skipped` (units),
        `answers`, `new`, `changed` and `same` (answers), and `waiting` (units of these raters without an answer).

    Raises:
        InputError: A file cannot be read, belongs to another campaign or round, or contains an invalid answer.

    Examples:
        >>> from fcconan import export_sheets
        >>> path = Path(export_sheets(campaign, out=folder / "sheets").to_frame()["file"][0])
        >>> _ = path.write_text(path.read_text("utf-8").replace(",,,", ",appropriate,,"), encoding="utf-8")
        >>> import_answers(campaign, path).to_frame()[["new", "waiting"]].values.tolist()
        [[4, 0]]
    """
    from pandas import DataFrame

    opened = Campaign(Path(campaign))
    people = {}
    if user_map is not None:
        users = read_file(Path(user_map))
        if not {"user", "rater"} <= {*users}:
            raise InputError(f"{user_map} has the columns {', '.join(users)}, expected user and rater: rename them")
        people = dict(zip(users["user"], users["rater"], strict=True))
    units = cache(partial(handed_out, opened))
    notes = ["The files were checked; nothing was changed."] if dry_run else []
    with opened.changing():
        history, held, imports = opened.history(), opened.answers(), opened.imports()
        rows = []
        for path in map(Path, files):
            name, given = _read(opened, path, people, round)
            asked, number = questions(opened, name), 1 + max((answer.import_number for answer in history), default=0)
            answers = _answers(path, given, asked, units(name), None if allow_withdrawn else held, number)
            if lost := given[COMMENT].count() - len({answer.key for answer in answers if answer.comment}):
                notes.append(f"{path.name}: {count_noun(lost, 'comment')} without an answer left out.")
            sha = file_sha256(path)
            if sha in {row["sha256"] for row in imports}:
                notes.append(f"{path.name} was imported before.")
                answers = []
            new, counts = _added(path, answers, held, allow_changes)
            history += new
            imports += [{"import_number": number, "sha256": sha}] if new else []
            held |= {answer.question: answer for answer in new}
            raters, done = {answer.rater for answer in answers}, {key[:3] for key in held}
            theirs = [each for each in opened.assignments(name) if each.rater in raters and not each.withdrawn]
            rows.append(
                {
                    "file": path.name,
                    "round": name,
                    "raters": ", ".join(sorted(raters)),
                    "units": len({answer.key for answer in answers}),
                    "skipped": len({answer.key for answer in answers if answer.value is None}),
                    "answers": len(answers),
                    **counts,
                    "waiting": sum((name, *each.key) not in done for each in theirs),
                }
            )
        if not dry_run:
            opened.write("imports.jsonl", imports)
            opened.write("answers.jsonl", history)  # the last: imports without answers are ignored
    notes.append(next_step(opened))
    return Result("annotate import", {"files": DataFrame(rows)}, {"campaign": opened.settings.name}, notes)


def _read(campaign: Campaign, path: Path, people: Mapping[str, str], expected: str | None) -> tuple[str, "DataFrame"]:
    """Returns the round of a returned file and its rows, with None for empty cells.

    Raises:
        InputError: The file cannot be read, lacks a column, or belongs to another campaign or round.
    """
    needed, words = [*IDS], campaign.task.words
    if path.suffix == ".json":
        given = read_tasks(path, people)
    else:
        given = read_file(path).rename(columns={word: name for name, word in words.items()})
        texts = given.columns.drop(COMMENT, errors="ignore")  # comments are not escaped by the export
        given[texts] = given[texts].map(unguarded)
        needed += [COMMENT, SKIP]
    places = given.reindex(columns=["campaign", "round"]).drop_duplicates().to_numpy().tolist()
    rounds = campaign.rounds() if expected is None else [expected]
    if places not in [[[campaign.settings.name, name]] for name in rounds]:
        found = ", ".join(f"{name} {of}" for of, name in places) or "none"
        raise InputError(
            f"{path} has the rounds {found}, expected one of {', '.join(rounds) or 'none'} of "
            f"{campaign.settings.name}: import a file of one round of this campaign"
        )
    name = places[0][1]
    asked = [question.name for question in questions(campaign, name)]
    if path.suffix != ".json":
        needed += asked
    if lost := [words.get(column, column) for column in needed if column not in given]:
        raise InputError(f"{path} has no column {', '.join(lost)}: import the sheet with all its columns")
    given = given.reindex(columns=[*dict.fromkeys([*given, *asked, COMMENT, SKIP, SECONDS, "by"])])
    given["rater"] = given["rater"].replace(people)
    users = given[["rater", "by", "unit_id"]].dropna()
    if people and not (wrong := users[users["by"] != users["rater"]]).empty:
        rater, by, unit_id = wrong.iloc[0]
        who = by or "a user who is not in --user-map"
        raise InputError(f"{path}: {unit_id} is assigned to {rater}, but {who} answered it: correct the map")
    pairs = users[["rater", "by"]].drop_duplicates()
    if pairs["rater"].duplicated().any() or pairs["by"].duplicated().any():
        raise InputError(f"{path}: users and raters do not match one to one: give --user-map FILE")
    return name, given.astype(object).where(given.notna(), None)


def _answers(
    path: Path,
    given: "DataFrame",
    asked: Sequence[Question],
    units: "DataFrame",
    held: Held | None,
    import_number: int,
) -> list[Answer]:
    """Returns the answers in a file.

    Args:
        path: The file, for messages.
        given: Rows of the file.
        asked: Questions of the round.
        units: Units of the round as raters see them.
        held: Earlier answers, to which withdrawn units are limited; None to accept others.
        import_number: Number of the import.

    Raises:
        InputError: An answer is not valid; the message lists the first problems.
    """
    keys = ["rater", "unit_id"]
    current = units.sort_values("withdrawn", kind="stable").drop_duplicates(keys)
    shown = current.set_index(keys, drop=False).to_dict("index")
    answers: list[Answer] = []
    problems = []
    for number, row, again in zip(given.index, given.to_dict("records"), given.duplicated(keys), strict=True):
        try:
            if again:
                raise ValueError("it is in the file twice")
            unit = shown.get((row["rater"], row["unit_id"]))
            if unit is None:
                raise ValueError(f"it was not assigned to {row['rater']!r}")
            answers += _answered(row, unit, asked, held, import_number)
        except ValueError as error:
            place = "" if path.suffix == ".json" else f"row {number}, "
            problems.append(f"{place}{row['unit_id']}: {error}")
    if problems:
        more = f"; and {len(problems) - 3} more" if len(problems) > 3 else ""
        raise InputError(
            f"{path}: nothing was imported: {'; '.join(problems[:3])}{more}: correct this file; a new export has no "
            "answers"
        )
    return answers


def _answered(
    row: Row, unit: Row, asked: Sequence[Question], held: Held | None, import_number: int
) -> Iterator[Answer]:
    """Yields the answers in a row.

    Raises:
        ValueError: A text or an answer is not valid.
    """
    for name in TITLES:
        if name in unit and normalise(row.get(name) or "") != normalise(unit[name]):
            raise ValueError(f"{name} differs from the exported text")
    values = {each.name: text for each in asked if (text := _text(row[each.name]))}
    is_skipped = _text(row[SKIP]).casefold() not in NOT_SKIPPED
    if is_skipped and values:
        raise ValueError(f"it was skipped and answered ({', '.join(values)})")
    seconds = to_number(text) if (text := _text(row[SECONDS])) else None
    if seconds is not None and not 0 <= seconds < math.inf:
        raise ValueError(f"seconds is {text!r}, expected a number")
    for each in asked if is_skipped else [each for each in asked if each.name in values]:
        value = None if is_skipped else turned(each.value(values[each.name]), unit["swapped"])
        ids = (unit["round"], unit["rater"], unit["unit_id"], each.name)
        if unit["withdrawn"] and held is not None and ids not in held:
            raise ValueError("it was withdrawn from this rater; accept the answer with --allow-withdrawn")
        yield Answer(*ids, value, seconds, _text(row[COMMENT]) or None, import_number)


def _added(
    path: Path, answers: Sequence[Answer], held: Held, allow_changes: bool
) -> tuple[list[Answer], dict[str, int]]:
    """Returns the answers that are new or changed, and the numbers of answers by kind.

    Raises:
        InputError: Answers differ from earlier ones, and changes are not allowed.
    """
    new, differing, counts = [], [], {"new": 0, "changed": 0, "same": 0}
    for answer in answers:
        before = held.get(answer.question)
        if before is None:
            kind = "new"
        elif (answer.value, answer.comment or before.comment) == (before.value, before.comment):
            kind = "same"
        else:
            kind = "changed"
            said, now = ("skipped" if each.value is None else each.value for each in (before, answer))
            if said != now:
                differing.append(f"{answer.rater} on {answer.unit_id}: {answer.aspect} was {said}, now {now}")
        counts[kind] += 1
        new += [answer] if kind != "same" else []
    if differing and not allow_changes:
        raise InputError(
            f"{path}: {len(differing)} answers differ from earlier ones, such as {differing[0]}; nothing was imported: "
            "accept them with --allow-changes, which stores both"
        )
    return new, counts


def _text(cell: object) -> str:
    return "" if cell is None else str(cell).strip()
