"""Commands that are made of a service: types, help, completion, files of options, refusals."""

import inspect
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest
import typer
from typer.testing import CliRunner

from fcconan.errors import InputError
from fcconan.oldcli import app
from fcconan.oldcli.command import Command
from fcconan.oldcli.parameters import typed
from fcconan.oldcli.typer_command import Group
from fcconan.services import Bootstrap, Endpoint, Result, RowSelection, argument, option, option_flag, value_type
from tests.conftest import RunCli


class GroveOptions(Bootstrap, RowSelection):
    """Options of an invented service."""

    people: Literal["ombrey", "tessok"] = option(help="People of the grove.", short="-p")
    trees: int = option(3, help="Number of trees.", ge=1, le=10)
    share: float = option(0.5, help="Share of old trees.", gt=0, lt=1, rare=True)
    overlap: dict[str, str] = option({}, help="Overlap.", metavar="N=SHARE")
    kinds: tuple[Literal["oak", "elm"], ...] = option((), help="Kinds of trees.")
    fenced: bool = option(True, help="Whether there is a fence.")
    flooded: bool = option(False, help="Whether it is wet.")
    owner: str | None = option(None, help="Owner.", complete=lambda: ["Orm", "Ossa", "Ilse"])
    models: tuple[str, ...] = option((), help="Models.", flag="--model", role="model")
    journal: Path | None = option(None, help="Responses.", role="write")


def grow(
    sources: Annotated[list[str], argument("Files.", many=True, role="read")],
    options: GroveOptions,
    *,
    out: Annotated[Path | None, argument("File to write.", flag="--out", short="-o", path=True, role="write")] = None,
) -> Result:
    """Returns what it was given."""
    if out is not None:
        out.write_text("grown", encoding="utf-8")
    row = {"sources": list(sources), **options.model_dump(mode="json")}
    return Result({"signature": "fcconan:1|grove", "rows": [row]})


def ask(options: Endpoint = Endpoint()) -> Result:  # noqa: B008, it cannot be changed
    """Returns how models are called."""
    return Result({"signature": "fcconan:1|ask", "rows": [options.model_dump(mode="json")]})


def _show(result: Any, verbose: bool) -> None:
    typer.echo(json.dumps({"verbose": verbose, **result.rows()[0]}))


