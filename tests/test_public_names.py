"""Every figure that a verb writes is defined in docs/protocol.md; every public name says what it is, and truly."""

import ast
import math
import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import fcconan

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "fcconan"
PROTOCOL = (ROOT / "docs" / "protocol.md").read_text(encoding="utf-8")
DEFINED = {name for span in re.findall(r"`([^`\n]+)`", PROTOCOL) for name in (span, *re.split(r"[\s,()/]+", span))}


def undefined(names: set[str]) -> list[str]:
    """The figures among some names that the protocol does not have; metrics are defined with the cutoff k."""
    return sorted({re.sub(r"@\d+$", "@k", name) for name in names} - DEFINED)


def functions(tree: ast.Module) -> Iterator[tuple[ast.FunctionDef, ast.ClassDef | None]]:
    """The functions and methods of a module, but not those within functions, nor signatures for type checkers."""
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and "overload" not in map(ast.unparse, node.decorator_list):
            yield node, None
        elif isinstance(node, ast.ClassDef):
            yield from ((each, node) for each in node.body if isinstance(each, ast.FunctionDef))


def module(file: str) -> ast.Module:
    return ast.parse((PACKAGE / file).read_text(encoding="utf-8"))


def test_metrics_coefficients_levels_and_checks_are_defined() -> None:
    from fcconan import scoring
    from fcconan.reproduction import STATUSES
    from fcconan.scoring import METRICS, reliability
    from fcconan.scoring.correlation import levels, weighted
    from fcconan.scoring.verdicts import COEFFICIENTS

    found = {f"{name}@k" for name in METRICS}
    found |= {*scoring.TEXT_METRICS, *weighted.COEFFICIENTS, *STATUSES}
    found |= {*reliability.COEFFICIENTS, *levels.LEVELS, *COEFFICIENTS}
    found |= {f"{model}-{field}" for model in ("bertscore", "bartscore") for field in scoring.FIELDS}
    checks = {*re.findall(r"\(`(\w+)`\)", fcconan.audit.__doc__ or "")}
    assert {"spread", "self_preference_grades"} <= checks
    assert undefined(found | checks) == []


def test_a_figure_that_is_not_defined_is_noticed() -> None:
    assert undefined({"mrr@10", "hit_rate@5", "ceiling", "mrr_of_luck@10"}) == ["mrr_of_luck@k"]


def test_examples_by_hand_are_what_the_package_computes() -> None:
    from fcconan import scoring
    from fcconan.scoring import evaluate, measure_agreement

    names = [f"{name}@3" for name in ("hit_rate", "mrr", "precision", "recall", "f1", "map", "ndcg", "accuracy")]
    labels, ranked = np.array([[1, 0, np.nan, 1, np.nan]]), np.array([[1, 0, 2, 3]])
    found = evaluate(ranked, labels, names, np.zeros(1, dtype=bool))
    expected = [1, 1 / 2, 1 / 3, 1 / 2, 0.4, 0.25, 0.3869, 0.4]
    assert [found[name].item() for name in names] == pytest.approx(expected, abs=5e-5)
    assert scoring.repetition_rate(["a b a b a b c d"]) == pytest.approx(42.04, abs=5e-3)
    given: list[list[float]] = [[1, 2, 3, 3, np.nan], [1, 2, 3, 2, 1], [1, 3, 3, 2, 1]]
    alike = ("raw", "krippendorff_nominal", "krippendorff_ordinal", "krippendorff_interval")
    rows = measure_agreement(given, coefficients=alike, bootstrap=fcconan.Bootstrap(resamples=0))
    assert rows["value"][rows["a"].isna()].tolist() == pytest.approx([9 / 13, 0.6, 0.8143, 0.8143], abs=5e-5)
    won = [{"item_id": f"i{n}", "system_a": "A", "system_b": "B", "verdict": "aaab"[n]} for n in range(4)]
    strengths = fcconan.rank(won, bootstrap=fcconan.Bootstrap(resamples=0)).to_frame()["value"][:2]
    assert strengths.tolist() == pytest.approx([0.549, -0.549], abs=5e-3)
    about = {"reply_id": "r", "system": "A", "rater": "anna", "low": 1.0}
    given_grades = {"relevance": (5, 5), "aggressiveness": (1, 5), "suitableness": (2, 3)}
    graded = [
        {**about, "aspect": aspect, "value": value, "high": high, "higher_is_better": aspect != "aggressiveness"}
        for aspect, (value, high) in given_grades.items()
    ]
    assert fcconan.rank(graded).to_frame()["value"][0] == pytest.approx(13 / 3)
    assert math.isclose(math.tanh(1), 0.76, abs_tol=5e-3)


SECTIONS = ("Args", "Returns", "Raises", "Yields", "Attributes")
FEW = 3  # parameters; more want a list


