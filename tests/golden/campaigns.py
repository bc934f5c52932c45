"""Campaigns: FC-CONAN's votes played again, campaigns of the demo answered by rule, and invariants of simulations."""

import csv
import itertools
import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from tests.golden import readers
from tests.golden.answers import HIGHEST, number_of, write
from tests.golden.digests import dataset, digest, rows_of, split_file
from tests.golden.values import EXACT, REPLACED, Row
from tests.golden.workplace import Workplace

Sheet = list[dict[str, Any]]
TABLES = ("agreement", "pairs")
TIERS = ("diamond", "gold", "silver", "bronze")
COMPARED = ("pair_id", "label", "valid", "n_votes", "agreement", "tier")
LEAVING = ("waiting", "not_assigned")
NAMES = {"label": "labels ", "decided": "decided ", "discarded": "discarded "}
CONFLICTS = {"all": "conflicts", "open": "open_conflicts"}
LABELS = ("appropriate", "not_appropriate", "not_appropriate", "not_appropriate", "not_sure")


class Campaign:
    """A campaign folder in a workplace, by the commands that a user gives."""

    def __init__(self, place: Workplace, name: str, new: str) -> None:
        self.place, self.name = place, name
        made = self("new", new)["tables"]["counts"]
        self.counts = {row["name"]: row["number"] for row in made}

    def __call__(self, verb: str, line: str = "") -> Any:
        return self.place.result("annotate", verb, self.name, *self.place.words(line))

    def raters(self, annotators: int, validators: int = 0) -> None:
        """Writes the raters of the campaign."""
        of = {"annotator": annotators, "validator": validators}
        rows = [{"rater": f"{role}-{n}", "role": role} for role, number in of.items() for n in range(1, number + 1)]
        write(self.place / self.name / "raters.csv", rows)

    def fill(self, round_name: str, answer: Callable[[dict[str, Any]], Mapping[str, str]]) -> list[Sheet]:
        """Exports the sheets of a round, fills them in and imports them; returns them."""
        folder = self.place / f"{self.name}-{round_name}"
        self.place.run("annotate", "export", self.name, "--round", round_name, "--out", folder.name)
        files = sorted(folder.glob("*.csv"))
        sheets = [read(path) for path in files]
        for path, sheet in zip(files, sheets, strict=True):
            for row in sheet:
                row |= answer(row)
            write(path, sheet)
        self.place.run("annotate", "import", self.name, *(path.relative_to(self.place.folder) for path in files))
        return sheets

    def returned(self, folder: str) -> Sheet:
        """Imports the sheets of a folder and returns their rows."""
        files = sorted((self.place / folder).glob("*.csv"))
        self.place.run("annotate", "import", self.name, *files)
        return [row for path in files for row in read(path)]

    def built(self, rule: str | None = None) -> Path:
        """Writes the release, builds it and returns its folder."""
        data, out = f"{self.name}-data-{rule}", f"{self.name}-built-{rule}"
        chosen = ("--tier-rule", rule) if rule else ()
        self.place.run("annotate", "release", self.name, *chosen, "--synthetic", "--out", data)
        self.place.run("build", f"{data}/recipe.yaml", "--out", out)
        return self.place / out


def read(path: Path) -> Sheet:
    """Returns the rows of a CSV file."""
    with path.open(encoding="utf-8-sig", newline="") as file:
        return list(csv.DictReader(file))


def counted(found: Mapping[str, Any], row: str, start: str = "") -> Iterator[Row]:
    """Yields the counts of a result, objects inside it included."""
    for name, value in found.items():
        if isinstance(value, dict):
            yield from counted(value, row, f"{start}{name} ")
        elif name not in LEAVING and isinstance(value, int) and not isinstance(value, bool):
            yield Row(start + name, {}, value, row)


def final(found: Any, start: str = "") -> Iterator[Row]:
    """Yields the counts of `adjudicate`."""
    for each in found["tables"]["units"]:
        name = CONFLICTS.get(each["name"]) if each["kind"] == "conflict" else NAMES.get(each["kind"], "") + each["name"]
        if each["kind"] != "pending":
            yield Row(f"{start}{name}", {}, each["units"], "A18")


