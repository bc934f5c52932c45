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

ROWS = "Publishing rows"


class PublishOptions(Configuration):
    """How a dataset, or rows as a dataset, is published."""

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
    labels_only: bool = option(False, help="Leave out the text columns of rows.", group=ROWS)
    about: Path | None = option(
        None, rare=True, help="The dataset folder that the rows belong to.", group=ROWS, metavar="FOLDER", role="read"
    )
    title: str | None = option(None, rare=True, help="Title of rows; default: from the name of the file.", group=ROWS)
    licence: str = option(
        "other",
        help="Licence of rows, as an identifier of the Hub, such as cc-by-4.0.",
        flag="--license",
        group=ROWS,
        metavar="NAME",
    )
    language: str = option("en", help="Language of rows (ISO 639-1).", group=ROWS, metavar="CODE")
    drop_column: tuple[str, ...] = option(
        (),
        rare=True,
        help="Leave this column of rows out.",
        group=ROWS,
        metavar="COLUMN",
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
        argument(
            "A folder that `fcconan build` wrote, a file of rows, a TREC run (.trec, .run) or a result (.json), or a "
            "folder of them.",
            path=True,
            role="release",
        ),
    ],
    repo_id: Annotated[str, argument("The dataset repository on the Hub: OWNER/NAME.")],
    options: PublishOptions = PublishOptions(),
) -> PublishResult:
    """Publishes a dataset folder, or rows, runs or results as one, to a dataset repository on the Hub.

    Args:
        source: A folder that `build` wrote; or a file of rows, a TREC run, a result (JSON), or a folder of such files.
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
    from fcconan.publishing import PublishingOptions, publish as publish_release
    from fcconan.services.locations import built_folder

    about = None if options.about is None else built_folder(options.about)
    chosen = options.model_dump(exclude={"about", "drop_column"})
    release_options = PublishingOptions(**chosen, about=about, drop_columns=options.drop_column)
    found = publish_release(built_folder(source), repo_id, release_options)
    return PublishResult(found.as_json(), found)
