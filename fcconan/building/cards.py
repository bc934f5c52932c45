"""Dataset cards: statistics, text and metadata."""

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

import jinja2
import yaml

from fcconan.building.card_columns import columns_in_markdown, default_table
from fcconan.building.recipes import LANGUAGES, LICENCES, AnnotationsCreator, LanguageCreator, Recipe, TaskCategory
from fcconan.building.tables import Built, Table, group_values
from fcconan.building.tiers import TIER_RULES
from fcconan.data import (
    CARD,
    DTYPES,
    LIST_TYPES,
    card_template_path,
    describe_config,
    package_address,
    read_text,
    recipe_names,
)
from fcconan.errors import InputError


def mean_words(texts: list[str | None]) -> float | None:
    """Returns the mean number of words of the texts, without missing ones, to two decimals; None without any text."""
    counts = [len(text.split()) for text in texts if text is not None]
    return round(sum(counts) / len(counts), 2) if counts else None


def pair_statistics(table: Table) -> dict[str, Any]:
    """Returns statistics of a table of pairs, as in Table 2 of the pairwise-ranking paper.

    Returns:
        Number of pairs, of different HS and of different CNs; CNs per HS (pairs divided by different HS); words per CN
        (separated by white space; mean over the pairs). Texts are compared after normalisation.
    """
    distinct_hs = len(set(table.data["hs_id"]))
    return {
        "config": table.config,
        "split": table.split,
        "pairs": len(table),
        "appropriate": table.data["label"].count("appropriate"),
        "hate_speech": distinct_hs,
        "counter_narratives": len(set(table.data["cn_id"])),
        "cns_per_hs": round(len(table) / distinct_hs, 2),
        "words_per_cn": mean_words(table.data["counter_narrative"]),
    }


def reply_statistics(table: Table) -> dict[str, Any]:
    """Returns statistics of a table of replies."""
    return {
        "config": table.config,
        "split": table.split,
        "replies": len(table),
        "systems": len(set(table.data["system"])),
        "items": len(set(table.data["item_id"])),
        "hate_speech": len(set(table.data["hs_id"])),
        "words_per_reply": mean_words(table.data["text"]),
    }


def statistics(built: Built) -> dict[str, list[dict[str, Any]]]:
    """Returns statistics of tables of pairs and replies, and the missing values by reason of tables of ratings."""
    filled = [table for table in built.tables if len(table)]
    return {
        "pairs": [pair_statistics(table) for table in filled if "counter_narrative" in table.columns],
        "replies": [reply_statistics(table) for table in filled if {"reply_id", "system"} <= table.columns.keys()],
        "missing_ratings": [
            {"config": table.config, "split": table.split, "reason": reason, "ratings": count}
            for table in filled
            if table.config == "ratings"
            for reason, count in sorted(Counter(filter(None, table.data["reason"])).items())
        ],
    }


_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # the C version is ten times as fast
_HEAD = re.compile(r"---\n(?P<metadata>.*?)\n---\n\s*(?P<body>.*)", re.DOTALL)
_CITATION = re.compile(r"```bibtex\n(.*?)\n```", re.DOTALL)
_HOMEPAGE = re.compile(r"^Homepage: <([^>]+)>", re.MULTILINE)


@dataclass(frozen=True)
class Card:
    """The parts of a card.

    Attributes:
        metadata: YAML block at the head.
        title: Title.
        summary: Text between the title and the content notice, as one line.
        homepage: Address of the page of the dataset, or None.
        citation: BibTeX entry, or None.
    """

    metadata: dict[str, Any]
    title: str
    summary: str
    homepage: str | None
    citation: str | None

    def one(self, name: str) -> str | None:
        """Returns the only value of a key of the YAML block; None for no or several values."""
        value = self.metadata.get(name)
        values = value if isinstance(value, list) else [value]
        return str(values[0]) if len(values) == 1 and values[0] is not None else None


