"""The command line: the same call in three places, help, and one line for each mistake."""

import inspect
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

import fcconan
from fcconan import Bootstrap, Rows, cli

Run = Callable[..., tuple[int, str, str]]
RATINGS = """reply_id,item_id,system,rater,rater_kind,aspect,value,low,high,people
1,i1,Moonlit,anna,human,kind,4,1,5,Velmari
2,i2,Moonlit,anna,human,kind,5,1,5,Tessok
3,i1,Plain,anna,human,kind,2,1,5,Velmari
4,i2,Plain,anna,human,kind,,1,5,Tessok
"""
VERDICTS = "item_id,system_a,system_b,verdict\n1,Moonlit,Plain,a\n2,Plain,Moonlit,tie\n"
MISTAKES: list[tuple[str, list[str]]] = [
    ("nothing.csv", ["there is no file nothing.csv"]),
    ("demoo", ["demoo is neither a dataset folder nor a file"]),
    ("", ["found no source of comparisons or ratings"]),
    ("lacking.csv", ["lacking.csv@", "has no column rater, aspect, only", "--rename.rater COLUMN --rename.aspect"]),
    ("ratings.csv --rename.ratr anna", ["'ratr'", "did you mean 'rater'?"]),
    ("ratings.csv --rename.rater coder", ["has no column coder"]),
    ("ratings.csv --rater ana", ["unknown rater 'ana': did you mean 'anna'?"]),
    ("ratings.csv --aspect kinde", ["unknown aspect 'kinde': did you mean 'kind'?"]),
    ("ratings.csv --baseline Plane", ["unknown baseline system 'Plane': did you mean 'Plain'?"]),
    ("ratings.csv --predicted-by xyz", ["unknown rater 'xyz'"]),
    ("ratings.csv --filter.people Ombrey", ["found no row with people Ombrey: choose among Tessok, Velmari"]),
    ("ratings.csv --filter.nation x", ["has no column nation"]),
    ("ratings.csv --split test", ["ratings.csv: files have no splits"]),
    ("ratings.csv --confidnce .9", ["--confidnce", "--confidence"]),
    ("rnak ratings.csv", ["rnak", "rank"]),
    ("judge audit ratings.csv", ["found ratings.csv, expected an option in front"]),
    ("judge audit --ratings ratings.csv twice.csv", ["found twice.csv, expected an option", "repeated for each value"]),
    ("ratings.csv --seed 1 --seed 2", ["--seed", "multiple times"]),
    ("ratings.csv --seed many", ["--seed", "many", "int"]),
    ("ratings.csv --confidence 95", ["confidence 95", "between 0 and 1"]),
    ("ratings.csv --kind votes", ["--kind", "votes", "ratings"]),
    ("ratings.csv --majority", ["found ratings, expected verdicts for --majority"]),
    ("verdicts.csv --aspect kind", ["found verdicts, expected ratings for"]),
    ("verdicts.csv --predicted-by anna", ["found verdicts, expected ratings for"]),
    ("unknown.csv", ["found verdict 'one' on Moonlit and Plain, item 1", "expected", "a, tie, b, invalid"]),
    ("scale.csv", ["anna rated kind of the reply 1 9, expected 1 to 5"]),
    ("twice.csv", ["anna rated kind of the reply 1 twice"]),
    ("text.csv", ["row 2: value is 'good', expected a number"]),
    ("broken.jsonl", ["broken.jsonl cannot be read"]),
    ("broken.parquet", ["broken.parquet cannot be read"]),
    ("ratings.csv --json ratings.csv", ["ratings.csv exists: choose another name, or give --force"]),
    ("ratings.csv --report .", [". exists: choose another name, or give --force"]),
    ("ratings.csv --config lost.yaml", ["lost.yaml"]),
    ("ratings.csv --config other.yaml", ["resample", "other.yaml"]),
]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    first = RATINGS.splitlines()[1]
    files = {
        "ratings.csv": RATINGS,
        "verdicts.csv": VERDICTS,
        "lacking.csv": RATINGS.replace("rater,", "coder,").replace("aspect", "criterion"),
        "unknown.csv": VERDICTS.replace(",a\n", ",one\n"),
        "scale.csv": RATINGS.replace("kind,4", "kind,9"),
        "twice.csv": RATINGS + first,
        "text.csv": RATINGS.replace("kind,4", "kind,good"),
        "broken.jsonl": '{"reply_id": 1',
        "broken.parquet": "PAR",
        "other.yaml": "resample: 10\n",
    }
    for name, text in files.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    def call(*words: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["fcconan", *words])
        code = 0
        try:
            cli.main()
        except SystemExit as ended:
            code = int(ended.code or 0)
        return code, *capsys.readouterr()

    return call


