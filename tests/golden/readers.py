"""Readers of results: from the JSON of a command to quantities, keys and values."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from numbers import Real
from typing import Any

import yaml

from tests.golden.digests import dataset, digest, rows_of
from tests.golden.values import EXACT, REPLACED, RESAMPLED, Row, interval
from tests.golden.workplace import Workplace

Json = Any
Reader = Callable[[Json, Workplace, Sequence[str]], Iterable[Row]]
ROUNDED = 1e-10  # the recorded values of `bench` have 10 decimals
# Rows of SCOPE.md of the values of systems.
ROWS = {"chance": "R12", "popularity": "R05", "longest": "R05", "tfidf": "R26", "bm25": "R26", "sbert-minilm": "R28"}
OTHERS = {"random", "bm25-fast"}  # systems of `bench` with another method than in the record (R25, R27)
METRICS = {"bleu": "S20", "sacrebleu": "S20", "rouge": "S20", "meteor": "S20", "bert": "S22"}
KINDS = {"demo": "D10", "fc-conan": "D03", "cseval": "D05", "cn-ranking": "D06", "multi-aspect": "D07",
         "dialoconan": "D09"}  # fmt: skip


def from_tables(
    tables: Mapping[str, Iterable[Mapping[str, Any]]],
    *,
    keys: Sequence[str],
    row: str,
    values: Sequence[str] = (),
    rename: Mapping[str, str] | None = None,
    kinds: Mapping[str, str] | None = None,
    rows: Mapping[str, str] | None = None,
    ends_of: str = "value",
) -> Iterator[Row]:
    """Yields the values of named tables of rows: `{"tables": {NAME: [{column: value}]}}`.

    Args:
        tables: The tables by name.
        keys: Columns that tell rows apart; a table uses those that it has. A list is joined by `+`.
        row: Row of SCOPE.md.
        values: Columns to read; without it, all columns of numbers but the keys.
        rename: Quantity of a column, by column or `TABLE.column`, for columns with another name than in the record.
        kinds: Class of a quantity that is not exact.
        rows: Row of SCOPE.md of a quantity, where it is another one.
        ends_of: The column whose bootstrap interval the columns `low` and `high` are.
    """
    names, other_rows = rename or {}, rows or {}
    for table, each in ((table, each) for table, those in tables.items() for each in those):
        shown = {key: "+".join(each[key]) if isinstance(each[key], list) else each[key] for key in keys if key in each}
        for column, value in each.items():
            number = isinstance(value, Real | None) and not isinstance(value, bool) and column not in ("low", "high")
            if column not in keys and (column in values if values else number):
                quantity = names.get(f"{table}.{column}", names.get(column, column))
                yield Row(quantity, shown, value, other_rows.get(quantity, row), (kinds or {}).get(quantity, EXACT))
        if "low" in each and "low" not in values:
            quantity = names.get(ends_of, ends_of)
            ends = interval(quantity, shown, (each["low"], each["high"]), other_rows.get(quantity, row))
            yield from (end._replace(kind=(kinds or {}).get(end.quantity, end.kind)) for end in ends)


def ordered(table: Iterable[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yields rows of pairs `a` and `b` in alphabetical order; a difference that is turned around changes its sign."""
    signed = ("difference", "value", "people", "low", "high", "people_low", "people_high")
    turned = {
        "a": "b",
        "b": "a",
        "low": "high",
        "high": "low",
        "people_low": "people_high",
        "people_high": "people_low",
    }
    for each in table:
        if each["b"] is None or each["a"] < each["b"]:
            yield dict(each)
        else:
            found = {name: each[turned.get(name, name)] for name in each}
            yield found | {name: -found[name] for name in signed if found.get(name) is not None}


def bench(found: Json, place: Workplace, _: Sequence[str]) -> Iterator[Row]:
    """Reads `bench`, without values whose method is another one: tests/retrieval has oracles for them."""
    for row in _bench(found):
        names = {row.keys.get(name) for name in ("system", "a", "b")}
        if names & OTHERS or ("supervised" in names and row.quantity.startswith("message auc")):
            continue
        changed = row._replace(row="R04", kind=REPLACED) if "supervised" in names else row
        yield changed._replace(tolerance=ROUNDED if row.kind == EXACT else row.tolerance)


