"""Write docs/leaderboard.md from committed results and from submitted files: `make leaderboard`.

Results are those of `real_models.py` and `raters.py` in `benchmarks/results`. Submissions are scored here:

    benchmarks/submissions/PROTOCOL/NAME.run      TREC run of FC-CONAN's 45 HS; paper, sound or cross-validated
    benchmarks/submissions/judges/NAME.csv        reply_id, value: a rating of each reply of cn-ranking's 244 pairs
    benchmarks/submissions/generators/NAME.csv    item_id, value: learned:cseval's ratings of replies to the 20 messages
"""

import json
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pandas as pd
from tables import mean_with_interval, to_markdown

import fcconan

ROOT = Path(__file__).parents[1]
RESULTS, SUBMISSIONS = ROOT / "benchmarks" / "results", ROOT / "benchmarks" / "submissions"
REAL, RATERS = "python benchmarks/real_models.py .venv-models", "python benchmarks/raters.py --mpnet FOLDER"
PROTOCOLS = ("paper", "sound", "cross-validated")
# Table of `bench` -> end of its name in the results.
ENDS = {"systems": "", "tiers": "", "judged_only": "_judged", "message_auc": "_message_auc"}
Frame = pd.DataFrame
Tables = Mapping[str, Frame]


def submitted(kind: str, ending: str) -> list[Path]:
    """Returns the submitted files of a kind."""
    return sorted((SUBMISSIONS / kind).glob(f"*{ending}"))


def command(path: Path) -> str:
    """Returns the command of a submitted row, with its file."""
    return f"`make leaderboard`: `{path.relative_to(SUBMISSIONS)}`"


def wide(table: Frame, columns: str, values: str = "value") -> Frame:
    """Returns one row for each system."""
    return table.pivot(index="system", columns=columns, values=values)


def systems_of(protocol: str, tables: Tables) -> Frame:
    """Returns the scores of retrieval systems, one row each."""
    if protocol == "paper":
        return tables["tiers"].set_index("system")
    found = tables["systems"].set_index("system")
    judged = tables["judged_only"]
    judged = wide(judged[judged["metric"] == "ndcg@10"], "partition")
    found = found.join(judged[["silver", "bronze"]].add_prefix("judged only, "))
    if protocol == "cross-validated":
        auc = tables["message_auc"]
        if "baseline" in auc:  # other rows are differences from it
            auc = auc[auc["baseline"] == "–"]
        found = found.join(wide(auc, "partition")[["silver", "bronze"]].add_prefix("message AUC, "))
    return found


def retrieval(protocol: str, known: Tables, folder: Path) -> Frame:
    """Returns the table of a protocol, with the command of each row."""
    rows = systems_of(protocol, known)
    shipped = {"tfidf", "bm25", "sbert-minilm", "supervised"}
    rows["command"] = [
        f"`fcconan bench FOLDER --protocol {protocol} --system {name}`" if name in shipped else f"`{REAL}`"
        for name in rows.index
    ]
    rows.loc[rows.index.isin(["chance", "popularity"]), "command"] = "reference of `fcconan bench`"
    rows.loc[rows.index.str.contains("published"), "command"] = "printed in the paper"
    if files := submitted(protocol, ".run"):
        metric = () if protocol == "paper" else ("ndcg@10",)
        result = fcconan.bench(folder, run=tuple(files), protocol=protocol, metric=metric)  # type: ignore[arg-type]
        tables = {name: result.shown(name) for name in ("systems", "judged_only", "message_auc", "tiers")}
        own = systems_of(protocol, tables).reindex([path.stem for path in files])
        rows = pd.concat([rows, own.assign(command=[*map(command, files)])])
    rows = rows.sort_values("avg" if protocol == "paper" else "silver", ascending=False)
    return rows.rename_axis("system").reset_index()


def interval(values: pd.Series, items: pd.Series) -> str:
    """Returns a mean with its interval over items."""
    value, low, high = mean_with_interval(values, items)
    return f"{value:.3f} [{low:.3f}, {high:.3f}]"


