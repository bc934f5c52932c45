"""The report as one HTML page that loads nothing: tables, plots, and every HS with what every system ranked for it."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fcconan.report.plots import Plots
from fcconan.report.tables import all_tables, metric_title, ranked_systems

HERE = Path(__file__).parent
SHOWN = ("configuration", "resolved", "diagnostics", "failures")
# JSON writes these as well, and none of them can then end the script element or a line of it.
ESCAPED = {ord(letter): f"\\u{ord(letter):04x}" for letter in "<>&\u2028\u2029"}


def render_page(
    result: Mapping[str, Any],
    details: Mapping[str, Any],
    plots: Plots,
    *,
    texts: bool = True,
    further: str | None = None,
) -> str:
    """Renders the page. It has no address to load from, and its policy forbids it to load anything.

    Args:
        result: The benchmark's result.
        details: Its details.
        plots: Name to title and SVG.
        texts: Whether the page holds the texts of HS and CNs.
        further: A page beside it that it leads to.
    """
    from jinja2 import Environment, FileSystemLoader, StrictUndefined
    from markupsafe import Markup

    environment = Environment(
        loader=FileSystemLoader(HERE), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    settings = dict(result["settings"])
    systems = []
    for name in ranked_systems(result):
        system = result["systems"][name]
        systems.append((name, system.get("title", ""), {part: _pretty(system.get(part)) for part in SHOWN}))
    return environment.get_template("page.html.jinja").render(
        result=result,
        settings={"population": "", **settings},
        settings_text=_pretty(settings),
        tables=all_tables(result),
        plots=[(name, title, Markup(svg)) for name, (title, svg) in plots.items()],
        systems=systems,
        texts=texts,
        further=further,
        data=Markup(script_json(_drill_down(result, details, texts))),
        script=Markup("".join((HERE / name).read_text(encoding="utf-8") for name in ("tables.js", "page.js"))),
        style=Markup((HERE / "page.css").read_text(encoding="utf-8")),
    )


def script_json(data: Any) -> str:
    """Returns JSON that cannot end the script element that it stands in."""
    return json.dumps(data, ensure_ascii=False, separators=(",", ":")).translate(ESCAPED)


def _pretty(data: Any) -> str:
    return json.dumps(data, indent=2, ensure_ascii=False, default=str) if data else ""


def _drill_down(result: Mapping[str, Any], details: Mapping[str, Any], texts: bool) -> dict[str, Any]:
    systems = ranked_systems(result)
    shown = {key for name in systems for keys in details["runs"][name].values() for key in keys}
    return {
        "systems": systems,
        "partitions": list(result["partitions"]),
        "metrics": [[metric, metric_title(metric)] for metric in result["settings"]["metrics"]],
        "queries": {key: text if texts else "" for key, text in details["queries"].items()},
        "corpus": {key: text for key, text in details["corpus"].items() if texts and key in shown},
        "labels": {
            name: {query: {key: value for key, value in row.items() if key in shown} for query, row in labels.items()}
            for name, labels in details["labels"].items()
        },
        "runs": {name: details["runs"][name] for name in systems},
        "values": {name: details["per_query"][name] for name in systems},
        "seeded": [name for name in systems if result["systems"][name].get("spread")],
        "failures": {name: dict(result["systems"][name].get("failures") or {}) for name in systems},
    }
