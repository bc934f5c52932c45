"""Every command, program and file that the documents show works as it is shown, on the embedded demo.

`make check` runs README.md and parses the other pages; `make check-all` runs all of them.

Lines of `fcconan` run in this process, in a new folder for each page, against a loopback endpoint, a loopback Hub and
tiny models in the place of large ones; a Dask cluster is started. Lines of other programs are only checked: the target
of `make` or the extra of this package must exist. Upstream datasets are built where FCCONAN_MIRROR is set. Elsewhere
the demo is built in their place; programs that show output of an upstream dataset and the lines of
`tests.documented.world.OF_UPSTREAM` are only parsed.

A block `text title="output"` is compared with what the block before it prints: the last command of a `bash` block, or
the whole of a `python` block (`tests.documented.output`).
"""

import io
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import redirect_stdout
from pathlib import Path

import pytest
import yaml

from tests.conftest import MIRROR
from tests.documented import blocks, verbs
from tests.documented.blocks import Block
from tests.documented.output import find_difference
from tests.documented.shell import MisunderstoodError, Shell, parse
from tests.documented.world import ADDED, ENDPOINT, LONG, OF_UPSTREAM, answer, prepare
from tests.models.server import KEY, Server
from tests.models.tiny_chat import model_that_says
from tests.publishing.hub import Hub, connect

pytestmark = pytest.mark.slow

SAYS = '{"relevance": 4}'  # of the model on this machine, to everything
ELSEWHERE = {  # options of other programs that pages speak of
    "--strict": "mkdocs",
}
MINUTES = "test_lines_that_take_minutes_work"
_FEW = re.compile(r"\bresamples=\d+")  # as `tests.documented.shell.FEWER` for commands
Model = Callable[[], Path]


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("releases")


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Model:
    folder = tmp_path_factory.mktemp("model") / "tiny"

    def made() -> Path:
        return folder if folder.exists() else model_that_says(folder, [SAYS])

    return made


@pytest.fixture
def server() -> Iterator[Server]:
    with Server(answer) as running:
        yield running


