"""No text of a source dataset is published, in any place or notation."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fcconan.building.builds import build
from fcconan.data.schemas import PUBLISHED
from fcconan.errors import InputError
from fcconan.publishing import known_texts
from tests import small
from tests.conftest import RunCli
from tests.publishing.attempts import Attempt, attempts, honest_row, leaks, write
from tests.publishing.hub import Hub, connect, publish

pytestmark = pytest.mark.slow

SHORTEST = "Ombrey thieves."
TEXTS = {"short": small.HS[1], "shortest": SHORTEST}


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The available source datasets: the demo, and the small dataset with a reply of two words."""
    folder = tmp_path_factory.mktemp("sources")
    small.write_files(folder / "upstream")
    rows = [{"source_id": key, "hate_speech": hs, "counter_narrative": cn} for key, hs, cn in small.TRAIN]
    rows[2]["counter_narrative"] = SHORTEST
    small.write_csv(folder / "upstream" / "train.csv", rows)
    recipe = str(small.write_recipe(folder / "upstream"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(known_texts, "recipe_names", lambda: ["demo", recipe])
        patch.setattr("fcconan.publishing.checks.check_loading", lambda contents: None)
        known_texts.clear_known_texts()
        build("demo", folder / "demo")
        build(recipe, folder / "labels", labels_only=True)
        yield folder
    known_texts.clear_known_texts()


@pytest.fixture
def all_attempts(sources: Path, tmp_path_factory: pytest.TempPathFactory) -> list[Attempt]:
    import pyarrow.parquet as pq

    messages = pq.read_table(sources / "demo" / "queries/test-00000-of-00001.parquet")["text"].to_pylist()
    texts = {"long": max(messages, key=len), **TEXTS}
    return attempts(tmp_path_factory.mktemp("attempts"), texts, about=sources / "demo", labels=sources / "labels")


@pytest.mark.parametrize("every", [36, pytest.param(1, marks=pytest.mark.long)])
def test_no_attempt_leaks_a_text(all_attempts: list[Attempt], server: Hub, every: int) -> None:
    """Each attempt is refused with one line that does not quote the text, or uploads no copy of the text."""
    assert len({attempt.name for attempt in all_attempts}) == len(all_attempts) > 1_400
    chosen = all_attempts[::every]
    leaked, talkative, refused = [], [], 0
    for attempt in chosen:
        server.reset()
        source = attempt.make()
        with pytest.MonkeyPatch.context() as patch:
            connect(patch, server)
            try:
                publish(source, attempt.repo, **attempt.options)
            except InputError as error:
                refused += 1
                said = str(error).replace(str(source), "")
                if attempt.text in said or attempt.text.replace(" ", "_") in said or "\n" in said:
                    talkative.append(attempt.name)
        if leaks(server, attempt.text):
            leaked.append(attempt.name)
    assert (leaked, talkative) == ([], [])
    assert len(chosen) > refused > len(chosen) / 2  # in the others the text is left out


@pytest.mark.parametrize("config", PUBLISHED)
def test_valid_rows_of_every_kind_are_published(sources: Path, hub: Hub, tmp_path: Path, config: str) -> None:
    row = honest_row(config)
    publish(write(tmp_path, config, [row]), "my-name/data", title="Results of the demo")
    assert leaks(hub, "system a") is ("system-a" in str(row))


def test_an_error_names_row_and_column_and_the_column_can_be_dropped(
    sources: Path, hub: Hub, tmp_path: Path, run_cli: RunCli
) -> None:
    rows = [honest_row("ratings"), honest_row("ratings") | {"system": "ombrey_thieves"}]
    path = write(tmp_path, "ratings", rows)
    done = run_cli("publish", path, "my-name/data", "--labels-only")
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "ratings: system, row 2: 'ombrey'... (14 characters, sha256 " in done.stderr
    assert "is a text of a source dataset: leave it out with --drop-column system" in done.stderr
    assert hub.log == []
    done = run_cli("publish", path, "my-name/data", "--labels-only", "--drop-column", "system")
    assert done.returncode == 0, done.stderr
    assert not leaks(hub, SHORTEST)
    done = run_cli("publish", path, "my-name/data", "--labels-only", "--drop-column", "sistem")
    assert (done.returncode, "--drop-column sistem: found no column of this name" in done.stderr) == (2, True)


def test_datasets_without_local_files_are_listed(hub: Hub, tmp_path: Path, sources: Path) -> None:
    names: Any = ["demo", "conan", "cseval"]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(known_texts, "recipe_names", lambda: names)
        known_texts.clear_known_texts()
        path = write(tmp_path, "ratings", [honest_row("ratings")])
        notes = publish(path, "my-name/data", labels_only=True).plan.notes
    known_texts.clear_known_texts()
    assert notes == ["Datasets without local files, whose texts were not searched: conan, cseval."]
