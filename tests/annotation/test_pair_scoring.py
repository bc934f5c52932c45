import json
import random
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.metrics.pairwise import cosine_similarity

from fcconan.annotation.campaigns import Settings, Unit, create
from fcconan.annotation.pair_scoring import scores as product
from fcconan.annotation.pair_scoring.lists import Lists, read_lists
from fcconan.annotation.pair_scoring.scorers import (
    JudgeScorer,
    RequestSettings,
    SystemScorer,
    TfIdfScorer,
    VectorScorer,
    make_scorer,
)
from fcconan.annotation.pair_scoring.scores import PLAN_NAME, PairSelection, plan_scoring, scoring_summary
from fcconan.data.ids import make_hs_id
from fcconan.errors import InputError
from fcconan.judging.tasks import load_task
from fcconan.parallel.shards import Portion, run_shards
from fcconan.parallel.workers import open_workers
from fcconan.retrieval.lexical import TfIdf
from fcconan.retrieval.systems import Rankings
from tests.cli.judging import grade, judge, texts_of
from tests.conftest import RunCli
from tests.models.server import Action, Body, Server, completion, error, use_key

HS = {
    "h1": "The Ombrey never return a book.",
    "h2": "Every Tessok cheats at cards.",
    "h3": "Nobody needs Velmari bakers, nor Velmari bread.",
}
CN = {
    "c1": "The library says that Ombrey readers return every book early.",
    "c2": "Cards were banned in Tessok towns.",
    "c3": "Bread is bread, and the Velmari bake it well.",
    "c4": "Ask the bakers.",
}
# Cosines of the vectors below, by hand; all are exact in 32 bits.
VECTORS = {"h1": (1.0, 0.0), "h2": (0.5, 0.5), "c1": (1.0, 0.0), "c2": (0.0, 1.0), "c3": (-1.0, 0.5), "c4": (1.0, 0.0)}
PRODUCTS = {("h1", "c1"): 1.0, ("h1", "c2"): 0.0, ("h1", "c3"): -1.0, ("h1", "c4"): 1.0}
PRODUCTS |= {("h2", "c1"): 0.5, ("h2", "c2"): 0.5, ("h2", "c3"): -0.25, ("h2", "c4"): 0.5}


class ByHand:
    """Gives every text that is a key of the vectors its vector."""

    name = "by-hand"
    configuration: Mapping[str, Any] = {"version": 1}

    def encode(self, texts: Sequence[str], *, role: str) -> npt.NDArray[np.float32]:
        return np.array([VECTORS[text] for text in texts], dtype=np.float32)


class Half:
    """A system that ranks only CNs of an even number, by it, and fails for the HS `h2`."""

    name = "half"
    configuration: Mapping[str, Any] = {"version": 1}

    def rank(self, queries: Mapping[str, str], corpus: Mapping[str, str], k: int) -> Rankings:
        assert k == len(corpus)
        return Rankings(
            {query: [("c2", 2), ("c4", 4)] for query in queries if query != "h2"},
            failures={"h2": "too long"} if "h2" in queries else {},
        )


def keys(ids: Sequence[str]) -> dict[str, str]:
    return {key: key for key in ids}


def by_hand(folder: Path, **options: Any) -> list[tuple[str, str, float]]:
    work, shards = plan_scoring(
        keys(["h1", "h2"]), keys(["c1", "c2", "c3", "c4"]), VectorScorer(ByHand()), folder, **options
    )
    run_shards(work, shards)
    return [row[1:4] for row in rows_in(folder)]


def rows_in(folder: Path) -> list[tuple[Any, ...]]:
    """Pair id, HS id, CN id, score and, where there is one, reason."""
    table = pq.read_table(folder)
    return list(zip(*(column.to_pylist() for column in table.columns), strict=True))


def shard_bytes(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.glob("part-*")}


def test_the_product_is_written_in_the_order_of_both_lists(tmp_path: Path) -> None:
    rows = by_hand(tmp_path / "scores")
    assert rows == [(hs, cn, score) for (hs, cn), score in PRODUCTS.items()]
    table = pq.read_table(tmp_path / "scores")
    assert [(field.name, str(field.type)) for field in table.schema] == [
        ("pair_id", "string"),
        ("hs_id", "string"),
        ("cn_id", "string"),
        ("score", "float"),
    ]
    assert table["pair_id"].to_pylist() == [f"{hs}:{cn}" for hs, cn in PRODUCTS]