def _bench(found: Json) -> Iterator[Row]:
    tables = found["tables"]
    steps = {each["partition"]: 1 / each["n_queries"] for each in tables["partitions"]} | {"all": 0.0}

    def step(each: Json) -> float:
        return steps[each["partition"]] if each["metric"].startswith("hit_rate") else 0.0

    counts = {"partitions": tables["partitions"]}
    yield from from_tables(counts, keys=("partition",), row="R01")
    for table, suffix in (("scores", ""), ("judged_only", " judged only")):
        for each in tables[table]:
            metric, system = each["metric"] + suffix, each["system"]
            if each["metric"] == "average" or (system == "chance" and metric == "judged@10"):
                continue
            first = "R08" if suffix else ROWS.get(system, "R01")
            keys = {"system": system, "partition": each["partition"]}
            yield Row(metric, keys, each["value"], first)
            if system != "chance" and metric != "judged@10":
                yield from interval(metric, keys, (each["low"], each["high"]), "R08" if suffix else "R15", step(each))
    for each in tables["tiers"]:
        if not each["system"].endswith("(published)"):
            keys, quantity = {"system": each["system"]}, f"tiers.{each['statistic']}"
            yield Row(quantity, keys, each["value"], "R02")
            if each["system"] != "chance":
                yield from interval(quantity, keys, (each["low"], each["high"]), "R15")
    for each in tables["message_auc"]:
        keys = {name: each[name] for name in ("system", "partition")}
        for name in ("value", "n_pairs"):
            yield Row(f"message auc {name}", keys, each[name], "R10")
    for each in ordered(tables["differences"]):
        keys = {name: each[name] for name in ("a", "b", "partition", "metric")}
        yield Row("difference", keys, each["difference"], "R15")
        yield from interval("difference", keys, (each["low"], each["high"]), "R15", 2 * step(each))
    for each in tables["orders"]:  # of the systems in two partitions
        keys = {"of": "+".join(sorted((each["a"], each["b"]))), "metric": each["metric"]}
        yield Row("tau", keys, each["value"], "R16")
    for each in tables.get("sparsity", ()):
        if each["system"] != "chance":
            keys = {name: each[name] for name in ("system", "metric", "fraction")}
            # Means over 100 random removals, with 4 standard errors of the difference of two means as tolerance.
            error = (2 / 100) ** 0.5 * (each["sd"] or 0)
            kind, tolerance = (RESAMPLED, max(4 * error, 0.05)) if each["fraction"] < 1 else (EXACT, None)
            yield Row("sparsity", keys, each["value"], "R17", kind, tolerance)


def correlate(found: Json, *_: Any) -> Iterator[Row]:
    """Reads `correlate`."""
    tables = found["tables"]
    columns = ("value", "n", "n_groups", "n_missing", "chance", "ceiling", "threshold")
    keys, other = ("metric", "aspect", "level", "coefficient"), {"chance": "S03", "ceiling": "S03"}
    rows = [{"threshold": None, **each} for each in tables.get("correlations", [])]
    for row, pairwise in (("S01", False), ("S04", True)):
        table = [each for each in rows if each["coefficient"].startswith("pairwise") == pairwise]
        name = {"value": "correlation"}
        yield from from_tables({"rows": table}, keys=keys, row=row, values=columns, rename=name, rows=other)
    missing, name = tables.get("missing", []), {"n": "missing"}
    yield from from_tables({"missing": missing}, keys=("rater", "aspect", "reason"), row="S11", rename=name)
    columns = ("value", "value_common", "chance", "chance_common", "ceiling", "n", "n_groups")
    yield from from_tables({"ndcg": tables.get("ndcg", [])}, keys=("metric", "protocol"), row="S09", values=columns)
    pairs = ordered(tables.get("differences", []))
    table = [{key: each[key] for key in each if key not in ("low", "high")} for each in pairs]
    pair = ("a", "b", "aspect", "level", "coefficient")
    yield from from_tables({"tests": table}, keys=pair, row="S05", values=("difference",))


