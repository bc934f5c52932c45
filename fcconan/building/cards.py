"""Dataset cards: statistics, text and metadata."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import jinja2

from fcconan.building.recipes import Recipe
from fcconan.building.tables import Built, Table, group_values
from fcconan.building.tiers import TIER_RULES
from fcconan.data import (
    CARD,
    DTYPES,
    LIST_TYPES,
    RESTRICTED_TYPES,
    content_folder,
    describe_column,
    describe_config,
    recipe_names,
)

# The config that `load_dataset` loads without a name: the first of these that a dataset has, else its first one.
DEFAULTS = ("gold", "silver", "bronze", "comparisons", "ratings", "replies", "pairs")
SIZES = ((1_000, "n<1K"), (10_000, "1K<n<10K"), (100_000, "10K<n<100K"), (1_000_000, "100K<n<1M"))
CARD_TAGS = ("counter-narratives", "counterspeech", "hate-speech", "fcconan")
FURTHER_CARD_TAGS = ("synthetic", "labels-only")
CITATION = re.compile(r"```bibtex\n(.*?)\n```", re.DOTALL)
HOMEPAGE = re.compile(r"^Homepage: <([^>]+)>", re.MULTILINE)


def statistics(built: Built) -> dict[str, list[dict[str, Any]]]:
    """Returns statistics of tables of pairs (as in Table 2 of the pairwise-ranking paper), of replies and of ratings.

    CNs per HS is the number of pairs divided by the number of different HS. Words are separated by white space; their
    number is the mean over the pairs. Texts are compared after normalisation.
    """
    found: dict[str, list[dict[str, Any]]] = {"pairs": [], "replies": [], "missing_ratings": []}
    for table in filter(len, built.tables):
        part, data = {"config": table.config, "split": table.split}, table.data
        distinct = {name: len({*data[name]}) for name in ("hs_id", "cn_id", "item_id", "system") if name in data}
        if "counter_narrative" in data:
            counts = Counter(data["valid"])
            statistic = {
                "pairs": len(table),
                "appropriate": data["label"].count("appropriate"),
                "confirmed": counts[True],
                "not_confirmed": counts[False],
                "not_seen": counts[None],
                "hate_speech": distinct["hs_id"],
                "counter_narratives": distinct["cn_id"],
                "cns_per_hs": round(len(table) / distinct["hs_id"], 2),
                "words_per_cn": _mean_words(data["counter_narrative"]),
            }
            found["pairs"].append(part | statistic)
        if {"reply_id", "system"} <= data.keys():
            names = {"replies": len(table), "systems": distinct["system"], "items": distinct["item_id"]}
            words = {"hate_speech": distinct["hs_id"], "words_per_reply": _mean_words(data["text"])}
            found["replies"].append(part | names | words)
        if table.config == "ratings":
            missing = sorted(Counter(filter(None, data["reason"])).items())
            found["missing_ratings"] += [part | {"reason": reason, "ratings": count} for reason, count in missing]
    return found


def _mean_words(texts: Sequence[str | None]) -> float | None:
    counts = [len(text.split()) for text in texts if text is not None]
    return round(sum(counts) / len(counts), 2) if counts else None


def restricted_columns(tables: Sequence[Table]) -> dict[str, list[str]]:
    """Returns the text columns of each config with text columns."""
    found = {table.config: [n for n, kind in table.columns.items() if kind in RESTRICTED_TYPES] for table in tables}
    return {config: names for config, names in found.items() if names}


def read_card(folder: Path) -> dict[str, Any]:
    """Returns the YAML block of the card of a release, with its `title`, `summary`, `homepage` and `citation`."""
    from huggingface_hub import DatasetCard

    card = DatasetCard((folder / CARD).read_text(encoding="utf-8"))
    title, *top = [" ".join(part.split()) for part in card.text.partition("\n## ")[0].split("\n\n") if part.strip()]
    citation, homepage = CITATION.search(card.text), HOMEPAGE.search(card.text)
    metadata: dict[str, Any] = card.data.to_dict()
    return metadata | {
        "title": title.removeprefix("# "),
        "summary": " ".join(part.replace("**", "") for part in top if not part.startswith("> ")),
        "homepage": homepage and homepage[1],
        "citation": citation and citation[1],
    }


def render_card(recipe: Recipe, built: Built, manifest: Mapping[str, Any]) -> str:
    """Returns the text of README.md.

    Args:
        recipe: The recipe.
        built: The tables of the folder.
        manifest: The manifest of the folder.
    """
    environment = jinja2.Environment(undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    by_config = group_values((table.config, table) for table in built.tables)
    default = next((by_config[name] for name in DEFAULTS if name in by_config), built.tables)[0]
    template = (content_folder() / "dataset_card.md").read_text(encoding="utf-8")
    body = environment.from_string(template).render(
        recipe=recipe,
        card=recipe.card,
        **vars(built),
        **{name: manifest[name] for name in ("statistics", "labels_only", "tier_rule", "left_out")},
        package=manifest["package"]["version"],
        version=f"{manifest['package']['version']}+{manifest['fingerprint']}",
        own_recipe=recipe.name not in recipe_names(),
        columns=_columns_in_markdown(by_config),
        meaning=describe_config,
        tier_rules={name: rule.meaning for name, rule in TIER_RULES.items()},
        restricted=manifest["restricted_columns"],
        example=default,
    )
    metadata = _metadata(recipe, by_config, {**{name: name for name in by_config}, **built.aliases}, manifest, default)
    return f"---\n{metadata}\n---\n\n{body.strip()}\n"


def _metadata(
    recipe: Recipe,
    by_config: Mapping[str, Sequence[Table]],
    served: Mapping[str, str],
    manifest: Mapping[str, Any],
    default: Table,
) -> str:
    """Returns the YAML block of the card; `served` is the config of each name."""
    from huggingface_hub import DatasetCardData

    rows = max(len(table) for tables in by_config.values() for table in tables)
    sizes = {(table.config, table.split): table.arrow().nbytes for tables in by_config.values() for table in tables}
    marks = [tag for tag in FURTHER_CARD_TAGS if manifest[tag.replace("-", "_")]]
    data = DatasetCardData(
        pretty_name=" ".join([recipe.title, *(f"({tag.replace('-', ' ')})" for tag in marks)]),
        language=recipe.languages,
        license=recipe.card_licence,
        task_categories=recipe.task_categories,
        annotations_creators=recipe.annotations_creators,
        language_creators=recipe.language_creators,
        multilinguality=["multilingual" if len(recipe.languages) > 1 else "monolingual"],
        size_categories=[next((name for limit, name in SIZES if rows < limit), "1M<n<10M")],
        tags=[*CARD_TAGS, *marks],
        configs=[
            {
                "config_name": name,
                "data_files": [
                    {"split": each.split, "path": f"{config}/{each.split}-*.parquet"} for each in by_config[config]
                ],
                "version": manifest["versions"][name],
            }
            | ({"default": True} if name == default.config else {})
            for name, config in served.items()
        ],
        dataset_info=[
            {
                "config_name": name,
                "features": [
                    {"name": column, ("list" if kind in LIST_TYPES else "dtype"): DTYPES[kind]}
                    for column, kind in by_config[config][0].columns.items()
                ],
                "splits": [
                    {"name": each.split, "num_bytes": sizes[config, each.split], "num_examples": len(each)}
                    for each in by_config[config]
                ],
            }
            for name, config in served.items()
        ],
    )
    return str(data.to_yaml())


def type_name(kind: str) -> str:
    """Returns the type of a column as cards show it, such as `string` or `list of strings`."""
    name = "text" if kind in RESTRICTED_TYPES else DTYPES[kind]
    return f"list of {name}s" if kind in LIST_TYPES else name


def table_lines(rows: Sequence[tuple[str, str, str]]) -> list[str]:
    """Returns the lines of a Markdown table of columns, given name, type and meaning of each."""
    return ["| column | type | meaning |", "|---|---|---|", *(f"| `{a}` | {b} | {c} |" for a, b, c in rows)]


def _columns_in_markdown(by_config: Mapping[str, Sequence[Table]]) -> str:
    """Returns a table of columns for each group of configs with the same columns; columns without a value say so."""
    described: dict[tuple[tuple[str, str, str], ...], list[str]] = {}
    for config, parts in by_config.items():
        rows = []
        for name, kind in parts[0].columns.items():
            meaning = describe_column(config, name) or "further column of the source file"
            if all(value is None or value == [] for part in parts for value in part.data[name]):
                meaning = f"empty in this config ({meaning.partition(';')[0].partition(':')[0]})"
            rows.append((name, type_name(kind), meaning))
        described.setdefault(tuple(rows), []).append(config)
    return "\n\n".join(
        "\n".join([f"{', '.join(f'`{config}`' for config in configs)}:", "", *table_lines(rows)])
        for rows, configs in described.items()
    )