@pytest.mark.parametrize(("rows_per_shard", "number"), [(1, 2), (4, 2), (7, 2), (8, 1), (None, 1)])
def test_shards_hold_whole_hs(tmp_path: Path, rows_per_shard: int | None, number: int) -> None:
    rows = by_hand(tmp_path / "scores", rows_per_shard=rows_per_shard)
    assert rows == [(hs, cn, score) for (hs, cn), score in PRODUCTS.items()]
    assert len(shard_bytes(tmp_path / "scores")) == number


@pytest.mark.parametrize("at_once", [1, 3, 4, 6, 8])
@pytest.mark.parametrize(
    ("selection", "kept"),
    [
        (PairSelection(), list(PRODUCTS)),
        (PairSelection(top=1), [("h1", "c1"), ("h2", "c1")]),  # ties in the order of the CNs
        (PairSelection(top=3), [("h1", "c1"), ("h1", "c4"), ("h1", "c2"), ("h2", "c1"), ("h2", "c2"), ("h2", "c4")]),
        (PairSelection(at_least=0.5), [("h1", "c1"), ("h1", "c4"), ("h2", "c1"), ("h2", "c2"), ("h2", "c4")]),
        (PairSelection(top=2, at_least=1), [("h1", "c1"), ("h1", "c4")]),
        (PairSelection(at_least=2), []),
    ],
)
def test_what_is_kept_does_not_depend_on_what_is_held_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, selection: PairSelection, kept: list[tuple[str, str]], at_once: int
) -> None:
    monkeypatch.setattr(product, "ROWS_AT_ONCE", at_once)
    rows = by_hand(tmp_path / "scores", selection=selection, rows_per_shard=8)
    assert rows == [(hs, cn, PRODUCTS[hs, cn]) for hs, cn in kept]
    (shard,) = (tmp_path / "scores").glob("part-*")
    groups = pq.read_metadata(shard)
    most = max((groups.row_group(place).num_rows for place in range(groups.num_row_groups)), default=0)
    assert most <= max(at_once, selection.top or 0)


def test_ties_of_many_cns_stay_in_their_order() -> None:
    scores = np.tile(np.array([0.5, 1.0, 0.5], dtype=np.float32), 100)
    best = [1 + 3 * at for at in range(100)]
    rest = [at for at in range(300) if at % 3 != 1]
    assert PairSelection(top=180).of(scores).tolist() == best + rest[:80]


def test_tfidf_scores_are_the_cosines_that_the_benchmark_ranks_by(tmp_path: Path) -> None:
    work, shards = plan_scoring(HS, CN, make_scorer("tfidf"), tmp_path / "scores")
    run_shards(work, shards)
    found = {(hs, cn): score for _, hs, cn, score in rows_in(tmp_path / "scores")}
    vectoriser = TfidfVectorizer().fit(CN.values())
    cosines = cosine_similarity(vectoriser.transform(HS.values()), vectoriser.transform(CN.values()))
    expected = {(hs, cn): cosines[row, column] for row, hs in enumerate(HS) for column, cn in enumerate(CN)}
    assert found == pytest.approx(expected, abs=1e-7)
    assert expected["h1", "c1"] > 0.5
    ranked = TfIdf().rank(HS, CN, 4)
    assert found == pytest.approx({(hs, cn): score for hs, row in ranked.items() for cn, score in row}, abs=1e-7)


def test_a_system_scores_as_it_ranks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scorer = make_scorer("bm25-fast")
    assert isinstance(scorer, SystemScorer)
    from fcconan.retrieval.suites import SystemFactory, load_suite

    ranked = SystemFactory(load_suite(), ()).make("bm25-fast").rank(HS, CN, 4)
    expected = {(hs, cn): score for hs, row in ranked.items() for cn, score in row}
    for at_once in (2, 100):  # the weights of words come from the whole list all the same
        monkeypatch.setattr(product, "ROWS_AT_ONCE", at_once)
        folder = tmp_path / str(at_once)
        run_shards(*plan_scoring(HS, CN, scorer, folder))
        assert {(hs, cn): score for _, hs, cn, score, _ in rows_in(folder)} == pytest.approx(expected)
    assert max(expected.values()) > 0


