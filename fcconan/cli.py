"""The command line: a command is a function of `fcconan`, whose signature and docstring give options and help."""

import os
import sys
from pathlib import Path
from typing import Annotated, Any

from cyclopts import App, CycloptsError, Group, Parameter, UnusedCliTokensError
from cyclopts.config import Yaml

import fcconan
from fcconan.errors import InputError, RemoteError
from fcconan.result import ROW_FILES

# Command -> its function in `fcconan`, and the first line of its docstring, so that --help imports no command.
COMMANDS = {
    "annotate adjudicate": (
        "adjudicate",
        "Determine the final label of each unit from its votes, by rule or by a person.",
    ),
    "annotate validate": (
        "validate",
        "Assign final labels to independent validators, and count the labels that they confirm.",
    ),
    "annotate release": (
        "release",
        "Sort the pairs of a campaign into tiers, and write data files with a recipe that `build` reads.",
    ),
    "list": ("list_datasets", "List the datasets that can be built, and the annotation tasks."),
    "build": ("build", "Build a dataset from its pinned files, for `datasets.load_dataset`."),
    "bench": ("bench", "Benchmark retrieval systems."),
    "finetune": ("finetune", "Fine-tune a language model on pairs of hate speech and counter-narratives."),
    "judge rate": ("rate", "Rate each reply on each aspect of a task, with language models or learned raters."),
    "judge compare": ("compare", "Compare replies of different systems to one message in pairs, by language models."),
    "judge calibrate": ("calibrate", "Calibrate the evaluation steps of an aspect by people's ratings."),
    "judge rubric": ("draft_rubric", "Draft the rubric of a new aspect with a language model, for a person to edit."),
    "judge train": ("train_rater", "Train a rater on people's ratings."),
    "judge audit": ("audit", "Measure biases of judges."),
    "generate": ("generate", "Write a reply to each message, by a model, a retriever or people."),
    "annotate assign": ("assign", "Assign units to raters, in rounds and sessions, with overlaps and gold questions."),
    "annotate status": ("campaign_status", "Show the returned and open units of each rater, and the next command."),
    "metrics": ("metrics", "Compute text metrics of replies, as ratings that correlate and rank read."),
    "correlate": ("correlate", "Correlate metrics and judges with people."),
    "agree": ("agree", "Measure the agreement of raters on ratings, verdicts or labels."),
    "rank": ("rank", "Rank systems by ratings of their replies, or by verdicts on pairs of their replies."),
    "annotate export": (
        "export_sheets",
        "Write the sheets that raters fill in, for spreadsheets or Label Studio, and the guidelines.",
    ),
    "annotate import": ("import_answers", "Check the returned files of raters, and add their answers to the campaign."),
    "annotate simulate": ("simulate", "Simulate the answers of raters, to try out a campaign."),
    "annotate new": (
        "new_campaign",
        "Make a campaign: the units that are judged, from a corpus, two lists of texts, or replies.",
    ),
    "annotate queue": (
        "queue_units",
        "Make the next queue of units: likely positives, ranked by a model of the labels so far, and a random sample.",
    ),
    "hydrate": ("hydrate", "Add the texts to a labels-only dataset."),
    "publish": ("publish", "Publish a dataset on the Hub."),
    "reproduce": ("reproduce", "Recompute the values that the papers print."),
}
# Groups of commands.
GROUPS = {
    "judge": "Rate and compare replies, and measure judges.",
    "annotate": "Run an annotation campaign.",
}
# Commands with a table for a paper, and commands with rows that other commands read.
OF = {"latex": {"bench", "correlate", "rank"}, "out": {"generate", "judge compare", "judge rate", "metrics"}}
NONE = ("None", "False", "()", "{}")  # defaults that the help leaves out


def _default(value: Any) -> str | None:
    """Returns a default as the help shows it."""
    return None if str(value) in NONE else ", ".join(map(str, value)) if isinstance(value, tuple) else str(value)


app = App(
    name="fcconan",
    help="Build counter-narrative (CN) datasets from pinned files, benchmark retrieval, write, judge and score CNs.",
    help_epilogue="--debug shows the traceback of an error.",
    version=fcconan.__version__,
    default_parameter=Parameter(negative=(), show_default=_default),
    help_format="plaintext",
    result_action="return_value",
)
for name, line in GROUPS.items():
    app.command(App(name=name, help=line))