def texts(place: Workplace, most: int) -> dict[str, str]:
    """Writes the first HS and CNs of the demo as two lists; returns the labels of pairs by id."""
    pairs = rows_of(split_file(place / place.dataset("demo"), "bronze", "test"))
    _lists(place, pairs, most)
    return {row["pair_id"]: row["label"] for row in pairs}


def _lists(place: Workplace, pairs: Sheet, most: int | None = None) -> None:
    for name, file in (("hate_speech", "hs.csv"), ("counter_narrative", "cn.csv")):
        write(place / file, [{name: text} for text in [*dict.fromkeys(pair[name] for pair in pairs)][:most]])


def replayed_votes(place: Workplace) -> Iterator[Row]:
    """Yields the tiers that FC-CONAN's released votes, labels and validity give, by the commands of a campaign.

    All raters are given all pairs, and answer those on which they voted. The pairs that were not released count as
    known pairs of the corpus, which a campaign leaves out.
    """
    released = place / place.dataset("fc-conan")
    pairs = {row["pair_id"]: row for row in rows_of(split_file(released, "bronze", "test"))}
    votes = {(vote["rater"], vote["pair_id"]): vote["label"] for vote in rows_of(split_file(released, "votes", "test"))}
    _lists(place, [*pairs.values()])
    known = {(pair["hate_speech"], pair["counter_narrative"]) for pair in pairs.values()}
    every = itertools.product(*(dict.fromkeys(column) for column in zip(*known, strict=True)))
    write(
        place / "corpus.csv",
        [dict(zip(("hate_speech", "counter_narrative"), both, strict=True)) for both in every if both not in known],
    )
    replay = Campaign(place, "replay", "--task appropriateness --hs hs.csv --cns cn.csv --corpus corpus.csv")
    replay.raters(3, 1)
    replay("assign", "--all-raters")
    sheets = replay.fill("main", lambda row: {"label": votes.get((row["rater"], row["unit_id"]), "")})
    yield Row("votes", {}, sum(row["label"] != "" for sheet in sheets for row in sheet), "A15")
    yield from final(replay("adjudicate", "--allow-pending"))
    replay("validate", "--resamples 0")
    said = {True: "agree", False: "disagree", None: ""}
    replay.fill("validation", lambda row: {"agree_or_disagree": said[pairs[row["unit_id"]]["valid"]]})
    for rule in ("released", "strict"):
        folder = replay.built(rule)
        for tier in TIERS:
            keys = {"rule": rule, "tier": tier}
            found = {row["pair_id"]: row for row in rows_of(split_file(folder, tier, "test"))}
            original = {row["pair_id"]: row for row in rows_of(split_file(released, tier, "test"))}
            equal = sum(
                all(found[key][name] == original[key][name] for name in COMPARED) for key in found if key in original
            )
            yield Row("pairs", keys, len(found), "A21")
            yield Row("appropriate", keys, sum(row["label"] == "appropriate" for row in found.values()), "A21")
            yield Row("pairs as released", keys, equal, "A21")
            yield Row("pairs in both", keys, len(found.keys() & original.keys()), "A21")


def _hashed(row: Mapping[str, Any]) -> int:
    return number_of(row.get("rater", ""), row["unit_id"])


def _said(task: str, row: Mapping[str, Any]) -> dict[str, str]:
    """An answer that mostly follows from the unit and at times from the rater; sides are drawn, so it names a text."""
    number, unit = _hashed(row), row["unit_id"]
    if task == "pairwise":
        one, other = (number_of(row["rater"], row[name]) for name in ("reply_a", "reply_b"))
        return {"label": "tie" if (one + other) % 7 == 0 else "a" if one > other else "b"}
    if task == "appropriateness":
        follows = number_of(unit) if number % 4 else number // 4
        return {"skip": "yes"} if number % 41 == 0 else {"label": LABELS[follows % len(LABELS)]}
    grades = {name: number_of(unit, name) + (number_of(row["rater"], unit, name) % 3 == 0) for name in HIGHEST}
    return {name: str(1 + grade % HIGHEST[name]) for name, grade in grades.items()}


