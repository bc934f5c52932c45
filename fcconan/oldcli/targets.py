"""The check before long work that results can be written, and that no file replaces one that the command reads."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fcconan.oldcli.output import check_json_target, check_replaced_json
from fcconan.services import Argument, check_files, option_flag


def check_targets(
    arguments: Mapping[str, Argument],
    values: Mapping[str, Any],
    options: Any,
    results: Mapping[str, Path | None],
) -> None:
    """Checks all files of a command.

    Args:
        arguments: The arguments of the service, by name.
        values: Their values.
        options: The configuration of the service, or None.
        results: The files of `--json` and `--config`, by option.

    Raises:
        InputError: A file cannot be written, or is also read.
    """
    used: list[tuple[str | None, str, Any]]
    used = [(each.role, option_flag(name, each), values[name]) for name, each in arguments.items()]
    if options is not None:
        fields = type(options).describe()
        used += [(how.role, option_flag(name, how), getattr(options, name)) for name, (_, how) in fields.items()]
    named: dict[str | None, list[str | Path]] = {}
    for role, _, value in used:
        each = list(value.values()) if isinstance(value, dict) else value
        each = each if isinstance(each, list | tuple) else [each]
        named.setdefault(role, []).extend(one for one in each if isinstance(one, str | Path))
    paths: dict[str | None, list[Any]] = {role: [_path_in(each) for each in found] for role, found in named.items()}
    for folder in paths.get("release", [None]):
        check_json_target(results["--json"], folder)
    folders = paths.get("folder", [])
    written = {flag: path for role, flag, path in used if role == "write"}
    check_files(
        {**written, "--json": results["--json"]},
        read=[*paths.get("read", []), *folders, results["--config"]],
        folders=folders,
    )
    check_replaced_json(results["--json"])


def _path_in(value: str | Path) -> Path:
    """Returns the path that a value names, without a part or labels (`FOLDER:PART`)."""
    before, _, after = str(value).rpartition(":")
    return Path(before) if after and not Path(value).exists() and before and Path(before).is_dir() else Path(value)
