"""A campaign: a folder of plain files with the complete state of an annotation campaign.

    campaign.yaml        settings, written once by `annotate new`
    task.yaml            copy of the task; later edits of the catalogue do not change a running campaign
    guidelines.md        guidelines of the raters, copied as well
    hs.jsonl, cn.jsonl   texts and metadata of a campaign on pairs
    replies.jsonl        replies of a campaign on replies or comparisons (rows `Reply`)
    units.jsonl          units to judge, ids only
    raters.csv           pseudonyms, roles and states of raters, edited by people; real names are never stored
    rounds/NAME.jsonl    assignments of a round: raters, units and their order
    rounds/NAME.json     options of a round
    rounds/NAME.shown.jsonl  further information shown to raters, such as grades of other raters
    answers.jsonl        history of all answers: a later line supersedes an earlier one on the same question
    imports.jsonl        imported files
    decisions.jsonl      final labels
    queue.jsonl          batches of the active learning queue

Files are written atomically. Processes that change a campaign hold its lock.
"""

import fnmatch
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Literal, TypeVar

import yaml
from pydantic import BaseModel, ConfigDict, Field

from fcconan.data import as_names, check_names, new_folder, read_file, read_rows, read_yaml, write_whole
from fcconan.errors import InputError
from fcconan.judging import Task, dump_task, load_task

Row = dict[str, Any]
Key = tuple[str, str]  # rater and unit
SETTINGS, RATERS = "campaign.yaml", "raters.csv"
LABEL = "label"  # the aspect of answers in a task with labels
MAIN = "main"
VALIDATION = "validation"
QUALIFICATION = "qualification"
HEADER = "rater,role,state\n"
PSEUDONYM = r"[A-Za-z0-9]+(?:[_-][A-Za-z0-9]+)*"  # also a part of file names
ROLES = ("annotator", "validator")
STATES = ("active", "invited", "failed", "left")
LOCK = ".lock"
PATIENCE = 60.0  # seconds to wait for the lock
Record = TypeVar("Record")


