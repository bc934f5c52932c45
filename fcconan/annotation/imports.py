"""Import of returned files: answers are checked and added to the campaign, all or none.

An answer belongs to a question: round, rater, unit and aspect. A later import may add answers and repeat existing ones.
Changed answers must be allowed; the history keeps the earlier answer. An empty cell does not remove an answer. A file
that was imported before is ignored.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from fcconan.annotation.campaigns import Answer, Campaign, Key
from fcconan.annotation.tools import task_view
from fcconan.annotation.tools.files import Given, GivenFile, as_text, csv_rows, decoded, listed
from fcconan.annotation.tools.task_view import Item, Question
from fcconan.data import normalise
from fcconan.errors import InputError

_Held = dict[tuple[str, str, str, str], Answer]


@dataclass(frozen=True)
class Imported:
    """The result of importing a file. All counts except `units`, `skipped` and `waiting` are numbers of answers or
    comments.

    Attributes:
        file: File name without the folder; None if `export` does not write such a name, as it may contain a person's
            name.
        sha256: Hash of the content.
        tool: Format of the file.
        round: Name of the round.
        raters: Raters with answers in the file.
        units: Units with an answer, skipped ones included.
        skipped: Skipped units.
        answers: Answers in the file.
        new: Answers to questions without an earlier answer.
        changed: Answers whose value or comment differs from the earlier one.
        same: Answers that equal the earlier one.
        earlier: Number of the import of the same file, if it was imported before; None otherwise.
        remarks: Comments on units without an answer, which are not stored.
        waiting: Units of these raters in the round without an answer, for example because the file is incomplete.
    """

    file: str | None
    sha256: str
    tool: str
    round: str
    raters: tuple[str, ...] = ()
    units: int = 0
    skipped: int = 0
    answers: int = 0
    new: int = 0
    changed: int = 0
    same: int = 0
    earlier: int | None = None
    remarks: int = 0
    waiting: int = 0


def read_people(path: Path) -> dict[str, str]:
    """Reads the map of users: a CSV file with the columns `user` (name in the tool) and `rater` (pseudonym).

    Raises:
        InputError: The file cannot be read, lacks a column or a cell, or gives a user two pseudonyms.
    """
    people: dict[str, str] = {}
    for number, row in csv_rows(path, decoded(path, path.read_bytes())):
        user, rater = as_text(row.get("user")), as_text(row.get("rater"))
        if not user or not rater:
            raise InputError(f"{path}, row {number}: expected a name under `user` and a pseudonym under `rater`")
        if people.setdefault(user, rater) != rater:
            raise InputError(f"{path}, row {number}: the same user is {people[user]} and {rater}: remove one of them")
    return people


def import_files(
    campaign: Campaign,
    files: Sequence[GivenFile],
    *,
    people: Mapping[str, str] | None = None,
    round_name: str | None = None,
    changes: bool = False,
    late: bool = False,
    dry_run: bool = False,
) -> list[Imported]:
    """Checks files and adds their answers to the campaign, those of all files or none.

    Comment and seconds belong to a unit and are stored with each of its answers. Files that were imported before are
    ignored, so the same import can be repeated.

    Args:
        campaign: The campaign.
        files: Files, as read by `read_file`.
        people: Pseudonyms by the names of users in the tool; they are not stored.
        round_name: Expected round; None for any.
        changes: Whether answers may differ from earlier ones.
        late: Whether new answers to withdrawn units are accepted.
        dry_run: Whether files are only checked.

    Returns:
        The result of each file.

    Raises:
        InputError: A file belongs to another campaign or round, or contains invalid answers; the message lists the
            first problems.
    """
    found: list[Imported] = []
    with campaign.changing():
        imports, history = campaign.imports(), campaign.history()
        known = {one["sha256"]: one["import_number"] for one in imports}
        held = {answer.question: answer for answer in history}
        checks: dict[str, _Checks] = {}
        # The numbers of answers without a record of their import are taken as well.
        number = max([0, *known.values(), *(answer.import_number for answer in history)])
        for file in files:
            in_round = _round(campaign, file, round_name)
            if in_round not in checks:
                checks[in_round] = _Checks(campaign, in_round, people or {}, held, late)
            remarks = sum(bool(each.comment) and not each.skipped and not each.values for each in file.units)
            about = (_name(campaign, file, in_round), file.sha256, file.tool, in_round)
            answers = checks[in_round].answers(file)
            if file.sha256 in known:
                found.append(Imported(*about, earlier=known[file.sha256], remarks=remarks))
                continue
            if not changes:
                _refuse_changes(file, answers, held)
            raters = list(dict.fromkeys(answer.rater for answer in answers))
            kinds = [_kind(each, held) for each in answers]
            if fresh := [answer for answer, kind in zip(answers, kinds, strict=True) if kind != "same"]:
                number += 1
                new = [replace(each, import_number=number) for each in fresh]
                history += new
                held |= {each.question: each for each in new}
                counts = (len(answers), kinds.count("new"), kinds.count("changed"))
                names = "import_number file sha256 tool round raters n_answers n_new n_changed".split()
                imports.append(dict(zip(names, (number, *about, raters, *counts), strict=True)))
                known[file.sha256] = number
            report = Imported(
                *about,
                raters=tuple(raters),
                units=len({answer.key for answer in answers}),
                skipped=len({answer.key for answer in answers if answer.value is None}),
                answers=len(answers),
                new=kinds.count("new"),
                changed=kinds.count("changed"),
                same=kinds.count("same"),
                remarks=remarks,
                waiting=_waiting(campaign, in_round, raters, held),
            )
            found.append(report)
        if not dry_run and any(report.new or report.changed for report in found):
            # The answers are written last: records of imports without answers are ignored.
            campaign.write("imports.jsonl", imports)
            campaign.write("answers.jsonl", history)
    return found


def _waiting(campaign: Campaign, round_name: str, raters: Sequence[str], held: _Held) -> int:
    answered = {answer.key for answer in held.values() if answer.round == round_name}
    return sum(
        each.rater in raters and not each.withdrawn and each.key not in answered
        for each in campaign.assignments(round_name)
    )


def _round(campaign: Campaign, file: GivenFile, expected: str | None) -> str:
    """Returns the round of a file."""
    name = campaign.settings.name
    for given in file.units:
        if given.ids["campaign"] != name:
            raise InputError(f"{file.path}, {given.where}: campaign is {given.ids['campaign']!r}, expected {name!r}")
    rounds = list(dict.fromkeys(given.ids["round"] for given in file.units))
    if not rounds:
        raise InputError(f"{file.path} has no answers: import completed sheets")
    if len(rounds) > 1:
        listed = ", ".join(" ".join(name.split())[:40] for name in rounds)
        raise InputError(f"{file.path} mixes the rounds {listed}: import one file per round")
    if rounds[0] not in campaign.rounds() or (expected is not None and rounds[0] != expected):
        there = expected or ", ".join(campaign.rounds()) or "none"
        raise InputError(
            f"{file.path} belongs to the round {rounds[0]!r}, expected {there}: import a file of that round"
        )
    return rounds[0]


def _name(campaign: Campaign, file: GivenFile, round_name: str) -> str | None:
    """Returns the name of a file if `export` writes that name: it contains only the round and a pseudonym."""
    name = file.path.name
    written = {task_view.file_name(round_name, rater, tool) for rater in campaign.raters() for tool in task_view.ENDS}
    return name if name in written else None


class _Checks:
    """Checks of the answers of a round."""

    def __init__(self, campaign: Campaign, round_name: str, people: Mapping[str, str], held: _Held, late: bool) -> None:
        self._round, self._people, self._held, self._late = round_name, people, held, late
        self._questions = task_view.questions(campaign, round_name)
        self._items: dict[Key, Item] = {}
        for item in task_view.items(campaign, round_name):
            there = self._items.get(item.assignment.key)
            if there is None or there.assignment.withdrawn:
                self._items[item.assignment.key] = item

    def answers(self, file: GivenFile) -> list[Answer]:
        """Returns the answers in a file.

        Raises:
            InputError: An answer is not valid.
        """
        if not self._people:
            _check_users(file)
        answers: list[Answer] = []
        problems: list[str] = []
        seen: dict[Key, str] = {}
        for given in file.units:
            try:
                rater = self._rater(given)
                item = self._item(given, rater)
                key = rater, given.ids["unit_id"]
                if key in seen:
                    raise ValueError(f"{given.ids['unit_id']} is in the file already, in {seen[key]}")
                seen[key] = given.where
                answers += self._read(given, item)
            except ValueError as error:
                problems.append(f"{given.where}: {error}")
        if problems:
            raise InputError(
                f"{file.path}: nothing was imported: {listed(problems)}; correct this file: a new export has no answers"
            )
        return answers

    def _rater(self, given: Given) -> str:
        named = given.ids["rater"]
        rater = self._people.get(named, named)
        if self._people and given.users:
            who = next((self._people[user] for user in given.users if user in self._people), None)
            if who is None:
                raise ValueError("the user who answered it is not in --user-map: add a line")
            if who != rater:
                raise ValueError(f"it is assigned to {rater}, but {who} answered it")
        return rater

    def _item(self, given: Given, rater: str) -> Item:
        unit_id = given.ids["unit_id"]
        item = self._items.get((rater, unit_id))
        if item is None:
            raise ValueError(f"{unit_id!r} was not assigned to {rater!r}")
        for name, text in item.texts.items():
            if normalise(given.texts.get(name, "")) != normalise(text):
                raise ValueError(f"{name} differs from the exported text")
        if not _is_sha(given.ids["text_sha"], item.text_sha):
            raise ValueError(f"text_sha is {given.ids['text_sha']!r}, expected {item.text_sha}")
        return item

    def _read(self, given: Given, item: Item) -> Iterator[Answer]:
        if unknown := sorted(map(str, given.values.keys() - {question.name for question in self._questions})):
            raise ValueError(f"unknown question {unknown[0]!r}")
        if given.skipped and given.values:
            raise ValueError(f"it was skipped and answered ({', '.join(given.values)})")
        seconds = None
        if given.seconds is not None:
            seconds = task_view.number(given.seconds)
            if seconds is None or not 0 <= seconds < math.inf:
                raise ValueError(f"seconds is {given.seconds!r}, expected a number")
        asked = [each for each in self._questions if given.skipped or each.name in given.values]
        rater, unit_id = item.assignment.rater, item.assignment.unit_id
        for question in asked:
            answer = Answer(
                self._round, rater, unit_id, question.name, self._value(given, question, item), seconds, given.comment
            )
            if item.assignment.withdrawn and not self._late and answer.question not in self._held:
                raise ValueError(f"{unit_id} was withdrawn from {rater}; accept the answer with --allow-withdrawn")
            yield answer

    def _value(self, given: Given, question: Question, item: Item) -> str | float | None:
        if given.skipped:
            return None
        value = question.value(given.values[question.name])
        return task_view.turned(value, item.assignment, item.unit) if question.about_order else value


def _check_users(file: GivenFile) -> None:
    """Checks, without a map of users, that users and raters match one to one."""
    pairs = {(given.ids["rater"], given.users[0]) for given in file.units if given.users}
    if any(len(set(names)) < len(pairs) for names in zip(*pairs, strict=True)):
        raise InputError(f"{file.path}: users and raters do not match one to one: give --user-map FILE")


def _is_sha(given: str, sha: str) -> bool:
    """Returns whether a cell is the hash; spreadsheets may show a hash as a number, such as `1.23457E+11`."""
    shown_as, meant = task_view.number(given), task_view.number(sha)
    return given == sha or (shown_as is not None and meant is not None and math.isclose(shown_as, meant, rel_tol=0.005))


def _kind(answer: Answer, held: _Held) -> Literal["new", "changed", "same"]:
    before = held.get(answer.question)
    if before is None:
        return "new"
    remarked = answer.comment is not None and answer.comment != before.comment
    return "changed" if before.value != answer.value or remarked else "same"


def _refuse_changes(file: GivenFile, answers: Iterable[Answer], held: _Held) -> None:
    differing = []
    for answer in answers:
        before = held.get(answer.question)
        if before is not None and before.value != answer.value:
            differing.append(
                f"{answer.rater} on {answer.unit_id}: {answer.aspect} was {_said(before.value)} (import "
                f"{before.import_number}), now {_said(answer.value)}"
            )
    if differing:
        raise InputError(
            f"{file.path}: {len(differing)} answers differ from earlier ones: {listed(differing)}; nothing was "
            "imported: accept them with --allow-changes, which stores both"
        )


def _said(value: str | float | None) -> str:
    return "skipped" if value is None else str(value)
