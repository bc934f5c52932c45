"""`publish`: dataset folders on the Hugging Face Hub."""

import json
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Literal

from fcconan.data import (
    CARD,
    MANIFEST,
    file_sha256,
    one_line,
    quiet_hub,
    read_manifest,
    recipe_names,
    short_hash,
)
from fcconan.errors import InputError, RemoteError
from fcconan.publishing.gate import check_access, check_plan, check_texts, format_columns, gate_of
from fcconan.result import Result

if TYPE_CHECKING:
    from huggingface_hub import HfApi

PLACEHOLDER = "PATH_OR_REPOSITORY"
INITIAL_FILES = {".gitattributes", CARD}  # of a repository that the Hub or its owner created
_CALL = re.compile(rf'load_dataset\("{PLACEHOLDER}", "[^"\n]*", split="[^"\n]*"(?=\))')
# Placeholders that `annotate release` writes: key of the recipe -> text of the card.
UNSTATED = {"card_licence": "\nlicense: unknown\n", "homepage": "\nHomepage: unknown\n", "citation": " = {unknown}"}
_VERSION = "(version of the package that built it, and a fingerprint of the content)."
ADVICE = {
    401: "set HF_TOKEN, or run `hf auth login` again",
    403: "use a token with write permission for the owner of the repository",
    412: "the repository was changed meanwhile; run the same command again",
}