def sections(doc: str) -> dict[str, set[str]]:
    """The names that each section of a docstring explains."""
    found: dict[str, set[str]] = {}
    current: set[str] | None = None
    for line in doc.splitlines():
        if line.removesuffix(":") in SECTIONS and line.endswith(":"):
            current = found.setdefault(line.removesuffix(":"), set())
        elif line and not line.startswith(" "):
            current = None
        elif current is not None and (name := re.match(r"    \*{0,2}(\w+)(?: \([^)]*\))?:", line)):
            current.add(name[1])
    return found


def parameters(function: ast.FunctionDef) -> list[str]:
    given = function.args
    names = [each.arg for each in (*given.posonlyargs, *given.args, *given.kwonlyargs)]
    names += [each.arg for each in (given.vararg, given.kwarg) if each is not None]
    return [name for name in names if name not in ("self", "cls")]


def raised(function: ast.FunctionDef) -> set[str]:
    """The errors that a function itself raises, without what functions in it do."""
    found, left = set(), list[ast.AST](function.body)
    while left:
        node = left.pop()
        if isinstance(node, ast.FunctionDef | ast.Lambda | ast.ClassDef):
            continue
        if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call) and isinstance(node.exc.func, ast.Name):
            found.add(node.exc.func.id)
        left += ast.iter_child_nodes(node)
    return found


def of_function(function: ast.FunctionDef, *, verb: bool) -> Iterator[str]:
    """What is wrong with the docstring of a function; what the options of a verb mean stands in its --help."""
    doc, names = ast.get_docstring(function), parameters(function)
    if doc is None:
        yield "no docstring"
        return
    said = sections(doc)
    if "Args" in said and said["Args"] != set(names):
        yield f"Args and parameters differ: {', '.join(sorted(said['Args'] ^ set(names)))}"
    if verb:
        return
    if "Args" not in said and len(names) > FEW:
        yield f"no Args for {', '.join(names)}"
    if "Raises" not in said and (errors := raised(function) & {"InputError", "ValueError", "KeyError"}):
        yield f"no Raises for {', '.join(sorted(errors))}"
    result = ast.unparse(function.returns) if function.returns is not None else ""
    is_property = any("property" in ast.unparse(each) for each in function.decorator_list)
    parts = result.startswith("tuple[") and not result.endswith(", ...]") and not is_property
    if parts and not re.search("[Rr]eturn|Yields", doc):
        yield f"does not say what the parts of {result} are"


def of_class(node: ast.ClassDef) -> Iterator[str]:
    """What is wrong with the docstring of a class."""
    doc = ast.get_docstring(node)
    if doc is None:
        yield "no docstring"
        return
    said = sections(doc)
    made = [each for each in node.body if isinstance(each, ast.FunctionDef) and each.name == "__init__"]
    if made and "Args" in said and (differ := said["Args"] ^ set(parameters(made[0]))):
        yield f"Args and parameters differ: {', '.join(sorted(differ))}"
    if "Attributes" in said:
        there = {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}
        there |= {each.attr for each in ast.walk(node) if isinstance(each, ast.Attribute)}
        there |= {each.name for each in node.body if isinstance(each, ast.FunctionDef)}
        if gone := said["Attributes"] - there:
            yield f"there is no {', '.join(sorted(gone))}"


def test_public_docstrings_say_what_there_is() -> None:
    # One test, because reading all modules takes a second or two, and every worker would do it.
    for name in dir(fcconan):
        assert name == "__version__" or getattr(fcconan, name).__doc__, name
    wrong, seen = [], 0
    for path in sorted(PACKAGE.rglob("*.py")):
        file = path.relative_to(PACKAGE).as_posix()
        tree = module(file)
        for function, of in functions(tree):
            if not function.name.startswith("_") and not (of is not None and of.name.startswith("_")):
                found = of_function(function, verb=False)
                wrong += [f"{file}:{function.lineno} {function.name}: {each}" for each in found]
                seen += 1
        for node in tree.body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                wrong += [f"{file}:{node.lineno} {node.name}: {each}" for each in of_class(node)]
                seen += 1
    assert seen > 500
    assert wrong == []


def test_checks_of_docstrings_can_fail() -> None:
    source = '''
def f(one, two) -> tuple[int, str]:
    """Says.

    Args:
        one: Named.
        three: Not there.
    """
    raise InputError("x")

def g(a, b, c, d):
    pass

class C:
    """A class.

    Attributes:
        gone: Not there.
    """

    kept: int
'''
    f, g, c = ast.parse(source).body
    assert isinstance(f, ast.FunctionDef)
    assert isinstance(g, ast.FunctionDef)
    assert isinstance(c, ast.ClassDef)
    assert list(of_function(f, verb=False)) == [
        "Args and parameters differ: three, two",
        "no Raises for InputError",
        "does not say what the parts of tuple[int, str] are",
    ]
    assert list(of_function(f, verb=True)) == ["Args and parameters differ: three, two"]
    assert list(of_function(g, verb=False)) == ["no docstring"]
    g.body.insert(0, ast.Expr(ast.Constant("Does.")))
    assert list(of_function(g, verb=False)) == ["no Args for a, b, c, d"]
    assert list(of_class(c)) == ["there is no gone"]
