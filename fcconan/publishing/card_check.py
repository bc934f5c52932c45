"""Checks a card before the upload, as the Hub's own client looks at nothing offline."""

import re
from fnmatch import fnmatchcase
from typing import Any

from fcconan.building import FURTHER_TAGS, REQUIRED, TAGS, check_card
from fcconan.errors import InputError
from fcconan.publishing.contents import Contents

SECTIONS = ("Load it", "Composition", "Uses and misuse", "Terms", "Citation")
_HEADING = re.compile(r"^## +(.+?) *$", re.MULTILINE)
_CODE = re.compile(r"```.*?```", re.DOTALL)


def check_published_card(contents: Contents) -> list[str]:
    """Checks vocabulary, leftovers of the template, sections, and that every config leads to the files that are there.

    Returns:
        The patterns of files that the configs serve.

    Raises:
        InputError: The card breaks a rule; the message names it.
    """
    text = contents.card()
    metadata = check_card(text)
    if metadata.keys() != set(REQUIRED) or not {*metadata["tags"]} <= {*TAGS, *FURTHER_TAGS}:
        raise _wrong(contents, "its YAML block has keys or tags that no build writes")
    _check_sections(contents, text)
    configs = {config["config_name"]: config for config in metadata["configs"]}
    infos = {info["config_name"]: info for info in metadata["dataset_info"]}
    manifest = contents.manifest
    if set(configs) != set(manifest["versions"]) or set(infos) != set(configs):
        differing = min(set(configs) ^ set(manifest["versions"]) or set(infos) ^ set(configs))
        raise _wrong(contents, f"config {differing!r} is not in card and manifest alike")
    reached: set[str] = set()
    served: set[str] = set()
    for name, config in configs.items():
        if str(config.get("version")) != manifest["versions"][name]:
            raise _wrong(contents, f"config {name!r} has version {config.get('version')}, the manifest another one")
        patterns = [str(entry["path"]) for entry in config["data_files"]]
        served.update(patterns)
        for pattern in patterns:
            files = [path for path in contents.hashes if fnmatchcase(path, pattern)]
            if not files:
                raise _wrong(contents, f"config {name!r} names {pattern}, and no such file is there")
            reached.update(files)
        _check_counts(contents, name, infos[name])
    for alias, original in manifest.get("aliases", {}).items():
        if configs[alias]["data_files"] != configs[original]["data_files"]:
            raise _wrong(contents, f"config {alias!r} is an alias of {original!r} and serves other files")
    unreached = sorted(set(contents.tables) - reached)
    if unreached:
        raise _wrong(contents, f"no config leads to {unreached[0]}")
    return sorted(served)


def _check_counts(contents: Contents, name: str, info: dict[str, Any]) -> None:
    manifest = contents.manifest
    expected = manifest["counts"][manifest.get("aliases", {}).get(name, name)]
    stated = {split["name"]: split["num_examples"] for split in info["splits"]}
    if stated != expected:
        raise _wrong(contents, f"config {name!r} states {stated} rows, the manifest {expected}")


def _check_sections(contents: Contents, text: str) -> None:
    body = _CODE.sub("code", text)
    headings = list(_HEADING.finditer(body))
    ends = [heading.start() for heading in headings[1:]] + [len(body)]
    filled = {heading[1] for heading, end in zip(headings, ends, strict=True) if body[heading.end() : end].strip()}
    for section in SECTIONS:
        if section not in filled:
            raise _wrong(contents, f"the section {section!r} is missing or empty")


def _wrong(contents: Contents, what: str) -> InputError:
    return InputError(f"the card of {contents.title} is not as it should be: {what}; build the folder again")
