"""`fcconan.correlate`: values of scipy and scikit-learn, by enumeration and by hand."""

import itertools
import json
import math
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from sklearn.metrics import ndcg_score

from fcconan import Bootstrap, InputError, Result, correlate, rank
from fcconan.scoring import Floats
from tests.conftest import RunCli

NONE = Bootstrap(resamples=0)
LEVELS = ("pooled", "per_item", "per_system", "system_means")
Row = dict[str, Any]


def kendall_c(x: Floats, y: Floats) -> float:
    return float(stats.kendalltau(x, y, variant="c").statistic)


def accuracy(x: Floats, y: Floats, threshold: float = 0.0) -> float:
    pairs = [*itertools.combinations(range(len(x)), 2)]
    signs = [(np.sign(x[a] - x[b]) * (abs(x[a] - x[b]) > threshold), np.sign(y[a] - y[b])) for a, b in pairs]
    return float(np.mean([one == other for one, other in signs]))


SCIPY: dict[str, Callable[[Floats, Floats], float]] = {
    "pearson": lambda x, y: float(stats.pearsonr(x, y).statistic),
    "spearman": lambda x, y: float(stats.spearmanr(x, y).statistic),
    "kendall_b": lambda x, y: float(stats.kendalltau(x, y).statistic),
    "kendall_c": kendall_c,
    "pairwise_accuracy": accuracy,
}


def rated(rater: str, values: Any, kind: str = "human", aspect: str = "kind", systems: str = "ABC") -> list[Row]:
    """Ratings of replies by the systems to one item after the other; nan is missing."""
    return [
        {
            **{
                "reply_id": f"r{place}",
                "item_id": f"i{place // len(systems)}",
                "system": systems[place % len(systems)],
            },
            **{"rater": rater, "rater_kind": kind, "aspect": aspect, "value": None if value != value else float(value)},
        }
        for place, value in enumerate(values)
    ]