def read_card(folder: Path) -> Card:
    """Reads the card of a release.

    Raises:
        InputError: The card is missing, or has no YAML block at its head.
    """
    path = folder / CARD
    text = read_text(path)
    try:
        metadata, body = _front_matter(text)
    except (ValueError, yaml.YAMLError) as error:
        raise InputError(f"{path} has no YAML block at its head: build the dataset again") from error
    top = [" ".join(part.split()) for part in body.partition("\n## ")[0].split("\n\n") if part.strip()]
    citation, homepage = _CITATION.search(text), _HOMEPAGE.search(text)
    return Card(
        metadata=metadata,
        title=top[0].removeprefix("# ") if top else "",
        summary=" ".join(part.replace("**", "") for part in top[1:] if not part.startswith("> ")),
        homepage=homepage[1] if homepage else None,
        citation=citation[1] if citation else None,
    )


def _front_matter(text: str) -> tuple[dict[str, Any], str]:
    """Returns the YAML block at the head of a card, and the text after it."""
    head = _HEAD.fullmatch(text)
    metadata = yaml.load(head["metadata"], _LOADER) if head else None  # a safe loader
    if head is None or not isinstance(metadata, dict):
        raise ValueError("no YAML block")
    return metadata, head["body"]


SIZES = ((1_000, "n<1K"), (10_000, "1K<n<10K"), (100_000, "10K<n<100K"), (1_000_000, "100K<n<1M"))
VOCABULARY: dict[str, tuple[str, ...]] = {
    "language": tuple(LANGUAGES),
    "license": tuple(LICENCES),
    "task_categories": get_args(TaskCategory),
    "annotations_creators": get_args(AnnotationsCreator),
    "language_creators": get_args(LanguageCreator),
    "multilinguality": ("monolingual", "multilingual"),
    "size_categories": (*(name for _, name in SIZES), "1M<n<10M"),
}
CARD_TAGS = ("counter-narratives", "counterspeech", "hate-speech", "fcconan")
FURTHER_CARD_TAGS = ("synthetic", "labels-only")
CARD_FIELDS = (*VOCABULARY, "pretty_name", "tags", "configs", "dataset_info")
LEFTOVERS = re.compile(
    r"object at 0x|\{\{|\}\}|\{%|%\}|\{#|More Information Needed|TODO|FIXME|XXX|<!--|lorem ipsum", re.IGNORECASE
)

BIBTEX = re.compile(r"```bibtex\n.*?```", re.DOTALL)


def render_card(recipe: Recipe, built: Built, manifest: Mapping[str, Any]) -> str:
    """Returns the text of README.md.

    Args:
        recipe: The recipe.
        built: The tables of the folder.
        manifest: The manifest of the folder.

    Raises:
        InputError: The card has values that the Hub rejects, or template leftovers.
    """
    return card_text(
        card_template_path().read_text(encoding="utf-8"),
        card_metadata(recipe, built, manifest["versions"], labels_only=manifest["labels_only"]),
        recipe=recipe,
        card=recipe.card,
        **vars(built),
        **{name: manifest[name] for name in ("statistics", "labels_only", "tier_rule", "left_out")},
        version=f"{manifest['package']['version']}+{manifest['fingerprint']}",
        own_recipe=recipe.name not in recipe_names(),
        homepage=_homepage(recipe),
        columns=columns_in_markdown(built.tables),
        meaning=describe_config,
        tier_rules={name: rule.meaning for name, rule in TIER_RULES.items()},
        restricted=manifest["restricted_columns"],
        example=default_table(built.tables),
    )


def _homepage(recipe: Recipe) -> str | None:
    """Returns the address of the page of a dataset, if there is one; the demo is part of the package."""
    homepage = package_address("Homepage") if recipe.kind == "demo" and recipe.homepage is None else recipe.homepage
    return homepage if homepage is not None and "://" in homepage else None