@pytest.mark.parametrize("at_once", [1, 3, 100])
def test_pairs_without_a_score_are_kept_with_the_reason_and_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at_once: int
) -> None:
    monkeypatch.setattr(product, "ROWS_AT_ONCE", at_once)
    work, shards = plan_scoring(HS, CN, make_scorer(f"{__name__}:Half"), tmp_path / "all")
    run_shards(work, shards)
    scored = {(hs, cn): (score, reason) for _, hs, cn, score, reason in rows_in(tmp_path / "all")}
    assert list(scored) == [(hs, cn) for hs in HS for cn in CN]
    for hs in ("h1", "h3"):
        assert [scored[hs, cn] for cn in CN] == [(None, "not_scored"), (2.0, None), (None, "not_scored"), (4.0, None)]
    assert [scored["h2", cn] for cn in CN] == [(None, "too long")] * 4
    counts = {"hs": 3, "pairs": 12, "shards": 1, "finished": 1, "rows": 12, "missing": 8, "lowest": 2.0, "highest": 4.0}
    assert scoring_summary(work, shards) == counts

    work, shards = plan_scoring(
        HS, CN, make_scorer(f"{__name__}:Half"), tmp_path / "best", selection=PairSelection(top=1)
    )
    run_shards(work, shards)
    kept = [(hs, cn, score) for _, hs, cn, score, _ in rows_in(tmp_path / "best") if score is not None]
    assert kept == [("h1", "c4", 4.0), ("h3", "c4", 4.0)]
    assert scoring_summary(work, shards) == {**counts, "rows": 10, "lowest": 4.0}


def test_portions_write_together_what_one_process_writes(tmp_path: Path) -> None:
    whole, shards = plan_scoring(HS, CN, TfIdfScorer(), tmp_path / "whole", rows_per_shard=4)
    run_shards(whole, shards)
    for number in (2, 1):
        part, shards = plan_scoring(HS, CN, TfIdfScorer(), tmp_path / "portions", rows_per_shard=4)
        run_shards(part, Portion(number, 2).select(shards))
        assert len(shard_bytes(tmp_path / "portions")) == {2: 1, 1: 3}[number]
    assert shard_bytes(tmp_path / "portions") == shard_bytes(tmp_path / "whole")
    others = {path.name.split("-")[0] for path in (tmp_path / "portions").iterdir() if path.suffix != ".parquet"}
    assert others == {PLAN_NAME, "_prepared", "_checkpoints"}


def test_a_second_run_goes_on_where_shards_are_missing_or_torn(tmp_path: Path) -> None:
    folder = tmp_path / "scores"
    work, shards = plan_scoring(HS, CN, TfIdfScorer(), folder, rows_per_shard=4)
    run_shards(work, shards)
    before = shard_bytes(folder)
    (folder / shards[0].name).unlink()
    (folder / shards[2].name).write_bytes(before[shards[2].name][:-7])
    assert scoring_summary(work, shards)["finished"] == 1
    work, shards = plan_scoring(HS, CN, TfIdfScorer(), folder, rows_per_shard=4)
    told: list[tuple[int, int]] = []
    run_shards(work, shards, progress=lambda *counts: told.append(counts))
    assert told == [(1, 3), (2, 3), (3, 3)]
    assert shard_bytes(folder) == before