@pytest.mark.parametrize(("words", "parts"), MISTAKES, ids=[words or "no source" for words, _ in MISTAKES])
def test_a_mistake_is_one_line(words: str, parts: list[str], run: Run, folder: Path) -> None:
    before = {path: path.read_bytes() for path in folder.iterdir()}
    given = words.split() if words.startswith(("rnak", "judge")) else ["rank", *words.split()]
    further = [] if "--json" in given else ["--json", "new.json"]
    code, out, err = run(*given, *further)
    assert (code, out) == (2, "") and err.startswith("fcconan: ") and err.count("\n") == 1
    assert [part for part in parts if part not in err] == []
    assert {path: path.read_bytes() for path in folder.iterdir()} == before


def test_one_call_from_the_terminal_from_python_and_from_yaml(run: Run, folder: Path) -> None:
    found = fcconan.rank(
        "ratings.csv",
        aspect=("kind",),
        baseline=("Plain",),
        rows=Rows(filter={"people": ("Velmari", "Tessok")}, rename={"rater": "people"}),
        bootstrap=Bootstrap(resamples=50, seed=3, confidence=0.8),
    )
    options = "--aspect kind --baseline Plain --filter.people Velmari --filter.people Tessok --rename.rater people"
    code, out, err = run("rank", "ratings.csv", *options.split(), *"--resamples 50 --seed 3 --confidence .8".split(),
                         "--json", "terminal.json", "--report", "page")  # fmt: skip
    assert (code, err) == (0, "") and out == f"{found}\nWritten: {found.to_html('same')}\n".replace("same", "page")
    assert Path("page/index.html").read_bytes() == Path("same/index.html").read_bytes()
    settings = {"aspect": ["kind"], "baseline": ["Plain"], "rename": {"rater": "people"}, "resamples": 50, "seed": 9}
    settings |= {"filter": {"people": ["Velmari", "Tessok"]}, "confidence": 0.8}
    Path("call.yaml").write_text(yaml.safe_dump(settings), encoding="utf-8")
    assert run("rank", "ratings.csv", "--config", "call.yaml", "--seed", "3", "--json", "yaml.json")[0] == 0
    assert {Path(f"{name}.json").read_text(encoding="utf-8") for name in ("terminal", "yaml")} == {found.to_json()}
    # A file of options is for one call, and an existing output is replaced with --force only.
    code, *_ = run("rank", "ratings.csv", "--json", "yaml.json", "--force")
    plain = fcconan.rank("ratings.csv")
    assert code == 0 and json.loads(Path("yaml.json").read_text(encoding="utf-8"))["signature"] == plain.signature


def test_help_lists_every_command_and_its_line(run: Run) -> None:
    code, out, _ = run("--help")
    assert code == 0 and [name for name in cli.COMMANDS if f" {name.split()[0]} " not in out] == []
    for command, (public, line) in cli.COMMANDS.items():
        function = getattr(fcconan, public)
        assert line == (inspect.getdoc(function) or "").splitlines()[0], command
        code, out, _ = run(*command.split(), "--help")
        assert code == 0 and line in " ".join(out.split()), command
        for name, parameter in inspect.signature(function).parameters.items():
            if parameter.kind == parameter.KEYWORD_ONLY and name not in ("rows", "bootstrap", "endpoint"):
                assert f"--{name.replace('_', '-')}" in out, name
    assert run("--version")[1].strip() == fcconan.__version__


def test_outputs_are_written_although_the_reader_of_the_terminal_is_gone() -> None:
    command = [sys.executable, "-m", "fcconan", "rank", "ratings.csv", "--resamples", "0", "--json", "ranking.json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.close()
    assert json.loads(Path("ranking.json").read_text(encoding="utf-8"))["command"] == "rank"