def of_the_demo(place: Workplace, task: str) -> Iterator[Row]:
    """Yields the values of a campaign of the demo: all raters answer all units by rule; release and what is built."""
    pairs, new = task == "appropriateness", "--replies @demo"
    if pairs:
        texts(place, 12)
        new = "--hs hs.csv --cns cn.csv"
    one = Campaign(place, task, f"--task {task} {new}")
    yield from counted(one.counts, "A04")
    one.raters(3, 2)
    one("assign", "--all-raters")
    sheet = sorted(one.fill("main", partial(_said, task))[0], key=lambda row: row["unit_id"])
    for name in ("unit_id", "hate_speech", "counter_narrative", "reply"):
        if name in sheet[0]:
            yield Row(f"column {name}", {"round": "main"}, digest(row[name] for row in sheet), "A11")
    yield from _label_studio(one)
    yield from counted({row["state"]: row["units"] for row in one("status")["tables"]["units"]}, "A02", "units ")
    found = place.result("agree", one.name, "--resamples", "1000")["tables"]
    named = {
        name: [{**each, "aspect": each["aspect"] or "label"} for each in found[name]]
        for name in found
        if name in TABLES
    }
    yield from readers.agree({"tables": named}, row="A16")
    yield Row("disputed units", {}, len(found["disputed"]), "A16")
    if task == "cseval":
        review = one("assign", "--round review --review main --max-distance 2")
        yield Row("answers to review", {}, sum(each["units"] for each in review["tables"]["raters"]), "A09")
    else:
        yield from final(one("adjudicate", f"--export-conflicts {task}.csv"), "by rule: ")
    if pairs:
        conflicts = [{**row, "decision": LABELS[_hashed(row) % 2]} for row in read(place / f"{task}.csv")]
        write(place / f"{task}.csv", conflicts)
        decided = one("adjudicate", f"--import-decisions {task}.csv --decided-by lead")
        yield from final(decided, "by a person: ")
        one("validate", "--overlap.2 1 --resamples 0")
        one.fill("validation", lambda row: {"agree_or_disagree": "agree" if _hashed(row) % 5 else "disagree"})
        checked = one("validate", "--resamples 1000")
        for each in checked["tables"]["validation"]:
            name = "units" if each["label"] == "all" else f"labels {each['label']}"
            if each["state"] not in LEAVING:
                yield Row(f"validation {name} {each['state']}", {}, each["units"], "A20")
        agreed = [{**each, "aspect": "validation"} for each in checked["tables"]["agreement"]]
        yield from readers.agree({"tables": {"agreement": agreed, "pairs": []}}, row="A20")
    for rule in ("released", "strict", *place.words("@halves.yaml")) if pairs else (None,):
        for row in dataset(one.built(rule), "D11"):
            yield row._replace(keys={**row.keys, "rule": rule})


def _label_studio(campaign: Campaign) -> Iterator[Row]:
    """Digests of the files for Label Studio."""
    folder = campaign.place / f"{campaign.name}-studio"
    campaign("export", f"--tool label-studio --out {folder.name}")
    tasks = json.loads(min(folder.glob("main-*.json")).read_text("utf-8"))
    shown = sorted([task["data"]["unit_id"], task["data"]["hate_speech"]] for task in tasks)
    yield Row("digest of tasks", {"tool": "label-studio"}, digest(shown), "A12")
    yield Row("digest of config", {"tool": "label-studio"}, digest([(folder / "config.xml").read_text("utf-8")]), "A12")