def agree(found: Json, *_: Any, row: str = "S12") -> Iterator[Row]:
    """Reads `agree` on all raters and on pairs."""
    table = [
        {"raters": "+".join(sorted([each["a"], each["b"]])) if each.get("a") else None, **each}
        for name in ("agreement", "pairs")
        for each in found["tables"][name]
    ]
    keys, columns = ("aspect", "coefficient", "raters"), ("value", "n", "n_items")
    yield from from_tables({"rows": table}, keys=keys, row=row, values=columns, rename={"value": "agreement"})


def rank(found: Json, *_: Any) -> Iterator[Row]:
    """Reads `rank`: the systems by verdicts or by ratings, and their differences."""
    tables = found["tables"]
    if "matrix" in tables:
        yield from _verdicts(tables)
    else:
        of, name, keys = {"systems": tables["systems"]}, {"value": "mean"}, ("rater", "aspect", "system")
        yield from from_tables(of, keys=keys, row="S17", values=("value", "n", "n_missing"), rename=name)
    pairs = {"tests": ordered(tables["differences"])}
    of_pair = ("a", "b", "aspect", *(() if "matrix" in tables else ("rater",)))
    yield from from_tables(pairs, keys=of_pair, row="S18", values=("difference",), ends_of="difference")
    columns = ("value", "low", "high", "people", "people_low", "people_high", "weight", "n", "n_all")
    name = {column: f"ppi {column}" for column in columns} | {"weight": "ppi power"}
    of = {"ppi": ordered(tables.get("predicted", []))}
    yield from from_tables(of, keys=("aspect", "a", "b"), row="S19", values=columns, rename=name)


def _verdicts(tables: Json) -> Iterator[Row]:
    by_aspect: dict[str, dict[str, Any]] = {}
    for each in tables["systems"]:
        by_aspect.setdefault(each["aspect"], {})[each["system"]] = each
    for quantity, systems in by_aspect.items():
        for system, each in systems.items():
            tolerance = 1e-6 if quantity == "strength" else None  # where the fit stops
            yield Row(quantity, {"system": system}, each["value"], "S13", EXACT, tolerance)
            yield from interval(quantity, {"system": system}, (each["low"], each["high"]), "S13")
    for system in by_aspect["strength"]:
        points = by_aspect["wins"][system]["value"] + by_aspect["ties"][system]["value"] / 2
        yield Row("points", {"system": system}, points, "S13")
    for each in tables["matrix"]:
        yield Row("wins of a over b", {"a": each["a"], "b": each["b"]}, each["wins_a"], "S13")
        yield Row("wins of a over b", {"a": each["b"], "b": each["a"]}, each["wins_b"], "S13")


def metrics(found: Json, place: Workplace, words: Sequence[str]) -> Iterator[Row]:
    """Reads `metrics`: means by system, and a digest of the values of each metric in order of replies."""
    for each in found["tables"]["systems"]:
        keys, row = {"metric": each["metric"], "system": each["system"]}, _metric_row(each["metric"])
        named = {"mean": each["value"], "n": each["n"], "n_missing": each["n_missing"]}
        tolerance = 1e-5 if row == "S22" else None  # models compute in 32 bits
        yield from (Row(name, keys, value, row, tolerance=tolerance) for name, value in named.items())
    values: dict[str, list[Any]] = {}
    for each in sorted(rows_of(place / _out(words)), key=lambda each: each["reply_id"]):
        values.setdefault(each["rater"], []).extend([each["reply_id"], each["value"]])
    for metric, those in values.items():
        if (row := _metric_row(metric)) != "S22":
            yield Row("digest of values", {"metric": metric}, digest(those), row)


def _metric_row(metric: str) -> str:
    return next((row for start, row in METRICS.items() if metric.startswith(start)), "S21")


