"""Loads a folder as its readers will, before anybody else does."""

from collections.abc import Iterator
from contextlib import contextmanager

from fcconan.data import temporary_folder
from fcconan.errors import InputError
from fcconan.publishing.contents import Contents


def check_loading(contents: Contents) -> None:
    """Checks that `datasets` loads every config, afresh and with as many rows as the manifest says.

    Aliases are left out: `check_published_card` has seen that they serve the files of another config.

    Raises:
        InputError: It does not.
    """
    import datasets

    aliases = contents.manifest.get("aliases", {})
    with temporary_folder("fcconan-loading-") as cache, _quiet():
        for config, expected in contents.manifest["counts"].items():
            if config in aliases:
                continue
            try:
                loaded = datasets.load_dataset(str(contents.folder.absolute()), config, cache_dir=str(cache))
            except Exception as error:  # whatever it is, readers would meet it, too
                reason = " ".join(str(error).split())[:300]
                raise InputError(
                    f"config {config!r} of {contents.folder} cannot be loaded ({type(error).__name__}: {reason}): "
                    "build the folder again"
                ) from error
            found = {split: part.num_rows for split, part in loaded.items()}
            if found != expected:
                raise InputError(
                    f"config {config!r} of {contents.folder} loads as {found} rows, the manifest says {expected}: "
                    "build the folder again"
                )
            del loaded


@contextmanager
def _quiet() -> Iterator[None]:
    import datasets

    showing = datasets.are_progress_bars_disabled()
    level = datasets.logging.get_verbosity()
    datasets.disable_progress_bars()
    datasets.logging.set_verbosity_error()
    try:
        yield
    finally:
        datasets.logging.set_verbosity(level)
        if not showing:
            datasets.enable_progress_bars()
