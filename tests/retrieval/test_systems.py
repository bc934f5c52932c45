"""Systems by name, from files, objects and runs; their rankings, and run files."""

import math
import re
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from fcconan.errors import InputError
from fcconan.retrieval import (
    BM25,
    Dense,
    Rankings,
    Retriever,
    TrainingPair,
    encoder_system,
    load_suite,
    make_systems,
    offline_systems,
    rank_all,
    read_qrels,
    read_run,
    run_text,
)

QUERIES = {"hs-a": "The Ombrey never return a book.", "hs-b": "Every Tessok cheats.", "hs-c": "No more Velmari."}
CORPUS = {"cn-x": "Readers return books early.", "cn-y": "Cards were banned there."}
TRAIN = [TrainingPair("The Dravene shout at the moon.", "They sing, and rather well.")]
OWN = """
class Mine:
    def __init__(self, name="mine"):
        self.name = name
    def rank(self, queries, corpus, k):
        return {query: [(key, 1.0) for key in corpus][:k] for query in queries}
READY = Mine("ready")
def trained(train): return Mine(train[0].hate_speech)
def needs(folder): return Mine(folder)
def broken(): raise RuntimeError("the abacus\\n  broke")
def words(): return "words"
"""


class System:
    """Returns what a function says."""

    name = "mine"

    def __init__(self, answer: Callable[[Mapping[str, str]], Any]) -> None:
        self.answer, self.calls = answer, list[list[str]]()

    def rank(self, queries: Mapping[str, str], corpus: Mapping[str, str], k: int) -> Any:
        self.calls.append(list(queries))
        return self.answer(queries)


def complaint(call: Callable[..., Any], *arguments: Any, **options: Any) -> str:
    with pytest.raises(InputError) as caught:
        call(*arguments, **options)
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.fixture
def suite(tmp_path: Path) -> Callable[[str], Path]:
    def write(systems: str, head: str = "systems:\n") -> Path:
        (tmp_path / "suite.yaml").write_text(head + systems, encoding="utf-8")
        return tmp_path / "suite.yaml"

    return write


# Rankings


def test_rankings_are_in_the_order_of_the_queries_with_floats_and_empty_ones_stay() -> None:
    run = {"hs-c": (("cn-y", 2), ("cn-x", np.float32(-1))), "hs-a": [["cn-x", 0.5]], "hs-b": []}
    found = rank_all(System(lambda _: run), QUERIES, CORPUS, 5)
    assert list(found.items()) == [
        ("hs-a", [("cn-x", 0.5)]),
        ("hs-b", []),
        ("hs-c", [("cn-y", 2.0), ("cn-x", -1.0)]),
    ]
    assert {type(score) for ranking in found.values() for _, score in ranking} == {float} and found.failures == {}


def test_a_query_that_raises_has_a_reason_and_the_others_a_ranking() -> None:
    def answer(queries: Mapping[str, str]) -> Rankings:
        if "hs-b" in queries:
            raise RuntimeError("the abacus\n  broke")
        return Rankings({"hs-a": [("cn-x", 1.0)]}) if "hs-a" in queries else Rankings({}, {"hs-c": "no"})

    system = System(answer)
    found = rank_all(system, QUERIES, CORPUS, 2)
    assert dict(found) == {"hs-a": [("cn-x", 1.0)]}
    assert found.failures == {"hs-b": "RuntimeError: the abacus broke", "hs-c": "no"}
    assert system.calls == [["hs-a", "hs-b", "hs-c"], ["hs-a"], ["hs-b"], ["hs-c"]]


