"""The folder of a new campaign: made once, and recognised when the same command is given again."""

from pathlib import Path
from tempfile import TemporaryDirectory

from fcconan.annotation.campaigns import SETTINGS, Settings, create
from fcconan.annotation.sampling.combinations import Material
from fcconan.errors import InputError
from fcconan.judging import Task


def make_once(folder: Path, settings: Settings, task: Task, material: Material, guidelines: str | None = None) -> bool:
    """Makes a campaign, unless it is there already as it would be made.

    What later steps wrote into the folder makes no difference.

    Args:
        folder: Of the campaign.
        settings: For `campaign.yaml`, without `made_from`.
        task: What is asked.
        material: What the campaign is made of.
        guidelines: As for `create`.

    Returns:
        Whether it was made.

    Raises:
        InputError: Something else is there.
        OSError: The folder cannot be written.
    """
    settings = settings.model_copy(update={"made_from": material.made_from})
    if not (folder / SETTINGS).is_file():
        create(folder, settings, task, material.units, material.texts, guidelines)
        return True
    with TemporaryDirectory() as temporary:
        fresh = create(Path(temporary) / folder.name, settings, task, material.units, material.texts, guidelines).folder
        for file in sorted(fresh.iterdir()):
            kept = folder / file.name
            if not kept.is_file() or kept.read_bytes() != file.read_bytes():
                raise InputError(
                    f"{folder} holds a campaign already, with another {file.name} than these arguments make: choose "
                    "another folder, or give the arguments that it was made with"
                )
    return False
