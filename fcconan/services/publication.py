"""Publishing on the Hugging Face Hub."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import fcconan
from fcconan.services.configuration import Configuration, argument, option
from fcconan.services.results import Result

if TYPE_CHECKING:
    from fcconan.publishing import Publication


class PublishOptions(Configuration):
    """How a dataset is published."""

    dry_run: bool = option(False, help="Print the plan, and send nothing.", short="-n")
    tag: str | None = option(
        None, help="Name of the version; default: one that changes with the content.", metavar="NAME"
    )
    private: bool = option(False, help="Make the repository private.")
    gated: Literal["auto", "manual"] | None = option(
        None, help="Require readers to request access, granted at once (auto) or by hand (manual)."
    )
    may_redistribute: bool = option(
        False,
        help="Confirm the right to redistribute restricted text in a private or gated repository.",
        flag="--i-may-redistribute",
    )


@dataclass(frozen=True, repr=False)
class PublishResult(Result):
    """A publication, or its plan after a dry run. The main table has one row for each file.

    Attributes:
        publication: Plan and outcome.
    """

    publication: "Publication"

    def rows(self) -> Sequence[Mapping[str, Any]]:
        """Returns path, change and size in bytes of each file."""
        return [{"file": file.path, "change": file.change, "bytes": file.size} for file in self.publication.plan.files]

    @property
    def signature(self) -> str:
        """The package version, the repository and its tag."""
        plan = self.publication.plan
        return f"fcconan:{fcconan.__version__}|publish:{plan.repo_id}@{plan.tag}"


def publish(
    source: Annotated[
        Path | str,
        argument("A folder that `fcconan build` wrote.", path=True, role="release"),
    ],
    repo_id: Annotated[str, argument("The dataset repository on the Hub: OWNER/NAME.")],
    options: PublishOptions = PublishOptions(),
) -> PublishResult:
    """Publishes a dataset folder to a dataset repository on the Hub.

    Args:
        source: A folder that `build` wrote.
        repo_id: `owner/name`.
        options: The options.

    Returns:
        The plan and its execution. The main table has one row for each file, with the columns `file`, `change` (`new`,
        `changed`, `removed` or `unchanged`) and `bytes`. `data` has the tag, the visibility and the commit; the commit
        is None after a dry run.

    Raises:
        InputError: The folder, the options, the token or the repository cannot be used; nothing was committed.
        HubFailure: The Hub failed or could not be reached; another call continues.

    Examples:
        >>> found = publish("demo", "my-name/demo", PublishOptions(dry_run=True))
        >>> found.data["visibility"], found.data["committed"], len(found.data["files"])
        ('public', False, 17)
    """
    from fcconan.building import dataset_folder
    from fcconan.publishing import PublishingOptions, publish as publish_release

    found = publish_release(dataset_folder(source), repo_id, PublishingOptions(**options.model_dump()))
    return PublishResult(found.as_json(), found)
