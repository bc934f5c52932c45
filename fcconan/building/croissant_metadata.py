"""Describes a release in Croissant 1.1, the JSON-LD of MLCommons for datasets (https://docs.mlcommons.org/croissant).

The description is not a file of the release, because it contains the address of the files, which is known only after
publication. The Hub generates its own description.
"""

import re
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pyarrow as pa

from fcconan.building.cards import Card, dataset_version, read_card
from fcconan.building.releases import table_path
from fcconan.building.tables import group_values
from fcconan.data import describe_column, display_address, read_manifest, read_schema
from fcconan.errors import InputError

CONFORMS_TO = "http://mlcommons.org/croissant/1.1"
PARQUET = "application/x-parquet"  # the name that the specification and its readers use
_TYPES = {"string": "sc:Text", "int32": "cr:Int32", "double": "cr:Float64", "bool": "sc:Boolean"}
_LICENCES = {
    "apache-2.0": "https://spdx.org/licenses/Apache-2.0",
    "bsd-3-clause": "https://spdx.org/licenses/BSD-3-Clause",
    "mit": "https://spdx.org/licenses/MIT",
    "cc0-1.0": "https://spdx.org/licenses/CC0-1.0",
}
# Required in every file by the specification.
_CONTEXT: dict[str, Any] = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "cr": "http://mlcommons.org/croissant/",
    "dct": "http://purl.org/dc/terms/",
    "rai": "http://mlcommons.org/croissant/RAI/",
    "sc": "https://schema.org/",
    "conformsTo": "dct:conformsTo",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "description": {"@container": "@language"},
    "examples": {"@id": "cr:examples", "@type": "@json"},
    "name": {"@container": "@language"},
    **{
        term: f"cr:{term}"
        for term in (
            "arrayShape citeAs column containedIn equivalentProperty extract field fileObject fileProperty fileSet "
            "format includes isArray isLiveDataset jsonPath key md5 parentField path recordSet references regex "
            "repeated replace samplingRate separator source subField transform"
        ).split()
    },
}


def croissant(folder: Path | str, url: str | None = None) -> dict[str, Any]:
    """Describes a release: its files with their hashes, and each split of each config as a record set.

    Aliases of a config, such as `gold-corpus`, are listed in the description of the config.

    Args:
        folder: A folder by `fcconan build`, with or without texts.
        url: Address of the files, such as `https://huggingface.co/datasets/OWNER/NAME/resolve/TAG`, or the path of the
            folder relative to the description; by default the description is in the folder.

    Returns:
        JSON-LD without dates and creators, which a release does not contain.

    Raises:
        InputError: The folder is not a release, or its card cannot be read.
    """
    place = Path(folder)
    manifest, card = read_manifest(place), read_card(place)
    if url is not None and re.match(r"[a-z][\w+.-]*:|//", url, re.IGNORECASE) and (safe := display_address(url)) != url:
        raise InputError(
            f"--url: {safe!r} is a public address of the files: leave out user name, password, query and fragment"
        )
    base = "" if url is None or url in ("", ".") else url.rstrip("/") + "/"
    aliases = group_values((config, alias) for alias, config in manifest.get("aliases", {}).items())
    splits = [(config, split, rows) for config, each in manifest["counts"].items() for split, rows in each.items()]
    described = {
        "@context": _CONTEXT,
        "@type": "sc:Dataset",
        "conformsTo": CONFORMS_TO,
        "name": manifest["name"],
        "alternateName": card.title,
        "description": card.summary,
        "url": _page(url) or card.homepage,
        "license": _licence(card),
        "citeAs": card.citation,
        "version": dataset_version(manifest),
        "inLanguage": card.metadata.get("language"),
        "keywords": card.metadata.get("tags"),
        "isLiveDataset": False,
        **_responsible(card),
        "distribution": [
            _file(name, written, base) for name, written in manifest["files"].items() if name.endswith(".parquet")
        ],
        "recordSet": [_records(place, *each, aliases.get(each[0], [])) for each in splits],
    }
    return {name: value for name, value in described.items() if value is not None}


def _page(url: str | None) -> str | None:
    """Returns the page of a dataset, given the address of its files."""
    if url is None or "://" not in url:
        return None
    return url.partition("/resolve/")[0]


def _licence(card: Card) -> str:
    """Returns the address of the licence, or else the terms as text."""
    licence = card.one("license") or "unknown"
    if licence in _LICENCES:
        return _LICENCES[licence]
    if licence.startswith("cc-by-"):
        return f"https://spdx.org/licenses/{licence.upper()}"
    terms = card.sections.get("Terms", "").split("\n\n")[0]
    return " ".join(terms.split()) or licence


def _responsible(card: Card) -> dict[str, Any]:
    """Returns the fields of Croissant's vocabulary for responsible AI, from the card."""
    answers = {
        "rai:dataCollection": card.sections.get("Collection"),
        "rai:dataAnnotationAnalysis": card.sections.get("Agreement"),
        "rai:dataUseCases": card.sections.get("Uses and misuse"),
        "rai:personalSensitiveInformation": card.notice,
    }
    return {name: " ".join(text.split()) for name, text in answers.items() if text}


def _file(name: str, written: dict[str, Any], base: str) -> dict[str, Any]:
    return {
        "@type": "cr:FileObject",
        "@id": name,
        "name": name,
        "contentUrl": base + (quote(name) if "://" in base else name),
        "contentSize": f"{written['bytes']} B",
        "encodingFormat": PARQUET,
        "sha256": written["sha256"],
    }


def _records(folder: Path, config: str, split: str, rows: int, aliases: list[str]) -> dict[str, Any]:
    name, file = f"{config}/{split}", table_path(config, split)
    served = f"; also served as {', '.join(aliases)}" if aliases else ""
    return {
        "@type": "cr:RecordSet",
        "@id": name,
        "name": name,
        "description": f"Split {split} of config {config}: {rows} rows{served}.",
        "field": [_field(config, split, column.name, column.type) for column in read_schema(folder / file)],
    }


def _field(config: str, split: str, column: str, kind: Any) -> dict[str, Any]:
    """Describes a column, given its type in Arrow."""
    listed = pa.types.is_list(kind)
    field: dict[str, Any] = {
        "@type": "cr:Field",
        "@id": f"{config}/{split}/{column}",
        "name": column,
        "description": describe_column(config, column),
        "dataType": _TYPES[str(kind.value_type if listed else kind)],
        "source": {"fileObject": {"@id": table_path(config, split)}, "extract": {"column": column}},
    }
    if field["description"] is None:
        del field["description"]
    return field | ({"isArray": True, "arrayShape": "-1"} if listed else {})
