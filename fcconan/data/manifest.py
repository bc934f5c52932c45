"""The manifest of a release folder: its schema and reader.

The reader validates each manifest, because folders may come from the Hub or from other versions of the package.
"""

import json
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, NonNegativeInt, StringConstraints, ValidationError, model_validator

from fcconan.errors import InputError

MANIFEST = "manifest.json"
CARD = "README.md"
FORMAT = 1

# One path component: configs and splits are folders and files of the release.
PathPart = Annotated[str, StringConstraints(pattern=r"^\w[\w.-]*$", max_length=200)]
FilePath = Annotated[str, StringConstraints(pattern=r"^\w[\w.-]*(/\w[\w.-]*)*$", max_length=500)]
Line = Annotated[str, StringConstraints(pattern=r"^[^\x00-\x1f\x7f-\x9f\u2028\u2029]*$", min_length=1, max_length=500)]
Sha256 = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]


Splits = Annotated[dict[PathPart, NonNegativeInt], Field(min_length=1)]


class _Part(BaseModel):
    # A release of a newer version may have further keys.
    model_config = ConfigDict(strict=True, extra="ignore")


class File(_Part):
    """Hash and size in bytes of one file of a release."""

    sha256: Sha256
    bytes: NonNegativeInt


class Package(_Part):
    """The software that wrote a release."""

    name: Line
    version: Line


class Manifest(_Part):
    """The keys of a manifest that this package reads.

    Attributes:
        counts: Number of rows by config and split.
        aliases: Mapping from further names of configs to the configs.
        files: Hash and size of each file by path.
        restricted_columns: Text columns by config.
    """

    format: Literal[1]
    name: Line
    title: Line | None = None
    kind: Line | None = None
    synthetic: bool = False
    labels_only: bool
    redistributable: bool = False
    tier_rule: Line | None
    package: Package
    fingerprint: Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{12}$")]
    versions: Annotated[dict[PathPart, Line], Field(min_length=1)]
    aliases: dict[PathPart, PathPart] = {}
    counts: Annotated[dict[PathPart, Splits], Field(min_length=1)]
    files: Annotated[dict[FilePath, File], Field(min_length=1)]
    restricted_columns: dict[PathPart, list[str]] = {}
    excluded: list[str] = []
    left_out: list[str] = []
    notes: list[str] = []

    @model_validator(mode="after")
    def _check_names(self) -> "Manifest":
        unknown = [alias for alias, config in self.aliases.items() if config not in self.counts]
        if unknown:
            config = self.aliases[unknown[0]]
            raise ValueError(f"the alias {unknown[0]!r} is of the config {config!r}, which has no counts")
        return self


def read_manifest(folder: Path) -> dict[str, Any]:
    """Reads and checks the manifest of a release folder.

    Args:
        folder: The folder.

    Returns:
        The manifest, which conforms to `Manifest` and may have further keys.

    Raises:
        InputError: The folder has no manifest, or an invalid one.
    """
    path = folder / MANIFEST
    try:
        manifest: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        Manifest.model_validate(manifest)
    except FileNotFoundError as error:
        raise InputError(f"{folder} has no {MANIFEST}: give a folder that `fcconan build` wrote") from error
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        key = ".".join(str(part) for part in first["loc"] if part != "[key]")
        found = "" if first["type"] in ("missing", "value_error") else f", found {repr(first['input'])[:60]}"
        wrong = f"{key}: {first['msg']}{found}" if key else first["msg"].removeprefix("Value error, ")
        raise InputError(f"{path} is not a valid manifest of fcconan ({wrong}): build the folder again") from error
    except (OSError, ValueError) as error:
        raise InputError(
            f"{path} cannot be read ({error}): check its permissions, or build the folder again"
        ) from error
    return manifest