@pytest.mark.parametrize(
    ("run", "problem"),
    [
        ([("hs-a", [])], "system 'mine' returned list, "),
        ({"hs-z": []}, "the run of 'mine' has 1 unknown queries such as 'hs-z', "),
        ({"hs-a": [("cn-q", 1.0)]}, "the run of 'mine', query 'hs-a': found 'cn-q' not in the catalogue, "),
        ({"hs-a": [("cn-x", 1.0), ("cn-x", 0.5)]}, "the run of 'mine', query 'hs-a': found 'cn-x' twice, "),
        ({"hs-a": [("cn-x", math.nan)]}, "the run of 'mine', query 'hs-a': found 'cn-x' with score nan, "),
        ({"hs-a": [("cn-x", "high")]}, "the run of 'mine', query 'hs-a': could not convert string to float: 'high'; "),
        ({"hs-a": 7}, "the run of 'mine', query 'hs-a': 'int' object is not iterable; "),
    ],
)
def test_an_invalid_run_is_refused(run: Any, problem: str) -> None:
    message = complaint(rank_all, System(lambda _: run), QUERIES, CORPUS, 1)
    assert message.startswith(problem) and message.endswith(": correct it")


def test_bad_input_of_a_system_stops_and_a_protocol_needs_no_base_class() -> None:
    def refuse(queries: Mapping[str, str]) -> None:
        raise InputError("no model at that place")

    assert complaint(rank_all, System(refuse), QUERIES, CORPUS, 1) == "no model at that place"
    assert isinstance(System(dict), Retriever) and not isinstance(object(), Retriever)


# Suites


def test_the_built_in_systems_are_those_of_the_paper_and_more() -> None:
    suite = load_suite()
    models = ["sbert-minilm", "sbert-mpnet", "sbert-roberta-large", "text-embedding-3-large", "gpt-4o"]
    rerankers = {
        name: (suite[name]["first_stage"], suite[name]["top"]) for name in suite if suite[name]["kind"] == "rerank"
    }
    assert {"random", "longest", "popularity", "tfidf", "bm25", "bm25-fast", "supervised", *models} == {*suite} - {
        *rerankers
    }
    assert rerankers == {
        "rr25-1": ("text-embedding-3-large", 25),
        "rr50-1": ("text-embedding-3-large", 50),
        "rr25-2": ("sbert-mpnet", 25),
        "rr50-2": ("sbert-mpnet", 50),
    }
    asked: list[str] = []

    def opened(name: str) -> Any:
        asked.append(name)
        return SimpleNamespace(name=name)

    made: list[Any] = make_systems(suite, train=TRAIN, open_model=opened)
    assert [system.name for system in made] == list(suite)
    by_name = {system.name: system for system in made}
    assert by_name["tfidf"].fit_on == [TRAIN[0].counter_narrative]
    assert by_name["sbert-minilm"].encoder is by_name["supervised"].encoder  # so that texts are encoded once
    assert by_name["rr25-1"].first_stage.name == "text-embedding-3-large"
    assert {*asked} == {"gpt-4o-2024-08-06", "text-embedding-3-large"}


def test_a_suite_adds_and_replaces_systems(suite: Callable[[str], Path]) -> None:
    path = suite(
        "  bm25: {kind: bm25, k1: 1.2, b: 0.5}\n  all: {kind: tfidf, fit_on: catalogue}\n  luck: {kind: random}"
    )
    bm25, tfidf, kept = make_systems(["bm25", "all", "tfidf"], suite=path, train=TRAIN)
    texts = {"a": "ombrey books books", "b": "ombrey songs", "c": "ombrey"}
    assert bm25.rank(QUERIES, texts, 3) == BM25(k1=1.2, b=0.5).rank(QUERIES, texts, 3)
    assert isinstance(tfidf, type(kept)) and tfidf.fit_on == [] != kept.fit_on  # type: ignore[attr-defined]
    default = offline_systems()
    assert offline_systems("sound", path) == [*default, "all", "luck"]
    assert [*{*offline_systems("cross-validated")} - {*default}] == ["supervised"]


def test_the_model_of_a_dense_system_may_be_a_folder(tmp_path: Path) -> None:
    (tmp_path / "my model").mkdir()
    system = encoder_system(str(tmp_path / "my model"))
    assert isinstance(system, Dense) and system.name == "my-model"
    assert encoder_system("owner/model", "mine").name == "mine"
    assert "no model folder at" in complaint(encoder_system, str(tmp_path / "missing"))


