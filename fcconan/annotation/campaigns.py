"""A campaign: a folder of plain files that holds everything an annotation campaign knows.

    campaign.yaml        settings, written once by `annotate new`
    task.yaml            the task, copied, so that a later edit of the catalogue changes no running campaign
    guidelines.md        what raters are told, copied likewise
    hs.jsonl, cn.jsonl   the texts of a campaign on pairs, with what the corpus says about them
    replies.jsonl        the replies of a campaign on replies or comparisons (rows `Reply`)
    units.jsonl          what is judged, ids only
    raters.jsonl         pseudonyms and their state; names never enter the folder
    rounds/NAME.jsonl    who judges what in a round, in which order
    rounds/NAME.json     how the round was made
    rounds/NAME.shown.jsonl  what raters see besides the texts, such as others' grades
    answers.jsonl        everything that raters said, ever: later lines supersede earlier ones on the same question
    imports.jsonl        the files that answers came from
    decisions.jsonl      how conflicts were resolved
    queue.jsonl          how the rounds queue-N came about

Every file is written whole or not at all. Whoever changes something holds the campaign's lock.
"""

import fnmatch
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any, Literal, TypeVar

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from fcconan.annotation.lookups import Lookup
from fcconan.data import YamlFile, explain, locked, new_folder, read_rows, write_whole
from fcconan.errors import InputError
from fcconan.judging import Task, dump_task, load_task

Row = dict[str, Any]
Key = tuple[str, str]  # rater and unit
Role = Literal["annotator", "validator"]
SETTINGS = "campaign.yaml"
LABEL = "label"  # what is answered in a task with labels; in a task with aspects it is the aspect
MAIN = "main"  # the round that raters judge the units in
VALIDATION = "validation"  # the round in which others agree or disagree with the label
QUALIFICATION = "qualification"  # the round of the quiz
_PATIENCE = 60.0  # seconds to wait for another change
Record = TypeVar("Record")


class Settings(BaseModel):
    """The file `campaign.yaml`.

    Attributes:
        format: The version of the folder's layout.
        name: Of the campaign; imports of another one are refused by it.
        language: A code of ISO 639-1.
        seed: From which every step derives its draws, unless it is given one of its own.
        made_from: What the units were made from and how, as `annotate new` reports it.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    format: Literal[1] = 1
    name: str = Field(pattern=r"^[a-z0-9]+(-[a-z0-9]+)*$")
    language: str = "en"
    seed: int = Field(default=0, ge=0)
    made_from: dict[str, Any] = {}


@dataclass(frozen=True)
class Unit:
    """One thing that is judged.

    Attributes:
        unit_id: The pair's id, the reply's id, or `<reply a>:<reply b>`.
        role: `item`, or `anchor` or `quiz`, whose right answer is known.
        hs_id: The HS.
        cn_id: The CN of a pair.
        item_id: What a reply answers.
        reply_a: The reply, or the first one of a comparison.
        reply_b: The second one of a comparison.
        known: The right answer by aspect (or `label`), of an anchor or quiz unit.
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
    """Somebody who judges.

    Attributes:
        rater: The pseudonym.
        role: What they do: `annotator` or `validator`.
        state: `invited` (has to pass a quiz first), `active`, `failed` (the quiz) or `left`.
    """

    rater: str
    role: Role = "annotator"
    state: Literal["invited", "active", "failed", "left"] = "active"


@dataclass(frozen=True)
class Assignment:
    """That a rater judges a unit in a round.

    Attributes:
        rater: The pseudonym.
        unit_id: The unit.
        position: Its place in the rater's order, from 1.
        session: The sitting in which it comes, from 1.
        swapped: Whether a comparison is shown with its second reply as A.
        withdrawn: Whether the rater left or was relieved of it; an answer given before stays.
    """

    rater: str
    unit_id: str
    position: int
    session: int = 1
    swapped: bool = False
    withdrawn: bool = False

    @property
    def key(self) -> Key:
        """The rater and the unit."""
        return self.rater, self.unit_id


