"""Readers of results: from the JSON of a command to quantities, keys and values."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from numbers import Real
from pathlib import Path
from typing import Any

from tests.golden.digests import digest, rows_of
from tests.golden.values import EXACT, REPLACED, RESAMPLED, Row, interval
from tests.golden.workplace import Workplace

Json = Any
Reader = Callable[[Json, Workplace], Iterable[Row]]
PARTITIONS = ("diamond", "gold", "silver", "bronze")
COEFFICIENTS = ("raw", "cohen", "cohen_linear", "cohen_quadratic")
ROUNDED = 1e-10  # the results of `bench` have 10 decimals


def from_tables(
    tables: Mapping[str, Sequence[Mapping[str, Any]]],
    *,
    keys: Sequence[str],
    row: str,
    values: Sequence[str] = (),
    rename: Mapping[str, str] | None = None,
    kinds: Mapping[str, str] | None = None,
    rows: Mapping[str, str] | None = None,
) -> Iterator[Row]:
    """Yields the values of named tables of rows: `{"tables": {NAME: [{column: value}]}}`.

    Args:
        tables: The tables by name.
        keys: Columns that tell rows apart; a table uses those that it has.
        row: Row of SCOPE.md.
        values: Columns to read; without it, all columns of numbers but the keys.
        rename: Quantity of a column, by column or `TABLE.column`, for columns with another name than in the record.
        kinds: Class of a quantity that is not exact; the columns `low` and `high` are ends of intervals.
        rows: Row of SCOPE.md of a quantity, where it is another one.
    """
    for name, table in tables.items():
        for each in table:
            shown = {key: "+".join(map(str, each[key])) if isinstance(each[key], list) else each[key]
                     for key in keys if key in each}  # fmt: skip
            for column, value in each.items():
                wanted = column in values if values else isinstance(value, Real | None) and not isinstance(value, bool)
                if column in keys or column in ("low", "high") or not wanted:
                    continue
                quantity = (rename or {}).get(f"{name}.{column}", (rename or {}).get(column, column))
                kind, of = (kinds or {}).get(quantity, EXACT), (rows or {}).get(quantity, row)
                yield Row(quantity, shown, value, of, kind)
            if "low" in each:
                yield from interval((rename or {}).get("value", "value"), shown, (each["low"], each["high"]), row)


def _pair(each: Mapping[str, Any]) -> tuple[dict[str, Any], int]:
    """The keys `a` and `b` in alphabetical order, and -1 if that turns a difference around."""
    one, other = sorted((each["a"], each["b"]))
    return {"a": one, "b": other}, 1 if one == each["a"] else -1


def _difference(keys: Mapping[str, Any], each: Mapping[str, Any], sign: int, row: str, **options: Any) -> Iterator[Row]:
    """A difference, exact, and its interval."""
    value, step = each["difference"], options.get("step", 0.0)
    yield Row("difference", keys, None if value is None else sign * value, row, tolerance=options.get("tolerance"))
    low, high = sorted(sign * end for end in (each["low"], each["high"])) if each["low"] is not None else (None, None)
    yield from interval("difference", keys, (low, high), row, step)


def bench(replaced: Mapping[str, str] | None = None) -> Reader:
    """Returns a reader of `bench`.

    Args:
        replaced: Rows of SCOPE.md of systems whose method is replaced, by system.
    """
    of = replaced or {}

    def read(found: Json, _: Workplace) -> Iterator[Row]:
        for name, each in found["partitions"].items():
            for quantity in ("n_judged", "n_positive", "n_queries", "n_without_positive"):
                yield Row(quantity, {"partition": name}, each[quantity], "R01")
        for values, row in ((found["chance"]["partitions"], "R12"), (found["chance"].get("judged_only", {}), "R08")):
            for partition, metrics in values.items():
                for metric, value in metrics.items():
                    keys = {"system": "chance", "partition": partition}
                    yield Row(metric if row == "R12" else f"{metric} judged only", keys, value, row, tolerance=ROUNDED)
        systems = {**found["systems"], "chance": {"summary": found["chance"]["summary"]}}
        for name, each in systems.items():
            for row in _system(name, each, found):
                yield row._replace(row=of[name], kind=REPLACED) if name in of else row
        for row in _comparisons(found):
            touched = [of[name] for name in (row.keys.get("a"), row.keys.get("b")) if name in of]
            yield row._replace(row=touched[0], kind=REPLACED) if touched and row.kind != REPLACED else row
        yield from _sparsity(found, of)

    return read


def _system(name: str, each: Json, found: Json) -> Iterator[Row]:
    steps = {partition: 1 / of["n_queries"] for partition, of in found["partitions"].items() if of["n_queries"]}
    metrics = {*found["settings"]["metrics"], f"judged@{found['settings']['k']}"}
    for group, suffix, row in (("partitions", "", "R01"), ("judged_only", " judged only", "R08")):
        for partition, values in each.get(group, {}).items():
            for metric, value in values.items():
                if metric in metrics:
                    keys = {"system": name, "partition": partition}
                    yield Row(metric + suffix, keys, value, row, tolerance=ROUNDED)
    for group, suffix, row in (("intervals", "", "R15"), ("judged_only_intervals", " judged only", "R08")):
        for partition, values in each.get(group, {}).items():
            for metric, ends in values.items():
                step = steps[partition] if metric.startswith("hit_rate") else 0.0
                yield from interval(metric + suffix, {"system": name, "partition": partition}, ends, row, step)
    for statistic, value in each.get("summary", {}).items():
        yield Row(f"tiers.{statistic}", {"system": name}, value, "R02", tolerance=ROUNDED)
    for statistic, ends in each.get("summary_intervals", {}).items():
        yield from interval(f"tiers.{statistic}", {"system": name}, ends, "R15")
    for partition, auc in each.get("message_auc", {}).items():
        keys = {"system": name, "partition": partition}
        yield Row("message auc", keys, auc["value"], "R10", tolerance=ROUNDED)
        yield Row("message auc n_pairs", keys, auc["n_pairs"], "R10")
        yield from (Row(f"message auc.{end}", keys, auc[end], "R10", REPLACED) for end in ("low", "high"))


def _comparisons(found: Json) -> Iterator[Row]:
    for each in found["comparisons"]:
        pair, sign = _pair(each)
        keys = {**pair, "partition": each["partition"], "metric": each["metric"]}
        step = 1 / found["partitions"][each["partition"]]["n_queries"] if each["metric"].startswith("hit_rate") else 0.0
        yield from _difference(keys, each, sign, "R15", step=step, tolerance=ROUNDED)
        yield from (Row(name, keys, each[name], "R14", REPLACED) for name in ("p", "p_corrected"))
    for each in found["message_auc_differences"]:
        pair, sign = _pair(each)
        keys = {**pair, "partition": each["partition"]}
        yield Row("message auc difference", keys, sign * each["difference"], "R10", REPLACED)
    for each in found["order_agreement"]:
        pair, _ = _pair(each)
        yield Row("tau", {**pair, "metric": each["metric"]}, each["tau"], "R16")


def _sparsity(found: Json, of: Mapping[str, str]) -> Iterator[Row]:
    """Means over random removals, with 4 standard errors of the difference of two means as tolerance."""
    if "sparsity" not in found:
        return
    seeds = found["sparsity"]["seeds"]
    for each in found["sparsity"]["fractions"]:
        for metric, values in each["metrics"].items():
            several = {("sparsity", name): value for name, value in values["systems"].items()}
            for (quantity, system), value in {**several, ("sparsity tau", None): values["tau"]}.items():
                keys = {"system": system, "metric": metric, "fraction": each["fraction"]}
                kind = REPLACED if of else RESAMPLED if value["sd"] else EXACT
                tolerance = 4 * (2 / seeds) ** 0.5 * (value["sd"] or 0) or ROUNDED
                yield Row(quantity, keys, value["mean"], "R17", kind, tolerance)


def correlate(found: Json, _: Workplace) -> Iterator[Row]:
    """Reads `correlate`."""
    for each in found["rows"]:
        keys = {name: each.get(name) for name in ("metric", "aspect", "level", "coefficient")}
        row = "S04" if each["coefficient"].startswith("pairwise") else "S01"
        yield Row("correlation", keys, each["value"], row)
        yield from interval("correlation", keys, (each["low"], each["high"]), row)
        for quantity, of in (("n", row), ("n_groups", row), ("n_missing", row), ("chance", "S03"), ("ceiling", "S03")):
            yield Row(quantity, keys, each[quantity], of)
        if each.get("threshold") is not None:
            yield Row("threshold", keys, each["threshold"], "S04")
    for each in found.get("missing", []):
        keys = {name: each[name] for name in ("rater", "aspect", "reason")}
        yield Row("missing", keys, each["n"], "S11")
    for each in found.get("ndcg", []):
        keys = {"metric": each["metric"], "protocol": each["protocol"]}
        yield from interval("ndcg", keys, (each["low"], each["high"]), "S09")
        for quantity in ("value", "value_common", "chance", "chance_common", "ceiling", "n", "n_groups"):
            yield Row(quantity.replace("value", "ndcg"), keys, each[quantity], "S09")
    for each in found.get("tests", []):
        pair, sign = _pair(each)
        keys = {**pair, **{name: each[name] for name in ("aspect", "level", "coefficient")}}
        yield Row("difference", keys, None if each["difference"] is None else sign * each["difference"], "S05")
        yield from (Row(name, keys, each[name], "S05", REPLACED) for name in ("p", "p_corrected"))


def agree(found: Json, _: Workplace) -> Iterator[Row]:
    """Reads `agree`, without Fleiss' kappa."""
    for each in found["rows"]:
        if each["coefficient"] in COEFFICIENTS or each["coefficient"].startswith("krippendorff"):
            people = "+".join(each["raters"]) if each["level"] != "overall" else None
            keys = {"aspect": each["aspect"], "coefficient": each["coefficient"], "raters": people}
            yield Row("agreement", keys, each["value"], "S12")
            yield from interval("agreement", keys, (each["low"], each["high"]), "S12")
            yield from (Row(name, keys, each[name], "S12") for name in ("n", "n_items"))


