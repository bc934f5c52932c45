"""FC-CONAN's votes played through a campaign, and what holds in every campaign of its size."""

import csv
import itertools
import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from tests.golden.tables import rows, split_file
from tests.golden.workplace import ROOT, Workplace

Row = dict[str, Any]
TIERS = ("diamond", "gold", "silver", "bronze")
COMPARED = ("pair_id", "label", "valid", "n_votes", "agreement", "tier")


def replayed_votes(place: Workplace) -> dict[str, Any]:
    """Returns the tiers that FC-CONAN's released votes, labels and validity give, by the commands of a campaign.

    All raters are given all pairs, and answer those on which they voted. The pairs that were not released count as
    known pairs of the corpus, which a campaign leaves out.
    """
    released = place / place.dataset("fc-conan")
    pairs = {row["pair_id"]: row for row in rows(split_file(released, "bronze", "test"))}
    votes = {(vote["rater"], vote["pair_id"]): vote["label"] for vote in rows(split_file(released, "votes", "test"))}
    texts = {
        name: dict.fromkeys(pair[name] for pair in pairs.values()) for name in ("hate_speech", "counter_narrative")
    }
    there = {(pair["hate_speech"], pair["counter_narrative"]) for pair in pairs.values()}
    for name, values in texts.items():
        _write(place / f"{name}.csv", [{name: value} for value in values])
    missing = [dict(zip(texts, both, strict=True)) for both in itertools.product(*texts.values()) if both not in there]
    _write(place / "corpus.csv", missing)

    new = ("--hs-file", "hate_speech.csv", "--cn-file", "counter_narrative.csv", "--corpus", "corpus.csv")
    _annotate(place, "new", "--task", "appropriateness", *new)
    _annotate(place, "raters", "--add-annotators", "3", "--add-validators", "1")
    _annotate(place, "assign", "--all-raters")
    outputs: dict[str, Any] = {}
    outputs["votes"] = _fill(place, "main", "label", lambda row: votes.get((row["rater"], row["unit_id"]), ""))
    outputs["adjudicate"] = _numbers(_annotate(place, "adjudicate", "--allow-pending"))
    _annotate(place, "validate", "--resamples", "0")
    valid = {True: "agree", False: "disagree"}
    outputs["validations"] = _fill(
        place, "validation", "agree_or_disagree", lambda row: valid[pairs[row["unit_id"]]["valid"]]
    )

    expected = {tier: rows(split_file(released, tier, "test")) for tier in TIERS}
    for rule in ("released", "strict"):
        _annotate(place, "tier", "--tier-rule", rule, "--synthetic", "--out", f"data-{rule}")
        place.run("build", f"data-{rule}/recipe.yaml", "--out", f"replayed-{rule}")
        built = {tier: rows(split_file(place / f"replayed-{rule}", tier, "test")) for tier in TIERS}
        outputs[rule] = {
            tier: {
                "pairs": len(built[tier]),
                "appropriate": sum(row["label"] == "appropriate" for row in built[tier]),
                "equals_the_release": _values(built[tier]) == _values(expected[tier]),
                "pairs_not_in_the_release": len(_ids(built[tier]) - _ids(expected[tier])),
                "pairs_only_in_the_release": len(_ids(expected[tier]) - _ids(built[tier])),
            }
            for tier in TIERS
        }
        outputs[rule]["votes"] = len(rows(split_file(place / f"replayed-{rule}", "votes", "test")))
    return outputs


