"""The recipe of a dataset: pinned sources, column mapping, card text, and the counts it must produce."""

import difflib
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from fcconan.build.yaml_lines import YamlFile
from fcconan.catalog import recipe_path
from fcconan.errors import InputError

Name = Annotated[str, Field(pattern=r"^[a-z0-9]+(-[a-z0-9]+)*$")]
SplitName = Annotated[str, Field(pattern=r"^\w+(\.\w+)*$", description="`datasets` allows no hyphen here.")]
Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]

# The Hub checks these words only when a card is uploaded, so they are checked here.
Language = Literal["en", "fr", "it", "es", "de", "pt", "eu", "nl"]
CardLicence = Literal["apache-2.0", "cc0-1.0", "cc-by-4.0", "cc-by-sa-4.0", "cc-by-nc-4.0", "mit", "other", "unknown"]
TaskCategory = Literal[
    "text-retrieval", "text-generation", "text-classification", "text-ranking", "sentence-similarity"
]
AnnotationsCreator = Literal["expert-generated", "crowdsourced", "machine-generated", "found", "no-annotation"]
LanguageCreator = Literal["expert-generated", "crowdsourced", "machine-generated", "found", "other"]


class Model(BaseModel):
    """A part of a recipe: unknown keys are errors."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Source(Model):
    """One upstream file: a raw file of a public repository at a commit, or a local file."""

    repository: str | None = Field(None, pattern=r"^[\w.-]+/[\w.-]+$", description="owner/name on GitHub")
    commit: str | None = Field(None, pattern=r"^[0-9a-f]{40}$")
    path: str = Field(description="Path in the repository; without a repository, relative to the recipe file.")
    sha256: Sha256 | None = None
    optional: bool = False
    note: str | None = Field(None, description="Why a file is optional, or what is odd about it.")
    empty_texts: int = Field(0, ge=0, description="Empty cells among the texts that upstream is known to have.")
    path_names_people: bool = Field(False, description="The path is then kept out of the manifest.")
    columns: dict[str, str] = Field(
        default_factory=dict, description="Our column name: the file's, or a shell pattern that only it matches."
    )
    ignore: list[str] = Field(
        default_factory=list, description="Columns deliberately not read; shell patterns are allowed."
    )

    @model_validator(mode="after")
    def _pinned(self) -> "Source":
        if (self.repository is None) != (self.commit is None):
            raise ValueError("repository and commit go together")
        if self.repository is not None and (self.path.startswith("/") or ".." in self.path.split("/")):
            raise ValueError("path must lead down from the top of the repository")
        if self.sha256 is None and not (self.optional and self.note):
            raise ValueError(
                "sha256 is missing: every file is pinned (an optional one may say in `note` why it is not)"
            )
        return self


class Aspect(Model):
    """One aspect that replies are rated on."""

    low: float | None = Field(None, description="Lowest possible value; empty for a metric without bounds.")
    high: float | None = None
    higher_is_better: bool = True


class Rater(Model):
    """One rater and where its values stand."""

    name: str
    kind: Literal["human", "model", "metric"]
    source: str
    split: SplitName | None = None
    columns: dict[str, str] = Field(default_factory=dict, description="The file's column, by aspect.")
    pattern: str | None = Field(
        None,
        description="The file's column for every aspect of the recipe, `<aspect>` standing for its name.",
    )
    outputs: str | None = Field(None, description="Likewise, the column of the raw output behind the value.")
    low: float | None = Field(None, description="Lowest possible value, where it differs from the aspect's.")
    high: float | None = Field(None, description="Likewise, the highest.")
    higher_is_better: bool | None = Field(None, description="Likewise, the direction.")

    def scale(self, aspect: Aspect) -> Aspect:
        """Returns the scale on which this rater rates an aspect."""
        own = {"low": self.low, "high": self.high, "higher_is_better": self.higher_is_better}
        return aspect.model_copy(update={name: value for name, value in own.items() if value is not None})

    def column_of(self, aspects: list[str]) -> dict[str, str]:
        """Returns the file's column by aspect."""
        if self.pattern is None:
            return self.columns
        return {aspect: self.pattern.replace("<aspect>", aspect) for aspect in aspects} | self.columns


class PairsConfig(Model):
    """Pairs read row by row from one file (kind `pairs`)."""

    config: Name
    split: SplitName = "train"
    source: str
    where: dict[str, str] = Field(default_factory=dict, description="Keep the rows whose columns hold these values.")
    decode: Literal["conan-id"] | None = Field(None, description="Decode the source id into columns of its own.")