def publish(
    folder: str,
    repo_id: str,
    *,
    dry_run: bool = False,
    tag: str | None = None,
    private: bool = False,
    gated: Literal["auto", "manual"] | None = None,
    may_redistribute: bool = False,
) -> Result:
    """Publish a dataset on the Hub.

    All files arrive in one commit with a tag. The Hub shows the changes of each commit. The command makes no repository
    public and no gate weaker.

    Args:
        folder: Dataset folder that `build` wrote.
        repo_id: Dataset repository on the Hub: OWNER/NAME. It is created if necessary.
        dry_run: Check everything, and send nothing. Without a network, the repository is not checked.
        tag: Name of the version; default: one that changes with the content.
        private: Make the repository private.
        gated: Require readers to request access, which is granted at once (auto) or by hand (manual).
        may_redistribute: Confirm the right to redistribute restricted text in a private or gated repository.

    Returns:
        `files`: `path` and `bytes` of each published file. `identity` has the tag, the visibility and the commit, which
        is None after a dry run.

    Raises:
        InputError: A check of the folder or the repository failed, or there is no token; nothing was published.
        RemoteError: The Hub failed or refused a change; run the same command again to continue.

    Examples:
        >>> import tempfile
        >>> from fcconan.building import build
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     built = build("demo", out=f"{folder}/demo")
        ...     publish(f"{folder}/demo", "my-name/demo", dry_run=True).identity["visibility"]
        'public'
    """
    from pandas import DataFrame

    if not re.fullmatch(r"[\w.-]+/[\w.-]+", repo_id):
        raise InputError(f"found the repository {repo_id!r}, expected OWNER/NAME, such as my-name/my-dataset")
    if tag is not None and not re.fullmatch(r"[A-Za-z0-9][\w.+-]*", tag):
        raise InputError(f"found --tag {tag!r}, expected letters, digits, dots and dashes, such as v1.0")
    source = Path(folder)
    manifest = read_manifest(source)
    version = f"v{re.sub(r'[^A-Za-z0-9.]+', '-', manifest['package']['version'])}"
    tag = tag or f"{version}-{short_hash(json.dumps(manifest['files'], sort_keys=True))}"
    notes = []
    with TemporaryDirectory(prefix="fcconan-publish-") as temporary:
        stage = Path(temporary) / "dataset"
        _copy(source, stage, manifest)
        restricted = check_texts(stage, manifest, may_redistribute=may_redistribute)
        card = (stage / CARD).read_text(encoding="utf-8")
        unstated = [key for key, text in UNSTATED.items() if text in card]
        if unstated and manifest["name"] not in recipe_names():  # of a recipe of the catalogue, the authors state none
            raise InputError(
                f"the card of {manifest['name']} has placeholders, `unknown` in {', '.join(unstated)}: state them in "
                "the recipe (homepage: null if there is none), and build again"
            )
        example = _name_repository(stage, manifest, repo_id, tag)
        _check_loading(stage, Path(temporary) / "cache")
        with _client(repo_id, dry_run=dry_run) as api:
            try:
                remote = _find(api, repo_id)
            except Exception as error:
                if not dry_run or getattr(error, "response", None) is not None:
                    raise
                remote = None
                notes.append(f"The Hub was not reached ({one_line(error, 100)}): {repo_id} was not checked.")
            check_plan(repo_id, remote, restricted, private=private, gated=gated)
            is_there = _check_contents(api, repo_id, remote, stage, tag) if remote else False
            commit = None
            if not dry_run:
                if remote is None:
                    api.create_repo(repo_id, repo_type="dataset", private=private)
                    remote = api.dataset_info(repo_id)
                make_private = True if private and not remote.private else None  # None leaves a setting unchanged
                gate: Any = gated if gated != gate_of(remote) else None
                if make_private or gate:
                    api.update_repo_settings(repo_id, repo_type="dataset", private=make_private, gated=gate)
                    remote = api.dataset_info(repo_id)
                check_access(repo_id, remote, restricted, private=private, gated=gated)
                commit = remote.sha
                if is_there:
                    notes.append(f"The tag {tag} already has this content: no file was sent.")
                else:
                    commit = api.upload_folder(
                        repo_id=repo_id,
                        repo_type="dataset",
                        folder_path=stage,
                        commit_message=f"Publish {manifest['name']} {tag}",
                        parent_commit=remote.sha,
                        delete_patterns="*.parquet",  # tables of earlier versions
                    ).oid
                    api.create_tag(repo_id, repo_type="dataset", tag=tag, revision=commit)
        files = [[path, (stage / path).stat().st_size] for path in (*manifest["files"], MANIFEST)]
    gate = gated or gate_of(remote)
    access = ["private"] * bool(private or (remote and remote.private)) + [f"gated ({gate} approval)"] * bool(gate)
    visibility = " and ".join(access) or "public"
    notes.append(f"The repository {'will be' if dry_run else 'is'} {visibility}.")
    notes += [f"Restricted text: {format_columns(restricted)}."] * bool(restricted)
    present = {path.relative_to(source).as_posix() for path in source.rglob("*") if path.is_file()}
    others = sorted(present - {*manifest["files"], MANIFEST})
    notes += [f"Not published: {', '.join(others)}."] * bool(others)
    notes.append(f"{'Then load it' if dry_run else 'Load it'}: {example}")
    identity: dict[str, Any] = {
        "data": f"{manifest['name']}@{manifest['fingerprint']}",
        "repository": repo_id,
        "tag": tag,
    }
    identity |= {"visibility": visibility, "commit": commit}
    return Result("publish", {"files": DataFrame(files, columns=["path", "bytes"])}, identity, notes)


def _copy(source: Path, stage: Path, manifest: dict[str, Any]) -> None:
    """Copies the files of a dataset folder.

    Raises:
        InputError: A file was changed or removed after the build.
    """
    stage.mkdir()
    shutil.copyfile(source / MANIFEST, stage / MANIFEST)
    for name, written in manifest["files"].items():
        (stage / name).parent.mkdir(parents=True, exist_ok=True)
        if (source / name).is_file():
            shutil.copyfile(source / name, stage / name)
        if not (stage / name).is_file() or file_sha256(stage / name) != written["sha256"]:
            raise InputError(f"{source / name} was changed or removed after the build: build the folder again")