def rank(found: Json, _: Workplace) -> Iterator[Row]:
    """Reads `rank` on verdicts."""
    for each in found["systems"]:
        keys = {"system": each["name"]}
        for quantity in ("points", "share", "wins", "losses", "ties", "invalid"):
            yield Row(quantity, keys, each[quantity], "S13")
        yield Row("strength", keys, each["bradley_terry"], "S13", tolerance=1e-6)
        yield from interval("share", keys, (each["share_low"], each["share_high"]), "S13")
        yield from interval("strength", keys, (each["low"], each["high"]), "S13")
    for quantity in ("n_items", "n_verdicts", "invalid"):
        yield Row(quantity, {}, found[quantity], "S13")
    matrix = found["win_matrix"]
    for number, one in enumerate(matrix["systems"]):
        for place, other in enumerate(matrix["systems"]):
            if one != other:
                yield Row("wins of a over b", {"a": one, "b": other}, matrix["wins"][number][place], "S13")
    yield from _tests(found)
    for each in found.get("between_raters", []):
        pair, _ = _pair(each)
        yield Row("correlation of raters", {**pair, "coefficient": each["coefficient"]}, each["value"], "S15")


def _tests(found: Json) -> Iterator[Row]:
    for each in found["comparisons"]:
        pair, sign = _pair(each)
        keys = {**pair, "rater": each["rater"], "aspect": each["aspect"]}
        yield from _difference(keys, each, sign, "S18")
        yield from (Row(name, keys, each[name], "S18", REPLACED) for name in ("p", "p_corrected"))


