"""The report as one HTML page that loads nothing: tables, plots, and every HS with what every system ranked for it."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fcconan.report.plots import Plots
from fcconan.report.tables import all_tables, metric_title, ranked_systems

HERE = Path(__file__).parent


def render_page(result: Mapping[str, Any], details: Mapping[str, Any], plots: Plots, *, texts: bool = True) -> str:
    """Renders the page.

    Args:
        result: The benchmark's result.
        details: Its details.
        plots: Name to title and SVG.
        texts: Whether the page holds the texts of HS and CNs.
    """
    from jinja2 import Environment, FileSystemLoader, StrictUndefined
    from markupsafe import Markup

    environment = Environment(
        loader=FileSystemLoader(HERE), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    settings = {key: value for key, value in result["settings"].items() if key != "metrics"}
    systems = [
        (
            name,
            {
                "configuration": _pretty(result["systems"][name]["configuration"]),
                "resolved": _pretty(result["systems"][name]["resolved"]),
                "diagnostics": _pretty(result["systems"][name]["diagnostics"]),
                "failures": _pretty(result["systems"][name]["failures"]),
            },
        )
        for name in ranked_systems(result)
    ]
    return environment.get_template("page.html.jinja").render(
        result=result,
        settings=settings,
        tables=all_tables(result),
        plots=[(name, title, Markup(_unique_ids(svg, name))) for name, (title, svg) in plots.items()],
        systems=systems,
        texts=texts,
        data=Markup(_script_json(_drill_down(result, details, texts))),
        script=Markup((HERE / "page.js").read_text(encoding="utf-8")),
        style=Markup((HERE / "page.css").read_text(encoding="utf-8")),
    )


def _pretty(data: Any) -> str:
    return json.dumps(data, indent=2, ensure_ascii=False, default=str) if data else ""


def _unique_ids(svg: str, name: str) -> str:
    """Keeps ids of several plots on one page apart."""
    for before in ('id="', 'href="#', "url(#"):
        svg = svg.replace(before, f"{before}{name}-")
    return svg


def _drill_down(result: Mapping[str, Any], details: Mapping[str, Any], texts: bool) -> dict[str, Any]:
    shown = {key for run in details["runs"].values() for keys in run.values() for key in keys}
    systems = ranked_systems(result)
    return {
        "systems": systems,
        "partitions": list(result["partitions"]),
        "metrics": [[metric, metric_title(metric)] for metric in result["settings"]["metrics"]],
        "queries": {key: text if texts else "" for key, text in details["queries"].items()},
        "corpus": {key: text if texts else "" for key, text in details["corpus"].items() if key in shown},
        "labels": {
            name: {query: {key: value for key, value in row.items() if key in shown} for query, row in labels.items()}
            for name, labels in details["labels"].items()
        },
        "runs": {name: details["runs"][name] for name in systems},
        "values": {name: details["per_query"][name] for name in systems},
    }


def _script_json(data: Any) -> str:
    """Returns JSON that cannot end the script element that it stands in."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    for letter, escaped in (
        ("<", "\\u003c"),
        (">", "\\u003e"),
        ("&", "\\u0026"),
        ("\u2028", "\\u2028"),
        ("\u2029", "\\u2029"),
    ):
        text = text.replace(letter, escaped)
    return text