def card_text(template: str, metadata: dict[str, Any], **values: Any) -> str:
    """Renders and checks a card.

    Args:
        template: Jinja template of the body.
        metadata: YAML block.
        values: Values for the template.

    Raises:
        InputError: The card has values that the Hub rejects, or template leftovers.
    """
    environment = jinja2.Environment(undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    body = environment.from_string(template).render(**values)
    front = yaml.safe_dump(metadata, sort_keys=False, allow_unicode=True, width=10**6)
    text = f"---\n{front}---\n\n{body.strip()}\n"
    check_card(text)
    return text


def card_metadata(recipe: Recipe, built: Built, versions: dict[str, str], *, labels_only: bool) -> dict[str, Any]:
    """Returns the YAML block of the card, as plain data.

    Args:
        recipe: The recipe.
        built: The tables of the folder.
        versions: Version of each config and alias.
        labels_only: Whether the folder has no texts.
    """
    by_config = group_values((table.config, table) for table in built.tables)
    served = [(config, config) for config in by_config] + list(built.aliases.items())
    rows = max(len(table) for table in built.tables)
    sizes = {(table.config, table.split): table.arrow().nbytes for table in built.tables}
    default = default_table(built.tables).config
    marks = [tag for tag, holds in zip(FURTHER_CARD_TAGS, (recipe.synthetic, labels_only), strict=True) if holds]
    return {
        "pretty_name": " ".join([recipe.title, *(f"({tag.replace('-', ' ')})" for tag in marks)]),
        "language": list(recipe.languages),
        "license": recipe.card_licence,
        "task_categories": list(recipe.task_categories),
        "annotations_creators": list(recipe.annotations_creators),
        "language_creators": list(recipe.language_creators),
        "multilinguality": ["multilingual" if len(recipe.languages) > 1 else "monolingual"],
        "size_categories": [next((name for limit, name in SIZES if rows < limit), "1M<n<10M")],
        "tags": [*CARD_TAGS, *marks],
        "configs": [
            {
                "config_name": name,
                "data_files": [
                    {"split": t.split, "path": f"{t.config}/{t.split}-*.parquet"} for t in by_config[config]
                ],
                "version": versions[name],
            }
            | ({"default": True} if name == default else {})
            for name, config in served
        ],
        "dataset_info": [
            {
                "config_name": name,
                "features": _yaml_features(by_config[config][0]),
                "splits": [
                    {"name": t.split, "num_bytes": sizes[t.config, t.split], "num_examples": len(t)}
                    for t in by_config[config]
                ],
            }
            for name, config in served
        ],
    }


def _yaml_features(table: Table) -> list[dict[str, str]]:
    return [
        {"name": name, ("list" if kind in LIST_TYPES else "dtype"): DTYPES[kind]}
        for name, kind in table.columns.items()
    ]


def restricted_columns(tables: list[Table]) -> dict[str, list[str]]:
    """Returns the text columns of each config with text columns."""
    found: dict[str, list[str]] = {}
    for table in tables:
        kept = table.labels_only().columns
        columns = [name for name in table.columns if name not in kept]
        if columns:
            found[table.config] = columns
    return found


def check_card(text: str) -> dict[str, Any]:
    """Checks the YAML block of a card, the values that the Hub accepts, and leftovers of the template, all offline.

    Returns:
        The YAML block.

    Raises:
        InputError: The card is invalid; the message names the fault.
    """
    leftover = LEFTOVERS.search(BIBTEX.sub("", text))  # BibTeX has double braces, too
    if leftover:
        raise InputError(
            f"the card holds {leftover.group()!r}, a leftover of the template; correct dataset_card.md or the recipe"
        )
    try:
        metadata, _ = _front_matter(text)
    except (ValueError, yaml.YAMLError) as error:
        raise InputError("the card has no YAML block at its head; correct dataset_card.md") from error
    for name in CARD_FIELDS:
        if not metadata.get(name):
            raise InputError(f"the card's YAML block lacks {name!r}; correct the recipe")
    for name, allowed in VOCABULARY.items():
        values = metadata[name] if isinstance(metadata[name], list) else [metadata[name]]
        for value in values:
            if value not in allowed:
                raise InputError(
                    f"the card's {name} is {value!r}, expected one of {', '.join(allowed)}; correct the recipe"
                )
    for config in metadata["configs"]:
        if config["config_name"] == "default":
            raise InputError("a config is named 'default': choose a name that describes its content")
    return metadata
