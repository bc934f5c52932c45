"""Finished steps of a suite. A step is repeated only if its options or inputs have changed.

`suite.json` is a record for people and for reports. Steps resume from their checkpoints, `checkpoints/STEP.json`.
"""

import json
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import fcconan
from fcconan.data import LOCK_FILE, Checkpoint, content_folder, file_sha256, report, short_hash, write_whole
from fcconan.errors import InputError

RECORD = "suite.json"
CHECKPOINTS = "checkpoints"


class StepCache:
    """The record of a folder of results, in `suite.json`.

    Args:
        folder: Folder of results.
        about: Further content of the record, such as suite and dataset.

    Attributes:
        folder: Folder of results.
        about: Further content of the record.
        problems: Step -> message of its error.
        statuses: Step -> status in this run: reused, done, incomplete (the next run tries again) or failed.

    Raises:
        InputError: The folder has other content.
    """

    def __init__(self, folder: Path, about: Mapping[str, Any]) -> None:
        self.folder, self.about = folder, dict(about)
        self.problems: dict[str, str] = {}
        self.statuses: dict[str, str] = {}
        self._known = self._load() if (folder / RECORD).is_file() else {}
        self._done: dict[str, Any] = {}
        # A folder with checkpoints belongs to this suite, even if its record is lost.
        if not self._known and folder.exists() and (found := self._held()) is not None:
            raise InputError(f"{folder} holds {found}: choose another --out")

    def _held(self) -> str | None:
        """Describes content of the folder that is not of this suite; None if there is none."""
        try:
            name = json.loads((self.folder / RECORD).read_text(encoding="utf-8"))["suite"]["name"]
        except (OSError, ValueError, KeyError, TypeError, RecursionError):
            is_empty = self.folder.is_dir() and all(each.name == LOCK_FILE for each in self.folder.iterdir())
            return None if is_empty else "files that are not results of a suite"
        return None if name == self.about["suite"]["name"] else f"the results of the suite {name}"

    def _load(self) -> dict[str, Any]:
        """Returns step -> checkpoint."""
        folder = self.folder / CHECKPOINTS
        names = [path.relative_to(folder).with_suffix("").as_posix() for path in sorted(folder.rglob("*.json"))]
        found = {name: self._checkpoint(name).load() for name in names}
        return {name: step for name, step in found.items() if step is not None}

    def _checkpoint(self, name: str) -> Checkpoint:
        return Checkpoint(
            self.folder / CHECKPOINTS / f"{name}.json", {"suite": self.about["suite"]["name"], "step": name}
        )

    def is_reusable(self, name: str, key: str) -> bool:
        """Returns whether a step was finished with the same key, and its files are unchanged."""
        known = self._known.get(name)
        if not known or known["key"] != key or known.get("incomplete"):
            return False
        files = {self.folder / file: content for file, content in known["files"].items()}
        changed = next(
            (file for file, content in files.items() if file.exists() and content_hash(file) != content), None
        )
        if changed is not None:
            del self._known[name]  # so that it is reported once
            report(f"{changed} has changed since the step {name} wrote it: the step is repeated")
        return changed is None and all(file.exists() for file in files)

    def reuse(self, name: str) -> None:
        """Reuses the result of a step."""
        self._done[name] = self._known[name]
        self.statuses[name] = "kept"

    def begin(self, files: Iterable[Path]) -> None:
        """Removes files of a step that an earlier run wrote."""
        self.write()
        for file in files:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.unlink(missing_ok=True)

    def end(self, name: str, key: str, files: Iterable[Path], *, complete: bool = True) -> None:
        """Records a finished step.

        Args:
            name: Name of the step.
            key: Hash of its options and inputs.
            files: Output files; a folder means all files in it.
            complete: Whether the output is complete; otherwise the next run tries again.
        """
        hashes = {file.relative_to(self.folder).as_posix(): content_hash(file) for file in files if file.exists()}
        self._done[name] = {"key": key, "files": hashes, **({} if complete else {"incomplete": True})}
        self._checkpoint(name).save(self._done[name])
        self.statuses[name] = "done" if complete else "incomplete"
        self.write()

    def fail(self, name: str, why: str) -> None:
        """Records a failed step."""
        self.problems[name] = why
        self.statuses[name] = "failed"
        self.write()

    def write(self, **further: Any) -> None:
        """Writes the record atomically."""
        self.about |= further
        self.folder.mkdir(parents=True, exist_ok=True)
        # Steps of an earlier run that this run has not reached yet stay in the record until the end.
        later = {name: step for name, step in self._known.items() if name not in self._done}
        record = {**self.about, "problems": self.problems, "steps": {**self._done, **later}}
        write_whole(self.folder / RECORD, json.dumps(record, indent=2, ensure_ascii=False) + "\n")

    def finish(self) -> None:
        """Removes steps that are no longer part of the suite, and their files."""
        used = {file for step in self._done.values() for file in step["files"]}
        for name in [name for name in self._known if name not in self._done]:
            for file in self._known.pop(name)["files"]:
                if file not in used:
                    with suppress(OSError):
                        (self.folder / file).unlink()
            with suppress(OSError):
                self._checkpoint(name).path.unlink()
        self.write()


def cache_key(**what: Any) -> str:
    """Returns a hash of options and inputs, and of the version of the package."""
    everything = {"version": fcconan.__version__, "content": _annotations(), **what}
    return short_hash(json.dumps(everything, sort_keys=True, default=str))


def content_hash(path: Path) -> str:
    """Returns a hash of the content of a file or a folder.

    Raises:
        InputError: A file cannot be read.
    """
    try:
        if path.is_file():
            return file_sha256(path)[:12]
        files = sorted(each for each in path.rglob("*") if each.is_file())
        return short_hash(*(f"{each.relative_to(path).as_posix()} {file_sha256(each)}" for each in files))
    except OSError as error:
        raise InputError(f"{path} cannot be read ({error.strerror or error}): check the path") from error


def _annotations() -> str:
    """Returns a hash of all tasks, prompts, formats and decoding presets."""
    return content_hash(content_folder() / "annotations")