def leaderboard(found: Json, _: Workplace) -> Iterator[Row]:
    """Reads `leaderboard`."""
    for each in found["rows"]:
        keys = {name: each[name] for name in ("rater", "aspect", "system")}
        yield Row("mean", keys, each["value"], "S17")
        yield from interval("mean", keys, (each["low"], each["high"]), "S17")
        yield from (Row(name, keys, each[name], "S17") for name in ("n", "n_missing"))
    yield from _tests(found)
    for each in found.get("prediction_powered", {}).get("rows", []):
        keys = {name: each[name] for name in ("aspect", "a", "b")}
        for quantity in ("value", "low", "high", "people", "people_low", "people_high", "power", "n", "n_all"):
            yield Row(f"prediction-powered {quantity}", keys, each[quantity], "S19")


def metrics(row_of: Mapping[str, str], rated: str) -> Reader:
    """Returns a reader of `metrics`: means by system, and a digest of the values of each metric in order of replies."""

    def read(found: Json, place: Workplace) -> Iterator[Row]:
        for each in found["rows"]:
            keys = {"metric": each["metric"], "system": each["system"]}
            row = _row_of(each["metric"], row_of)
            yield Row("mean", keys, each["value"], row)
            yield from (Row(name, keys, each[name], row) for name in ("n", "n_missing"))
        values: dict[str, list[Any]] = {}
        for each in sorted(rows_of(place / rated), key=lambda each: each["reply_id"]):
            values.setdefault(each["rater"], []).append([each["reply_id"], _short(each["value"])])
        for metric, those in values.items():
            yield Row("values", {"metric": metric}, digest(those), _row_of(metric, row_of))

    return read


def _row_of(metric: str, row_of: Mapping[str, str]) -> str:
    return next((row for start, row in row_of.items() if metric.startswith(start)), "S21")


def _short(value: float | None) -> str | None:
    return None if value is None else f"{value:.9g}"


def audit(found: Json, _: Workplace) -> Iterator[Row]:
    """Reads `judge audit`."""
    for each in found["rows"]:
        keys = {name: each[name] for name in ("check", "rater", "aspect", "failure")}
        yield Row("audit", keys, each["value"], "J12")
        for end in interval("audit", keys, (each["low"], each["high"]), "J12"):
            yield end._replace(kind=REPLACED) if each["check"] == "modal_share" else end  # corrected for several grades
        yield from (Row(name, keys, each[name], "J12") for name in ("n", "n_missing", "baseline"))


def reproduce(found: Json, _: Workplace) -> Iterator[Row]:
    """Reads `reproduce`: every printed and recomputed value, and its status."""
    for each in found:
        keys = {name: each[name] for name in ("paper", "table", "row", "column")}
        yield from (Row(name, keys, each[name], "K01") for name in ("published", "recomputed", "status"))


def parquet(
    path: str, keys: Sequence[str], columns: Mapping[str, str], kinds: Mapping[str, str] | None = None
) -> Reader:
    """Returns a reader of chosen columns of a parquet file that a command wrote, each with its row of SCOPE.md."""

    def read(_: Json, place: Workplace) -> Iterator[Row]:
        tables = {Path(path).stem: [{name: row[name] for name in (*keys, *columns)} for row in rows_of(place / path)]}
        yield from from_tables(tables, keys=keys, values=list(columns), row="", rows=columns, kinds=kinds)

    return read