class Settings(BaseModel):
    """The file `campaign.yaml`.

    Attributes:
        format: Version of the folder's layout.
        name: Name of the campaign; imports from another campaign are refused by it.
        language: Language code (ISO 639-1).
        seed: Default seed; every step derives its own seed from it.
        made_from: Sources and counts of the units, as `annotate new` reports them.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    format: Literal[1] = 1
    name: str = Field(pattern=r"^[a-z0-9]+(-[a-z0-9]+)*$")
    language: str = "en"
    seed: int = Field(default=0, ge=0)
    made_from: dict[str, Any] = {}


@dataclass(frozen=True)
class Unit:
    """A unit of annotation.

    Attributes:
        unit_id: Id of the pair or reply, or `<reply a>:<reply b>`.
        role: `item`; or `anchor` (gold question) or `quiz` (qualification test), with a known answer.
        hs_id: Id of the HS.
        cn_id: Id of the CN of a pair.
        item_id: Id of the item that a reply answers.
        reply_a: Id of the reply, or of the first reply of a comparison.
        reply_b: Id of the second reply of a comparison.
        known: Known answer by aspect (or `label`), of gold questions and qualification tests.
    """

    unit_id: str
    role: Literal["item", "anchor", "quiz"] = "item"
    hs_id: str | None = None
    cn_id: str | None = None
    item_id: str | None = None
    reply_a: str | None = None
    reply_b: str | None = None
    known: dict[str, Any] | None = None


@dataclass(frozen=True)
class Rater:
    """A row of `raters.csv`.

    Attributes:
        rater: Pseudonym.
        role: `annotator` or `validator`.
        state: `active`, `invited` (has to pass the qualification test), `failed` (the test) or `left`.
    """

    rater: str
    role: str = "annotator"
    state: str = "active"


@dataclass(frozen=True)
class Assignment:
    """The assignment of a unit to a rater in a round.

    Attributes:
        rater: Pseudonym of the rater.
        unit_id: Id of the unit.
        position: Position in the rater's order, from 1.
        session: Number of the session, from 1.
        swapped: Whether a comparison is shown with its second reply as A.
        withdrawn: Whether the unit was taken from the rater; earlier answers stay.
    """

    rater: str
    unit_id: str
    position: int
    session: int = 1
    swapped: bool = False
    withdrawn: bool = False

    @property
    def key(self) -> Key:
        """Rater and unit."""
        return self.rater, self.unit_id


@dataclass(frozen=True)
class Answer:
    """An answer of a rater to one question about a unit.

    Attributes:
        round: Name of the round.
        rater: Pseudonym of the rater.
        unit_id: Id of the unit.
        aspect: Aspect, or `label` in a task with labels.
        value: Grade (a number) or label (a string); None if skipped. A verdict refers to the order of the replies in
            the unit, independent of the order shown.
        seconds: Time for the unit, if the tool records it.
        comment: Comment of the rater.
        import_number: Number of the import, from 1.
    """

    round: str
    rater: str
    unit_id: str
    aspect: str
    value: str | float | None
    seconds: float | None = None
    comment: str | None = None
    import_number: int = 0

    @property
    def key(self) -> Key:
        """Rater and unit."""
        return self.rater, self.unit_id

    @property
    def question(self) -> tuple[str, str, str, str]:
        """Identity of the question: a later answer to the same question supersedes an earlier one."""
        return self.round, self.rater, self.unit_id, self.aspect


@dataclass(frozen=True)
class Decision:
    """The final label of a unit.

    Attributes:
        unit_id: Id of the unit.
        label: Label; None if the unit is discarded.
        by: `votes` (no conflict), `rule`, or the pseudonym of the person who decided.
        reason: Reason from the closed list in `fcconan.annotation.adjudication`.
        votes: Votes at the time of a person's decision, in alphabetical order; None for other decisions.
    """

    unit_id: str
    label: str | None
    by: str
    reason: str
    votes: str | None = field(default=None, compare=False)  # equal decisions may have other votes


class Campaign:
    """A campaign in its folder.

    Args:
        folder: Folder of the campaign.

    Attributes:
        folder: Folder of the campaign.
        settings: Content of `campaign.yaml`.
        task: Annotation task.

    Raises:
        InputError: The folder is not a campaign.
    """

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        self._tables: dict[str, tuple[tuple[int, int, int], list[Any]]] = {}
        path = self.folder / SETTINGS
        if not path.is_file():
            raise InputError(f"{folder} has no {SETTINGS}: create a campaign with `fcconan annotate new`")
        self.settings: Settings = read_yaml(path, Settings)
        self.task: Task = load_task(self.folder / "task.yaml")

    @property
    def aspects(self) -> list[str]:
        """Questions about every unit: the task's aspects, or `label`."""
        return [aspect.name for aspect in self.task.aspects] or [LABEL]

    def units(self) -> dict[str, Unit]:
        """Returns the units by id, in the order of the file."""
        return {unit.unit_id: unit for unit in self.read("units.jsonl", Unit)}

    def items(self) -> list[Unit]:
        """Returns the units to annotate, without gold questions and qualification tests."""
        return self.units_of("item")

    def units_of(self, role: str) -> list[Unit]:
        """Returns the units of a role: `item`, `anchor` or `quiz`."""
        return [unit for unit in self.units().values() if unit.role == role]

    def texts(self) -> dict[str, Row]:
        """Returns the rows of HS, CNs and replies by id; each has a `text`."""
        keys = {"hs.jsonl": "hs_id", "cn.jsonl": "cn_id", "replies.jsonl": "reply_id"}
        return {row[key]: row for name, key in keys.items() for row in self._once(name, read_rows)}

    def raters(self) -> dict[str, Rater]:
        """Returns the raters by pseudonym, in the order of `raters.csv`; raters whose row was deleted have left.

        Raises:
            InputError: A pseudonym, role or state is not valid.
        """
        found = {each.rater: each for each in self._once(RATERS, _raters)}
        for name in self.rounds():
            role = "validator" if name == VALIDATION else "annotator"
            gone = {each.rater: Rater(each.rater, role, "left") for each in self.assignments(name)}
            found |= {rater: each for rater, each in gone.items() if rater not in found}
        return found

    def active(self, role: str) -> list[str]:
        """Returns the active raters of a role, in the order of `raters.csv`."""
        return [each.rater for each in self.raters().values() if (each.role, each.state) == (role, "active")]

    def rounds(self) -> list[str]:
        """Returns the names of the rounds: the qualification first, the 10th queue after the 9th, then reviews, reviews
        of reviews, and the validation.
        """
        names = [path.stem for path in (self.folder / "rounds").glob("*.jsonl") if "." not in path.stem]
        ends = {QUALIFICATION: -1, VALIDATION: len(names)}
        for name in {*names} - {*ends}:
            # A review follows the round that it reviews.
            ends[name], path = 0, self.folder / "rounds" / f"{name}.json"
            while path.is_file() and (review := json.loads(path.read_bytes()).get("review")):
                ends[name], path = ends[name] + 1, self.folder / "rounds" / f"{review}.json"
        return sorted(names, key=lambda name: (ends[name], len(name), name))

    def rounds_like(self, names: Sequence[str] = ()) -> list[str]:
        """Returns the rounds that a step reads: those that match names, by default all with answers.

        Of several answers of a rater to one question, that of the last round counts: reviews follow other rounds.

        Args:
            names: Names, or patterns such as `queue-*`; a name without a round is returned unchanged.
        """
        if not names:
            answered = {answer.round for answer in self.history()} - {VALIDATION, QUALIFICATION}
            return [name for name in self.rounds() if name in answered] or [MAIN]
        return [
            *dict.fromkeys(each for name in as_names(names) for each in fnmatch.filter(self.rounds(), name) or [name])
        ]

    def assignments(self, round_name: str = MAIN) -> list[Assignment]:
        """Returns the assignments of a round; those of each rater are in the rater's order.

        Raises:
            InputError: The round does not exist.
        """
        name = f"rounds/{round_name}.jsonl"
        if not (self.folder / name).is_file():
            raise InputError(
                f"{self.folder} has no round {round_name!r}, expected one of {', '.join(self.rounds()) or 'none'}: "
                "choose another, or make it with `fcconan annotate assign`"
            )
        return self.read(name, Assignment)

    def shown(self, round_name: str) -> dict[Key, Row] | None:
        """Returns the information shown in addition to the texts, by rater and unit; None if the round shows none."""
        name = f"rounds/{round_name}.shown.jsonl"
        if not (self.folder / name).is_file():
            return None
        rows = map(dict, self._once(name, read_rows))
        return {(row.pop("rater", ""), row.pop("unit_id", "")): row for row in rows}

    def history(self) -> list[Answer]:
        """Returns all answers, the oldest first."""
        return self.read("answers.jsonl", Answer)

    def answers(self, round_name: str | None = None) -> dict[tuple[str, str, str, str], Answer]:
        """Returns the current answers by question, in the order in which questions were first answered.

        Args:
            round_name: Name of the round; None for all.
        """
        return {each.question: each for each in self.history() if round_name in (None, each.round)}

    def imports(self) -> list[Row]:
        """Returns the imports, the oldest first, without one that was interrupted before its answers were written."""
        complete = {answer.import_number for answer in self.history()}
        return [row for row in self._once("imports.jsonl", read_rows) if row["import_number"] in complete]

    def decisions(self) -> dict[str, Decision]:
        """Returns the final labels by unit; empty before adjudication."""
        return {decision.unit_id: decision for decision in self.read("decisions.jsonl", Decision)}

    @contextmanager
    def changing(self) -> Iterator[None]:
        """Holds the lock of the campaign: reads and writes within are one change.

        Raises:
            InputError: Another process holds the lock for too long.
        """
        from filelock import FileLock, Timeout

        try:
            with FileLock(self.folder / LOCK, timeout=PATIENCE):
                yield
        except Timeout as error:
            raise InputError(f"another process is using {self.folder}: wait until it ends") from error

    def write(self, name: str, records: Iterable[Any]) -> None:
        """Writes a file of records or rows, such as `answers.jsonl`, atomically; call it within `changing`.

        Args:
            name: The file; `raters.csv` takes instances of `Rater`.
            records: The records, of which fields with their defaults are left out, or rows.
        """
        path = self.folder / name
        path.parent.mkdir(exist_ok=True)
        if path.suffix == ".csv":
            write_whole(path, HEADER + "".join(",".join(vars(each).values()) + "\n" for each in records))
        else:
            write_whole(path, as_lines(records))

    def read(self, name: str, kind: type[Record]) -> list[Record]:
        """Returns the records of a file such as `decisions.jsonl`; an empty list if the file does not exist."""
        return self._once(name, lambda path: [kind(**row) for row in read_rows(path)])

    def _once(self, name: str, read: Callable[[Path], Iterable[Any]]) -> list[Any]:
        """Returns the rows of a file, cached until the file changes; an empty list if it does not exist."""
        path = self.folder / name
        if not path.is_file():
            return []
        found = path.stat()
        stamp = (found.st_mtime_ns, found.st_size, found.st_ino)
        if name not in self._tables or self._tables[name][0] != stamp:
            self._tables[name] = stamp, list(read(path))
        return list(self._tables[name][1])


