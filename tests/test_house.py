"""The rules that keep the house small. Limits only fall: lower one when its count has fallen."""

import ast
import functools
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from benchmarks.size import lines_of_code

ROOT = Path(__file__).parents[1]
# Largest number of each thing.
LIMITS = {
    "dataclasses and named tuples": 48,
    "calls of asdict": 0,
    "raises of InputError": 350,
    "private functions with one caller and at most 8 lines": 2,
    "modules below 40 lines": 3,
    "modules above 450 lines": 0,
    "imports of inner modules in tests": 6,
    "private names set in tests": 0,
}
# Lines of code of each package.
BUDGET = {
    ".": 750,
    "annotation": 2550,
    "building": 1950,
    "data": 1050,
    "generation": 750,
    "judging": 2000,
    "models": 850,
    "publishing": 250,
    "reproduction": 850,
    "retrieval": 1500,
    "scoring": 2350,
}


@functools.cache
def _modules() -> dict[str, tuple[str, ast.Module]]:
    paths = sorted((ROOT / "fcconan").rglob("*.py"))
    sources = {str(path.relative_to(ROOT / "fcconan")): path.read_text(encoding="utf-8") for path in paths}
    return {name: (source, ast.parse(source)) for name, source in sources.items()}


@functools.cache
def _tests() -> dict[str, ast.Module]:
    paths = sorted((ROOT / "tests").rglob("*.py"))
    return {str(path.relative_to(ROOT)): ast.parse(path.read_text(encoding="utf-8")) for path in paths}


def _found() -> Iterator[tuple[str, str]]:
    """Yields what is counted, and the module that it is in."""
    for name, (source, tree) in _modules().items():
        named = (each for each in ast.walk(tree) if isinstance(each, ast.Name | ast.Attribute))
        callers = Counter(each.id if isinstance(each, ast.Name) else each.attr for each in named)
        # A function in a table, such as a metric, is not a step of another one.
        calls = {ast.unparse(each.func).split(".")[-1] for each in ast.walk(tree) if isinstance(each, ast.Call)}
        length = source.count("\n")
        if length < 40 and not name.endswith("__init__.py"):
            yield "modules below 40 lines", name
        if length > 450:
            yield "modules above 450 lines", name
        for node in ast.walk(tree):
            match node:
                case ast.ClassDef(decorator_list=decorators, bases=bases):
                    if "dataclass" in ast.dump(ast.Tuple(decorators)) or "NamedTuple" in ast.dump(ast.Tuple(bases)):
                        yield "dataclasses and named tuples", name
                case ast.FunctionDef(name=function) if function.startswith("_") and not function.endswith("__"):
                    if callers[function] == 1 and function in calls and _length(node) <= 8:
                        yield "private functions with one caller and at most 8 lines", name
                case ast.Raise(exc=ast.Call(func=ast.Name(id="InputError"))):
                    yield "raises of InputError", name
                case ast.Call(func=ast.Name(id="asdict")):
                    yield "calls of asdict", name
    for name, tree in _tests().items():
        for node in ast.walk(tree):
            match node:
                case ast.ImportFrom(module=str() as module) if re.fullmatch(r"fcconan\.\w+\..+", module):
                    yield "imports of inner modules in tests", name
                case ast.Call(func=ast.Attribute(attr="setattr"), args=[*values]):
                    texts = [each.value for each in values if isinstance(each, ast.Constant)]
                    if any(isinstance(each, str) and re.search(r"(^|\.)_[a-z]", each) for each in texts):
                        yield "private names set in tests", name


def _length(function: ast.FunctionDef) -> int:
    return (function.end_lineno or function.lineno) - function.lineno + 1


def test_what_is_counted_only_falls() -> None:
    counts = Counter(what for what, _ in _found())
    assert {what: counts[what] for what in LIMITS if counts[what] > LIMITS[what]} == {}


def test_packages_keep_their_budget() -> None:
    code = Counter[str]()
    for name, (source, _) in _modules().items():
        code[name.split("/")[0] if "/" in name else "."] += lines_of_code(source)
    assert {name: lines for name, lines in code.items() if lines > BUDGET.get(name, 0)} == {}


def test_a_command_has_few_options_of_its_own() -> None:
    import inspect

    import fcconan
    from fcconan.cli import COMMANDS

    found = [inspect.signature(getattr(fcconan, name)).parameters for name, _ in COMMANDS.values()]
    functions = [{name for name, each in own.items() if each.kind is each.KEYWORD_ONLY} for own in found]
    groups = {"rows", "bootstrap", "endpoint"}
    assert max(len(parameters - groups) for parameters in functions) <= 15
    assert len({name for parameters in functions for name in parameters} - groups) <= 150
    assert len(functions) <= 28
