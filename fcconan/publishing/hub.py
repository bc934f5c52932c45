"""A dataset repository on the Hub: reads, changes, and one-line errors."""

import os
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fcconan.data import MANIFEST, one_line, parse_json, quiet_hub, without_secrets
from fcconan.errors import InputError, RemoteError

if TYPE_CHECKING:
    from huggingface_hub import CommitOperationAdd, CommitOperationDelete

REPO_TYPE = "dataset"
GATES = ("auto", "manual")
RESUME_ADVICE = "check the connection and run the same command again, which sends only missing files"


class HubFailure(RemoteError):  # noqa: N818 - a failure of the Hub, not of the input
    """The Hub failed or could not be reached. The message is one line with the failed action."""


@dataclass(frozen=True)
class RemoteFile:
    """A file on the Hub.

    Attributes:
        size: Size in bytes.
        blob: Id in git, of the file or of the pointer to a large file.
        sha256: Hash of a large file; None for others.
    """

    size: int
    blob: str
    sha256: str | None = None


@dataclass(frozen=True)
class RepositoryState:
    """The current state of a repository.

    Attributes:
        exists: Whether the repository exists; otherwise all other attributes are empty.
        private: Whether only its owner can see it.
        gated: `auto`, `manual`, or None for a public repository.
        head: Id of the newest commit.
        files: Files at the newest commit, by path.
        tags: Commits by tag.
        manifest: Manifest of an earlier publication, if any.
    """

    exists: bool
    private: bool = False
    gated: str | None = None
    head: str | None = None
    files: dict[str, RemoteFile] = field(default_factory=dict)
    tags: dict[str, str] = field(default_factory=dict)
    manifest: dict[str, Any] | None = None

    @property
    def has_restricted_access(self) -> bool:
        """Whether its files are not public."""
        return self.private or self.gated is not None