@pytest.mark.parametrize(
    ("systems", "problem"),
    [
        ("  a: {kind: bm26}", "system a has the kind 'bm26', expected random, "),
        ("  a: {k1: 1}", "system a has the kind None, expected random, "),
        ("  a: {kind: bm25, k2: 1}", "system a: BM25.__init__() got an unexpected keyword argument 'k2': compare "),
        ("  a: {kind: bm25, b: 1.5}", "a: found k1 1.5 and b 1.5, expected k1 above 0 and b from 0 to 1"),
        ("  a: {kind: tfidf, fit_on: test}", "a: found fit_on 'test', expected training or catalogue"),
        ("  a: {kind: dense}", "system a: Dense.__init__() missing 1 required positional argument: 'encoder'"),
        ("  a: {kind: dense, encoder: {modle: x}}", "the encoder of a: SentenceEncoder.__init__() got an unexpected "),
        ("  a: {kind: dense, encoder: {endpoint: x}}", "the encoder of a has the kind 'x', expected local, openai"),
        ("  a: {kind: rerank, first_stage: a}", "system 'a' contains itself through 'a': correct the suite"),
        ("  a: {kind: rerank, first_stage: bm26}", "unknown system 'bm26': did you mean 'bm25'? known are random, "),
        ("  a: 3", "suite.yaml has systems, expected `systems:` with a mapping for each: compare with "),
        ("metrics: [mrr]", "suite.yaml has systems, metrics, expected `systems:` with a mapping for each"),
    ],
)
def test_the_mistake_of_a_suite_is_named(suite: Callable[[str], Path], systems: str, problem: str) -> None:
    assert problem in complaint(make_systems, ["a"], suite=suite(systems))


def test_an_unknown_name_comes_with_the_nearest_one() -> None:
    assert complaint(make_systems, ["bm-25"]).startswith(
        "unknown system 'bm-25': did you mean 'bm25'? known are random"
    )


# Own systems


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A user's module in the current folder."""
    (tmp_path / "tessok_abacus.py").write_text(OWN, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    make_systems(["tessok_abacus:READY"])
    return sys.modules.pop("tessok_abacus")


def test_own_systems_are_objects_classes_and_functions(own: Any) -> None:
    names = ["tessok_abacus:Mine", "tessok_abacus:READY", "tessok_abacus:trained"]
    systems = make_systems([*names, own.READY, own.Mine, own.trained], train=TRAIN)
    trained = TRAIN[0].hate_speech
    assert [system.name for system in systems] == ["mine", "ready", trained, "ready", "mine", trained]
    assert rank_all(systems[0], {"hs": "Ostrun"}, CORPUS, 1) == {"hs": [("cn-x", 1.0)]}


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("tessok_abacus:needs", "raised TypeError: needs() missing 1 required positional argument: 'folder': give "),
        ("tessok_abacus:broken", "raised RuntimeError: the abacus broke: give module:factory, as mine:Shortest"),
        ("tessok_abacus:absent", "raised AttributeError: module 'tessok_abacus' has no attribute 'absent': give "),
        ("tessok_abacus.py:Mine", "raised ModuleNotFoundError: No module named 'tessok_abacus.py'"),
        ("./mine.py:Mine", "raised ValueError: invalid format: './mine.py:Mine'"),
        ("tessok_abacus:words", "is of type str, expected a system with a name (a string) and rank("),
    ],
)
def test_what_gives_no_system_is_refused(own: Any, name: str, problem: str) -> None:
    assert complaint(make_systems, [name]).startswith(f"{name} {problem}")


def test_a_run_of_ranx_is_a_system() -> None:
    import ranx

    (system,) = make_systems([ranx.Run({"hs-a": {"cn-y": 0.25, "cn-x": 1.5}}, name="theirs")])
    assert system.name == "theirs"
    assert dict(rank_all(system, QUERIES, CORPUS, 5)["hs-a"]) == {"cn-x": 1.5, "cn-y": 0.25}
    assert "expected a system with a name" in complaint(make_systems, [ranx.Run({"hs-a": {"cn-y": 0.25}})])


# Files of runs and judgements