@pytest.fixture
def grove(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> typer.Typer:
    monkeypatch.chdir(tmp_path)
    made = typer.Typer(cls=Group, rich_markup_mode=None, context_settings={"help_option_names": ["-h", "--help"]})
    command = Command(
        name="grow",
        help="Grow a grove.",
        service=f"{__name__}.grow",
        example="fcconan grow a.csv --people ombrey",
        show=_show,
        detailed=True,
        protected=True,
        resumes=lambda path, options: path.read_text(encoding="utf-8") == "half-grown",
    )
    command.add_to(made, "Groves")
    Command("ask", "Ask.", "fcconan ask", _show, f"{__name__}.ask").add_to(made)
    made.command("other", help="Do something else.")(lambda: None)
    return made


def _run(grove: typer.Typer, line: str) -> dict[str, Any]:
    done = CliRunner().invoke(grove, ["grow", *line.split()])
    assert done.exit_code == 0, (done.output, done.exception)
    shown: dict[str, Any] = json.loads(done.stdout.splitlines()[0])
    return shown


def _refused(grove: typer.Typer, line: str) -> str:
    done = CliRunner().invoke(grove, ["grow", *line.split()])
    if isinstance(done.exception, InputError):
        return str(done.exception)
    assert done.exit_code == 2, (done.output, done.exception)
    return " ".join(done.stderr.partition("Error: ")[2].split())


def test_values_are_those_of_the_line(grove: typer.Typer) -> None:
    line = (
        "a.csv b.csv -p tessok --trees 4 --share .25 --kinds oak --kinds elm --no-fenced --flooded --seed 7 "
        "--filter system=a --filter system=b --filter rater=x --rename text=reply -v"
    )
    assert _run(grove, line) == {
        "verbose": True,
        "sources": ["a.csv", "b.csv"],
        "people": "tessok",
        "trees": 4,
        "share": 0.25,
        "overlap": {},
        "kinds": ["oak", "elm"],
        "fenced": False,
        "flooded": True,
        "owner": None,
        "models": [],
        "journal": None,
        "resamples": 10_000,
        "confidence": 0.95,
        "seed": 7,
        "split": None,
        "rename": {"text": "reply"},
        "filter": {"system": ["a", "b"], "rater": ["x"]},
    }


def test_models_are_called_as_the_line_says(grove: typer.Typer) -> None:
    shown = {}
    for line in (
        "",
        "--fresh",
        "--no-fresh",
        "--no-structured-output --request-field a=1 --request-field b= --dry-run --timeout 3 --response-cache j.sqlite",
    ):
        done = CliRunner().invoke(grove, ["ask", *line.split()])
        assert done.exit_code == 0, (done.output, done.exception)
        shown[line] = json.loads(done.stdout.splitlines()[0])
    assert [shown[line]["fresh"] for line in ("", "--fresh", "--no-fresh")] == [None, True, False]
    assert shown[""] == {"verbose": False, **Endpoint().model_dump(mode="json")}
    *_, last = shown.values()
    assert (last["structured_output"], last["request_field"], last["dry_run"], last["timeout"]) == (
        False,
        ["a=1", "b="],
        True,
        3.0,
    )
    assert last["response_cache"] == "j.sqlite"
    for wrong in ("--timeout nan", "--timeout 0", "--requests-per-minute -1", "--concurrency 0", f"--retries {10**30}"):
        done = CliRunner().invoke(grove, ["ask", *wrong.split()])
        assert done.exit_code == 2
        assert f"Invalid value for '{wrong.split()[0]}': Input should be" in " ".join(done.stderr.split())


def test_the_line_comes_before_the_file_and_the_file_before_the_defaults(grove: typer.Typer) -> None:
    Path("c.yaml").write_text("people: ombrey\ntrees: 5\nflooded: true\nfenced: false\n", encoding="utf-8")
    shown = _run(grove, "a.csv --config c.yaml --trees 3 --no-flooded")
    assert [shown[name] for name in ("people", "trees", "flooded", "fenced", "seed")] == ["ombrey", 3, False, False, 0]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("a.csv", "Missing option '--people'. See `root grow --help`."),
        ("a.csv -p dravene", "Invalid value for '--people': 'dravene' is not one of 'ombrey', 'tessok'."),
        (
            "a.csv -p ombrey --trees 11",
            "Invalid value for '--trees': Input should be less than or equal to 10 (found '11').",
        ),
        ("a.csv -p ombrey --trees x", "Invalid value for '--trees': Input should be a valid integer (found 'x')."),
        ("a.csv -p ombrey --share 1", "Invalid value for '--share': Input should be less than 1"),
        ("a.csv -p ombrey --share nan", "Invalid value for '--share': Input should be a finite number"),
        ("a.csv -p ombrey --kinds ash", "Invalid value for '--kinds': 'ash' is not one of 'oak', 'elm'."),
        ("a.csv -p ombrey --rename text", "Invalid value for '--rename': found 'text', expected NAME=COLUMN."),
        (
            "a.csv -p ombrey --rename text=a --rename text=b",
            "Invalid value for '--rename': text has two values, 'a' and 'b'; give one.",
        ),
        ("a.csv -p ombrey --config no.yaml", "configuration file not found: no.yaml; give a YAML file"),
        ("a.csv -p ombrey --config pairs", "configuration file not found: pairs; give a YAML file"),
        ("a.csv -p ombrey --config c.yaml", "c.yaml, line 2: unknown key 'treees'; did you mean 'trees'?"),
        ("a.csv -p ombrey --json a.csv", "a.csv is read, and --json would destroy it: choose another --json"),
        ("a.csv -p ombrey --json no/r.json", "no/r.json cannot be written: choose another --json file, in a folder"),
        ("a.csv -p ombrey --config c.yaml --json c.yaml", "c.yaml, line 2"),
        ("a.csv -p ombrey --out a.csv", "a.csv is read, and --out would destroy it: choose another --out"),
        (
            "b.csv -p ombrey --model m --model replay:a.csv --journal a.csv",
            "a.csv is read, and --journal would destroy it: choose another --journal",
        ),
        ("b.csv -p ombrey -o r --journal r", "r is named by --out and --journal: give each a file of its own"),
        ("-p ombrey", "Missing argument 'sources'."),
    ],
)
def test_wrong_values_are_refused_in_one_line(grove: typer.Typer, line: str, message: str) -> None:
    Path("a.csv").write_text("mine", encoding="utf-8")
    Path("c.yaml").write_text("people: ombrey\ntreees: 5\n", encoding="utf-8")
    assert _refused(grove, line).startswith(message)
    assert sorted(path.name for path in Path().iterdir()) == ["a.csv", "c.yaml"]
    assert Path("a.csv").read_text(encoding="utf-8") == "mine"