def _raters(path: Path) -> list[Rater]:
    """Returns the rows of `raters.csv`, which people edit."""
    defaults = {"rater": "", "role": ROLES[0], "state": STATES[0]}
    table = read_file(path).reindex(columns=[*defaults]).astype(object).fillna(defaults)
    table = table.apply(lambda column: column.str.strip())
    check_names(f"role in {path}", table["role"], ROLES)
    check_names(f"state in {path}", table["state"], STATES)
    wrong = ~table["rater"].str.fullmatch(PSEUDONYM) | table["rater"].str.lower().duplicated()
    if wrong.any():
        raise InputError(
            f"{path} has the rater {table['rater'][wrong].iloc[0]!r}, expected pseudonyms of letters, digits, - and _, "
            "each once: change the row"
        )
    return [Rater(*row) for row in table.itertuples(index=False)]


def create(
    folder: Path,
    settings: Settings,
    task: Task,
    units: Iterable[Unit],
    texts: Mapping[str, Iterable[Row]],
    guidelines: str | None = None,
) -> Campaign:
    """Writes the folder of a new campaign atomically.

    Args:
        folder: Folder of the campaign, which must not exist.
        settings: Content of `campaign.yaml`.
        task: Annotation task.
        units: Units of the campaign.
        texts: Rows by file: `hs.jsonl`, `cn.jsonl`, `replies.jsonl`.
        guidelines: Guidelines for raters, as Markdown; None for guidelines derived from the task.

    Raises:
        InputError: The folder exists.
    """
    if folder.exists():
        raise InputError(f"{folder} exists: choose another folder for the new campaign")
    files = {
        SETTINGS: yaml.safe_dump(settings.model_dump(), sort_keys=False, allow_unicode=True),
        "task.yaml": dump_task(task),
        "units.jsonl": as_lines(units),
        RATERS: HEADER,
        **{name: as_lines(rows) for name, rows in texts.items()},
    }
    if guidelines is not None:
        files["guidelines.md"] = guidelines
    with new_folder(folder) as stage:
        for name, text in files.items():
            (stage / name).write_text(text, encoding="utf-8")
    return Campaign(folder)


def as_lines(records: Iterable[Any]) -> str:
    """Returns rows as JSON lines; of records, without fields that have their defaults, but with `value`."""
    lines = []
    for record in records:
        row = record
        if not isinstance(record, Mapping):
            defaults = {each.name: each.default for each in fields(record)}
            row = {name: value for name, value in vars(record).items() if value != defaults[name] or name == "value"}
        lines.append(json.dumps(row, ensure_ascii=False) + "\n")
    return "".join(lines)