@dataclass(frozen=True)
class Answer:
    """What a rater said on one question about a unit.

    Attributes:
        round: The round.
        rater: The pseudonym.
        unit_id: The unit.
        aspect: The aspect, or `label` in a task with labels.
        value: The grade (a number) or the label (a string), a verdict being about the unit's own order of replies,
            whatever was shown; None if it was skipped.
        seconds: How long it took, if the tool says.
        comment: What the rater remarked.
        import_number: Which import brought it, from 1.
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
        """The rater and the unit."""
        return self.rater, self.unit_id

    @property
    def question(self) -> tuple[str, str, str, str]:
        """What the answer is to: a later answer to the same question supersedes it."""
        return self.round, self.rater, self.unit_id, self.aspect


@dataclass(frozen=True)
class Import:
    """A file that answers came from.

    People name files after themselves: a name is kept only if it is one that `export` writes.

    Attributes:
        import_number: From 1.
        file: Its name, without the folder; None if it is another than `export` gives.
        sha256: Of its content.
        tool: The format.
        round: The round.
        raters: Whose answers it has, by their pseudonyms.
        n_answers: Answers in it.
        n_new: Those to questions that had none.
        n_changed: Those that changed an earlier one.
    """

    import_number: int
    file: str | None
    sha256: str
    tool: str
    round: str
    raters: list[str]
    n_answers: int
    n_new: int
    n_changed: int


@dataclass(frozen=True)
class Decision:
    """The final label of a unit.

    Attributes:
        unit_id: The unit.
        label: The label; None if the unit is discarded.
        by: `votes` (no conflict), `rule`, or the pseudonym of the person who decided.
        reason: Why, from a closed list of `fcconan.annotation.adjudication`.
        votes: Of a person's decision, the votes that it was made on, in alphabetical order; None for others.
    """

    unit_id: str
    label: str | None
    by: str
    reason: str
    votes: str | None = field(default=None, compare=False)  # what was decided is the same on other votes


class Campaign:
    """A campaign in its folder.

    Args:
        folder: Of the campaign.

    Attributes:
        folder: Of the campaign.
        settings: What `campaign.yaml` says.
        task: What is asked.

    Raises:
        InputError: The folder holds no campaign, or one that cannot be read.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._tables: dict[str, tuple[tuple[int, int, int], list[Any]]] = {}
        if not (folder / SETTINGS).is_file():
            raise InputError(f"{folder} holds no {SETTINGS}: make a campaign with `fcconan annotate new`")
        file = YamlFile(folder / SETTINGS)
        try:
            self.settings = Settings.model_validate(file.data)
        except ValidationError as error:
            keys = list(Settings.model_fields)
            raise InputError(explain(file, error, whole="the campaign", known_keys=lambda _: keys)) from error
        self.task: Task = load_task(folder / "task.yaml")

    @property
    def aspects(self) -> list[str]:
        """The questions about every unit: the task's aspects, or `label`."""
        return [aspect.name for aspect in self.task.aspects] or [LABEL]

    def units(self) -> dict[str, Unit]:
        """Returns what is judged, by its id, in the order of the file; an unknown id is refused."""
        return Lookup(self.folder, "unit", {unit.unit_id: unit for unit in self.read("units.jsonl", Unit)})

    def items(self) -> list[Unit]:
        """Returns the units whose answer is wanted: all but gold questions and the qualification test."""
        return self.units_of("item")

    def units_of(self, role: str) -> list[Unit]:
        """Returns the units of a role: `item`, `anchor` or `quiz`."""
        return [unit for unit in self.units().values() if unit.role == role]

    def texts(self) -> dict[str, Row]:
        """Returns the rows of HS, CNs and replies by their ids; each has a `text`."""
        keys = {"hs.jsonl": "hs_id", "cn.jsonl": "cn_id", "replies.jsonl": "reply_id"}
        rows = {row[key]: row for name, key in keys.items() for row in self._once(name, read_rows)}
        return Lookup(self.folder, "text", rows)

    def raters(self) -> dict[str, Rater]:
        """Returns the raters by their pseudonyms, in the order in which they joined."""
        return Lookup(self.folder, "rater", {rater.rater: rater for rater in self.read("raters.jsonl", Rater)})

    def active(self, role: str) -> list[str]:
        """Returns the active raters of a role, in the order in which they joined."""
        return [each.rater for each in self.raters().values() if (each.role, each.state) == (role, "active")]

    def rounds(self) -> list[str]:
        """Returns the names of the rounds, in alphabetical order."""
        return sorted(path.stem for path in (self.folder / "rounds").glob("*.jsonl") if "." not in path.stem)

    def rounds_like(self, names: Sequence[str] | None) -> list[str]:
        """Returns the rounds with these names, in their order; a name such as `queue-*` is that of all that it matches.

        Args:
            names: The names, also those that no round has; None or nothing for the main round.
        """
        found: list[str] = []
        for name in names or [MAIN]:
            # Of rounds that are numbered, the tenth comes after the second.
            matching = sorted(fnmatch.filter(self.rounds(), name), key=lambda each: (len(each), each))
            found += matching or [name]
        return list(dict.fromkeys(found))

    def assignments(self, round_name: str = MAIN) -> list[Assignment]:
        """Returns who judges what in a round, each rater's in their order.

        Raises:
            InputError: There is no such round.
        """
        path = self.folder / "rounds" / f"{round_name}.jsonl"
        if not path.is_file():
            options = round_options(name for name in self.rounds() if name not in (VALIDATION, QUALIFICATION))
            todo = f"name what there is, with {options}" if options else "make it with `fcconan annotate assign`"
            raise InputError(
                f"{self.folder} has no round {round_name!r}, only {', '.join(self.rounds()) or 'none'}: {todo}"
            )
        return self.read(f"rounds/{round_name}.jsonl", Assignment)

    def shown(self, round_name: str) -> dict[Key, Row] | None:
        """Returns what each rater of a round is shown besides the texts, by rater and unit; None if that is nothing."""
        name = f"rounds/{round_name}.shown.jsonl"
        if not (self.folder / name).is_file():
            return None
        rows = map(dict, self._once(name, read_rows))
        return {(row.pop("rater", ""), row.pop("unit_id", "")): row for row in rows}

    def history(self) -> list[Answer]:
        """Returns everything that raters said, the oldest first."""
        return self.read("answers.jsonl", Answer)

    def answers(self, round_name: str | None = None) -> dict[tuple[str, str, str, str], Answer]:
        """Returns the answers that hold, by their question, in the order in which questions were first answered.

        Args:
            round_name: The round; None for all.
        """
        found: dict[tuple[str, str, str, str], Answer] = {}
        for answer in self.history():
            if round_name in (None, answer.round):
                found[answer.question] = answer
        return found

    def imports(self) -> list[Import]:
        """Returns the imports, the oldest first; one that was killed before its answers were written is none."""
        came = {answer.import_number for answer in self.history()}
        return [one for one in self.read("imports.jsonl", Import) if one.import_number in came]

    def decisions(self) -> dict[str, Decision]:
        """Returns the final labels by unit; empty before adjudication."""
        return {decision.unit_id: decision for decision in self.read("decisions.jsonl", Decision)}

    @contextmanager
    def changing(self) -> Iterator[None]:
        """Holds the campaign's lock: what is read and written within is one change.

        Raises:
            InputError: Another process holds it for too long, or the folder cannot be written.
        """
        with locked(self.folder, wait=_PATIENCE):
            yield

    def write(self, name: str, records: Iterable[Any]) -> None:
        """Writes a file of records, such as `raters.jsonl`, whole; call it within `changing`.

        Raises:
            OSError: The file cannot be written.
        """
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, as_lines(_as_row(record) for record in records))

    def read(self, name: str, kind: type[Record]) -> list[Record]:
        """Returns the records of one class in a file such as `raters.jsonl`; none if there is no such file.

        Raises:
            InputError: A line of the file is no such record.
        """
        return self._once(name, lambda path: _records(path, kind))

    def _once(self, name: str, read: Callable[[Path], Iterable[Any]]) -> list[Any]:
        """The rows of a file, which is read again only when it has changed; none if there is no such file."""
        path = self.folder / name
        if not path.is_file():
            return []
        found = path.stat()
        stamp = (found.st_mtime_ns, found.st_size, found.st_ino)
        if name not in self._tables or self._tables[name][0] != stamp:
            self._tables[name] = stamp, list(read(path))
        return list(self._tables[name][1])