def test_a_file_that_is_there_is_replaced_by_force_only(grove: typer.Typer) -> None:
    Path("mine.csv").write_text("mine", encoding="utf-8")
    assert _refused(grove, "a.csv -p ombrey --out mine.csv") == (
        "mine.csv exists already: choose another --out, or replace it with --force"
    )
    assert Path("mine.csv").read_text(encoding="utf-8") == "mine"
    _run(grove, "a.csv -p ombrey --out mine.csv --force")
    assert Path("mine.csv").read_text(encoding="utf-8") == "grown"
    Path("mine.csv").write_text("half-grown", encoding="utf-8")
    _run(grove, "a.csv -p ombrey --out mine.csv --journal r.csv")
    Path("r.csv").write_text("a cache", encoding="utf-8")
    _run(grove, "a.csv -p ombrey --out other.csv --journal r.csv --json r.json")
    _run(grove, "a.csv -p ombrey --out third.csv --json r.json")


def test_the_default_response_cache_is_no_target(grove: typer.Typer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FCCONAN_CACHE", "cache")
    Path("cache/runs").mkdir(parents=True)
    done = CliRunner().invoke(grove, "ask --json cache/runs/journal.sqlite".split())
    assert str(done.exception) == (
        "cache/runs/journal.sqlite is named by --response-cache and --json: give each a file of its own"
    )


def test_json_holds_the_result_and_the_signature_comes_last(grove: typer.Typer) -> None:
    done = CliRunner().invoke(grove, "grow a.csv -p ombrey --json r.json".split())
    assert done.stdout.splitlines()[-1] == "fcconan:1|grove"
    assert json.loads(Path("r.json").read_text(encoding="utf-8"))["rows"][0]["people"] == "ombrey"


def test_the_help_has_sections_and_leaves_out_rare_options(grove: typer.Typer) -> None:
    text = CliRunner().invoke(grove, ["grow", "-h"]).stdout
    assert "\x1b" not in text
    sections = [line.strip(":") for line in text.splitlines() if line.endswith(":") and not line.startswith(" ")]
    assert sections[:5] == ["Arguments", "Options", "Selection of rows", "Confidence intervals", "Input and output"]
    assert "-p, --people <ombrey|tessok>" in text
    assert "--fenced / --no-fenced" in text
    assert "--flooded " in text and "--no-flooded" not in text
    assert "--trees INTEGER" in text and "[default: 3; 1 to 10]" in text
    assert "--kinds <oak|elm>" in text and "--model TEXT" in text
    assert "--seed INTEGER" in text and "[default: 0; at least 0]" in " ".join(text.split())
    assert text.startswith("Usage: root grow [OPTIONS] SOURCES...\n")
    assert "Share of old trees" not in text
    assert text.partition("Rare options")[2].splitlines()[1].strip() == "--share, --confidence"
    assert text.rstrip().endswith("Example: fcconan grow a.csv --people ombrey")


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("grow a.csv --people ", {"ombrey", "tessok"}),
        ("grow a.csv --kinds o", {"oak"}),
        ("grow a.csv --owner O", {"Orm", "Ossa"}),
    ],
)
def test_the_shell_completes_values(grove: typer.Typer, words: str, expected: set[str]) -> None:
    assert _completed(grove, words) == expected


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("build m", {"mt-conan", "multi-aspect"}),
    ],
)
def test_the_shell_completes_names_of_the_catalogue(words: str, expected: set[str]) -> None:
    assert _completed(app, words) == expected