def test_a_run_is_written_as_ranx_reads_it_and_read_to_the_last_bit(tmp_path: Path) -> None:
    from ranx import Run

    path = tmp_path / "run.trec"
    scores = [0.1 + 0.2, 1 / 3, 1e-300, -1.0, *np.random.default_rng(3).normal(0, 1e-9, 50).tolist()]
    run = {query: [(f"cn-{place}", score) for place, score in enumerate(scores)] for query in QUERIES}
    path.write_text(run_text("mine", run), encoding="utf-8")
    system = read_run(path)
    assert (system.name, system.run) == ("mine", run)
    theirs = Run.from_file(str(path), kind="trec").to_dict()
    assert theirs == {query: dict(ranking) for query, ranking in run.items()}


def test_scores_decide_and_columns_are_apart_by_tabs_or_white_space(tmp_path: Path) -> None:
    path = tmp_path / "run.trec"
    path.write_text("\ufeffq Q0 a 2 0.25 mine\n\n   \nq Q0 b 1 0.5 mine\r\np Q0 a junk -3 mine", encoding="utf-8")
    assert read_run(path).run == {"q": [("a", 0.25), ("b", 0.5)], "p": [("a", -3.0)]}
    path.write_text("q 1\tQ0\ta b\t1\t0.5\tmy run\n", encoding="utf-8")
    assert (read_run(path).name, read_run(path).run) == ("my run", {"q 1": [("a b", 0.5)]})


@pytest.mark.parametrize("header", ["", "query-id\tcorpus-id\tscore\n", "Query-ID Corpus-ID Relevance\n"])
def test_qrels_have_three_or_four_columns(tmp_path: Path, header: str) -> None:
    path = tmp_path / "qrels"
    path.write_text(f"{header}q 1\ta\t1\nq 1\tb c\t0\n\nq2\ta\t2\n", encoding="utf-8")
    assert read_qrels(path) == {"q 1": {"a": 1, "b c": 0}, "q2": {"a": 2}}
    path.write_text("q 0 a 1\nq 0 b -1\n", encoding="utf-8")
    assert read_qrels(path) == {"q": {"a": 1, "b": -1}}


@pytest.mark.parametrize(
    ("read", "text", "problem"),
    [
        (read_run, "q Q0 a 1 0.5 mine\nq Q0 b 2 0.5\n", ", line 2: found 'q Q0 b 2 0.5', expected `query Q0 document "),
        (read_run, "q Q0 a 1 high mine\n", ", line 1: found 'q Q0 a 1 high mine', expected `query Q0 document rank "),
        (read_run, "q Q0 a 1 inf mine\n", ", line 1: found 'q Q0 a 1 inf mine', expected"),
        (read_run, "q Q0 a 1 2 tessok\nq Q0 b 2 1 ombrey\n", " holds 2 runs ombrey tessok, expected one in each file"),
        (read_run, " \n", " holds 0 runs, expected one in each file"),
        (read_qrels, "q 0 a yes\n", ", line 1: found 'q 0 a yes', expected"),
        (read_qrels, "q 0 a 1\nq 0 a 0\n", ": q a is judged twice, or with 0: keep a whole number"),
        (read_qrels, "q 0 a 0.5\n", ": q a is judged twice, or with 0.5: keep a whole number"),
        (read_qrels, "query-id\tcorpus-id\tscore\n", " holds no judgement: give qrels with a line for every judged "),
    ],
)
def test_a_file_of_another_form_is_refused(
    tmp_path: Path, read: Callable[[Path], Any], text: str, problem: str
) -> None:
    path = tmp_path / "file"
    path.write_text(text, encoding="utf-8")
    assert complaint(read, path).startswith(f"{path}{problem}")


@pytest.mark.parametrize("bad", ["", "a b", "a\t", "\u2028"])
def test_ids_that_the_format_does_not_allow_are_not_written(bad: str) -> None:
    for arguments in ((bad, {"q": [("a", 1.0)]}), ("mine", {bad: [("a", 1.0)]}), ("mine", {"q": [(bad, 1.0)]})):
        with pytest.raises(InputError, match=re.escape(f"{bad!r} is empty or has white space")):
            run_text(*arguments)