def _records(path: Path, kind: type[Record]) -> Iterator[Record]:
    for number, row in enumerate(read_rows(path), start=1):
        try:
            yield kind(**row)
        except TypeError as error:
            raise InputError(
                f"{path}, line {number} is no {kind.__name__.lower()} ({error}): take the file from a backup"
            ) from error


def create(
    folder: Path,
    settings: Settings,
    task: Task,
    units: Iterable[Unit],
    texts: Mapping[str, Iterable[Row]],
    guidelines: str | None = None,
) -> Campaign:
    """Makes the folder of a new campaign, whole or not at all.

    Args:
        folder: Of the campaign; it must not exist, or be empty.
        settings: For `campaign.yaml`.
        task: What is asked.
        units: What is judged.
        texts: Rows by file: `hs.jsonl`, `cn.jsonl`, `replies.jsonl`.
        guidelines: What raters are told, as Markdown; None to tell them what follows from the task.

    Raises:
        InputError: There is something in the folder.
        OSError: It cannot be written.
    """
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise InputError(f"{folder} is there already: choose another folder for the new campaign")
    with new_folder(folder) as stage:
        content = yaml.safe_dump(settings.model_dump(), sort_keys=False, allow_unicode=True)
        (stage / SETTINGS).write_text(content, encoding="utf-8")
        (stage / "task.yaml").write_text(dump_task(task), encoding="utf-8")
        (stage / "units.jsonl").write_text(as_lines(map(_as_row, units)), encoding="utf-8")
        if guidelines is not None:
            (stage / "guidelines.md").write_text(guidelines, encoding="utf-8")
        for name, rows in texts.items():
            (stage / name).write_text(as_lines(rows), encoding="utf-8")
    return Campaign(folder)


def round_options(names: Iterable[str]) -> str:
    """Returns the options that name rounds on a command line, those of a queue as one pattern."""
    shown = dict.fromkeys("'queue-*'" if name.startswith("queue-") else name for name in names)
    return " ".join(f"--round {name}" for name in shown)


def as_lines(rows: Iterable[Row]) -> str:
    """Returns rows as JSON lines."""
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


def _as_row(record: Any) -> Row:
    """A record without what has its default, which is most of it."""
    defaults = {each.name: each.default for each in fields(record)}
    return {name: value for name, value in asdict(record).items() if value != defaults[name] or name == "value"}