def test_no_flipped_bit_in_the_folder_changes_a_score(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "scores"
    inputs: dict[str, Any] = {"hs": HS, "cn": CN, "scorer": TfIdfScorer(), "folder": folder, "rows_per_shard": 4}
    run_shards(*plan_scoring(**inputs))
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    kinds = {path.relative_to(folder).parts[0].partition("-")[0] for path in before}
    assert kinds == {PLAN_NAME, "_prepared", "_checkpoints", "part"}
    draw = random.Random(0)
    for path, content in before.items():
        for _ in range(8):
            bit = draw.randrange(8 * len(content))
            damaged = bytearray(content)
            damaged[bit // 8] ^= 1 << bit % 8
            path.write_bytes(damaged)
            run_shards(*plan_scoring(**inputs))
            said = capsys.readouterr().err
            if path.name == f"{PLAN_NAME}.json":  # the checkpoint of a plan is read only where the plan is damaged
                path.write_bytes(content)
            else:
                assert said.count("note: ") == 1
            assert {each: each.read_bytes() for each in folder.rglob("*") if each.is_file()} == before


def test_a_shard_of_another_place_or_plan_is_computed_again(tmp_path: Path) -> None:
    inputs: dict[str, Any] = {"cn": CN, "scorer": TfIdfScorer(), "rows_per_shard": 4}
    folder, other = tmp_path / "scores", tmp_path / "other"
    work, shards = plan_scoring(HS, folder=folder, **inputs)
    run_shards(work, shards)
    before = shard_bytes(folder)
    run_shards(*plan_scoring({key: f"{text} So." for key, text in HS.items()}, folder=other, **inputs))
    one, two, three = (shard.name for shard in shards)
    for name in (one, f"_checkpoints/{one}.json"):
        (folder / name).write_bytes((folder / name.replace(one, two)).read_bytes())
    for name in (three, f"_checkpoints/{three}.json"):
        (folder / name).write_bytes((other / name).read_bytes())
    assert scoring_summary(work, shards)["finished"] == 1
    run_shards(work, shards)
    assert shard_bytes(folder) == before


def test_what_was_prepared_for_another_plan_is_not_used(tmp_path: Path) -> None:
    plan_scoring(HS, dict(zip(CN, reversed(CN.values()), strict=True)), TfIdfScorer(), tmp_path / "scores")
    (tmp_path / "scores" / PLAN_NAME).unlink()
    run_shards(*plan_scoring(HS, CN, TfIdfScorer(), tmp_path / "scores"))
    run_shards(*plan_scoring(HS, CN, TfIdfScorer(), tmp_path / "fresh"))
    assert shard_bytes(tmp_path / "scores") == shard_bytes(tmp_path / "fresh")


@pytest.mark.parametrize(
    ("changed", "named_as"),
    [
        ({"hs": {**HS, "h4": "The Dravene sing too loud."}}, "hs_count 3 instead of 4"),
        ({"cn": {**CN, "c4": "Ask them."}}, "cn_digest"),
        ({"scorer": TfIdfScorer({"lowercase": False})}, "another scorer"),
        ({"selection": PairSelection(top=2)}, "top None instead of 2"),
        ({"rows_per_shard": 8}, "hs_per_shard 1 instead of 2"),
    ],
)
def test_a_folder_of_other_inputs_is_refused(tmp_path: Path, changed: dict[str, Any], named_as: str) -> None:
    inputs: dict[str, Any] = {"hs": HS, "cn": CN, "scorer": TfIdfScorer(), "folder": tmp_path, "rows_per_shard": 4}
    plan_scoring(**inputs)
    with pytest.raises(InputError, match=f"plan of another scoring.*{named_as}"):
        plan_scoring(**{**inputs, **changed})


def test_a_worker_that_sees_another_folder_or_has_other_versions_writes_nothing(tmp_path: Path) -> None:
    from dataclasses import replace

    work, shards = plan_scoring(HS, CN, TfIdfScorer(), tmp_path / "scores")
    with pytest.raises(InputError, match=r"a worker finds no _scoring\.json of this job"):
        run_shards(replace(work, plan_digest="0" * 64), shards)
    other = (("fcconan", "0.0.0"), *work.versions[1:])
    with pytest.raises(InputError, match=r"a worker has other versions \(fcconan [\w.]+, expected 0\.0\.0\)"):
        run_shards(replace(work, versions=other), shards)
    assert shard_bytes(tmp_path / "scores") == {}


@pytest.mark.parametrize(
    ("scorer", "said"),
    [
        ("tf-idf", "unknown system 'tf-idf': did you mean 'tfidf'"),
        ("random", "scores of single pairs cannot be random"),
        ("no/such/folder", "no model folder"),
    ],
)
def test_scorers_that_are_none_are_refused(scorer: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        make_scorer(scorer)


def test_an_empty_list_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no CN ids"):
        plan_scoring(HS, {}, TfIdfScorer(), tmp_path / "scores")


def relevance() -> Any:
    task = load_task("cseval")
    return task.model_copy(update={"aspects": [task.aspect("relevance")]})


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_judge_at_an_endpoint_is_asked_about_every_pair_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, jobs: int
) -> None:
    use_key(monkeypatch)
    with Server(judge) as server:
        scorer = JudgeScorer(relevance(), "stub", base_url=server.url)
        for _ in range(2):
            work, shards = plan_scoring(HS, CN, scorer, tmp_path / "scores", rows_per_shard=4)
            with open_workers(jobs) as workers:
                run_shards(work, shards, workers)
        assert len(server.requests) == 12
    rows = rows_in(tmp_path / "scores")
    assert [row[1:] for row in rows] == [
        (hs, cn, float(grade(text, "relevance")), None) for hs in HS for cn, text in CN.items()
    ]
    assert len({row[3] for row in rows}) > 1


def test_answers_that_were_paid_for_outlive_a_shard_that_failed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    use_key(monkeypatch)
    with Server(lambda body, number: error(500) if number == 2 else judge(body, number)) as server:
        scorer = JudgeScorer(relevance(), "stub", base_url=server.url)
        asking = RequestSettings(concurrency=1, retries=0)
        work, shards = plan_scoring({"h1": HS["h1"]}, CN, scorer, tmp_path / "scores", asking=asking)
        with pytest.raises(InputError, match=r"^1 requests had no answer: run the same command again"):
            run_shards(work, shards)
        assert shard_bytes(tmp_path / "scores") == {}
        run_shards(work, shards)
        assert len(server.requests) == 5  # one of the four twice
    assert [row[3] for row in rows_in(tmp_path / "scores")] == [grade(text, "relevance") for text in CN.values()]


def test_a_limit_of_cost_stops_between_two_answers_and_a_higher_one_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run_cli: RunCli
) -> None:
    use_key(monkeypatch)
    folder, out = campaign(tmp_path / "campaign"), tmp_path / "scores"
    prices, told = tmp_path / "prices.yaml", tmp_path / "told.json"
    prices.write_text("stub: {input: 0, output: 1000000}\n", encoding="utf-8")  # 1 a token of answers
    with Server(judge) as server:
        asked = ["--scorer", "judge", "--task", "cseval", "--aspect", "relevance", "--model", "stub"]
        command = ["annotate", "score", folder, *asked, "--base-url", server.url, "--concurrency", 1]
        limited = [*command, "--rows-per-shard", 4, "--prices", prices, "--json", told]

        def rehearsed() -> tuple[int, int, float]:
            done = run_cli(*limited, "--out", out, "--dry-run")
            assert (done.returncode, done.stderr) == (0, "")
            (found,) = json.loads(told.read_text())["dry_run"]
            return found["calls"], found["to_send"], found["cost_at_most"]

        # An answer may have 64 tokens and has 3: the seventh request might pass 80.
        assert rehearsed() == (12, 12, 12 * 64.0)
        assert not out.exists() and server.requests == []
        done = run_cli(*limited, "--out", out, "--max-cost", 80)
        assert (done.returncode, done.stderr.count("\n")) == (2, 1)
        assert "the limit of cost is reached: 18.0000 of 80 is spent" in done.stderr
        assert "(1 of 3 shards are finished, and there are 2 answers for the others)" in done.stderr
        assert len(server.requests) == 6 and len(shard_bytes(out)) == 1
        assert rehearsed() == (8, 6, 6 * 64.0)
        done = run_cli(*limited, "--out", out, "--max-cost", 200)
        assert (done.returncode, done.stderr) == (0, "")
        (used,) = json.loads(told.read_text())["used"]
        assert (used["requests"], used["completion_tokens"], used["cost"]) == (6, 18, 18.0)
        assert (used["answers"], used["from_store"]) == (8, 2)
        today = used["stored_first"][:10]
        assert (
            f"stub: 2 of 8 answers are from the store, of {today}; another --out repeats the requests\n" in done.stdout
        )
        assert len(server.requests) == 12
        run_cli(*command, "--rows-per-shard", 4, "--out", tmp_path / "at-once")
    assert shard_bytes(out) == shard_bytes(tmp_path / "at-once")


def test_labels_of_a_judge_are_shares_and_what_it_does_not_say_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    use_key(monkeypatch)
    said = dict(zip(CN.values(), ("not_appropriate", "not_sure", "appropriate", "perhaps"), strict=True))

    def labels(body: Body, number: int) -> Action:
        return Action(body=completion(body, json.dumps({"label": said[texts_of(body)["counter_narrative"]]})))

    with Server(labels) as server:
        scorer = JudgeScorer(load_task("appropriateness"), "stub", base_url=server.url)
        run_shards(*plan_scoring({"h1": HS["h1"]}, CN, scorer, tmp_path / "scores"))
    rows = rows_in(tmp_path / "scores")
    assert [row[3] for row in rows] == [0.0, 0.5, 1.0, None]
    assert [row[4] is None for row in rows] == [True, True, True, False]


def test_a_judge_of_several_aspects_is_refused() -> None:
    with pytest.raises(InputError, match=r"the task cseval has the aspects .*choose it with --aspect"):
        JudgeScorer(load_task("cseval"), "stub")


def campaign(folder: Path, task: str = "appropriateness") -> Path:
    units = [Unit(f"{hs}:{cn}", hs_id=hs, cn_id=cn) for hs in HS for cn in CN]
    texts = {
        "hs.jsonl": [{"hs_id": key, "text": text, "hs_type": "Prejudice"} for key, text in HS.items()],
        "cn.jsonl": [{"cn_id": key, "text": text} for key, text in CN.items()],
    }
    create(folder, Settings(name="small"), load_task(task), units, texts)
    return folder


def test_lists_come_from_campaigns_files_and_datasets(tmp_path: Path) -> None:
    assert read_lists([campaign(tmp_path / "campaign")]) == Lists(HS, CN)
    with (tmp_path / "campaign" / "units.jsonl").open("a") as file:  # an anchor's texts are there, too
        file.write(json.dumps({"unit_id": "h9:c9", "role": "anchor", "hs_id": "h9", "cn_id": "c9"}) + "\n")
    for kind in ("hs", "cn"):
        with (tmp_path / "campaign" / f"{kind}.jsonl").open("a") as file:
            file.write(json.dumps({f"{kind}_id": f"{kind[0]}9", "text": "Known."}) + "\n")
    assert read_lists([tmp_path / "campaign"]) == Lists(HS, CN)

    (tmp_path / "hs.txt").write_text("\ufeff" + "\r\n".join([*HS.values(), "", HS["h1"]]), encoding="utf-8")
    rows = [{"_id": key, "text": text} for key, text in CN.items()]
    (tmp_path / "cn.jsonl").write_text("\n".join(map(json.dumps, rows)))
    found = read_lists([tmp_path / "hs.txt", tmp_path / "cn.jsonl"])
    assert found == Lists({make_hs_id(text): text for text in HS.values()}, CN)

    pairs = [("h2", "c1"), ("h1", "c1"), ("h2", "c3")]
    table = pa.table(
        {
            "hs_id": [hs for hs, _ in pairs],
            "cn_id": [cn for _, cn in pairs],
            "hate_speech": [HS[hs] for hs, _ in pairs],
            "counter_narrative": [CN[cn] for _, cn in pairs],
        }
    )
    (tmp_path / "dataset" / "pairs").mkdir(parents=True)
    pq.write_table(table, tmp_path / "dataset" / "pairs" / "train-00000-of-00001.parquet")
    expected = Lists({key: HS[key] for key in ("h2", "h1")}, {key: CN[key] for key in ("c1", "c3")})
    assert read_lists([tmp_path / "dataset"]) == expected
    assert read_lists([tmp_path / "dataset" / "pairs" / "train-00000-of-00001.parquet"]) == expected

    for name, side in (("queries", HS), ("corpus", CN)):
        (tmp_path / "dataset" / name).mkdir()
        columns = {"_id": list(side), "text": list(side.values())}
        pq.write_table(pa.table(columns), tmp_path / "dataset" / name / "test-00000-of-00001.parquet")
    assert read_lists([tmp_path / "dataset"]) == Lists(HS, CN)


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("hs.csv", "hs_id,text\nh1,One.\nh2, \n", r"row 2: text is ' '"),
        ("hs.csv", "hs_id,text\nh1,One.\nh1,Two.\n", "row 2: h1 is the id of another text"),
        ("hs.csv", "message\nOne.\n", "has the columns message, expected hate_speech or text"),
        ("hs.md", "One.", "has another format, expected a file with the suffix .txt"),
        ("hs.txt", "", "no HS ids"),
    ],
)
def test_lists_that_are_none_are_refused(tmp_path: Path, run_cli: RunCli, name: str, content: str, said: str) -> None:
    (tmp_path / name).write_text(content)
    (tmp_path / "cn.txt").write_text("A reply.\n")
    done = run_cli(
        "annotate", "score", tmp_path / name, tmp_path / "cn.txt", "--scorer", "tfidf", "--out", tmp_path / "scores"
    )
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert re.search(said, done.stderr), done.stderr