def judge_rows(ranking: Path) -> Iterator[dict[str, str]]:
    """Yields the agreement of submitted judges with people; a tie or a missing rating counts one half."""
    files = submitted("judges", ".csv")
    pairs = pd.read_parquet(next((ranking / "comparisons").glob("human_majority-*.parquet"))) if files else Frame()
    for path in files:
        decided = pairs[(pairs["rater"] == "majority") & pairs["verdict"].isin(["a", "b"])]
        values = pd.read_csv(path).set_index("reply_id")["value"]
        better = np.sign(decided["reply_a"].map(values) - decided["reply_b"].map(values)).fillna(0)
        agreed = (1 + better * decided["verdict"].map({"a": 1, "b": -1})) / 2
        yield {
            "judge": path.stem,
            "pairs of cn-ranking": interval(agreed, decided["item_id"]),
            "command": command(path),
        }


def judges(known: dict[str, list[dict[str, str]]], ranking: Path) -> Frame:
    """Returns the table of judges: agreement with people on cn-ranking, and correlation with them on CSEval."""
    aspects = ("relevance", "coherence", "aggressiveness", "suitableness")
    ranked, inside = ({row["rater"]: row for row in known[name]} for name in ("cn-ranking", "cseval"))
    names = [*ranked, *(name for name in inside if name.endswith("as released"))]
    nothing = dict.fromkeys(("all 244", "over messages", "over messages and systems"), "–")
    rows = [
        {
            "judge": name,
            "pairs of cn-ranking": f"{row['all 244']} {row['over messages']}".removesuffix(" –"),
            "over messages and systems": row["over messages and systems"],
            **{f"CSEval, {each}": inside.get(name, {}).get(each, "–") for each in aspects},
            "command": f"`{RATERS}`",
        }
        for name in names
        for row in [ranked.get(name, nothing)]
    ]
    return Frame([*rows, *judge_rows(ranking)]).sort_values(
        "pairs of cn-ranking", ascending=False, key=lambda cells: cells.str.extract(r"([\d.]+)")[0].astype(float)
    )


def generators(tournament: Frame) -> Frame:
    """Returns the table of generators: mean suitableness by each rater."""
    rows = wide(tournament, "rater", "suitableness").assign(command=f"`{REAL}`")
    learned = next(name for name in rows if name.startswith("learned:"))
    for path in submitted("generators", ".csv"):
        rated = pd.read_csv(path)
        rows.loc[path.stem, [learned, "command"]] = [interval(rated["value"], rated["item_id"]), command(path)]
    return rows.sort_values(learned, ascending=False).rename_axis("generator").reset_index()


def main(out: Path) -> None:
    """Writes the page."""
    real = {
        name: Frame(rows) for name, rows in json.loads((RESULTS / "real-models.json").read_text())["tables"].items()
    }
    parts: dict[str, Any] = {}
    with TemporaryDirectory() as folder:
        data = {name: Path(folder) / name for name in ("fc-conan", "cn-ranking")}
        if any(SUBMISSIONS.rglob("*.run")):
            fcconan.build("fc-conan", out=data["fc-conan"])
        if submitted("judges", ".csv"):
            fcconan.build("cn-ranking", out=data["cn-ranking"])
        for protocol in PROTOCOLS:
            known = {name: f"retrieval_{protocol}{end}" for name, end in ENDS.items()}
            tables = {name: real[each] for name, each in known.items() if each in real}
            if protocol == "paper" and "reranking" in real:
                tables["tiers"] = pd.concat([tables["tiers"], real["reranking"]])
            parts[protocol.upper()] = retrieval(protocol, tables, data["fc-conan"])
        parts["JUDGES"] = judges(json.loads((RESULTS / "raters.json").read_text()), data["cn-ranking"])
    parts["GENERATORS"] = generators(real["tournament"])
    page = Path(__file__).with_suffix(".md.template").read_text(encoding="utf-8")
    for name, table in parts.items():
        page = page.replace(f"@{name}@", to_markdown(table))
    out.write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "docs" / "leaderboard.md")
