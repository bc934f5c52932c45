"""Count the modules that three paths through the package execute, without the command line itself.

A module counts if one of its functions runs. The paths are: upstream rows to a retrieval score, replies to correlations
with human ratings, votes to a published dataset. They run as commands on the demo and on a small campaign.

Example: python benchmarks/paths.py
"""

import csv
import json
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PATHS = {
    "upstream row to score": ["build demo --out demo", "bench demo --system bm25 --resamples 100 --json bench.json"],
    "reply to correlation": [
        "judge rate demo --task cseval --aspect relevance --model replay:answers.csv --out ratings.parquet",
        "correlate demo ratings.parquet --resamples 100 --json correlations.json",
    ],
    "votes to dataset": [
        "annotate new campaign --task appropriateness --corpus pairs.csv --language en --encoder tfidf "
        "--hs 4 --cns 6 --seed 1",
        "annotate assign campaign",
        "annotate simulate campaign --out main",
        "annotate import campaign main/main-a.csv main/main-b.csv main/main-c.csv",
        "annotate adjudicate campaign",
        "annotate release campaign --out released",
        "build released/recipe.yaml --out dataset",
    ],
}
TRACER = """
import inspect, json, sys
from pathlib import Path

import fcconan

package = str(Path(fcconan.__file__).parent)
seen = set()

def note(frame, event, argument):
    code = frame.f_code
    is_function = code.co_flags & inspect.CO_OPTIMIZED and code.co_name[0] != "<"  # no class body, no module
    if event == "call" and is_function and code.co_filename.startswith(package):
        seen.add(Path(code.co_filename).relative_to(package).as_posix())

from fcconan.cli import app

sys.setprofile(note)
try:
    app.meta(sys.argv[2:], exit_on_error=False, print_error=False)
finally:
    sys.setprofile(None)
    Path(sys.argv[1]).write_text(json.dumps(sorted(seen)), encoding="utf-8")
"""


def write_pairs(path: Path) -> None:
    """Writes pairs about invented peoples, from which a campaign samples new combinations."""
    peoples = ("Ombrey", "Tessok", "Velmari", "Dravene", "Quillish", "Ostrun")
    rows = [
        f"Every {people} takes {thing} away from us.,The {people} bring more {thing} than they take."
        for people in peoples
        for thing in ("work", "bread", "light", "wood")
    ]
    path.write_text("\n".join(["hate_speech,counter_narrative", *rows]) + "\n", encoding="utf-8")


def write_answers(path: Path) -> None:
    """Writes recorded answers of a judge: a grade for each message of the demo."""
    with (ROOT / "builders" / "demo" / "hs.csv").open(encoding="utf-8", newline="") as file:
        messages = [row["text"] for row in csv.DictReader(file)]
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["hate_speech", "output"])
        for number, message in enumerate(messages):
            writer.writerow([message, json.dumps({"relevance": 1 + number % 5})])


def main() -> None:
    """Prints the number of modules for each path, and writes their names as JSON if a file is given."""
    found = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_pairs(folder / "pairs.csv")
        write_answers(folder / "answers.csv")
        for path, commands in PATHS.items():
            modules: set[str] = set()
            for command in commands:
                if command == "annotate assign campaign":
                    raters = "rater,role\na,annotator\nb,annotator\nc,annotator\nd,validator\n"
                    (folder / "campaign" / "raters.csv").write_text(raters, encoding="utf-8")
                done = subprocess.run(
                    [sys.executable, "-c", TRACER, "seen.json", *command.split()],
                    cwd=folder,
                    capture_output=True,
                    text=True,
                )
                if done.returncode:
                    sys.exit(f"{command}: {done.stderr.strip()}")
                modules |= set(json.loads((folder / "seen.json").read_text(encoding="utf-8")))
            found[path] = sorted(modules - {"cli.py"})
            print(f"{path:24} {len(found[path]):4}")
    if len(sys.argv) > 1:
        Path(sys.argv[1]).write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
