"""What is promised about the installed package."""

import importlib.util
import subprocess
import sys
import venv
import zipfile
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import fcconan
from fcconan.data import task_names

ROOT = Path(__file__).resolve().parent.parent
HEAVY = {
    *("torch", "transformers", "ranx", "numba", "matplotlib", "datasets", "pandas", "pyarrow"),
    *("scipy", "sklearn", "aiohttp"),
}


def _imported(*arguments: str) -> set[str]:
    """Returns the top-level names that a Python process imports."""
    done = subprocess.run([sys.executable, "-X", "importtime", *arguments], capture_output=True, text=True, check=True)
    lines = done.stderr.splitlines()
    assert [line for line in lines if not line.startswith("import time:")] == []
    return {line.rsplit("|", 1)[1].strip().split(".")[0] for line in lines}


@pytest.mark.parametrize(
    "arguments",
    [
        ("-c", "import fcconan"),
        ("-c", "from fcconan import AspectField, Judge, parse_comparison, parse_multi, parse_rating"),
        ("-m", "fcconan", "--help"),
    ],
)
def test_importing_loads_nothing_heavy(arguments: tuple[str, ...]) -> None:
    imported = _imported(*arguments)
    assert "fcconan" in imported
    assert not imported & HEAVY


def test_public_names_resolve() -> None:
    for name in fcconan.__all__:
        assert getattr(fcconan, name) is not None
    unknown = "nothing"
    with pytest.raises(AttributeError, match="No fcconan attribute nothing"):
        getattr(fcconan, unknown)
    assert set(fcconan.__all__) <= set(dir(fcconan))


def _link_base_dependencies(packages: Path) -> None:
    """Puts what the wheel requires without extras, and what that requires, into an environment, and nothing else."""
    wanted, found = ["fcconan"], {"fcconan"}
    while wanted:
        distribution = metadata.distribution(wanted.pop())
        for line in distribution.requires or []:
            requirement = Requirement(line)
            name = canonicalize_name(requirement.name)
            if name in found or (requirement.marker and not requirement.marker.evaluate({"extra": ""})):
                continue
            found.add(name)
            wanted.append(name)
            for top in {path.parts[0] for path in metadata.distribution(name).files or []}:
                target = Path(str(metadata.distribution(name).locate_file(top)))
                if top not in ("..", "__pycache__") and not (packages / top).exists():
                    (packages / top).symlink_to(target)


@pytest.mark.long
def test_the_wheel_builds_and_loads_the_demo_in_an_environment_of_its_own(tmp_path: Path) -> None:
    """The base install, with no torch in it, builds `demo` from the content that the wheel carries."""
    pip = ["-m", "pip", "--disable-pip-version-check", "--quiet"]
    subprocess.run([sys.executable, *pip, "wheel", "--no-deps", "--wheel-dir", tmp_path, ROOT], check=True)
    wheel = next(tmp_path.glob("fcconan-*.whl"))
    names = set(zipfile.ZipFile(wheel).namelist())
    for name in ("builders/fc-conan.yaml", "builders/demo/hs.csv", "dataset_card.md", "benchmarks/retrieval.yaml"):
        assert f"fcconan/catalog_data/{name}" in names
    for task in task_names():
        assert {f"fcconan/catalog_data/annotations/{task}/{file}" for file in ("guidelines.md", "task.yaml")} <= names
    assert "fcconan/refusals.yaml" in names
    assert "fcconan/py.typed" in names
    assert not any(name.startswith(("tests/", "builders/")) for name in names)

    venv.create(tmp_path / "environment", with_pip=False)
    python = tmp_path / "environment" / "bin" / "python"
    packages = next((tmp_path / "environment" / "lib").glob("python*")) / "site-packages"
    zipfile.ZipFile(wheel).extractall(packages)
    _link_base_dependencies(packages)
    program = (
        "import importlib.util, sys; from datasets import load_dataset; "
        "assert importlib.util.find_spec('torch') is None; "
        "print(len(load_dataset(sys.argv[1], 'bronze', split='test')))"
    )
    for verb in (["build", "demo", "--out", "out"], ["rank", "out", "--rater", "simulated-judge", "--resamples", "9"]):
        subprocess.run([str(python), "-m", "fcconan", *verb], check=True, cwd=tmp_path, capture_output=True)
    done = subprocess.run([python, "-c", program, "out"], check=True, cwd=tmp_path, capture_output=True, text=True)
    assert done.stdout.strip() == "1440"


def test_the_version_is_a_version_and_in_the_changelog() -> None:
    assert importlib.util.find_spec("fcconan") is not None
    assert f"## {fcconan.__version__}" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert f"version: {fcconan.__version__}" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")
