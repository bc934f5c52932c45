"""Sources of local models: folders or the Hub, hashes of weights, and errors of loading."""

import hashlib
import os
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Annotated, NamedTuple

from pydantic import BaseModel, Field, ValidationError

from fcconan.data import Checkpoint, cache_folder, environment_secrets, file_sha256, quiet_hub, without_secrets
from fcconan.errors import InputError

_WEIGHTS = (".safetensors", ".bin")
_LOADED = (*_WEIGHTS, ".json", ".jinja", ".model", ".txt")  # all files that change the output of a model
# A new file may change again within the resolution of its times, which is two seconds on some file systems.
_SETTLED = 3.0
_LONGEST = 200  # characters of an error


class ModelSource(NamedTuple):
    """Source of a model.

    Attributes:
        path: Folder, or name on the Hub.
        commit: Commit of a model on the Hub; None for a folder.
        hash: Hash of the files of a folder; None for a model on the Hub.
    """

    path: str
    commit: str | None
    hash: str | None

    @property
    def name(self) -> str:
        """Name of the folder, or name on the Hub."""
        return self.path if self.commit else Path(self.path).resolve().name


def locate_model(model: str, revision: str | None) -> ModelSource:
    """Returns the source of a model.

    Raises:
        InputError: The model is unknown, or a folder is given with a revision.
    """
    folder = Path(model).expanduser()
    if folder.is_dir():
        if revision is not None:
            raise InputError(f"{model} is a folder and has no revision {revision!r}: leave the revision out")
        return ModelSource(str(folder), None, _weights_hash(folder))
    if model.startswith((".", "/", "~")) or model.count("/") > 1:
        raise InputError(f"no model folder at {model}: give a folder, or a name on the Hub such as owner/model")
    from huggingface_hub import hf_hub_download

    try:
        with quiet_hub():
            config = hf_hub_download(model, "config.json", revision=revision)
    except Exception as error:  # a dozen types, from the Hub, the cache and the network
        raise InputError(
            f"the model {model} cannot be found ({one_line(error)}), and there is no folder {model}: check the name "
            "and the revision, or download it to a folder and give that"
        ) from error
    return ModelSource(model, Path(config).parent.name, None)  # a snapshot's folder has the name of its commit


class _Adapter(BaseModel):
    """Fields of peft's configuration that name the base model."""

    base_model_name_or_path: Annotated[str, Field(min_length=1)]
    revision: str | None = None


def locate_base_model(adapter: Path) -> ModelSource | None:
    """Returns the base model of an adapter; None for a folder without an adapter.

    Raises:
        InputError: The adapter does not name its base model, or the base model is not found.
    """
    path = adapter / "adapter_config.json"
    if not path.is_file():
        return None
    try:
        stated = _Adapter.model_validate_json(path.read_bytes())
    except (OSError, ValidationError) as error:
        raise InputError(f"{path} lacks base_model_name_or_path: add the base model of the adapter") from error
    name = stated.base_model_name_or_path
    beside = adapter / name
    base = str(beside) if beside.is_dir() and not Path(name).is_dir() else name
    try:
        return locate_model(base, None if Path(base).is_dir() else stated.revision)
    except InputError as error:
        raise InputError(f"{adapter} is an adapter and needs its base model {name}: {error}") from error


def longest_context(source: ModelSource) -> int | None:
    """Returns the maximum number of tokens of a model's context; None if its configuration does not state it.

    Raises:
        InputError: The configuration cannot be loaded.
    """
    with loading_errors(source.name):
        from transformers import AutoConfig

        config = AutoConfig.from_pretrained(source.path, revision=source.commit)
    stated = getattr(config.get_text_config(), "max_position_embeddings", None)
    return None if stated is None else int(stated)


def _weights_hash(folder: Path) -> str:
    """Returns 12 hexadecimal digits that change with any loaded file of a folder.

    Whole files are hashed, because further training does not change the headers of weights.
    """
    files = sorted(path for path in folder.iterdir() if path.is_file() and path.suffix in _LOADED)
    if not any(path.suffix in _WEIGHTS for path in files):
        raise InputError(f"{folder} holds no weights (.safetensors, .bin): give the folder of a transformers model")
    together = "".join(
        f"{path.name}\n{cached_hash(path) if path.suffix in _WEIGHTS else file_sha256(path)}\n" for path in files
    )
    return hashlib.sha256(together.encode()).hexdigest()[:12]


def cached_hash(path: Path) -> str:
    """Returns the sha256 of a file of weights, cached until the file changes, as reading it may take minutes.

    Changes are detected by device, inode, size, and times of modification and of status change. Size and modification
    time are not enough: tools that copy or unpack files set that time, but they cannot set the other values.
    """
    name = hashlib.sha256(os.fsencode(path.resolve())).hexdigest()[:24]
    before = _state(path)
    checkpoint = Checkpoint(cache_folder() / "weights" / name, {"path": str(path.resolve()), "state": before})
    found = checkpoint.load()
    if found is not None:
        return str(found)
    hashed = file_sha256(path)
    settled = time.time() - max(before["written"], before["changed"]) / 1e9 > _SETTLED
    if settled and _state(path) == before:
        with suppress(OSError):  # without a cache, the file is read again next time
            checkpoint.save(hashed)
    return hashed


def _state(path: Path) -> dict[str, int]:
    found = path.stat()
    return {
        "device": found.st_dev,
        "inode": found.st_ino,
        "size": found.st_size,
        "written": found.st_mtime_ns,
        "changed": found.st_ctime_ns,
    }


@contextmanager
def quiet_training() -> Iterator[None]:
    """Suppresses log messages and warnings of transformers during training."""
    from transformers.utils import logging

    before = logging.get_verbosity()
    logging.set_verbosity_error()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            yield
        finally:
            logging.set_verbosity(before)


@contextmanager
def loading_errors(name: str) -> Iterator[None]:
    """Turns all errors of loading a model into an `InputError`.

    Raises:
        InputError: The model cannot be loaded, or a package is missing.
    """
    try:
        with quiet_hub():
            yield
    except ImportError as error:
        raise InputError(
            f"models on this machine need a package that is missing ({one_line(error)}): `pip install "
            "'fcconan[neural,finetune]'`, and the package named here"
        ) from error
    except Exception as error:  # a dozen types, from the Hub, the file system, torch and tokenizers
        raise InputError(
            f"the model {name} cannot be loaded ({one_line(error)}): check the folder or name, the device and the dtype"
        ) from error


def one_line(error: BaseException) -> str:
    """Returns the message of an error on one short line, without secrets."""
    said = " ".join(without_secrets(str(error), environment_secrets()).split()) or type(error).__name__
    if len(said) <= _LONGEST:
        return said
    head = said[:_LONGEST]
    sentences = head.rfind(". ", _LONGEST // 2) + 1
    return head[:sentences] if sentences else f"{head.rsplit(' ', 1)[0]} ..."