def test_the_verb_scores_a_campaign_and_says_what_there_is(tmp_path: Path, run_cli: RunCli) -> None:
    folder, out, result = campaign(tmp_path / "campaign"), tmp_path / "scores", tmp_path / "counts.json"
    command = ["annotate", "score", folder, "--scorer", "tfidf", "--out", out, "--rows-per-shard", 4]
    done = run_cli(*command, "--shard", "2/2")
    assert (done.returncode, done.stderr) == (0, "")
    assert "2 shards are left to other processes" in done.stdout
    done = run_cli(*command, "--json", result)
    assert (done.returncode, done.stderr) == (0, "")
    counts = json.loads(result.read_text())
    assert counts.pop("highest") > 0.5
    assert counts == {
        "out": str(out),
        "scorer": {"kind": "tfidf", "fit_on": "the CNs", "options": {}},
        "hs": 3,
        "pairs": 12,
        "shards": 3,
        "finished": 3,
        "rows": 12,
        "missing": 0,
        "lowest": 0.0,
    }
    assert [row[0] for row in rows_in(out)] == [f"{hs}:{cn}" for hs in HS for cn in CN]
    again = run_cli(*command, "--keep-top", 1)
    assert (again.returncode, again.stdout) == (2, "")
    assert "found the plan of another scoring" in again.stderr


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--jobs", 2, "--scheduler", "tcp://127.0.0.1:9"], "give one of them"),
        (["--shard", "3/2"], "shard 3/2 does not exist"),
        (["--shard", "2"], "shard 2 does not exist"),
        (["--model", "stub"], "--model: only for --scorer judge, not tfidf; leave it out"),
        (["--scorer", "judge"], "name it with --model"),
        (["--scorer", "judge", "--model", "stub", "--task", "cseval"], "choose it with --aspect"),
        (["--out", "CAMPAIGN"], "has a campaign.yaml, expected a folder of scores"),
        (["--dry-run"], "--dry-run: only for --scorer judge, not tfidf; leave it out"),
        (["--scorer", "judge", "--model", "stub", "--max-cost", 1], "--max-cost needs --prices FILE"),
        (["--scorer", "judge", "--model", "stub", "--max-cost", 1, "--jobs", 2], "--max-cost works in one process"),
    ],
)
def test_options_that_do_not_go_together_are_refused(
    tmp_path: Path, run_cli: RunCli, options: list[Any], said: str
) -> None:
    folder = campaign(tmp_path / "campaign")
    given = ["--scorer", "tfidf", "--out", tmp_path / "scores"]
    done = run_cli("annotate", "score", folder, *given, *[folder if each == "CAMPAIGN" else each for each in options])
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert said in done.stderr


def test_a_campaign_on_replies_has_no_product(tmp_path: Path) -> None:
    folder = campaign(tmp_path / "campaign", "multi-aspect")
    with pytest.raises(InputError, match="has a task on a reply, expected pairs"):
        read_lists([folder])