def whole_campaign(place: Workplace) -> dict[str, Any]:
    """Returns what `benchmarks/campaign.sh` must give however units are assigned: no bytes and no single assignment."""
    conan, work = place.dataset("conan"), "campaign-work"
    environment = os.environ | {"FCCONAN": f"{sys.executable} -m fcconan", "PYTHON": sys.executable}
    environment["PYTHONPATH"] = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
    command = ["sh", str(ROOT / "benchmarks" / "campaign.sh"), work, conan]
    done = subprocess.run(command, cwd=place.folder, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"campaign.sh ended with {done.returncode}: {done.stderr.strip()[-500:]}")
    main, validation = (_sheets(place / work / name) for name in ("main", "validation"))
    voters, validators = _raters_of(main), _raters_of(validation)
    truth = (place / work / "main" / "truth.jsonl").read_text(encoding="utf-8").splitlines()
    built = {tier: _ids(rows(split_file(place / work / "release", tier, "test"))) for tier in TIERS}
    twice = sum(len(raters) == 2 for raters in validators.values()) / len(validators)
    return {
        "main": _invariants(main)
        | {
            "units_by_number_of_raters": _counts(len(raters) for raters in voters.values()),
            "sessions_above_100": sum(count > 100 for count in _sessions(main).values()),
            "units_with_a_truth": len({json.loads(line)["unit_id"] for line in truth} & voters.keys()),
        },
        "validation": _invariants(validation)
        | {
            "units_not_in_main": len(validators.keys() - voters.keys()),
            "validators_who_voted": sum(bool({*raters} & {*voters[unit]}) for unit, raters in validators.items()),
            "share_judged_twice": round(twice, 2),
        },
        "release": {
            "nested": built["diamond"] <= built["gold"] <= built["silver"] <= built["bronze"],
            "bronze_is_what_was_validated": built["bronze"] == validators.keys(),
            "more_than_nine_in_ten_are_decided": len(built["bronze"]) > 0.9 * len(voters),
        },
    }


def _invariants(sheets: dict[str, list[Row]]) -> dict[str, Any]:
    """Counts that follow from the options of a round, whoever gets what."""
    raters, loads = _raters_of(sheets), [len(sheet) for sheet in sheets.values()]
    shared = {pair for each in raters.values() for pair in itertools.combinations(sorted({*each}), 2)}
    return {
        "raters": len(sheets),
        "loads_differ_by_at_most_one": max(loads) - min(loads) <= 1,
        "units_given_twice_to_one_rater": sum(len({*each}) != len(each) for each in raters.values()),
        "pairs_of_raters_that_share_units": len(shared),
    }


def _sessions(sheets: dict[str, list[Row]]) -> Counter[tuple[str, str]]:
    return Counter((row["rater"], row["session"]) for sheet in sheets.values() for row in sheet)


def _counts(values: Iterable[int]) -> dict[str, int]:
    return {str(number): count for number, count in sorted(Counter(values).items())}


def _raters_of(sheets: dict[str, list[Row]]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for rater, sheet in sheets.items():
        for row in sheet:
            found.setdefault(row["unit_id"], []).append(rater)
    return found


def _sheets(folder: Path) -> dict[str, list[Row]]:
    found: dict[str, list[Row]] = {}
    for path in sorted(folder.glob("*.csv")):
        sheet = _read(path)
        found[sheet[0]["rater"]] = sheet
    return found


def _annotate(place: Workplace, verb: str, *arguments: str) -> Any:
    return place.result("annotate", verb, "replay", *arguments)


def _numbers(report: Any) -> dict[str, int]:
    """The counts of a report: the rest is prose."""
    return {name: value for name, value in report.items() if isinstance(value, int)}


def _fill(place: Workplace, name: str, column: str, answer: Callable[[Row], str]) -> int:
    """Exports the sheets of a round, fills them in and imports them; returns the number of answers."""
    place.run("annotate", "export", "replay", "--round", name, "--out", f"sheets-{name}")
    files, filled = sorted((place / f"sheets-{name}").glob("*.csv")), 0
    for path in files:
        sheet = _read(path)
        for row in sheet:
            row[column] = answer(row)
            filled += row[column] != ""
        _write(path, sheet)
    place.run("annotate", "import", "replay", *(path.relative_to(place.folder) for path in files))
    return filled


def _read(path: Path) -> list[Row]:
    with path.open(encoding="utf-8-sig", newline="") as file:
        return list(csv.DictReader(file))


def _write(path: Path, found: list[Row]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(found[0]))
        writer.writeheader()
        writer.writerows(found)


def _ids(found: list[Row]) -> set[str]:
    return {row["pair_id"] for row in found}


def _values(found: list[Row]) -> dict[str, list[Any]]:
    return {row["pair_id"]: [row[name] for name in COMPARED] for row in found}