for name, (function, line) in COMMANDS.items():
    group, _, verb = name.rpartition(" ")
    (app[group] if group else app).command(f"fcconan:{function}", name=verb, help=line)


OUTPUT = Parameter(group=Group("Output", sort_key=1))


@app.meta.default
def run(
    *words: Annotated[str, Parameter(allow_leading_hyphen=True, show=False)],
    json: Annotated[Path | None, OUTPUT] = None,
    report: Annotated[Path | None, OUTPUT] = None,
    latex: Annotated[Path | None, OUTPUT] = None,
    out: Annotated[Path | None, OUTPUT] = None,
    config: Annotated[Path | None, OUTPUT] = None,
    force: Annotated[bool, OUTPUT] = False,
) -> None:
    """Runs a command, prints its result and writes it.

    Args:
        words: The command and its options.
        json: File for the result as JSON.
        report: Folder for the result as a page.
        latex: File for the table of a paper, of bench, correlate and rank.
        out: File for the rows that other commands read: .csv, .tsv, .jsonl or .parquet.
        config: YAML file with options of the command; options on the command line take precedence.
        force: Replace existing outputs.

    Raises:
        InputError: An output exists, or the command does not have it.
    """
    if config is not None:
        app.config = (Yaml(config, must_exist=True, use_commands_as_keys=False),)
        if nested := app.config[0].config.keys() & {*COMMANDS}:
            raise InputError(f"{config} has the command {min(nested)}, expected its options: leave the command out")
    # The library hands --out to commands that have it themselves, for a folder that they make, or a file.
    following = zip(words, (*words[1:], ""), strict=True)
    own = [Path(word[6:] or value) for word, value in following if word.partition("=")[0] == "--out"]
    for path in (json, report, latex, out, *own):
        if path is not None and path.exists() and not force:
            raise InputError(f"{path} exists: choose another name, or give --force to replace it")
        if path is not None and path not in own and not path.absolute().parent.is_dir():
            raise InputError(f"there is no folder {path.absolute().parent} for {path.name}: choose another, or make it")
    command = next((name for name in (" ".join(words[:2]), *words[:1]) if name in COMMANDS), "")
    for option, path in (("latex", latex), ("out", out)):
        if path is not None and command not in OF[option]:
            raise InputError(f"--{option} is an option of {', '.join(sorted(OF[option]))}: leave it out")
    if out is not None and out.suffix not in ROW_FILES:
        raise InputError(f"found --out {out}, expected a name that ends in {', '.join(ROW_FILES)}: choose another")
    result = app(words, exit_on_error=False, print_error=False)
    if result is None:  # help or version
        return
    if json is not None:
        json.write_text(result.to_json(), encoding="utf-8")
    if out is not None and result.out is not None:  # a dry run has no rows
        result.write(out)
    if latex is not None:
        latex.write_text(result.to_latex(), encoding="utf-8")
    written = f"\nWritten: {result.to_html(report)}" if report is not None else ""
    # After the files, as the reader of the output may go away. Names from elsewhere send nothing to the terminal.
    from fcconan.data import printable

    print(printable(str(result)) + written)


def main() -> None:
    """Runs the command line and exits: 2 for bad input, 1 for other failures."""
    words = sys.argv[1:]
    if debug := "--debug" in words:
        words.remove("--debug")
        os.environ["FCCONAN_DEBUG"] = "1"  # also for errors of users' systems, after which other queries continue
    app.config = ()  # of an earlier call in the same process
    try:
        app.meta(words, exit_on_error=False, print_error=False)
        sys.stdout.flush()
    except BrokenPipeError:  # the reader went away, as `head` does
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except KeyboardInterrupt:
        sys.exit(130)
    except Exception as error:
        from fcconan.data import printable, show_traceback

        show_traceback(error)
        is_input = isinstance(error, InputError | CycloptsError | OSError)
        message = str(error) if is_input or isinstance(error, RemoteError) else f"{type(error).__name__}: {error}"
        if isinstance(error, UnusedCliTokensError):
            found = " ".join(error.unused_tokens or ())
            message = f"found {found}, expected an option in front, repeated for each value: --help lists the options"
        print(printable(f"fcconan: {' '.join(message.split())}"), file=sys.stderr)
        sys.exit(2 if is_input else 1)
    finally:
        if debug:
            del os.environ["FCCONAN_DEBUG"]