class Card(Model):
    """The prose of the dataset card, in our own words; figures are computed, never written here."""

    motivation: str
    composition: str
    collection: str
    agreement: str | None = None
    uses: str
    misuse: str
    sensitive: str
    terms: str


class Expectations(Model):
    """What a build must produce; anything else fails it."""

    rows: dict[str, dict[str, int]] = Field(description="Rows by config and split.")
    facts: dict[str, int] = Field(default_factory=dict, description="Further counts, by name.")
    optional_splits: list[SplitName] = Field(
        default_factory=list, description="Splits of optional files, which have no stated count."
    )


class Recipe(Model):
    """A dataset recipe (one YAML file in `builders/`)."""

    name: Name
    kind: Literal["exhaustive", "pairs", "dialogues", "ratings", "tournament", "replies", "demo"]
    title: str
    summary: str
    languages: list[Language] = Field(min_length=1)
    synthetic: bool = False
    redistributable: bool = Field(False, description="Whether the text columns may be published.")
    homepage: str
    card_licence: CardLicence
    task_categories: list[TaskCategory] = Field(min_length=1)
    annotations_creators: list[AnnotationsCreator] = Field(min_length=1)
    language_creators: list[LanguageCreator] = Field(min_length=1)
    citation: str
    card: Card
    sources: dict[str, Source] = Field(default_factory=dict)
    excluded: dict[str, str] = Field(
        default_factory=dict, description="Upstream files that are deliberately not used, and why."
    )
    expect: Expectations
    expect_by_tier_rule: dict[str, Expectations] = Field(
        default_factory=dict, description="The counts that differ under another tier rule."
    )
    pairs: list[PairsConfig] = Field(default_factory=list)
    extra_columns: dict[str, Literal["string", "text", "int", "float"]] = Field(
        default_factory=dict, description="Columns beyond the contract's, with their types."
    )
    aspects: dict[str, Aspect] = Field(default_factory=dict)
    raters: list[Rater] = Field(default_factory=list)
    corpora: list[Name] = Field(default_factory=list, description="The corpora of a tournament.")
    systems: list[str] = Field(default_factory=list)
    seed: int = Field(0, description="Seed of a simulated dataset.")

    _folder: Path = Path()

    @property
    def folder(self) -> Path:
        """The folder of the recipe file, which local sources are relative to."""
        return self._folder


def load_recipe(name: str) -> Recipe:
    """Loads and checks a recipe.

    Args:
        name: A recipe of the catalogue, or the path of a recipe file.

    Raises:
        InputError: There is no such recipe, or it does not follow the schema; the message names the line.
    """
    path = recipe_path(name)
    file = YamlFile(path)
    try:
        recipe = Recipe.model_validate(file.data)
    except ValidationError as error:
        raise InputError(_explain(file, error)) from error
    recipe._folder = path.resolve().parent
    return recipe


def _explain(file: YamlFile, error: ValidationError) -> str:
    """Returns one line that says what the first error is and on which line it stands."""
    first, *others = sorted(error.errors(), key=lambda one: one["type"] != "extra_forbidden")
    location = first["loc"]
    where = ".".join(str(part) for part in location) or "the recipe"
    found = repr(first["input"]) if not isinstance(first["input"], dict | list) else "a block"
    message = f"{file.path}, line {file.line(location)}: {where}: {first['msg']}"
    if first["type"] == "extra_forbidden":
        near = difflib.get_close_matches(str(location[-1]), _known_keys(location), n=1)
        hint = f"; did you mean {near[0]!r}?" if near else "; remove it"
        message = f"{file.path}, line {file.line(location)}: unknown key {where!r}{hint}"
    elif first["type"] != "missing":
        message += f" (found {found[:80]})"
    return message + (f" (and {len(others)} more)" if others else "")


def _known_keys(location: tuple[Any, ...]) -> list[str]:
    inner: dict[str, type[Model]] = {
        "card": Card,
        "expect": Expectations,
        "sources": Source,
        "aspects": Aspect,
        "raters": Rater,
        "pairs": PairsConfig,
    }
    if location[0] == "expect_by_tier_rule":
        location = location[1:]
        inner = {str(location[0]): Expectations}
    model = inner.get(str(location[0]), Recipe) if len(location) > 1 else Recipe
    return list(model.model_fields)