def _name_repository(stage: Path, manifest: dict[str, Any], repo_id: str, tag: str) -> str:
    """Writes the repository and the tag into the card, and its new hash into the manifest; returns the call to load."""
    path = stage / CARD
    card = _CALL.sub(lambda call: f'{call[0]}, revision="{tag}"', path.read_text(encoding="utf-8"))
    card = card.replace(PLACEHOLDER, repo_id)
    card = card.replace(_VERSION, f"{_VERSION} It has the tag `{tag}` in this repository.", 1)
    path.write_text(card, encoding="utf-8")
    files = manifest["files"] | {CARD: {"sha256": file_sha256(path), "bytes": path.stat().st_size}}
    text = json.dumps({**manifest, "files": files}, indent=2, ensure_ascii=False)
    (stage / MANIFEST).write_text(text + "\n", encoding="utf-8")
    call = re.search(r"load_dataset\(.*\)", card)
    return call[0] if call else ""


def _check_loading(stage: Path, cache: Path) -> None:
    """Loads the default config with `datasets`, which raises an error that its users would see."""
    import datasets

    was_shown = not datasets.are_progress_bars_disabled()
    datasets.disable_progress_bars()
    try:
        datasets.load_dataset(str(stage), cache_dir=str(cache))
    finally:
        if was_shown:
            datasets.enable_progress_bars()


@contextmanager
def _client(repo_id: str, *, dry_run: bool) -> "Iterator[HfApi]":
    """Yields a client of the Hub. Its errors become one line without the token.

    Raises:
        InputError: There is no token.
        RemoteError: The Hub failed or refused a request.
    """
    from huggingface_hub import HfApi, get_token

    token = get_token()
    if token is None and not dry_run:
        raise InputError(
            "no token of the Hugging Face Hub was found: set HF_TOKEN, or run `hf auth login`, with a token that has "
            f"write permission for {repo_id}"
        )
    try:
        with quiet_hub():
            yield HfApi(token=token or False, library_name="fcconan")
    except InputError:
        raise
    except Exception as error:  # also of the network, and unexpected answers
        status = getattr(getattr(error, "response", None), "status_code", None)
        advice = ADVICE.get(status or 0, "check the connection and run the same command again")
        reason = ", ".join(filter(None, (status and str(status), one_line(error, 300))))
        raise RemoteError(f"publishing {repo_id} failed ({reason}): {advice}") from error


def _find(api: "HfApi", repo_id: str) -> Any:
    """Returns the repository as the Hub describes it; None if it does not exist."""
    from huggingface_hub.errors import RepositoryNotFoundError

    try:
        return api.dataset_info(repo_id)
    except RepositoryNotFoundError as error:
        if "Invalid credentials" in str(error):
            raise
        return None


def _check_contents(api: "HfApi", repo_id: str, remote: Any, stage: Path, tag: str) -> bool:
    """Returns whether the tag has the same content.

    Raises:
        InputError: The repository holds other files or another dataset, or the tag points to other content.
    """
    files = {each.rfilename for each in remote.siblings}
    if MANIFEST not in files:
        if others := sorted(files - INITIAL_FILES):
            raise InputError(
                f"{repo_id} contains {others[0]} and no dataset that `fcconan publish` wrote: publish to another "
                "repository, or remove the file there"
            )
        return False

    def published(revision: str) -> str:
        """Returns the manifest of an earlier publication."""
        path = api.hf_hub_download(
            repo_id, MANIFEST, repo_type="dataset", revision=revision, local_dir=stage.parent / revision
        )
        return Path(path).read_text(encoding="utf-8")

    own = (stage / MANIFEST).read_text(encoding="utf-8")
    if (theirs := json.loads(published(remote.sha))["name"]) != (name := json.loads(own)["name"]):
        raise InputError(f"{repo_id} contains the dataset {theirs!r}, not {name!r}: publish to another repository")
    if tag not in {each.name for each in api.list_repo_refs(repo_id, repo_type="dataset").tags}:
        return False
    if published(tag) != own:
        raise InputError(f"the tag {tag} of {repo_id} points to other content and is not moved: give another --tag")
    return True
