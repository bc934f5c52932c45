"""Checks before the upload: the card, and loading with `datasets`."""

import re
from collections.abc import Iterator
from contextlib import contextmanager

from fcconan.building import CARD_TAGS, FURTHER_CARD_TAGS, read_card
from fcconan.data import CARD, temporary_folder
from fcconan.errors import InputError
from fcconan.publishing.contents import Contents


def check_loading(contents: Contents) -> None:
    """Checks that `datasets` loads every config without its cache, with the numbers of rows in the manifest.

    Aliases are skipped: `check_published_card` checks that they have the files of another config.

    Raises:
        InputError: A config cannot be loaded, or has another number of rows.
    """
    import datasets

    aliases = contents.manifest.get("aliases", {})
    with temporary_folder("fcconan-loading-") as cache, _silence_datasets():
        for config, expected in contents.manifest["counts"].items():
            if config in aliases:
                continue
            try:
                loaded = datasets.load_dataset(str(contents.folder.absolute()), config, cache_dir=str(cache))
            except Exception as error:  # any error would also occur for users of the dataset
                reason = " ".join(str(error).split())[:300]
                raise InputError(
                    f"config {config!r} of {contents.folder} cannot be loaded ({type(error).__name__}: {reason}): "
                    "build the folder again"
                ) from error
            found = {split: part.num_rows for split, part in loaded.items()}
            if found != expected:
                raise InputError(
                    f"config {config!r} of {contents.folder} loads as {found} rows, the manifest has {expected}: "
                    "build the folder again"
                )
            del loaded


@contextmanager
def _silence_datasets() -> Iterator[None]:
    import datasets

    hidden = datasets.are_progress_bars_disabled()
    level = datasets.logging.get_verbosity()
    datasets.disable_progress_bars()
    datasets.logging.set_verbosity_error()
    try:
        yield
    finally:
        datasets.logging.set_verbosity(level)
        if not hidden:
            datasets.enable_progress_bars()


SECTIONS = ("Load it", "Composition", "Uses and misuse", "Terms", "Citation")
_HEADING = re.compile(r"^## +(.+?) *$", re.MULTILINE)
_CODE = re.compile(r"```.*?```", re.DOTALL)


def check_published_card(contents: Contents) -> list[str]:
    """Checks values, template leftovers and sections of a card, and compares it with the manifest.

    Returns:
        The file patterns of the configs.

    Raises:
        InputError: The card is invalid; the message names the fault.
    """
    text = contents.path(CARD).read_text(encoding="utf-8")
    metadata = read_card(contents.path(CARD).parent)
    if not {*metadata["tags"]} <= {*CARD_TAGS, *FURTHER_CARD_TAGS}:
        raise _make_card_error(contents, "its YAML block has unknown tags")
    _check_sections(contents, text)
    manifest = contents.manifest
    aliases = manifest.get("aliases", {})
    counts = {name: manifest["counts"].get(aliases.get(name, name), {}) for name in manifest["versions"]}
    configs = [
        {
            "config_name": name,
            "data_files": [
                {"split": split, "path": f"{aliases.get(name, name)}/{split}-*.parquet"} for split in splits
            ],
            "version": manifest["versions"][name],
        }
        for name, splits in counts.items()
    ]
    stated = {
        info["config_name"]: {split["name"]: split["num_examples"] for split in info["splits"]}
        for info in metadata["dataset_info"]
    }
    declared = [{key: value for key, value in config.items() if key != "default"} for config in metadata["configs"]]
    for name, found, expected in (("configs", declared, configs), ("counts", stated, counts)):
        if found != expected:
            raise _make_card_error(contents, f"its {name} differ from those of the manifest")
    return sorted({entry["path"] for config in configs for entry in config["data_files"]})


def read_default_config(contents: Contents) -> tuple[str, str]:
    """Returns the default config of a valid card, and its first split."""
    configs = read_card(contents.path(CARD).parent)["configs"]
    default = next((config for config in configs if config.get("default")), configs[0])
    return default["config_name"], default["data_files"][0]["split"]


def _check_sections(contents: Contents, text: str) -> None:
    body = _CODE.sub("code", text)
    headings = list(_HEADING.finditer(body))
    ends = [heading.start() for heading in headings[1:]] + [len(body)]
    filled = {heading[1] for heading, end in zip(headings, ends, strict=True) if body[heading.end() : end].strip()}
    for section in SECTIONS:
        if section not in filled:
            raise _make_card_error(contents, f"the section {section!r} is missing or empty")


def _make_card_error(contents: Contents, fault: str) -> InputError:
    return InputError(f"the card of {contents.name} is invalid: {fault}; build the folder again")
