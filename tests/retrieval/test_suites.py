"""The built-in suite, users' own suites, and systems from `module:factory` and TREC files."""

import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from fcconan.errors import InputError
from fcconan.retrieval.dense import Dense, SentenceEncoder
from fcconan.retrieval.factories import as_retriever
from fcconan.retrieval.label_systems import Supervised
from fcconan.retrieval.lexical import BM25, BM25Fast, Random, TfIdf
from fcconan.retrieval.suites import SystemFactory, load_suite
from fcconan.retrieval.systems import TrainingPair, rank_all
from fcconan.retrieval.trec import run_from_file

PAPER = [
    "random",
    "tfidf",
    "bm25",
    "sbert-minilm",
    "sbert-mpnet",
    "sbert-roberta-large",
    "text-embedding-3-large",
    "gpt-4o",
    "rr25-1",
    "rr50-1",
    "rr25-2",
    "rr50-2",
]
TRAIN = [TrainingPair("The Dravene shout at the moon.", "They sing, and rather well.")]
OWN = """
from fcconan.retrieval.systems import Rankings

class Mine:
    def __init__(self, name="mine"):
        self.name = name

    def rank(self, queries, corpus, k):
        return {query: [(key, 1.0) for key in corpus][:k] for query in queries}

READY = Mine("ready")

def plain():
    return Mine("plain")

def trained(train):
    return Mine(f"{len(train)} pairs, first {type(train[0]).__name__}")

def optional(depth=3, *, train=None):
    return Mine(f"depth {depth}, {train[0].hate_speech}")

def needs(folder):
    return Mine(folder)

def breaks():
    raise RuntimeError("the abacus\\n  broke")

def leaves():
    raise SystemExit("no abacus")

def refuses():
    from fcconan.errors import InputError
    raise InputError("no abacus: bring one")

def wordless():
    return Rankings()

class Nameless(Mine):
    def __init__(self):
        self.name = None

class Rankless:
    name = "rankless"

class Constant:
    name = "constant"
    rank = 3
"""


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Returns the name of a user's module on the Python path."""
    name = "tessok_abacus"
    (tmp_path / f"{name}.py").write_text(OWN, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    yield name
    sys.modules.pop(name, None)


def suite_file(folder: Path, systems: str, head: str = "name: mine") -> Path:
    path = folder / "suite.yaml"
    path.write_text(f"{head}\nsystems:\n{systems}\n", encoding="utf-8")
    return path


def maker(folder: Path, systems: str, train: Sequence[TrainingPair] = ()) -> SystemFactory:
    return SystemFactory(load_suite(suite_file(folder, systems)), train)


def complaint(call: Any, *arguments: object) -> str:
    with pytest.raises(InputError) as caught:
        call(*arguments)
    message = str(caught.value)
    assert len(message.splitlines()) == 1
    return message


def test_the_suite_lists_the_systems_of_the_paper_and_more() -> None:
    suite = load_suite()
    assert suite.name == "retrieval"
    assert set(PAPER) <= suite.systems.keys()
    assert len(PAPER) == 12
    kinds = {name: system.kind for name, system in suite.systems.items()}
    assert {name: kinds[name] for name in PAPER} == {
        "random": "random",
        "tfidf": "tfidf",
        "bm25": "bm25",
        "sbert-minilm": "dense",
        "sbert-mpnet": "dense",
        "sbert-roberta-large": "dense",
        "text-embedding-3-large": "dense",
        "gpt-4o": "zero-shot",
        "rr25-1": "rerank",
        "rr50-1": "rerank",
        "rr25-2": "rerank",
        "rr50-2": "rerank",
    }
    assert kinds["bm25-fast"] == "bm25-fast"
    assert all(system.title for system in suite.systems.values())


@pytest.mark.parametrize(
    ("name", "first_stage", "top"),
    [
        ("rr25-1", "text-embedding-3-large", 25),
        ("rr50-1", "text-embedding-3-large", 50),
        ("rr25-2", "sbert-mpnet", 25),
        ("rr50-2", "sbert-mpnet", 50),
    ],
)
def test_rerankers_of_the_paper_read_what_its_table_says(name: str, first_stage: str, top: int) -> None:
    values = load_suite().systems[name].model_dump()
    assert (values["first_stage"], values["top"]) == (first_stage, top)


def test_lexical_systems_of_the_suite_are_made_with_their_whole_configuration() -> None:
    made = SystemFactory(load_suite(), TRAIN)
    chance, tfidf, bm25, fast = (made.make(name) for name in ("random", "tfidf", "bm25", "bm25-fast"))
    assert isinstance(chance, Random)
    assert chance.configuration == {"kind": "random", "seed": 0, "seeds": 100}
    assert isinstance(tfidf, TfIdf)
    assert tfidf.fit_on == [TRAIN[0].counter_narrative]
    assert isinstance(bm25, BM25)
    assert (bm25.k1, bm25.b, bm25.epsilon, bm25.lowercase) == (1.5, 0.75, 0.25, False)
    assert isinstance(fast, BM25Fast)
    assert fast.configuration == BM25Fast(stemmer="english", stopwords="en").configuration
    assert [system.name for system in (chance, tfidf, bm25, fast)] == ["random", "tfidf", "bm25", "bm25-fast"]


def test_what_is_configured_reaches_the_system(tmp_path: Path) -> None:
    made = maker(
        tmp_path,
        """
  luck: { kind: random, seed: 3, seeds: 7 }
  weights: { kind: tfidf, fit_on: catalogue, options: { sublinear_tf: true } }
  okapi: { kind: bm25, k1: 1.2, b: 0.5, epsilon: 0, lowercase: true }
  quick: { kind: bm25-fast, method: atire, idf_method: robertson, tokens: white space, stopwords: [the, of] }
""",
        TRAIN,
    )
    luck, weights, okapi, quick = (made.make(name) for name in ("luck", "weights", "okapi", "quick"))
    assert isinstance(luck, Random)
    assert (luck.name, luck.seed, luck.seeds) == ("luck", 3, 7)
    assert isinstance(weights, TfIdf)
    assert (weights.fit_on, weights.options) == ([], {"sublinear_tf": True})
    assert isinstance(okapi, BM25)
    assert okapi.configuration == BM25(k1=1.2, b=0.5, epsilon=0, lowercase=True).configuration
    assert isinstance(quick, BM25Fast)
    assert (
        quick.configuration
        == BM25Fast(method="atire", idf_method="robertson", tokens="white space", stopwords=["the", "of"]).configuration
    )


def test_systems_with_the_same_encoder_share_it() -> None:
    made = SystemFactory(load_suite(), TRAIN)
    dense, learned = made.make("sbert-minilm"), made.make("supervised")
    assert isinstance(dense, Dense)
    assert isinstance(learned, Supervised)
    assert dense.encoder is learned.encoder
    other = made.make("sbert-mpnet")
    assert isinstance(other, Dense)
    assert other.encoder is not dense.encoder


def test_a_batch_size_comes_before_that_of_the_suite() -> None:
    for given, expected in ((7, 7), (None, 64)):
        system = SystemFactory(load_suite(), TRAIN, batch_size=given).make("sbert-minilm")
        assert isinstance(system, Dense)
        assert isinstance(system.encoder, SentenceEncoder)
        assert system.encoder.batch_size == expected


def test_a_client_is_made_once_for_each_model_and_only_if_it_is_needed() -> None:
    calls = []

    def client(model: str) -> SimpleNamespace:
        calls.append(model)
        return SimpleNamespace(endpoint="http://127.0.0.1:9/v1")

    made = SystemFactory(load_suite(), TRAIN, client=client)
    made.make("bm25")
    assert calls == []
    for name in ("gpt-4o", "rr25-1", "text-embedding-3-large"):
        assert made.make(name).name == name
    assert calls == ["gpt-4o-2024-08-06", "text-embedding-3-large"]
    message = complaint(SystemFactory(load_suite(), TRAIN).make, "gpt-4o")
    assert message == "a system behind an endpoint needs a client: give SystemFactory(client=...)"


@pytest.mark.parametrize(
    ("systems", "where"),
    [
        ("  a: { kind: bm25, k2: 1 }", "systems.a.k2: Extra inputs are not permitted"),
        ("  a: { kind: bm25, k1: high }", "systems.a.k1: Input should be a valid number"),
        ("  a: { kind: bm25, k1: 0 }", "systems.a.k1: Input should be greater than 0"),
        ("  a: { kind: bm25-fast, b: 1.5 }", "systems.a.b: Input should be less than or equal to 1"),
        ("  a:\n    kind: bm25\n    k1: high", "systems.a.k1: Input should be a valid number"),
        ("  a: { kind: bm26 }", "systems.a: Input tag 'bm26' found using 'kind' does not match any of the expected"),
        ("  a: { k1: 1 }", "systems.a: Unable to extract tag using discriminator 'kind'"),
        ("  a: 3", "systems.a: "),
        ("  a: { kind: random, seeds: 0 }", "systems.a.seeds: Input should be greater than or equal to 1"),
        ("  a: { kind: tfidf, fit_on: test }", "systems.a.fit_on: Input should be 'training' or 'catalogue'"),
        ("  a: { kind: dense }", "systems.a.encoder: Field required"),
        ("  a: { kind: dense, encoder: { modle: x } }", "systems.a.encoder.model: Field required"),
        ("  a: { kind: bm25-fast, method: bm11 }", "systems.a.method: Input should be 'lucene', "),
    ],
)
def test_what_is_wrong_with_a_suite_is_named_with_its_place(tmp_path: Path, systems: str, where: str) -> None:
    path = suite_file(tmp_path, systems)
    message = complaint(load_suite, path)
    line = 3 + systems.count("\n")
    assert message.startswith(f"{path}, line {line}: {where}")
    assert message.endswith(": compare with benchmarks/retrieval.yaml")


def test_a_suite_has_a_name_and_no_further_keys(tmp_path: Path) -> None:
    systems = "  a: { kind: bm25 }"
    path = suite_file(tmp_path, systems, head="title: Mine")
    assert complaint(load_suite, path).startswith(f"{path}, line 1: name: Field required")
    path = suite_file(tmp_path, systems, head="name: mine\nmetrics: [mrr]")
    assert complaint(load_suite, path).startswith(f"{path}, line 2: metrics: Extra inputs are not permitted")


def test_a_suite_that_is_not_yaml_or_says_a_system_twice_is_named_with_its_line(tmp_path: Path) -> None:
    path = suite_file(tmp_path, "  a: { kind: bm25 }\n  a: { kind: tfidf }")
    assert complaint(load_suite, path) == f"{path}, line 4: key 'a' occurs twice; remove one of them"
    path = suite_file(tmp_path, "  a: { kind: bm25")
    assert complaint(load_suite, path).startswith(f"{path}, line ")
    missing = tmp_path / "none.yaml"
    assert complaint(load_suite, missing).startswith(f"{missing} cannot be read (")


def test_an_unknown_system_comes_with_the_nearest_one(tmp_path: Path) -> None:
    made = maker(tmp_path, "  bm25: { kind: bm25 }\n  tfidf: { kind: tfidf }")
    assert complaint(made.make, "bm-25") == (
        "unknown system 'bm-25': did you mean 'bm25'? known are bm25, tfidf; give your own as module:factory"
    )
    assert complaint(made.make, "xyzzy") == (
        "unknown system 'xyzzy': known are bm25, tfidf; give your own as module:factory"
    )


@pytest.mark.parametrize(
    ("systems", "name", "part"),
    [
        ("  a: { kind: rerank, first_stage: a }", "a", "a"),
        ("  a: { kind: rerank, first_stage: b }\n  b: { kind: rerank, first_stage: a }", "a", "b"),
        (
            "  a: { kind: rerank, first_stage: b }\n  b: { kind: rerank, first_stage: c }\n"
            "  c: { kind: rerank, first_stage: b }",
            "b",
            "c",
        ),
    ],
)
def test_a_system_is_not_made_of_itself(tmp_path: Path, systems: str, name: str, part: str) -> None:
    made = maker(tmp_path, systems)
    assert complaint(made.make, "a") == (f"system {name!r} contains itself through {part!r}: correct the suite")


def test_an_unknown_first_stage_is_bad_input(tmp_path: Path) -> None:
    made = maker(tmp_path, "  a: { kind: rerank, first_stage: bm26 }\n  bm25: { kind: bm25 }")
    assert complaint(made.make, "a").startswith("unknown system 'bm26': did you mean 'bm25'? ")


@pytest.mark.parametrize(
    ("factory", "name"),
    [
        ("plain", "plain"),
        ("Mine", "mine"),
        ("READY", "ready"),
        ("trained", "1 pairs, first TrainingPair"),
        ("optional", "depth 3, The Dravene shout at the moon."),
    ],
)
def test_a_factory_gets_the_training_pairs_if_it_asks(own: str, tmp_path: Path, factory: str, name: str) -> None:
    system = maker(tmp_path, "  a: { kind: bm25 }", TRAIN).make(f"{own}:{factory}")
    assert system.name == name
    found = rank_all(system, {"hs": "Ostrun"}, {"cn-a": "", "cn-b": ""}, 1)
    assert found == {"hs": [("cn-a", 1.0)]}


@pytest.mark.parametrize(
    ("factory", "problem"),
    [
        ("needs", " raised TypeError: needs() missing 1 required positional argument: 'folder': a factory is called "),
        ("breaks", " raised RuntimeError: the abacus broke: a factory is called without arguments, or with train="),
        ("wordless", " is of type Rankings: a system has a name (a string) and rank(queries, corpus, k)"),
        ("Nameless", " is of type Nameless: a system has a name (a string) and rank(queries, corpus, k)"),
        ("Rankless", " is of type Rankless: a system has a name (a string) and rank(queries, corpus, k)"),
        ("Constant", " is of type Constant: a system has a name (a string) and rank(queries, corpus, k)"),
        (
            "absent",
            ": the module tessok_abacus has no absent: check the name of the factory",
        ),
        ("leaves", " raised SystemExit: no abacus: a factory is called without arguments, or with train="),
    ],
)
def test_a_factory_that_gives_no_system_is_bad_input(own: str, tmp_path: Path, factory: str, problem: str) -> None:
    made = maker(tmp_path, "  a: { kind: bm25 }")
    assert complaint(made.make, f"{own}:{factory}").startswith(f"{own}:{factory}{problem}")


def test_bad_input_of_a_factory_is_passed_on(own: str, tmp_path: Path) -> None:
    made = maker(tmp_path, "  a: { kind: bm25 }")
    assert complaint(made.make, f"{own}:refuses") == "no abacus: bring one"


def test_a_module_that_is_not_there_is_bad_input(tmp_path: Path) -> None:
    made = maker(tmp_path, "  a: { kind: bm25 }")
    assert complaint(made.make, "no_such_module_of_ours:make") == (
        "no_such_module_of_ours:make cannot be imported (ModuleNotFoundError: No module named "
        "'no_such_module_of_ours'): give module:factory, with the module on the Python path; "
        "`fcconan --debug COMMAND` shows the traceback"
    )


def test_a_file_name_for_a_module_is_bad_input(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "velmari_own.py").write_text("class Grams: ...\n", encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    assert complaint(maker(tmp_path, "  a: { kind: bm25 }").make, "velmari_own.py:Grams") == (
        "velmari_own.py:Grams cannot be imported (ModuleNotFoundError: No module named 'velmari_own.py'; 'velmari_own' "
        "is not a package): give velmari_own:Grams, without .py; `fcconan --debug COMMAND` shows the traceback"
    )


def test_a_module_that_ends_python_is_bad_input(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "velmari_script.py").write_text("import sys\nsys.exit('usage: me')\n", encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    made = maker(tmp_path, "  a: { kind: bm25 }")
    assert complaint(made.make, "velmari_script:make") == (
        "velmari_script:make cannot be imported (SystemExit: usage: me): give module:factory, with the module on the "
        "Python path; `fcconan --debug COMMAND` shows the traceback"
    )


@pytest.mark.parametrize("name", ["bad:", ":x", ":", "..relative:make", "./mine.py:Shortest", "mine:a b", "a:b:c"])
def test_what_is_not_module_and_factory_is_bad_input(tmp_path: Path, name: str) -> None:
    assert complaint(maker(tmp_path, "  a: { kind: bm25 }").make, name) == (
        f"{name} is not module:factory: name both as in Python, such as mine:Shortest for a class in mine.py"
    )


@pytest.mark.parametrize("content", ["def make(:\n", "raise RuntimeError('the abacus broke')\n"])
def test_a_module_that_breaks_on_import_is_bad_input(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: str
) -> None:
    (tmp_path / "ostrun_broken.py").write_text(content, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    made = maker(tmp_path, "  a: { kind: bm25 }")
    assert complaint(made.make, "ostrun_broken:make").startswith("ostrun_broken:make cannot be imported (")


def test_an_object_with_name_and_rank_is_a_system() -> None:
    system = BM25()
    assert as_retriever("mine", system) is system
    assert complaint(as_retriever, "mine", None).startswith("mine is of type NoneType: ")


def test_a_run_file_is_a_system(tmp_path: Path) -> None:
    path = tmp_path / "mine.trec"
    path.write_text("hs Q0 cn-b 1 0.5 abacus\nhs Q0 cn-a 2 0.75 abacus\n", encoding="utf-8")
    system = run_from_file(path)
    corpus: Mapping[str, str] = {"cn-a": "", "cn-b": ""}
    found = rank_all(system, {"hs": "", "other": ""}, corpus, 1)
    assert system.name == "abacus"
    assert found == {"hs": [("cn-b", 0.5), ("cn-a", 0.75)]}
    assert found.resolved == {"file": "mine.trec"}
    assert complaint(rank_all, system, {"other": ""}, corpus, 1).startswith("the run of 'abacus' ranks query 'hs'")
    assert complaint(rank_all, system, {"hs": ""}, {"cn-a": ""}, 1) == (
        "the run of 'abacus', query 'hs': 'cn-b' is not in the catalogue (under protocol paper, the CNs with a "
        "positive in Bronze): rank ids of the catalogue only"
    )


def test_systems_that_need_an_endpoint() -> None:
    suite = load_suite()
    needs = {name for name in suite.systems if suite.needs_endpoint(name)}
    assert needs == {"text-embedding-3-large", "gpt-4o", "rr25-1", "rr50-1", "rr25-2", "rr50-2"}
    assert not suite.needs_endpoint("mine:Shortest")
