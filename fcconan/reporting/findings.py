"""The answer of a result in a sentence or two: the leader, its lead, and whether that is significant."""

from collections.abc import Sequence

from fcconan.data import count_noun
from fcconan.reporting.benchmark_names import is_reference, marked, metric_title
from fcconan.reporting.benchmark_tables import SIGNIFICANT
from fcconan.reporting.tables import MISSING, Row, Rows, p_text
from fcconan.retrieval import ranked_systems
from fcconan.scoring import PRIMARY


def significance(test: Row | None, families: Rows) -> str:
    """Returns whether a difference is significant, in words, by its p value corrected for its family of tests."""
    if test is None or test["p_corrected"] is None:
        return "this was not tested"
    family = next((each for each in families if each["name"] == test["family"]), None)
    tests = "" if family is None else f" for {count_noun(family['n_tests'], 'test')}"
    said = "significant" if test["p_corrected"] < SIGNIFICANT else "not significant"
    p = p_text(test["p_corrected"])
    return f"{said} (p {p if p.startswith('<') else f'= {p}'}, corrected{tests})"


def retrieval_finding(result: Row) -> str:
    """Returns the finding of a benchmark: the leader among the systems that read the message, and better references."""
    ranked = [name for name in ranked_systems(result) if result["systems"][name]["summary"]["avg"] is not None]
    order = [name for name in ranked if not is_reference(result, name)] or ranked
    if not order:
        return "No system has an average."
    averages = [result["systems"][name]["summary"]["avg"] for name in order]
    names = [marked(result, name, counts=False) for name in order]
    above = [
        f"The reference {marked(result, name, counts=False)} is above it: "
        f"{result['systems'][name]['summary']['avg']:.4f}."
        for name in ranked[: ranked.index(order[0])]
    ]
    if len(order) == 1:
        return " ".join([f"{names[0]} has an average of {averages[0]:.4f}.", *above])
    lead, both = averages[0] - averages[1], f"{names[0]} and {names[1]}" if above else "the two"
    said = [f"{names[0]} leads with an average of {averages[0]:.4f}, {lead:.4f} above {names[1]}.", *above]
    test = _test(result["comparisons"], order, PRIMARY)
    if test is None:
        return " ".join(
            [*said, f"The difference of {both} was not tested." if above else "This difference was not tested."]
        )
    if test["difference"] is None:
        return " ".join(said)
    gap = test["difference"] if test["a"] == order[0] else -test["difference"]
    said.append(
        f"On the primary metric, {metric_title(test['metric'])} on {test['partition']}, {both} differ by {gap:+.4f}: "
        f"{significance(test, result['families'])}."
    )
    return " ".join(said)


def tournament_finding(result: Row) -> str:
    """Returns the finding of a tournament."""
    rows = [row for row in result["systems"] if row["share"] is not None]
    if len(rows) < 2:
        return ""
    first, second = rows[:2]
    test = _test(result.get("comparisons", ()), (first["name"], second["name"]))
    gap = first["share"] - second["share"]
    return (
        f"{first['name']} leads with {first['share']:.2f} % of the points, {gap:.2f} above {second['name']}: "
        f"{significance(test, result.get('families', ()))}."
    )


def ratings_finding(result: Row, column: Rows) -> str:
    """Returns the finding of a leaderboard.

    Args:
        result: Result of `fcconan leaderboard`.
        column: Its rows of one rater and aspect, the first system first.
    """
    rows = [row for row in column if row["value"] is not None]
    if len(rows) < 2:
        return ""
    first, second = rows[:2]
    own = [row for row in result.get("comparisons", ()) if row["rater"] == first["rater"]]
    own = [row for row in own if row["aspect"] == first["aspect"]]
    test = _test(own, (first["system"], second["system"]))
    gap = abs(first["value"] - second["value"])
    return (
        f"{first['system']} leads in {first['aspect']} by {first['rater']} with {first['value']:.2f}, {gap:.2f} from "
        f"{second['system']}: {significance(test, result.get('families', ()))}."
    )


def correlation_finding(result: Row, judges: Sequence[Sequence[str]]) -> str:
    """Returns the finding of correlations with people.

    Args:
        result: Result of `fcconan correlate`.
        judges: Rows of the table of judges: name and mean correlation, the best first.
    """
    listed = [row for row in judges if not row[0].startswith("(")]  # without chance and ceiling
    named = [row for row in listed if row[1] != MISSING]
    if not named:
        return "No judge has a value for every aspect."
    if len(listed) == 1:
        return f"{named[0][0]}, the only judge, has a mean correlation of {named[0][1]} with people."
    said = f"{named[0][0]} agrees best with people, with a mean correlation of {named[0][1]}"
    if len(named) == 1:
        return f"{said}; no other has a value for every aspect."
    pair = {named[0][0], named[1][0]}
    tests = [row for row in result.get("tests", ()) if {row["a"], row["b"]} == pair and row["p_corrected"] is not None]
    found = sum(row["p_corrected"] < SIGNIFICANT for row in tests)
    how = f"significant in {found} of {count_noun(len(tests), 'corrected test')}" if tests else "this was not tested"
    return f"{said}; {named[1][0]} has {named[1][1]}: {how}."


def _test(tests: Rows, pair: Sequence[str], family: str = "") -> Row | None:
    """Returns the test of the first two systems, one of the primary family where there are several."""
    own = [row for row in tests if {row["a"], row["b"]} == set(pair[:2]) and family in ("", row["family"])]
    own.sort(key=lambda row: not row["family"].endswith(PRIMARY))
    return own[0] if own else None
