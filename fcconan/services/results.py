"""Results of services: the JSON object with a signature, as text, file and table."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from fcconan.data import write_whole
from fcconan.errors import InputError

if TYPE_CHECKING:
    from pandas import DataFrame

DRY_RUN = "dry_run"  # the key of the requests that would be sent


@dataclass(frozen=True, repr=False)
class Result:
    """The result of a service.

    Attributes:
        data: The JSON object.
        table: The key of the main table in it, a list of objects.
        signatures: The keys of the signatures that the command prints at the end, where the result has them.

    Examples:
        >>> result = Result({"signature": "fcconan:1|x:y", "rows": [{"name": "a", "value": 0.5}]})
        >>> result
        Result(1 row, signature='fcconan:1|x:y')
        >>> result.to_frame()["value"].tolist()
        [0.5]
    """

    data: Mapping[str, Any]
    table: ClassVar[str] = "rows"
    signatures: ClassVar[tuple[str, ...]] = ("signature", "tests_signature")

    def to_dict(self) -> dict[str, Any]:
        """Returns the JSON object."""
        return dict(self.data)

    def to_json(self, path: Path | str | None = None) -> str:
        """Returns the result as JSON, and writes it to a file where one is given.

        Args:
            path: The file; it is written whole or not at all.

        Raises:
            InputError: The file cannot be written, or the result holds nan or infinity, which JSON cannot express.
        """
        return write_json(self.json_value(), None if path is None else Path(path))

    def json_value(self) -> Any:
        """Returns the value that is written as JSON; results that are a list of rows return that list."""
        return self.to_dict()

    def to_frame(self) -> "DataFrame":
        """Returns the main table."""
        from pandas import DataFrame

        return DataFrame(list(self.rows()))

    @property
    def is_dry_run(self) -> bool:
        """Whether nothing was sent; the main table then has the requests that would be sent."""
        return isinstance(self.data.get(DRY_RUN), list)

    def rows(self) -> Sequence[Mapping[str, Any]]:
        """Returns the rows of the main table."""
        rows: Sequence[Mapping[str, Any]] = self.data[DRY_RUN if self.is_dry_run else self.table]
        return rows

    @property
    def signature(self) -> str:
        """All settings that change the values, in one line."""
        return str(self.data["signature"])

    def source_rows(self) -> Any:
        """Returns the rows that the call made, for calls that read them, such as ratings for `correlate`.

        Raises:
            InputError: It made no rows that others read.
        """
        raise InputError(f"{type(self).__name__} holds no rows to read: give a file, a name, a data frame or rows")

    def signature_lines(self) -> list[str]:
        """Returns the signatures that the command prints, each once."""
        return [self.data[key] for key in self.signatures if key in self.data]

    def __repr__(self) -> str:
        number = len(self.rows())
        return f"{type(self).__name__}({number} row{'s' * (number != 1)}, signature={self.signature!r})"


def write_json(data: Any, path: Path | None) -> str:
    """Returns data as JSON, and writes it to a file where one is given, whole or not at all.

    Raises:
        InputError: The file cannot be written, or the data hold nan or infinity.
    """
    try:
        text = json.dumps(data, indent=2, ensure_ascii=False, allow_nan=False)
    except ValueError as error:
        raise InputError(
            f"{path or 'the result'} is not written: the result holds a number that JSON cannot express ({error}): "
            "report this bug"
        ) from error
    if path is None:
        return text
    if not path.name:  # `.` or `/`
        raise InputError(f"{path} cannot be written (Is a directory): choose another --json file")
    try:
        # A path that is not Unicode holds lone surrogates; `\udcff` is how JSON writes one.
        write_whole(path, text + "\n", errors="backslashreplace")
    except OSError as error:
        raise InputError(f"{path} cannot be written ({error.strerror}): choose another --json file") from error
    return text
