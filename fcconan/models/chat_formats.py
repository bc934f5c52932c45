"""Named formats: how messages are written for models whose tokenizers do not say it."""

from pathlib import Path

from fcconan.data import content_folder, did_you_mean
from fcconan.errors import InputError
from fcconan.models.chat_template import Format, encode_pair

__all__ = ["Format", "encode_pair", "format_names", "load_format"]
SUFFIX = ".jinja"


def format_names() -> list[str]:
    """Returns the names of the formats in the catalogue, sorted."""
    return sorted(path.stem for path in _folder().glob(f"*{SUFFIX}"))


def load_format(name_or_path: str | Path) -> Format:
    """Loads a format.

    Args:
        name_or_path: A format of the catalogue, or the path of a chat template of one's own (it ends in `.jinja`).

    Raises:
        InputError: There is no such format, or it is no Jinja template.
    """
    path = Path(name_or_path)
    if path.suffix != SUFFIX:
        names = format_names()
        if str(name_or_path) not in names:
            hint = did_you_mean(str(name_or_path).lower(), names)
            raise InputError(
                f"unknown format {str(name_or_path)!r}: {hint}known are {', '.join(names)}, or a {SUFFIX} file"
            )
        path = _folder() / f"{name_or_path}{SUFFIX}"
    try:
        template = path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: byte {error.start} is not UTF-8: save it as UTF-8") from error
    except OSError as error:
        raise InputError(
            f"the format {path} cannot be read ({error.strerror}): give a {SUFFIX} file, or one of "
            f"{', '.join(format_names())}"
        ) from error
    _check(path, template)
    return Format(path.stem, template)


def _check(path: Path, template: str) -> None:
    from jinja2 import TemplateSyntaxError
    from jinja2.meta import find_undeclared_variables
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    environment = ImmutableSandboxedEnvironment(extensions=["jinja2.ext.loopcontrols"])
    try:
        used = find_undeclared_variables(environment.parse(template))
    except TemplateSyntaxError as error:
        raise InputError(f"{path}, line {error.lineno}: no Jinja template ({error.message}): mend that line") from error
    if "messages" not in used:
        raise InputError(f"{path} does not write any `messages`: give a chat template")


def _folder() -> Path:
    return content_folder() / "annotations" / "generation" / "formats"
