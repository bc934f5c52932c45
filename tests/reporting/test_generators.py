"""The page of a suite of generators."""

import json
from pathlib import Path
from typing import Any

import pytest

from fcconan.data.files import RowWriter
from fcconan.errors import InputError
from fcconan.generation.items import GENERATED
from fcconan.reporting.generators import (
    collect_signatures,
    headline_tables,
    read_results,
    sections_of,
    write_generator_report,
)
from fcconan.reporting.safety import safety_report
from fcconan.scoring.tournament.ranking import rank_systems

ABOUT = {
    "version": "1.2.3",
    "suite": {"name": "invented", "dataset": "messages", "systems": {"a": {"title": "The <first>"}, "b": {}}},
    "dataset": {"name": "messages", "content": "0123", "synthetic": False, "redistributable": False},
    "problems": {"replies/b": "no weights"},
    "missing": {"replies": 1, "ratings": 0},
}


def _row(system: str, text: str | None, **more: Any) -> dict[str, Any]:
    given = {
        "item_id": "it-1",
        "hate_speech": "The Ombrey </main> never return a book.",
        "system": system,
        "text": text,
    }
    return {**dict.fromkeys(GENERATED), **given, **more}


ROWS = [
    _row("a", "They <script>do</script>.", model="m", seed=0, strategy="zero-shot", flags=["insult"]),
    _row("b", None, reason="system_failed"),
]


def test_systems_say_how_they_answered_and_why_not() -> None:
    results = {
        "replies": {
            "a": {
                "configuration": {"examples": {"k": 3, "encoder": "minilm"}, "background": None},
                "answers": {"first": "2026-01-01", "last": "2026-01-02"},
                "notes": ["Look twice."],
            }
        },
        "ratings": {},
        "comparisons": {},
    }
    (section,) = sections_of(ABOUT, results, ROWS)
    assert list(section.notes) == ["replies/b failed: no weights", "Without a value: replies 1.", "a: Look twice."]
    made, counts = section.own_tables()
    shown = dict(zip(made.columns, made.rows[0], strict=True))
    assert (shown["model"], shown["seed"], shown["shown"]) == ("m", "0", "3 examples by minilm")
    # What is known of no system has no column.
    assert list(made.columns) == ["system", "title", "strategy", "model", "seed", "shown", "answers of"]
    assert shown["answers of"] == "2026-01-01 to 2026-01-02"
    assert counts.rows == [["a", "1", "0", "–", "2.0"], ["b", "0", "1", "system_failed 1", "–"]]


def test_texts_are_closed_behind_a_warning_and_are_no_markup(tmp_path: Path) -> None:
    replies, page = tmp_path / "replies.parquet", tmp_path / "report.html"
    with RowWriter(replies, GENERATED) as writer:
        writer.write(ROWS)
    write_generator_report(page, ABOUT, {"ratings": {}, "comparisons": {}}, replies)
    text = page.read_text(encoding="utf-8")
    figures, warning, texts = text.partition("The messages are hate speech")
    assert warning and "Ombrey" not in figures and 'id="show-texts"' in texts
    said = "The Ombrey \\u003c/main\\u003e never return a book."
    assert said in texts[texts.index('<script type="application/json" class="rows">') :]
    assert "They \\u003cscript\\u003edo\\u003c/script\\u003e." in texts and "(system_failed)" in texts
    assert (text.count("</main>"), text.count("<script>"), text.count("</script>")) == (1, 1, 2)
    assert "The &lt;first&gt;" in figures


def test_results_are_what_is_there(tmp_path: Path) -> None:
    assert read_results(tmp_path) == {"replies": {}, "ratings": {}, "comparisons": {}}
    (tmp_path / "ratings").mkdir()
    for place in (10, 9):
        (tmp_path / "ratings" / f"{place}.json").write_text(json.dumps({"rows": [place]}))
    (tmp_path / "audit.json").write_text('{"signature": "s", "rows": []}')
    found = read_results(tmp_path)
    assert list(found["ratings"].items()) == [("9", {"rows": [9]}), ("10", {"rows": [10]})]
    assert (collect_signatures(found), headline_tables(tmp_path)) == (["s"], [])
    (tmp_path / "rank.json").write_text("{")
    with pytest.raises(InputError, match=r"rank\.json cannot be read"):
        read_results(tmp_path)


def _metric(system: str, value: float) -> dict[str, Any]:
    return {
        "system": system,
        "metric": "length-words",
        "value": value,
        "reason": None,
        "missing": {},
        "higher_is_better": None,
    }


def test_systems_stand_in_the_order_of_the_suite_and_empty_columns_are_left_out() -> None:
    about = {**ABOUT, "suite": {**ABOUT["suite"], "systems": {"b": {}, "a": {}}}}  # type: ignore[dict-item]
    rows = [_row("b", "They return every book."), _row("a", "They <do>.", flags=["insult"])]
    results = {
        "safety": safety_report(rows),
        "metrics": {"notes": [], "rows": [_metric("a", 2.0), _metric("b", 4.0)]},
        "ratings": {},
        "comparisons": {},
    }
    metrics, safety, _ = sections_of(about, results, rows)
    (flags,), (values,) = safety.own_tables(), metrics.own_tables()
    assert list(flags.columns) == ["system", "replies", "no text", "any flag", "insults"]
    assert safety.notes[-1] == (
        "No reply has one of the flags: refuses, repeats the HS, other language, prompt leak, role play, empty, "
        "truncated."
    )
    assert [row[0] for row in flags.rows] == ["b", "a"]
    assert values.rows == [["b", "4.0000"], ["a", "2.0000"]]


def test_a_terminal_is_shown_the_metrics_and_who_rated(tmp_path: Path) -> None:
    rows = [_metric("a", 2.0), _metric("b", 4.0)]
    (tmp_path / "suite.json").write_text(json.dumps({"suite": {"systems": {"b": {}, "a": {}}}}))
    (tmp_path / "metrics.json").write_text(json.dumps({"rows": rows}))
    rated = {
        "rater": "lexical-baseline",
        "rater_kind": "metric",
        "aspect": "relevance",
        "system": "a",
        "value": 1.5,
        "low": None,
        "high": None,
        "n": 1,
        "n_missing": 0,
        "scale": [1, 5],
        "higher_is_better": True,
    }
    (tmp_path / "leaderboard.json").write_text(json.dumps({"rows": [rated]}))
    metrics, ratings = headline_tables(tmp_path)
    assert metrics == (
        "Metrics: values of all replies of a system",
        ["system", "length-words"],
        [["b", "4.0000"], ["a", "2.0000"]],
    )
    assert ratings.title == "Mean ratings by lexical-baseline"
    assert ratings.rows[0][:2] == ["a", "1.500"]


def test_a_system_without_any_text_is_named_where_pairs_never_met() -> None:
    verdict = {"item_id": "it-1", "rater": "j", "corpus": None}
    comparisons = [
        {**verdict, "system_a": "a", "system_b": "c", "verdict": "a"},
        {**verdict, "system_a": "a", "system_b": "b", "verdict": "invalid"},
    ]
    results = {"rank": rank_systems(comparisons), "ratings": {}, "comparisons": {}}
    notes = sections_of(ABOUT, results, ROWS)[0].notes
    assert notes[-1] == "Systems without any reply, which are not compared: b."
    spoken = [ROWS[0], {**ROWS[1], "text": "They return every book."}]
    assert not any("never compared" in note for note in sections_of(ABOUT, results, spoken)[0].notes)