class Hub:
    """One dataset repository on the Hub.

    The endpoint is `$HF_ENDPOINT` or huggingface.co. The token comes from `$HF_TOKEN` or from `hf auth login`. It is
    only sent to the Hub and does not appear in any output.

    Args:
        repo_id: `owner/name`.
    """

    def __init__(self, repo_id: str) -> None:
        from huggingface_hub import HfApi, get_token

        self.repo_id = repo_id
        self._token = get_token()
        endpoint = os.environ.get("HF_ENDPOINT") or "https://huggingface.co"
        self.endpoint = without_secrets(endpoint)
        # Otherwise the client would search a token at each request.
        self._api = HfApi(endpoint=endpoint, token=self._token or False, library_name="fcconan")

    @property
    def url(self) -> str:
        """Address of the repository."""
        return f"{self.endpoint}/datasets/{self.repo_id}"

    @property
    def has_token(self) -> bool:
        """Whether there is a token."""
        return self._token is not None

    @property
    def is_offline(self) -> bool:
        """Whether the Hub's libraries are set to stay offline."""
        from huggingface_hub import constants

        return bool(constants.HF_HUB_OFFLINE)

    def check_token(self) -> None:
        """Checks that a token is available, valid and has write permission.

        Raises:
            InputError: The token is missing, invalid or read-only.
            HubFailure: The Hub failed.
        """
        if not self.has_token:
            raise InputError(
                "no token of the Hugging Face Hub was found: set HF_TOKEN, or run `hf auth login`, with a token that "
                f"has write permission for {self.repo_id}"
            )
        with self._request("checking the token"):
            about = self._api.whoami()
            role = ((about.get("auth") or {}).get("accessToken") or {}).get("role")
        if role == "read":
            raise InputError(
                "the token is read-only: create one with write permission at "
                f"{self.endpoint}/settings/tokens, and set it as HF_TOKEN or with `hf auth login`"
            )

    def read(self, *, files: bool = True) -> RepositoryState:
        """Reads the state of the repository without downloading tables.

        Args:
            files: Whether to read the files and tags, too.

        Raises:
            InputError: The token is rejected.
            HubFailure: The Hub failed.
        """
        from huggingface_hub.errors import RepositoryNotFoundError

        with self._request("reading the repository"):
            try:
                info = self._api.dataset_info(self.repo_id)
            except RepositoryNotFoundError as error:
                if "Invalid credentials" in str(error):
                    raise
                return RepositoryState(exists=False)
            state = RepositoryState(True, info.private is True, info.gated if info.gated in GATES else None, info.sha)
            if not files:
                return state
            tags = self._api.list_repo_refs(self.repo_id, repo_type=REPO_TYPE).tags
            found = self._tree(str(info.sha))
            manifest = self._manifest(str(info.sha)) if MANIFEST in found else None
        return replace(state, files=found, tags={tag.name: tag.target_commit for tag in tags}, manifest=manifest)

    def files_at(self, revision: str) -> dict[str, RemoteFile]:
        """Returns the files at a commit or tag.

        Raises:
            HubFailure: The Hub failed.
        """
        with self._request("reading the repository"):
            return self._tree(revision)

    def create(self, *, private: bool) -> None:
        """Creates an empty repository.

        Raises:
            InputError: The token lacks the permission.
            HubFailure: The Hub failed.
        """
        with self._request("creating the repository"):
            self._api.create_repo(self.repo_id, repo_type=REPO_TYPE, private=private)

    def restrict_access(self, *, private: bool, gate: str | None) -> None:
        """Makes the repository private or gated, or both; never public.

        Raises:
            InputError: The token lacks the permission.
            HubFailure: The Hub failed.
        """
        settings: dict[str, Any] = {"private": private or None, "gated": gate}  # None leaves a setting unchanged
        if private or gate:
            with self._request("gating the repository"):
                self._api.update_repo_settings(self.repo_id, repo_type=REPO_TYPE, **settings)

    def upload(self, additions: "Sequence[CommitOperationAdd]") -> None:
        """Uploads large files that the Hub lacks, without a commit.

        Raises:
            InputError: The token lacks the permission.
            HubFailure: The upload failed.
        """
        with self._request("sending the files"):
            # Otherwise the Hub ignores files listed in a `.gitignore` of the repository.
            self._api.preupload_lfs_files(
                self.repo_id,
                additions,
                repo_type=REPO_TYPE,
                free_memory=False,
                gitignore_content="# Nothing is ignored.\n",
            )

    def commit(
        self, operations: "Sequence[CommitOperationAdd | CommitOperationDelete]", message: str, parent: str | None
    ) -> str:
        """Makes one commit and returns its id.

        Args:
            operations: Files to add and to remove.
            message: Message of the commit.
            parent: Expected newest commit.

        Raises:
            InputError: The token lacks the permission.
            HubFailure: The commit failed, or the repository has another newest commit.
        """
        with self._request("committing the files"):
            made = self._api.create_commit(
                self.repo_id, operations, commit_message=message, repo_type=REPO_TYPE, parent_commit=parent
            )
        return str(made.oid)

    def tag(self, name: str, commit: str) -> None:
        """Tags a commit.

        Raises:
            InputError: The token lacks the permission.
            HubFailure: The Hub failed, or the tag exists.
        """
        with self._request(f"setting the tag {name}"):
            self._api.create_tag(self.repo_id, tag=name, revision=commit, repo_type=REPO_TYPE)

    def _tree(self, revision: str) -> dict[str, RemoteFile]:
        found = {}
        for entry in self._api.list_repo_tree(self.repo_id, recursive=True, revision=revision, repo_type=REPO_TYPE):
            size = getattr(entry, "size", None)
            if size is None or not hasattr(entry, "blob_id"):
                continue  # a folder
            large = getattr(entry, "lfs", None)
            found[entry.path] = RemoteFile(size, entry.blob_id, large.sha256 if large else None)
        return found

    def _manifest(self, revision: str) -> dict[str, Any] | None:
        with tempfile.TemporaryDirectory(prefix="fcconan-publish-") as folder:
            path = self._api.hf_hub_download(
                self.repo_id, MANIFEST, repo_type=REPO_TYPE, revision=revision, local_dir=folder
            )
            try:
                manifest = parse_json(Path(path).read_text(encoding="utf-8"))
            except ValueError:
                return None
        return manifest if isinstance(manifest, dict) and isinstance(manifest.get("files"), dict) else None

    @contextmanager
    def _request(self, action: str) -> Iterator[None]:
        """Converts errors of the Hub's client to one line without the token."""
        from huggingface_hub.errors import HfHubHTTPError, OfflineModeIsEnabled

        try:
            with quiet_hub():
                yield
        except OfflineModeIsEnabled as error:
            raise InputError("HF_HUB_OFFLINE is set, so the Hub cannot be reached: unset it") from error
        except HfHubHTTPError as error:
            raise self._convert_http_error(error, action) from error
        except Exception as error:  # including errors of the network and unexpected answers
            cause = error.__cause__  # the error of a single file
            if isinstance(cause, HfHubHTTPError):
                raise self._convert_http_error(cause, action) from error
            raise self._make_failure(action, self._describe_error(cause or error)) from error

    def _convert_http_error(self, error: Any, action: str) -> Exception:
        response = getattr(error, "response", None)
        status = getattr(response, "status_code", None)
        reason = self._describe_error(getattr(error, "server_message", None) or error)
        if status == 401:
            return InputError(
                f"the Hub does not accept the token (401, {reason}): it may have expired; set HF_TOKEN, or run "
                "`hf auth login` again"
            )
        if status == 403:
            return InputError(
                f"the Hub refuses {action} {self.repo_id} (403, {reason}): use a token with write permission for "
                f"{self.repo_id.split('/')[0]}"
            )
        if status == 412:
            return HubFailure(
                f"{self.repo_id} was changed by another commit, so nothing was published: check the plan with "
                "--dry-run, then run the same command again"
            )
        return self._make_failure(action, f"{status}, {reason}" if status else reason)

    def _make_failure(self, action: str, reason: str) -> HubFailure:
        return HubFailure(f"{action} broke off ({reason}): {RESUME_ADVICE}")

    def _describe_error(self, error: object) -> str:
        return one_line(error, 300)