@pytest.fixture
def reader(
    tmp_path: Path, server: Server, shared: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> Iterator[Shell]:
    """A reader at an empty folder, with a key and an endpoint."""
    environment = {"OPENAI_API_KEY": KEY, "OPENAI_BASE_URL": server.url, "NO_PROXY": "127.0.0.1"}
    if MIRROR is not None:
        environment["FCCONAN_MIRROR"] = MIRROR
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(tmp_path)
    path, modules = list(sys.path), set(sys.modules)
    shell = Shell(environment, shared, long=request.node.name == MINUTES)
    yield shell
    shell.close()
    sys.path[:] = path
    for name in set(sys.modules) - modules:
        if str(tmp_path) in str(getattr(sys.modules[name], "__file__", None)):
            del sys.modules[name]  # a page's module is not the next page's


def follow(text: str, page: str, reader: Shell, server: Server) -> None:
    """Runs the blocks of a page in order."""
    found = blocks.blocks(text, page)
    for block in found:
        if block.file is not None:
            Path(block.file).parent.mkdir(parents=True, exist_ok=True)
            Path(block.file).write_text(block.text, encoding="utf-8")
    names: dict[str, object] = {"__name__": "page"}
    printed: str | None = None
    for previous, block, following in zip([None, *found], found, [*found[1:], None], strict=False):
        try:
            if block.is_output:
                assert previous is not None and previous.language in ("bash", "python"), "output of no program"
                _compare(block, printed)
                continue
            others = "".join(other.text for other in found if other is not block)
            shown = following is not None and following.is_output
            printed = _do(block, others, names, reader, server, shown=shown)
        except Exception as problem:
            problem.add_note(f"shown at {block.place}")
            raise


def _compare(block: Block, printed: str | None) -> None:
    """Checks the output that a page shows; None is output that cannot be compared here."""
    if printed is None:
        return
    line = find_difference(block.text, printed)
    if line is not None:
        raise AssertionError(f"{block.place}: the output has no such line in this place: {line}\nIt is:\n{printed}")


def _do(
    block: Block, others: str, names: dict[str, object], reader: Shell, server: Server, *, shown: bool
) -> str | None:
    """Runs a block and returns what it prints, or None if this cannot be compared with a page."""
    printed = None
    match block.language:
        case "bash":
            lines = [line for _, line in block.commands()]
            for line in lines[:-1]:
                reader.run(line)
            printed = reader.run(lines[-1], shown=shown)
        case "python":
            text = block.text.replace(ENDPOINT, server.url)
            if shown and (reader.is_replaced(text) or "skipped" in names):
                # The demo lacks the rows that the program shows. Later programs may use its variables.
                compile(text, block.place, "exec")
                names["skipped"] = True
                return None
            with redirect_stdout(io.StringIO()) as stream:
                exec(compile(text if shown else _FEW.sub("resamples=100", text), block.place, "exec"), names)
            printed = None if reader.is_replaced(text) else stream.getvalue()
        case "yaml" | "csv":
            assert block.file is not None, f"{block.place}: name the file in the first line, as `# prices.yaml`"
            assert block.file in others, f"{block.place}: nothing else on the page uses {block.file}"
            if block.language == "yaml":
                assert yaml.safe_load(block.text), block.place
        case "bibtex":
            pass  # compared with the recipe in tests/test_documents.py
        case _:
            raise MisunderstoodError(f"{block.place}: nothing is known about `{block.language}`")
    return None if printed is None else printed.replace(server.url, ENDPOINT)


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    """A Hub on this machine, for the pages that publish."""
    with Hub() as running:
        connect(monkeypatch, running)
        yield running


@pytest.mark.long
@pytest.mark.parametrize("page", blocks.pages())
def test_what_a_page_shows_works(
    page: str, reader: Shell, server: Server, model: Model, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    text = blocks.read(page)
    published = re.findall(r"^fcconan publish \S+ (\S+)(.*)$", text, re.MULTILINE)
    hub = request.getfixturevalue("hub") if published else None
    prepare(page, text, tmp_path, model)
    follow(text, page, reader, server)
    if hub is not None:
        sent = {name: "--gated manual" in options for name, options in published if "--dry-run" not in options}
        assert {name: repo.gated == "manual" for name, repo in hub.repos.items()} == sent
        assert all(len(repo.tags) == 1 and "manifest.json" in repo.files for repo in hub.repos.values())


@pytest.mark.parametrize("page", blocks.pages())
def test_what_a_page_shows_is_valid(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Parses everything and runs nothing."""
    monkeypatch.chdir(tmp_path)
    for block in blocks.blocks(blocks.read(page), page):
        try:
            match block.language:
                case "bash":
                    for _, line in block.commands():
                        parse(line)
                case "python":
                    compile(block.text, block.place, "exec")
                case "yaml":
                    assert yaml.safe_load(block.text)
        except Exception as problem:
            problem.add_note(f"shown at {block.place}")
            raise


@pytest.mark.long
def test_lines_that_take_minutes_work(reader: Shell) -> None:
    for line in dict.fromkeys(_lines()):
        if any(re.search(pattern, line) for pattern in LONG):
            if "data/cseval" in line:
                reader.run("fcconan build cseval --out data/cseval")
            reader.run(line)


@pytest.mark.parametrize("page", blocks.pages())
def test_what_a_page_mentions_exists(page: str) -> None:
    known = verbs.all_options() | set(ELSEWHERE)
    for span in blocks.spans(blocks.read(page)):
        words = span.split()
        if words[0] == "fcconan":
            verbs.mentioned(words[1:])
        elif verbs.is_verb(words[0]) and any(word.startswith("--") for word in words):
            verbs.mentioned(words)
        elif words[0].startswith("--") and words[0].strip("-"):
            assert re.split(r"[=.]", words[0])[0] in known, f"{page}: no verb has the option `{words[0]}`"


@pytest.mark.parametrize(
    ("shown", "problem"),
    [
        ("```bash\nfcconan benchmark demo-dataset --system bm25\n```", "there is no verb `benchmark`"),
        ("```bash\nfcconan annotate news demo-dataset\n```", "there is no verb `news`"),
        ("```bash\nfcconan list --colour red\n```", "Unknown option: --colour"),
        ("```bash\nfcconan reproduce --colour red\n```", "Unknown option: --colour"),  # which is not run
        ("```bash\nfcconan build demo\n```", "parameter --out requires an argument"),
        ("```bash\nfcconan bench nowhere --system bm25\n```", "ended with 2: fcconan: no dataset at nowhere"),
        ("```bash\nfcconan list   # refused\n```", "ended with 0"),
        ("```bash\nfcconan list | head\n```", "pipes, redirections and substitutions"),
        ("```bash\nfcconan list > datasets.txt\n```", "pipes, redirections and substitutions"),
        ("```bash\nSPEED=1\n```", "give it a form"),
        ("```bash\nexport SPEED=1 fast\n```", "give it a form"),
        ("```bash\ncurl https://example.org\n```", "give it a form"),
        ("```bash\npip install fcconan numpy\n```", "`pip install numpy`"),
        ("```bash\npip install '.[speed]'\n```", "pyproject.toml has no extra speed"),
        ("```bash\nmake faster\n```", "'make', '--dry-run', 'faster'"),
        ("```bash\nfcconan list \\\n```", "ends with a backslash"),
        ("```sh\nfcconan list\n```", "nothing is known about `sh`"),
        ("```python\nassert 1 == 2, 'no'\n```", "no"),
        ('```bash\nmake demo\n```\n\n```text title="output"\nready\n```', "only the output of `fcconan`"),
        ("```text\nready\n```", "nothing is known about `text`"),
        ("```yaml\nname: nobody\n```", "name the file in the first line"),
        ("```yaml\n# unused.yaml\nname: nobody\n```", "nothing else on the page uses unused.yaml"),
    ],
)
def test_a_page_that_shows_what_does_not_work_is_found(shown: str, problem: str, reader: Shell, server: Server) -> None:
    with pytest.raises((AssertionError, subprocess.CalledProcessError)) as found:
        follow(f"# A page\n\n{shown}\n", "broken.md", reader, server)
    assert problem in str(found.value)
    assert "ends with a backslash" in problem or found.value.__notes__ == ["shown at broken.md:4"]


OUTPUT = """# A page

```bash
fcconan list
fcconan build demo --out demo-dataset
fcconan agree demo-dataset --resamples 20
```

```text title="output"
%s
```

```python
for word in ("one", "two ", "three"):
    print(word)
```

```text title="output"
%s
```
"""


def test_shown_output_is_compared(reader: Shell, server: Server, capsys: pytest.CaptureFixture[str]) -> None:
    rows = "...\n%s\n..."
    with pytest.raises(AssertionError, match="no such line in this place: Agreement of people") as found:
        follow(OUTPUT % ("Agreement of people", "one"), "page.md", reader, server)
    assert found.value.__notes__ == ["shown at page.md:10"]
    printed = str(found.value).partition("\nIt is:\n")[2].splitlines()
    assert "\x1b" not in str(found.value)
    follow(OUTPUT % ("\n".join(printed), "one\n...\nthree"), "page.md", reader, server)
    follow(OUTPUT % (rows % printed[2], "two\nthree"), "page.md", reader, server)
    with pytest.raises(AssertionError, match="no such line in this place: three") as found:
        follow(OUTPUT % (printed[0], "one\nthree"), "page.md", reader, server)
    assert found.value.__notes__ == ["shown at page.md:19"]
    page = '```csv title="a.csv"\nx\n```\n\n```text title="output"\nx\n```\n\n```python\n"a.csv"\n```\n'
    with pytest.raises(AssertionError, match="output of no program"):
        follow(page, "page.md", reader, server)
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(
    ("shown", "missing"),
    [
        ("a\nb", None),
        ("a\n...\nd", None),
        ("...\nc  \n...", None),
        ("", None),
        ("a\nc", "c"),  # b is not marked as omitted
        ("c\n...\na", "a"),  # another order
        ("a\n...\na", "a"),  # printed once
        ("b\nc\nx", "x"),
        ("x", "x"),
        (" a", " a"),
    ],
)
def test_find_difference(shown: str, missing: str | None) -> None:
    assert find_difference(shown, "a \nb\nc\nd\n") == missing
    assert shown in ("", "...") or find_difference(shown, "") is not None


def test_output_is_not_compared_where_the_demo_replaces_an_upstream_dataset(
    reader: Shell, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    build = "fcconan build %s --out data\nfcconan agree data --resamples 20\n"
    page = f'```bash\n{build}```\n\n```text title="output"\nno\n```\n'
    monkeypatch.delenv("FCCONAN_MIRROR", raising=False)
    with pytest.raises(AssertionError, match="no such line in this place: no"):
        follow(page % "demo", "page.md", reader, server)
    follow(page % "cseval", "page.md", reader, server)


def test_what_a_command_promises_to_write_must_be_there(reader: Shell, server: Server) -> None:
    text = "```bash\nfcconan list --json shown.json\n```\n"
    follow(text, "page.md", reader, server)
    assert Path("shown.json").stat().st_size
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("pathlib.Path.write_text", lambda *given, **how: 0)
        with pytest.raises(AssertionError, match=r"did not write again\.json"):
            follow(text.replace("shown", "again"), "page.md", reader, server)


def test_only_what_stands_in_prose_is_inline() -> None:
    text = "`fcconan list` and ``--a `b` ``\n\n```bash\nfcconan `no`\n```\n\n| `--x` | `fcconan judge\nrate` |\n"
    assert blocks.spans(text) == ["fcconan list", "--a `b`", "--x", "fcconan judge rate"]


def _lines() -> list[str]:
    """Returns all lines of shell blocks."""
    return [
        line
        for page in blocks.pages()
        for block in blocks.blocks(blocks.read(page), page)
        if block.language == "bash"
        for _, line in block.commands()
    ]


def test_every_exception_is_still_needed() -> None:
    lines = _lines()
    for pattern in (*ADDED, *OF_UPSTREAM, *LONG):
        assert any(re.search(pattern, line) for line in lines), f"no page has `{pattern}` any more: take it out"