def _completed(commands: typer.Typer, words: str) -> set[str]:
    done = CliRunner().invoke(
        commands,
        [],
        prog_name="fcconan",
        env={
            "_FCCONAN_COMPLETE": "complete_bash",
            "COMP_WORDS": f"fcconan {words}",
            "COMP_CWORD": str(len(words.split(" "))),
        },
    )
    return set(done.stdout.split())


def _declared(group: Any = None, words: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Words and command of each command that is made of a service."""
    top: Any = typer.main.get_command(app)
    for name, each in (group or top).commands.items():
        if hasattr(each, "commands"):
            yield from _declared(each, (*words, name))
        elif hasattr(each, "declared"):
            yield (*words, name), each


def _numbers() -> list[Any]:
    """Command, the arguments that it needs, and option of each of their numbers."""
    found = []
    for words, each in _declared():
        interface = each.declared.interface
        if interface.model is None:
            continue
        needed = [
            word
            for name, declared in interface.arguments.items()
            if declared.required or interface.defaults[name] is inspect.Parameter.empty
            for word in (declared.flag, "x")
            if word is not None
        ]
        described = interface.model.describe().items()
        needed += [f"{option_flag(name, how)}=x" for name, (field, how) in described if field.is_required()]
        for name, (field, how) in described:
            if value_type(field) in (int, float):
                found.append(pytest.param(words, needed, option_flag(name, how), id=f"{' '.join(words)} {name}"))
    return found


@pytest.mark.parametrize(("words", "needed", "flag"), _numbers())
def test_a_number_that_is_none_is_refused_by_every_command(
    run_cli: RunCli,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    words: tuple[str, ...],
    needed: list[str],
    flag: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    for value in ("nan", "inf", "-inf", "1e308", "1" + "0" * 30, "", "9" * 5000, "one"):
        done = run_cli(*words, *needed, f"{flag}={value}")
        assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1), (value, done.stderr)
        assert done.stderr.startswith(f"fcconan: Invalid value for '{flag}': "), value
        assert list(tmp_path.iterdir()) == [], value


def test_types_that_typer_does_not_know_become_lists() -> None:
    assert typed(tuple[Path, ...]) == list[Path]
    assert typed(dict[str, tuple[str, ...]]) == list[str]
    assert [each.value for each in typed(tuple[Literal["a", "b"], ...]).__args__[0]] == ["a", "b"]


def test_help_loads_no_service() -> None:
    """Pydantic alone takes as long as everything else."""
    script = "import sys\nfrom fcconan.oldcli import main\nsys.argv = ['fcconan', '--help']\n"
    script += "try:\n    main()\nexcept SystemExit:\n    pass\n"
    script += "heavy = {'pydantic', 'pandas', 'datasets', 'torch'} & {*sys.modules}\n"
    script += "print(sorted(heavy | {each for each in sys.modules if each.startswith('fcconan.services.')}))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


def test_a_group_without_a_command_prints_its_help(run_cli: RunCli) -> None:
    for name in ("judge", "annotate"):
        done = run_cli(name)
        assert (done.returncode, done.stderr) == (0, "")
        assert done.stdout == run_cli(name, "--help").stdout
        assert done.stdout.startswith(f"Usage: fcconan {name} [OPTIONS] COMMAND")
