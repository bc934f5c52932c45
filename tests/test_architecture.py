"""The structure of the package: names of modules and functions, public faces, and the import contracts themselves."""

import ast
import configparser
import inspect
from importlib import import_module
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parent.parent / "fcconan"
FACES = sorted(path.parent.name for path in PACKAGE.glob("*/__init__.pyi"))


def _contracts() -> configparser.ConfigParser:
    contracts = configparser.ConfigParser()
    contracts.read(PACKAGE.parent / ".importlinter", encoding="utf-8")
    return contracts


def test_every_package_has_a_layer_and_a_face() -> None:
    contracts = _contracts()
    layers = contracts["importlinter:contract:layers"]["layers"].split()
    packages = {path.parent.name for path in PACKAGE.glob("*/__init__.py")}
    assert set(layers) == packages | {"cli", "errors", "groups", "latex", "parallel", "parsing", "report", "result"}
    assert set(FACES) == packages
    for name in FACES:
        contract = contracts[f"importlinter:contract:face-{name}"]
        assert contract["protected_modules"] == f"fcconan.{name}.**"
        assert contract["allowed_importers"] == f"fcconan.{name}"


def test_no_import_is_excepted_from_the_contracts() -> None:
    contracts = _contracts()
    assert not [name for name in contracts.sections() if "ignore_imports" in contracts[name]]


@pytest.mark.parametrize("package", FACES)
def test_no_module_has_the_name_of_something_its_package_offers(package: str) -> None:
    face = import_module(f"fcconan.{package}")
    modules = {path.stem for path in (PACKAGE / package).glob("*") if path.suffix == ".py" or path.is_dir()}
    assert not modules & set(face.__all__)


@pytest.mark.parametrize("package", FACES)
def test_a_face_lists_names_that_exist(package: str) -> None:
    face = import_module(f"fcconan.{package}")
    for name in face.__all__:
        assert not inspect.ismodule(getattr(face, name)), name


def test_no_module_is_callable() -> None:
    for path in PACKAGE.rglob("*.py"):
        assert "__class__ =" not in path.read_text(encoding="utf-8"), path


def test_packages_are_imported_whole_only_by_themselves() -> None:
    """A name that no face offers would fail at run time only where a function imports it late."""
    offered = {f"fcconan.{name}": set(import_module(f"fcconan.{name}").__all__) for name in FACES}
    for path in PACKAGE.rglob("*.py"):
        own = f"fcconan.{path.relative_to(PACKAGE).parts[0]}"
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.module in offered and node.module != own:
                assert {alias.name for alias in node.names} <= offered[node.module], path