def world(seed: int, items: int = 6, systems: str = "ABC") -> tuple[pd.DataFrame, list[Row]]:
    """Ratings with ties and missing values: by two people, a judge and a metric; as columns, and as rows."""
    generator, n = np.random.default_rng(seed), items * len(systems)
    columns = {name: generator.integers(1, 5, size=n).astype(float) for name in ("anna", "ben", "judge")}
    columns["overlap"] = columns["anna"] + generator.normal(size=n).round(1)
    for values in columns.values():
        values[generator.random(n) < 0.1] = np.nan
    kinds = {"anna": "human", "ben": "human", "judge": "model", "overlap": "metric"}
    rows = [
        row
        for name, kind in kinds.items()
        for row in rated(name, columns[name], kind, "score" if kind == "metric" else "kind", systems)
    ]
    about = {"item": np.arange(n) // len(systems), "system": np.arange(n) % len(systems)}
    frame = pd.DataFrame({**columns, **about})
    return frame.assign(people=frame[["anna", "ben"]].mean(axis=1)), rows


def expected(frame: pd.DataFrame, x: str, y: str, level: str, name: str) -> tuple[float, int]:
    """Value and number of groups of a level, one group after the other."""
    there = frame[[x, y, "item", "system"]].dropna()
    if level == "system_means":
        there = there.groupby("system")[[x, y]].mean().round(12)
    keys = {"per_item": "item", "per_system": "system"}
    groups = [own for _, own in there.groupby(keys[level])] if level in keys else [there]
    found = [
        SCIPY[name](own[x].to_numpy(), own[y].to_numpy())
        for own in groups
        if len(own) > 1 and (name.startswith("pairwise") or (own[x].nunique() > 1 and own[y].nunique() > 1))
    ]
    return float(np.mean(found)) if found else math.nan, len(found)


def values(result: Result, **where: Any) -> list[float]:
    frame = result.to_frame()
    for column, value in where.items():
        frame = frame[frame[column] == value]
    return [float(value) for value in frame["value"]]


@pytest.mark.parametrize("seed", range(4))
def test_coefficients_chances_and_ceilings_equal_those_of_scipy(seed: int) -> None:
    frame, rows = world(seed)
    found = correlate(rows, coefficient=tuple(SCIPY), bootstrap=NONE).to_frame()  # type: ignore[arg-type]
    assert len(found) == len(LEVELS) * len(SCIPY) * 2
    for row in found.to_dict("records"):
        value, n_groups = expected(frame, row["metric"], "people", row["level"], row["coefficient"])
        assert row["value"] == pytest.approx(value, abs=1e-9, nan_ok=True)
        both = frame[[row["metric"], "people"]].notna().all(axis=1)
        assert row["n_missing"] == (~both).sum()
        if row["level"] != "system_means":
            assert row["n_groups"] == n_groups
        # One person against the other, weighted by equal numbers of replies.
        ceiling, _ = expected(frame, "anna", "ben", row["level"], row["coefficient"])
        other, _ = expected(frame, "ben", "anna", row["level"], row["coefficient"])
        assert row["ceiling"] == pytest.approx(np.mean([ceiling, other]), abs=1e-9, nan_ok=True)
        if not row["coefficient"].startswith("pairwise"):
            assert row["chance"] == 0


def test_accuracy_and_its_chance_by_hand_and_by_all_permutations() -> None:
    """Of six pairs four are ordered alike; one is tied by people only, one by the metric only."""
    metric, people = np.array([1.0, 2, 2, 4]), np.array([1.0, 1, 2, 3])
    rows = rated("anna", people) + rated("judge", metric, "model")
    found = correlate(rows, level=("pooled",), coefficient=("kendall_b", "pairwise_accuracy"), bootstrap=NONE)
    assert values(found) == pytest.approx([4 / 5, 4 / 6])
    every = [accuracy(metric[[*order]], people) for order in itertools.permutations(range(4))]
    assert found.to_frame()["chance"].tolist() == pytest.approx([0, np.mean(every)])


@pytest.mark.parametrize("seed", range(3))
def test_calibration_takes_the_best_threshold(seed: int) -> None:
    """Deutsch et al. (2023), section 7: of all differences of pairs the smallest that gives the highest accuracy."""
    frame, rows = world(seed)
    there = frame[["overlap", "people"]].dropna()
    x, y = there["overlap"].to_numpy(), there["people"].to_numpy()
    thresholds = sorted({0.0} | {abs(a - b) for a, b in itertools.combinations(x, 2)})
    tried = [accuracy(x, y, threshold) for threshold in thresholds]
    options: Any = {"rater": ("overlap",), "level": ("pooled",), "coefficient": ("pairwise_accuracy_calibrated",)}
    found = correlate(rows, bootstrap=NONE, **options).to_frame().iloc[0]
    assert found["value"] == pytest.approx(max(tried))
    assert found["threshold"] == thresholds[int(np.argmax(np.array(tried) > max(tried) - 1e-9))]
    assert math.isnan(found["chance"])


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize(
    ("factor", "shift"), [(1e155, 0), (1e-155, 0), (1e300, 0), (1e-300, 0), (2.0**-20, 1e9), (1, -1e12)]
)
def test_pearson_is_right_for_values_of_any_magnitude(factor: float, shift: float, level: str) -> None:
    frame, _ = world(5)
    people = frame["people"].fillna(3.0).to_numpy()
    judged = frame["judge"].fillna(2.0).to_numpy() * factor + shift
    rows = rated("anna", people) + rated("judge", judged, "model")
    found = correlate(rows, level=(level,), coefficient=("pearson",), bootstrap=NONE)  # type: ignore[arg-type]
    exact = [[Fraction(value) for value in each] for each in (judged.tolist(), people.tolist())]
    item, system = np.arange(len(people)) // 3, np.arange(len(people)) % 3
    group = {"per_item": item, "per_system": system}.get(level, np.zeros(len(people)))
    if level == "system_means":
        exact = [[sum(own[place::3], Fraction()) / Fraction(len(own) // 3) for place in range(3)] for own in exact]
        group = np.zeros(3)
    coefficients = []
    for each in np.unique(group):
        x, y = ([own[place] for place in np.flatnonzero(group == each)] for own in exact)
        x, y = ([value - sum(own, Fraction()) / len(own) for value in own] for own in (x, y))
        xx, yy, xy = (
            sum((a * b for a, b in zip(one, other, strict=True)), Fraction()) for one, other in ((x, x), (y, y), (x, y))
        )
        if xx and yy:
            squared = xy * xy / (xx * yy)
            coefficients.append(math.copysign(math.sqrt(squared), xy))
    assert values(found) == pytest.approx([np.mean(coefficients)], abs=1e-9)


def test_intervals_resample_items_with_all_their_replies() -> None:
    frame, rows = world(7, items=12)
    options: Any = {"rater": ("judge",), "coefficient": ("pearson", "spearman", "kendall_b")}
    found = correlate(rows, bootstrap=Bootstrap(resamples=2_000, confidence=0.9), **options).to_frame()
    there = frame[["judge", "people", "item", "system"]].dropna()
    generator, drawn = np.random.default_rng(3), []
    for _ in range(400):
        items = generator.integers(12, size=12)
        drawn.append(pd.concat([there[there["item"] == item].assign(item=n) for n, item in enumerate(items)]))
    for row in found[found["level"].isin(["pooled", "per_system", "system_means"])].to_dict("records"):
        if row["coefficient"] == "kendall_b" and row["level"] != "pooled":
            continue
        each = [expected(own, "judge", "people", row["level"], row["coefficient"])[0] for own in drawn]
        low, high = np.nanquantile(each, [0.05, 0.95])
        assert [row["low"], row["high"]] == pytest.approx([low, high], abs=0.2 * (high - low))


def test_a_metric_that_is_constant_or_alone_has_a_reason() -> None:
    rows = (
        rated("anna", [1, 2, 3, 4, 5, 5])
        + rated("flat", [2] * 6, "metric")
        + rated("few", [1] + 5 * [np.nan], "metric")
    )
    found = correlate(rows, level=("pooled", "per_item"), coefficient=("spearman",)).to_frame()
    reasons = found.set_index(["metric", "level"])["reason"].to_dict()
    assert reasons == {("flat", "pooled"): "constant", ("flat", "per_item"): "constant"} | dict.fromkeys(
        [("few", "pooled"), ("few", "per_item")], "too_few"
    )
    assert found[["value", "low", "high"]].isna().all(axis=None)


# Tests of differences


def swapped(frame: pd.DataFrame, level: str, name: str) -> tuple[float, Floats]:
    """The difference of judge and overlap, and its absolute value after all swaps of items."""
    there = frame[["judge", "overlap", "people", "item", "system"]].dropna()
    for metric in ("judge", "overlap"):
        there[metric] = ((there[metric] - there[metric].mean()) / there[metric].std(ddof=0)).round(12)
    found = []
    for chosen in itertools.product((False, True), repeat=there["item"].nunique()):
        turned = there["item"].map(dict(zip(there["item"].unique(), chosen, strict=True)))
        after = there.assign(
            a=there["judge"].mask(turned, there["overlap"]), b=there["overlap"].mask(turned, there["judge"])
        )
        found.append(expected(after, "a", "people", level, name)[0] - expected(after, "b", "people", level, name)[0])
    return found[0], np.abs(found)


@pytest.mark.parametrize("level", LEVELS)
def test_p_is_the_share_of_all_swaps_of_items(level: str) -> None:
    frame, rows = world(11, items=5)
    options: Any = {"level": (level,), "coefficient": ("pearson", "spearman", "kendall_b")}
    found = correlate(rows, tests=True, bootstrap=Bootstrap(resamples=1_000), **options).to_frame("differences")
    for row in found.to_dict("records"):
        difference, after = swapped(frame, level, row["coefficient"])
        assert (row["a"], row["b"]) == ("judge", "overlap")
        assert row["difference"] == pytest.approx(difference, abs=1e-9)
        share = float((~(after < abs(difference) - 1e-9)).mean())
        assert row["p"] == row["p_adjusted"] == pytest.approx(share, abs=4 * math.sqrt(0.25 / 1_000))
        assert not row["low"] > row["high"]


@pytest.mark.parametrize("seed", range(8))
def test_a_difference_is_that_of_the_coefficients_of_grades_with_equal_means(seed: int) -> None:
    """Small whole grades: means of systems tie, and pairs of metrics on other scales stay untied."""
    generator = np.random.default_rng(seed)
    rows = [
        {"reply_id": f"{item}{system}", "item_id": item, "system": system, "rater": rater, "aspect": "tone",
         "rater_kind": "human" if rater == "anna" else "model", "value": int(generator.integers(1, 6)) * scale}
        for rater, scale in (("anna", 1), ("x", 1), ("y", 10)) for item in range(6) for system in "ABCDEF"
    ]  # fmt: skip
    names: Any = ("pearson", "spearman", "kendall_b", "kendall_c", "pairwise_accuracy")
    found = correlate(rows, tests=True, coefficient=names, bootstrap=Bootstrap(resamples=9))
    values = found.to_frame().pivot(index=["level", "coefficient"], columns="metric", values="value")
    apart = found.to_frame("differences").set_index(["level", "coefficient"])["difference"]
    pd.testing.assert_series_equal(apart.sort_index(), (values["x"] - values["y"]).sort_index(), check_names=False)


def test_p_is_adjusted_within_an_aspect_and_grows() -> None:
    generator = np.random.default_rng(0)
    people = generator.integers(1, 6, size=60)
    rows = rated("anna", people)
    for noise, name in enumerate("wxyz"):
        rows += rated(name, people + 2 * noise * generator.normal(size=60), "metric", "score")
    options: Any = {"level": ("pooled",), "coefficient": ("pearson",), "bootstrap": Bootstrap(resamples=999)}
    found = correlate(rows, tests=True, **options)
    tests = found.to_frame("differences")
    assert len(tests) == 6 and (tests["p_adjusted"] >= tests["p"]).all() and tests["p"].min() == 0.001
    of_two = correlate(rows, tests=True, rater=("w", "x"), **options).to_frame("differences").iloc[0]
    assert of_two["p"] == of_two["p_adjusted"] == tests["p"].iloc[0]
    low, high = tests[["low", "high"]].to_numpy().T
    assert ((low < tests["difference"]) & (tests["difference"] < high)).all()
    table = found.to_latex()
    assert table.count("*") > 1 and r"\textbf{1.00" in table
    assert "differs from" not in correlate(rows, **options).to_latex()


def test_equal_metrics_differ_by_chance_as_often_as_p_says() -> None:
    """Two metrics of equal quality, 100 worlds: the standard error of a rate of .1 is .03."""
    generator, found = np.random.default_rng(1), []
    for seed in range(100):
        people = generator.normal(size=24).round(1)
        rows = rated("anna", people)
        rows += [row for name in "xy" for row in rated(name, people + generator.normal(size=24), "metric", "score")]
        options: Any = {"level": ("pooled",), "coefficient": ("spearman",), "tests": True}
        table = correlate(rows, bootstrap=Bootstrap(resamples=199, seed=seed), **options).to_frame("differences")
        found.append(table["p"].iloc[0])
    assert 0.04 < np.mean(np.array(found) <= 0.1) < 0.17


# Ranks


def ranked(seed: int) -> tuple[Floats, Floats, list[Row]]:
    """Ranks of four replies to seven items by two people, and grades with ties by a judge of two aspects."""
    generator = np.random.default_rng(seed)
    ranks = np.array([[generator.permutation(4) + 1 for _ in range(7)] for _ in range(2)]).reshape(2, 28).astype(float)
    grades = generator.integers(1, 4, size=(2, 28)).astype(float)
    systems: Any = {"systems": "ABCD"}
    rows = [
        row
        for name, own in zip(("anna", "ben"), ranks, strict=True)
        for row in rated(name, own, aspect="rank", **systems)
    ]
    for aspect, own in zip(("kind", "rude"), grades, strict=True):
        scale = {"low": 1, "high": 3, "higher_is_better": aspect == "kind"}
        rows += [{**row, **scale} for row in rated("judge", own, "model", aspect, **systems)]
    return ranks, grades[0] - grades[1], rows


def test_ndcg_equals_that_of_scikit_learn() -> None:
    ranks, score, rows = ranked(0)
    found = correlate(rows, ranks="rank").to_frame().set_index("protocol")
    for protocol, sign, best in (("sound", -1, 5), ("paper", 1, 0)):
        gains, scores = (best + sign * ranks.mean(axis=0)).reshape(7, 4), score.reshape(7, 4)
        row = found.loc[protocol]
        assert row["value"] == pytest.approx(ndcg_score(gains, scores), abs=1e-9)
        orders = [ndcg_score(gains, np.tile(order, (7, 1))) for order in itertools.permutations(range(4))]
        assert row["chance"] == pytest.approx(np.mean(orders), abs=1e-9)
        one, other = ((best + sign * own).reshape(7, 4) for own in ranks)
        assert row["ceiling"] == pytest.approx((ndcg_score(one, other) + ndcg_score(other, one)) / 2, abs=1e-9)
        assert row["low"] < row["value"] < row["high"] and (row["n"], row["n_groups"]) == (28, 7)


def test_items_that_a_metric_scores_in_part_are_left_out() -> None:
    ranks, _, rows = ranked(1)
    other = rated("overlap", ranks[0], "metric", "score", "ABCD")
    other[5]["value"] = None
    found = correlate(rows, other, ranks="rank", bootstrap=NONE).to_frame()
    assert found["n_groups"].tolist() == [7, 6, 7, 6] and found["n_missing"].tolist() == [0, 1, 0, 1]
    assert found["value_common"][1] == found["value"][1] and found["value_common"][0] != found["value"][0]


# Sources and mistakes


def test_names_of_metrics_reasons_and_replies(run_cli: RunCli, tmp_path: Path) -> None:
    rows = rated("anna", [1, 2, 3, 4, 5, np.nan]) + rated("judge", [1, 1, 2, np.nan, 5, 5], "model")
    rows += rated("judge", [1] * 6, "model", "length")  # it rated what people rated, so this is left out
    for aspect in ("recall", "precision"):
        rows += rated("overlap", [0.1, 0.5, 0.2, 0.9, 0.7, 0.3], "metric", aspect)
    rows[9]["reason"] = "refused"
    about = [{key: row.pop(key) for key in ("item_id", "system")} | {"reply_id": row["reply_id"]} for row in rows]
    assert set(correlate(rows, bootstrap=NONE).to_frame()["level"]) == {"pooled"}
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    pd.DataFrame(about[:6]).to_csv(tmp_path / "replies.csv", index=False)
    words = ("correlate", tmp_path / "rows.jsonl", "--replies", tmp_path / "replies.csv", "--resamples", 50)
    more = ("--json", tmp_path / "out.json", "--report", tmp_path / "page", "--latex", tmp_path / "table.tex")
    done = run_cli(*words, *more)
    assert done.returncode == 0, done.stderr
    tables = json.loads((tmp_path / "out.json").read_text(encoding="utf-8"))["tables"]
    assert {row["metric"] for row in tables["correlations"]} == {"judge", "overlap:recall", "overlap:precision"}
    assert {row["level"] for row in tables["correlations"]} == {*LEVELS}
    missing = [["anna", "kind", "no_value", 1], ["judge", "kind", "refused", 1]]
    assert sorted([*row.values()] for row in tables["missing"]) == missing
    assert "overlap:recall" in (tmp_path / "page" / "index.html").read_text(encoding="utf-8")
    assert "overlap:recall & " in (tmp_path / "table.tex").read_text(encoding="utf-8")


def test_a_sheet_of_people_the_replies_and_the_metrics_of_this_package_go_into_one_call(
    run_cli: RunCli, tmp_path: Path
) -> None:
    """The sheet has a column for each aspect, and each file names its columns in its own way."""
    replies, sheet, scores = (tmp_path / name for name in ("replies.csv", "sheet.csv", "scores.csv"))
    replies.write_bytes(
        "reply_id;item_id;model;message;answer\n"
        "1;m;A;“No Tessok works.”;Look\n2;m;B;“No Tessok works.”;They, do\n\n"
        "3;n;A;“Ombrey steal.”;Who says so\n4;n;B;“Ombrey steal.”;NA\n".encode("cp1252")
    )
    sheet.write_bytes(
        "annotator;reply_id;kind ;clear;remark\nanna;1;1;1;NA\nanna;2;2,5;n/a;\nanna;3;3;2;fine\nanna;4;1;4;\n"
        "ben;1;1;2;good\nben;2;1,5;;\nben;3;3;2;None\nben;4;1;4;3\n;;;;\n".encode("utf-16")
    )
    named = ("--rename.text", "answer", "--rename.hate_speech", "message", "--rename.system", "model")
    done = run_cli("metrics", replies, *named, "--metric", "length-words", "--out", scores)
    assert done.returncode == 0, done.stderr
    words = ("correlate", sheet, scores, "--replies", replies, *named, "--rename.rater", "annotator", "--resamples", 0)
    done = run_cli(*words, "--json", tmp_path / "out.json")
    assert done.returncode == 0, done.stderr
    rows = json.loads((tmp_path / "out.json").read_text(encoding="utf-8"))["tables"]["correlations"]
    found = {(row["aspect"], row["coefficient"]): row for row in rows if row["level"] == "pooled"}
    assert {aspect for aspect, _ in found} == {"kind", "clear"}
    # Words: 1, 2, 3, 1. Means of kind: 1, 2, 3, 1; of clear 1.5, none, 2, 4.
    assert (found["kind", "pearson"]["value"], found["kind", "pearson"]["n"]) == (pytest.approx(1), 4)
    expected = stats.pearsonr([1, 3, 1], [1.5, 2, 4]).statistic
    assert (found["clear", "pearson"]["value"], found["clear", "pearson"]["n"]) == (pytest.approx(expected), 3)
    done = run_cli(*words, "--rename.item_id", "post")
    assert done.returncode == 2
    assert "has no column post, only annotator, reply_id, kind, clear, remark, rater, " in done.stderr


def test_replies_of_no_known_system_are_missing_at_the_levels_of_systems() -> None:
    _, rows = world(2)
    less = [{**row, "system": None} if row["item_id"] == "i0" else row for row in rows]
    found, fewer = (correlate(each, bootstrap=NONE) for each in (less, [row for row in rows if row["item_id"] != "i0"]))
    for level in ("per_system", "system_means"):
        assert values(found, level=level) == values(fewer, level=level)
    assert found.notes == ["3 of 18 replies are of no known system: no level of systems has them."]


@pytest.mark.parametrize("form", [bool, str, int])
def test_replies_without_independent_ratings_are_left_out(form: Callable[[bool], Any]) -> None:
    _, rows = world(2)
    marked = [{**row, "independent": form(row["item_id"] != "i0")} for row in rows]
    found, every = (correlate(marked, include_dependent=each, bootstrap=NONE) for each in (False, True))
    fewer = correlate([row for row in rows if row["item_id"] != "i0"], bootstrap=NONE)
    assert values(found) == values(fewer)
    assert values(every) == values(correlate(rows, bootstrap=NONE))
    assert [note for note in found.notes if "3 replies are left out" in note]
    assert every.notes == []


def test_people_are_named_where_rows_do_not_say_who_they_are() -> None:
    rows = [
        {key: row[key] for key in ("reply_id", "rater", "aspect", "value")}
        for row in rated("anna", [1, 2, 3, 4]) + rated("judge", [1, 3, 2, 4])
    ]
    with pytest.raises(
        InputError, match="by people only, expected some by models or metrics: name people with --human"
    ):
        correlate(rows)
    chosen: Any = {"human": "anna", "rater": "judge", "aspect": "kind", "level": "pooled", "coefficient": "spearman"}
    tuples: Any = {option: (name,) for option, name in chosen.items()}
    found = correlate(rows, **tuples, bootstrap=NONE)
    one = correlate(rows, **chosen, bootstrap=NONE)
    assert values(found, metric="judge") == pytest.approx([0.8])
    assert (values(one), one.signature) == (values(found), found.signature)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"rater": ("judgee",)}, "unknown rater 'judgee': did you mean 'judge'"),
        ({"rater": "judgee"}, "unknown rater 'judgee': did you mean 'judge'"),
        ({"aspect": ("tone",)}, "unknown aspect 'tone'"),
        ({"ranks": "tone"}, "unknown aspect of people's ranks 'tone'"),
        ({"ranks": "kind"}, "found ranks .* in an item of 3 replies, expected 1"),
        ({"human": ("nobody",)}, "unknown rater 'nobody'"),
    ],
)
def test_unknown_names_are_refused(options: Any, message: str) -> None:
    rows = rated("anna", [1, 2, 3, 4, 5, 9]) + rated("judge", [1, 3, 2, 4, 5, 5], "model")
    with pytest.raises(InputError, match=message):
        correlate(rows, **options)


