"""Folder of a learned rater: numbers and names, without executable content.

`rater.json` has names, scales, hashes and results, `arrays.npz` the numbers, and `README.md` the card. Reading rejects
links, and checks names, types, shapes and sizes before it reads any number.
"""

import json
import re
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import numpy.typing as npt
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from fcconan.data import new_folder, write_whole
from fcconan.errors import InputError
from fcconan.judging.learned.features import EMBEDDING, RATINGS, SURFACE, SURFACE_NAMES
from fcconan.judging.learned.rated_texts import RatedAspect
from fcconan.judging.learned.rater import SMALLEST, LearnedRater, NoveltyDetector
from fcconan.judging.learned.regression import Models, Space
from fcconan.judging.learned.training_texts import MINIMA, TrainingTexts

VALUES, ARRAYS, CARD = "rater.json", "arrays.npz", "README.md"
FORMAT, VERSION = "fcconan-learned-rater", 1
MOST_VALUES, MOST_ARRAYS = 64 * 2**20, 1024 * 2**20  # bytes
_EARLIEST = (1980, 1, 1, 0, 0, 0)  # date of the members of the archive, so that equal raters have equal bytes
# The prefix distinguishes learned raters from people, models and metrics.
_RATER_NAME = r"^learned:[A-Za-z0-9._-]{1,100}$"
_Size = Annotated[int, Field(ge=0, le=200_000)]
_Name = Annotated[str, Field(min_length=1, max_length=200)]
_FoldNumbers = Annotated[tuple[Annotated[int, Field(ge=0)], ...], Field(min_length=1)]
_Folds = dict[Annotated[str, Field(pattern=r"^[0-9a-f]{12}$")], _FoldNumbers]
Arrays = dict[str, npt.NDArray[Any]]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=False, allow_inf_nan=False)


class _AspectValues(_Strict):
    name: _Name
    low: float
    high: float
    higher_is_better: bool


class _TextHashes(_Strict):
    pairs: _Folds
    messages: _Folds
    replies: _Folds
    codes: _Folds


class _Values(_Strict):
    """Content of `rater.json`."""

    format: Literal["fcconan-learned-rater"]
    version: Literal[1]
    name: Annotated[str, Field(pattern=_RATER_NAME)]
    aspects: Annotated[list[_AspectValues], Field(min_length=1, max_length=100)]
    encoder: dict[str, Any] | None
    features_from: list[tuple[_Name, _Name]]
    widths: dict[Literal["embedding", "surface", "ratings"], _Size]
    sizes: dict[Literal["components", "landmarks", "models", "directions"], _Size]
    novelty_rest: float
    novelty_threshold: float
    texts: _TextHashes
    about: dict[str, Any]


def rater_name(folder: Path) -> str:
    """Returns the name of the rater of a folder.

    Raises:
        InputError: The name of the folder has invalid characters, or is too long.

    >>> name_of_folder(Path("raters/cseval-1"))
    'learned:cseval-1'
    """
    name = f"learned:{folder.resolve().name}"
    if not re.fullmatch(_RATER_NAME, name):
        raise InputError(
            f"the name of the folder {str(folder)!r} is the name of the rater, expected 1 to 100 of A-Z, a-z, 0-9, "
            "'.', '_' and '-': choose another --out"
        )
    return name


def save_rater(
    rater: LearnedRater, folder: Path, card: str, *, further: Callable[[Path], None] = lambda stage: None
) -> None:
    """Writes the folder of a rater in one atomic step.

    Args:
        rater: The rater.
        folder: Folder to create or replace.
        card: Content of `README.md`.
        further: Function that writes further files into the given folder.

    Raises:
        OSError: The folder is not writable.
    """
    arrays = _arrays_of(rater)
    values = {
        "format": FORMAT,
        "version": VERSION,
        "name": rater.name,
        "aspects": [vars(each) for each in rater.aspects],
        "encoder": rater.encoder,
        "features_from": [list(each) for each in rater.features_from],
        "widths": rater.space.widths,
        "sizes": {
            "components": rater.space.components.shape[1],
            "landmarks": len(rater.space.landmarks),
            "models": len(rater.models),
            "directions": len(rater.novelty.variances),
        },
        "novelty_rest": rater.novelty.rest,
        "novelty_threshold": rater.novelty.threshold,
        "texts": {name: getattr(rater.texts, name) for name in ("pairs", "messages", "replies", "codes")},
        "about": rater.about,
    }
    with new_folder(folder) as stage:
        write_whole(stage / VALUES, json.dumps(values, indent=1, ensure_ascii=False, allow_nan=False) + "\n")
        with zipfile.ZipFile(stage / ARRAYS, "w", zipfile.ZIP_STORED) as archive:
            for name, array in arrays.items():
                with archive.open(zipfile.ZipInfo(f"{name}.npy", _EARLIEST), "w") as member:
                    np.lib.format.write_array(member, np.ascontiguousarray(array), allow_pickle=False)
        write_whole(stage / CARD, card)
        further(stage)