def _out(words: Sequence[str]) -> str:
    return words[words.index("--out") + 1]


def audit(found: Json, *_: Any) -> Iterator[Row]:
    """Reads `judge audit`, without ends: the record has those of four other kinds of intervals."""
    keys, columns = ("check", "rater", "aspect", "failure"), ("value", "n", "n_missing", "baseline")
    table = [{key: each[key] for key in (*keys, *columns)} for each in found["tables"]["checks"]]
    yield from from_tables({"rows": table}, keys=keys, row="J12", values=columns, rename={"value": "audit"})


def reproduce(found: Json, *_: Any) -> Iterator[Row]:
    """Reads `reproduce`: every printed and recomputed value, and its status."""
    keys, columns = ("paper", "table", "row", "column"), ("published", "recomputed", "status")
    # Issue 30: values of this new status had another one; tests/upstream/test_reproduce.py computes and counts them.
    of = [{k: v for k, v in each.items() if v != "equals_results_file"} for each in found["tables"]["values"]]
    yield from from_tables({"values": of}, keys=keys, row="K01", values=columns)


def rate(found: Json, *_: Any) -> Iterator[Row]:
    """Reads the ratings of `judge rate`."""
    rows = [{**each, "low": None} for each in found["tables"]["ratings"]]
    yield from from_tables({"rows": rows}, keys=("reply_id", "aspect"), row="J02", values=("value",))


def compare(found: Json, *_: Any) -> Iterator[Row]:
    """Reads `judge compare`; reasons of missing values depend on the grammar of answers."""
    columns, keys = ("verdict", "score_a", "score_b"), ("reply_a", "reply_b")
    of = {"rows": found["tables"]["comparisons"]}
    yield from from_tables(of, keys=keys, row="J07", values=columns)


def calibrate(_: Json, place: Workplace, words: Sequence[str]) -> Iterator[Row]:
    """Reads the steps that `judge calibrate` writes."""
    found = yaml.safe_load((place / _out(words)).read_text(encoding="utf-8"))
    yield Row("steps", {}, digest(found["steps"]), "J11")
    table = [{"of": name, **found[name]} for name in ("selection", "report", "baseline", "gain")]
    yield from from_tables({"scores": table}, keys=("of",), row="J11", values=("value", "n"))
    yield from from_tables(
        {"parts": [{"of": of, **part} for of, part in found["parts"].items()]}, keys=("of",), row="J11"
    )


def generate(_: Json, place: Workplace, words: Sequence[str]) -> Iterator[Row]:
    """Reads the replies that `generate` writes: a digest of their texts in order of messages."""
    found = sorted([each["item_id"], each["system"], each["text"]] for each in rows_of(place / _out(words)))
    yield Row("replies", {}, len(found), "G01")
    yield Row("digest of texts", {}, digest(found), "G05" if "reference" in words else "G01")


def build(_: Json, place: Workplace, words: Sequence[str]) -> Iterator[Row]:
    """Reads the dataset folder that `build` or `hydrate` writes."""
    row = (
        "D04"
        if "--tier-rule" in words
        else "D17"
        if {"--labels-only", "hydrate"} & {*words}
        else KINDS.get(words[1], "D08")
    )
    yield from dataset(place / _out(words), row)


def listed(found: Json, *_: Any) -> Iterator[Row]:
    """Reads `list`: numbers of rows."""
    for each in found["tables"]["splits"]:
        keys = {"dataset": each["name"], "config": each["config"], "split": each["split"]}
        yield Row("rows", keys, each["rows"], "D20")


def nothing(*_: Any) -> Iterator[Row]:
    """Reads nothing: the messages to the model are recorded alone."""
    return iter(())


READERS: dict[str, Reader] = {
    "agree": agree, "bench": bench, "build": build, "correlate": correlate, "generate": generate, "hydrate": build,
    "judge audit": audit, "judge calibrate": calibrate, "judge compare": compare, "judge rate": rate,
    "judge rubric": nothing, "list": listed, "metrics": metrics,
    "rank": rank, "reproduce": reproduce,
}  # fmt: skip