def test_ratings_of_other_replies_are_refused() -> None:
    other = [{**row, "reply_id": f"x{n}"} for n, row in enumerate(rated("judge", [1, 2, 3], "model"))]
    with pytest.raises(InputError, match="no reply_id of judge occurs in people's ratings: give ratings of the same"):
        correlate(rated("anna", [1, 2, 3]), other)
    with pytest.raises(InputError, match="found no rating by people"):
        correlate(other)


# Few ratings by people, all by a judge


def test_the_file_of_judge_rate_predicts_the_ratings_of_people(demo: Path, run_cli: RunCli, tmp_path: Path) -> None:
    replies = pd.read_parquet(next((demo / "replies").glob("*.parquet")))
    people = pd.read_parquet(next((demo / "ratings").glob("*.parquet")))
    graded = people[(people["rater_kind"] == "human") & people["reply_id"].isin(replies["reply_id"][::3])]
    graded.to_csv(tmp_path / "few.csv", index=False)
    texts = replies.drop_duplicates(["hate_speech", "text"])
    given = [
        {"hate_speech": row["hate_speech"], "counter_narrative": row["text"], "aspect": aspect}
        | {"output": json.dumps({aspect: (n + len(aspect)) % 3 + 1})}
        for n, row in enumerate(texts.to_dict("records"))
        for aspect in ("relevance", "coherence", "aggressiveness", "suitableness")
    ]
    pd.DataFrame(given).to_csv(tmp_path / "answers.csv", index=False)
    model = f"replay:{tmp_path / 'answers.csv'}"
    done = run_cli("judge", "rate", demo, "--task", "cseval", "--model", model, "--out", tmp_path / "rated.parquet")
    assert done.returncode == 0, done.stderr
    (judge,) = pd.read_parquet(tmp_path / "rated.parquet")["rater"].unique()
    found = rank(tmp_path / "few.csv", tmp_path / "rated.parquet", replies=demo, predicted_by=judge, bootstrap=NONE)
    predicted = found.to_frame("predicted")
    assert {"unified", "relevance"} <= {*predicted["aspect"]}
    means = predicted[predicted["b"].isna()]
    assert (means["n"] < means["n_all"]).all() and means["value"].notna().all()