def _arrays_of(rater: LearnedRater) -> Arrays:
    space, models = rater.space, rater.models
    return {
        "centre": space.centre,
        "scale": space.scale,
        "components": space.components,
        "landmarks": space.landmarks,
        **{name: np.stack([getattr(each, name) for each in models]) for name in _OF_MODELS},
        "half_widths": rater.half_widths,
        "variances": rater.novelty.variances,
        "signatures": rater.texts.signatures,
    }


_OF_MODELS = ("gammas", "alphas", "intercepts", "coefficients", "counts")
_LARGEST = 1e12  # far above values of training, and small enough to avoid overflows
_RANGES = {
    **dict.fromkeys(("centre", "components", "landmarks", "intercepts", "coefficients"), (-_LARGEST, _LARGEST)),
    **dict.fromkeys(("scale", "half_widths", "counts"), (0.0, _LARGEST)),  # the scale of a constant feature is 0
    **dict.fromkeys(("gammas", "alphas", "variances"), (SMALLEST, _LARGEST)),
}
_MAY_BE_NAN = ("intercepts", "half_widths")  # of an aspect with too few ratings


def load_rater(folder: Path) -> LearnedRater:
    """Reads the folder of a rater.

    Raises:
        InputError: A file is missing, a link, too large, or has invalid content.
    """
    values = _read_values(_own_file(folder, VALUES, MOST_VALUES))
    _check_values(folder, values)
    arrays = _read_arrays(_own_file(folder, ARRAYS, MOST_ARRAYS), _expected(values))
    space = Space(_widths(values), arrays["centre"], arrays["scale"], arrays["components"], arrays["landmarks"])
    models = [Models(*(arrays[name][at] for name in _OF_MODELS)) for at in range(values.sizes["models"])]
    hashes = values.texts
    return LearnedRater(
        values.name,
        tuple(RatedAspect(**each.model_dump()) for each in values.aspects),
        space,
        tuple(models),
        arrays["half_widths"],
        NoveltyDetector(arrays["variances"], values.novelty_rest, values.novelty_threshold),
        TrainingTexts(hashes.pairs, hashes.messages, hashes.replies, hashes.codes, arrays["signatures"]),
        values.encoder,
        tuple(values.features_from),
        values.about,
    )


def _own_file(folder: Path, name: str, most: int) -> Path:
    """Returns the path of a file of the folder.

    Raises:
        InputError: The file is missing, a link, or too large.
    """
    path = folder / name
    if path.is_symlink():
        raise _refused(folder, f"{name} is a link, expected a file in the folder")
    if not path.is_file():
        raise InputError(f"{folder} has no {name}: give a folder of `fcconan judge train`")
    if (size := path.stat().st_size) > most:
        raise _refused(folder, f"{name} has {size} bytes, expected at most {most}")
    return path


def _refused(folder: Path, problem: str) -> InputError:
    return InputError(f"{folder} is not a valid rater: {problem}; train it again, or copy it from its source")


def _read_values(path: Path) -> _Values:
    try:
        return _Values.model_validate(json.loads(path.read_text("utf-8")))
    except ValidationError as error:
        first = error.errors()[0]
        place = f"{VALUES}, {'.'.join(map(str, first['loc']))[:100]}" if first["loc"] else VALUES
        # pydantic's message for a missing object contains a class name of this module
        problem = "expected a JSON object" if first["type"] == "model_type" else first["msg"]
        raise _refused(path.parent, f"{place}: {problem}") from error
    except (ValueError, RecursionError, OSError) as error:
        raise _refused(path.parent, f"{VALUES} is invalid, expected a JSON object in UTF-8") from error


