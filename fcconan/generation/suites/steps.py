"""Which steps of a suite are done: a step is done again only where its options, or what it reads, have changed.

`suite.json` is a record for people and for reports. Steps are resumed from `checkpoints/STEP.json`, one for each step.
"""

import json
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import fcconan
from fcconan.data import LOCK_FILE, Checkpoint, content_folder, report, sha256_of, short_hash, write_whole
from fcconan.errors import InputError

RECORD = "suite.json"
CHECKPOINTS = "checkpoints"


class Steps:
    """The record of a folder of results, in `suite.json`.

    Args:
        folder: The folder.
        about: What the record says besides: the suite, the dataset.

    Attributes:
        folder: The folder.
        about: As given; the record is written with it.
        problems: Why steps failed, by their names.
        statuses: What became of each step in this run: `kept`, `done`, `incomplete` (to be tried again) or `failed`.

    Raises:
        InputError: The folder holds something else.
    """

    def __init__(self, folder: Path, about: Mapping[str, Any]) -> None:
        self.folder, self.about = folder, dict(about)
        self.problems: dict[str, str] = {}
        self.statuses: dict[str, str] = {}
        self._known = self._load() if (folder / RECORD).is_file() else {}
        self._done: dict[str, Any] = {}
        # Whatever became of the record, a folder with checkpoints is of this suite.
        if not self._known and folder.exists() and (found := self._held()) is not None:
            raise InputError(f"{folder} holds {found}: choose another --out")

    def _held(self) -> str | None:
        """Returns what the folder holds besides results of this suite; None where there is nothing else."""
        try:
            name = json.loads((self.folder / RECORD).read_text(encoding="utf-8"))["suite"]["name"]
        except (OSError, ValueError, KeyError, TypeError, RecursionError):
            is_empty = self.folder.is_dir() and all(each.name == LOCK_FILE for each in self.folder.iterdir())
            return None if is_empty else "no results of a suite"
        return None if name == self.about["suite"]["name"] else f"the results of the suite {name}"

    def _load(self) -> dict[str, Any]:
        """Returns the steps that have a checkpoint, by their names."""
        folder = self.folder / CHECKPOINTS
        names = [path.relative_to(folder).with_suffix("").as_posix() for path in sorted(folder.rglob("*.json"))]
        found = {name: self._checkpoint(name).load() for name in names}
        return {name: step for name, step in found.items() if step is not None}

    def _checkpoint(self, name: str) -> Checkpoint:
        return Checkpoint(
            self.folder / CHECKPOINTS / f"{name}.json", {"suite": self.about["suite"]["name"], "step": name}
        )

    def is_kept(self, name: str, key: str) -> bool:
        """Whether a step was finished as it is asked for, and its files are as it left them."""
        known = self._known.get(name)
        if not known or known["key"] != key or known.get("incomplete"):
            return False
        files = {self.folder / file: content for file, content in known["files"].items()}
        changed = next((file for file, content in files.items() if file.exists() and content_of(file) != content), None)
        if changed is not None:
            del self._known[name]  # so that it is reported once
            report(f"{changed} is not as the step {name} left it: the step is done again")
        return changed is None and all(file.exists() for file in files)

    def keep(self, name: str) -> None:
        """Takes a step as it is."""
        self._done[name] = self._known[name]
        self.statuses[name] = "kept"

    def begin(self, files: Iterable[Path]) -> None:
        """Removes what an earlier run left of a step."""
        self.write()
        for file in files:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.unlink(missing_ok=True)

    def end(self, name: str, key: str, files: Iterable[Path], *, complete: bool = True) -> None:
        """Notes that a step was done, and writes the record.

        Args:
            name: Of the step.
            key: Of its options and of what it read.
            files: What it wrote; a folder means all that it holds.
            complete: Whether all went well; otherwise another run tries again.
        """
        hashes = {file.relative_to(self.folder).as_posix(): content_of(file) for file in files if file.exists()}
        self._done[name] = {"key": key, "files": hashes, **({} if complete else {"incomplete": True})}
        self._checkpoint(name).save(self._done[name])
        self.statuses[name] = "done" if complete else "incomplete"
        self.write()

    def fail(self, name: str, why: str) -> None:
        """Notes that a step could not be done, and writes the record."""
        self.problems[name] = why
        self.statuses[name] = "failed"
        self.write()

    def write(self, **further: Any) -> None:
        """Writes the record, whole or not at all."""
        self.about |= further
        self.folder.mkdir(parents=True, exist_ok=True)
        # Until the end, the steps of an earlier run that this one has not reached yet stay.
        later = {name: step for name, step in self._known.items() if name not in self._done}
        record = {**self.about, "problems": self.problems, "steps": {**self._done, **later}}
        write_whole(self.folder / RECORD, json.dumps(record, indent=2, ensure_ascii=False) + "\n")

    def finish(self) -> None:
        """Forgets steps that the suite has no longer, and removes their files."""
        used = {file for step in self._done.values() for file in step["files"]}
        for name in [name for name in self._known if name not in self._done]:
            for file in self._known.pop(name)["files"]:
                if file not in used:
                    with suppress(OSError):
                        (self.folder / file).unlink()
            with suppress(OSError):
                self._checkpoint(name).path.unlink()
        self.write()


def key_of(**what: Any) -> str:
    """Returns a digest of options and of what is read; another version of the package is another key."""
    everything = {"version": fcconan.__version__, "content": _annotations(), **what}
    return short_hash(json.dumps(everything, sort_keys=True, default=str))


def content_of(path: Path) -> str:
    """Returns a digest of what a file or a folder holds.

    Raises:
        InputError: It cannot be read.
    """
    try:
        if path.is_file():
            return sha256_of(path)[:12]
        files = sorted(each for each in path.rglob("*") if each.is_file())
        return short_hash(*(f"{each.relative_to(path).as_posix()} {sha256_of(each)}" for each in files))
    except OSError as error:
        raise InputError(f"{path} cannot be read ({error.strerror or error}): check the path") from error


def _annotations() -> str:
    """What tasks, prompts, formats and decodings by name stand for."""
    return content_of(content_folder() / "annotations")