def simulated(place: Workplace) -> Iterator[Row]:
    """Yields what holds in a simulated campaign however units are assigned: no answer and no assignment."""
    texts(place, 60)
    one = Campaign(place, "simulated", "--task appropriateness --hs hs.csv --cns cn.csv")
    one.raters(4, 2)
    one("assign", "--overlap.2 0.2 --overlap.3 0.05 --session-size 100")
    one("simulate", "--out main-sheets --accuracy 0.9")
    main = one.returned("main-sheets")
    one("adjudicate")
    one("validate", "--overlap.2 0.1 --resamples 0")
    one("simulate", "--round validation --out validation-sheets --accuracy 0.95")
    for name, rows in (("main", main), ("validation", one.returned("validation-sheets"))):
        raters: dict[str, list[str]] = {}
        for row in rows:
            raters.setdefault(row["unit_id"], []).append(row["rater"])
        loads = Counter(row["rater"] for row in rows).values()
        sessions = Counter((row["rater"], row["session"]) for row in rows)
        counts = {
            "raters": len(loads),
            "loads differ by at most one": max(loads) - min(loads) <= 1,
            "units given twice to a rater": sum(len({*each}) < len(each) for each in raters.values()),
            "sessions above 100": sum(count > 100 for count in sessions.values()) if name == "main" else 0,
            "units not in main": len(raters.keys() - {row["unit_id"] for row in main}),
        }
        if name == "main":
            counts |= {f"units of {number}": count for number, count in Counter(map(len, raters.values())).items()}
            lines = (place / "main-sheets" / "truth.jsonl").read_text("utf-8").splitlines()
            yield Row("units with a truth", {}, len({json.loads(line)["unit_id"] for line in lines} & {*raters}), "A24")
        yield from (Row(quantity, {"round": name}, value, "A07", REPLACED) for quantity, value in counts.items())


def sampled(place: Workplace) -> Iterator[Row]:
    """Yields counts of the sampling of FC-CONAN; the drawn units depend on the order of draws."""
    new = "--corpus @conan --language en --encoder tfidf --hs 45 --cns 129 --divisible-by 9 --seed 1"
    found = Campaign(place, "sampled", f"--task appropriateness {new}")
    yield from counted(found.counts, "A03")
    corpus = rows_of(split_file(place / "conan", "en", "train"))
    sides = {"hs": "hate_speech", "cn": "counter_narrative"}
    rows = {side: map(json.loads, (place / "sampled" / f"{side}.jsonl").open(encoding="utf-8")) for side in sides}
    said = {row[f"{side}_id"]: _bare(row["text"]) for side, those in rows.items() for row in those}
    units = [json.loads(line)["unit_id"] for line in (place / "sampled" / "units.jsonl").open(encoding="utf-8")]
    texts_of = {tuple(said[key] for key in unit.split(":")) for unit in units}
    known = {tuple(_bare(row[name]) for name in sides.values()) for row in corpus}
    yield Row("pairs_existing_by_id", {}, len({*units} & {row["pair_id"] for row in corpus}), "A03")
    yield Row("pairs_existing_by_text", {}, len(texts_of & known), "A03")


def _bare(text: str) -> str:
    return "".join(filter(str.isalnum, text.casefold()))


def queued(place: Workplace) -> Iterator[Row]:
    """Yields the estimates of two queues, whose pairs get their labels in the demo; the queues themselves are drawn."""
    labels = texts(place, 15)
    one, search = (
        Campaign(place, "queued", "--task appropriateness --hs hs.csv --cns cn.csv"),
        "--encoder tfidf",
    )
    one.raters(1)
    for number in range(2):
        (name,) = one("queue", f"{search} --queue-size 40")["tables"]["queues"][number:]
        one.fill(name["round"], lambda row: {"label": labels[row["unit_id"]]})
        one("adjudicate", "--round queue-*")
        tables = one("queue", "--status-only")["tables"]
        (counts,), estimated = tables["units"], {row["name"]: row for row in tables["estimate"]}
        found = {"found": counts["found"], "left": counts["all"] - counts["judged"], "n_draws": counts["drawn"]}
        found |= {"unseen": estimated["unseen"]["value"], "recall": estimated["recall"]["value"]}
        found |= {f"recall_{end}": estimated["recall"][end] for end in ("low", "high")}
        for quantity, value in found.items():
            yield Row(quantity, {"queue": number}, value, "A22", EXACT if quantity == "left" else REPLACED)