def _check_values(folder: Path, values: _Values) -> None:
    """Checks that the entries of `rater.json` are consistent.

    Raises:
        InputError: Two entries contradict each other, or the file is of another version.
    """
    widths, folds = _widths(values), values.sizes.get("models", 0) - 1
    names = [aspect.name for aspect in values.aspects]
    hashes = (values.texts.pairs, values.texts.messages, values.texts.replies, values.texts.codes)
    problems = {
        "sizes has other keys": len(values.sizes) != 4,
        "aspects occur twice": len(set(names)) < len(names),
        "the lowest grade is not below the highest": any(each.low >= each.high for each in values.aspects),
        "widths are in another order": list(widths)
        != [each for each in (EMBEDDING, SURFACE, RATINGS) if each in widths],
        "the surface features are those of another version": widths.get(SURFACE) != len(SURFACE_NAMES),
        "encoder and embeddings contradict each other": (values.encoder is None) != (EMBEDDING not in widths),
        "features_from and ratings contradict each other": len(values.features_from) != widths.get(RATINGS, 0),
        "a text is in a fold without a model": any(
            not 0 <= fold < folds for each in hashes for own in each.values() for fold in own
        ),
        "a fold has no texts": {fold for own in values.texts.pairs.values() for fold in own} != set(range(folds)),
        "it has fewer than two folds": folds < 2,
        "directions are none, or more than components": not (
            1 <= values.sizes.get("directions", 0) <= values.sizes.get("components", 0)
        ),
        "about.replies is not the number of texts": values.about.get("replies")
        != sum(len(own) for own in values.texts.pairs.values()),
        "novelty is not positive": values.novelty_rest < SMALLEST or values.novelty_threshold <= 0,
    }
    for problem, found in problems.items():
        if found:
            raise _refused(folder, f"{VALUES}: {problem}")


def _widths(values: _Values) -> dict[str, int]:
    return {str(name): width for name, width in values.widths.items()}


def _expected(values: _Values) -> dict[str, tuple[tuple[int, ...], str]]:
    """Returns shape and type of each array."""
    width, aspects, sizes = sum(values.widths.values()), len(values.aspects), values.sizes
    models, landmarks = sizes["models"], sizes["landmarks"]
    return {
        "centre": ((width,), "<f8"),
        "scale": ((width,), "<f8"),
        "components": ((width, sizes["components"]), "<f8"),
        "landmarks": ((landmarks, sizes["components"]), "<f8"),
        "gammas": ((models, aspects), "<f8"),
        "alphas": ((models, aspects), "<f8"),
        "intercepts": ((models, aspects), "<f8"),
        "coefficients": ((models, aspects, landmarks), "<f8"),
        "counts": ((models, aspects), "<i8"),
        "half_widths": ((aspects,), "<f8"),
        "variances": ((sizes["directions"],), "<f8"),
        "signatures": ((len(values.texts.messages), MINIMA), "|u1"),
    }


def _read_arrays(path: Path, expected: Mapping[str, tuple[tuple[int, ...], str]]) -> Arrays:
    found: Arrays = {}
    try:
        with zipfile.ZipFile(path) as archive:
            names = sorted(member.filename for member in archive.infolist())
            if names != sorted(f"{name}.npy" for name in expected):
                raise _refused(path.parent, f"{ARRAYS} holds {', '.join(names)[:200]}, expected {', '.join(expected)}")
            for name, (shape, kind) in expected.items():
                with archive.open(f"{name}.npy") as member:
                    _check_header(path.parent, name, member, shape, kind)
                with archive.open(f"{name}.npy") as member:
                    found[name] = np.lib.format.read_array(member, allow_pickle=False)
    except (ValueError, OSError, EOFError, zipfile.BadZipFile, NotImplementedError, RuntimeError, KeyError) as error:
        raise _refused(path.parent, f"{ARRAYS} is invalid, expected an archive of numbers") from error
    for name, array in found.items():
        if array.dtype.kind == "f" and not (np.isfinite(array) | (np.isnan(array) & (name in _MAY_BE_NAN))).all():
            raise _refused(path.parent, f"{name} in {ARRAYS} has values that are not finite")
    for name, (least, most) in _RANGES.items():
        if (found[name] < least).any() or (found[name] > most).any():  # nan passes
            raise _refused(path.parent, f"{name} in {ARRAYS} has values outside of {least:g} to {most:g}")
    return found


def _check_header(folder: Path, name: str, member: Any, shape: tuple[int, ...], kind: str) -> None:
    """Checks type and shape of an array before its numbers are read.

    Raises:
        InputError: Type or shape is unexpected, such as an array of Python objects, which would be unpickled.
    """
    if np.lib.format.read_magic(member) != (1, 0):
        raise _refused(folder, f"{name} in {ARRAYS} is of another version of the format npy")
    given, _, dtype = np.lib.format.read_array_header_1_0(member)
    if dtype.str != kind or given != shape:
        raise _refused(
            folder, f"{name} in {ARRAYS} has the type {dtype.str} and the shape {given}, expected {kind} and {shape}"
        )
