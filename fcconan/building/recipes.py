"""Recipes of datasets: pinned sources, column mapping, card text, and expected counts."""

from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from fcconan.building.tiers import TierRule
from fcconan.data import Model, Source, read_yaml, recipe_path

Name = Annotated[str, Field(pattern=r"^[a-z0-9]+(-[a-z0-9]+)*$")]
SplitName = Annotated[str, Field(pattern=r"^\w+(\.\w+)*$")]  # `datasets` does not allow hyphens here


class Aspect(Model):
    """One rated aspect of replies."""

    low: float | None = None  # None for a metric without bounds
    high: float | None = None
    higher_is_better: bool | None = True  # None if the values of the source have no consistent direction


class Rater(Model):
    """One rater and the columns of its values."""

    name: str
    kind: Literal["human", "model", "metric"]
    source: str
    split: SplitName | None = None
    columns: dict[str, str] = Field(default_factory=dict)  # column of the file, by aspect
    pattern: str | None = None  # column of the file for every aspect of the recipe, with `<aspect>` for its name
    outputs: str | None = None  # column of the raw output, with `<aspect>` as in `pattern`
    # The scale, where it differs from that of the aspect.
    low: float | None = None
    high: float | None = None
    higher_is_better: bool | None = None

    def scale(self, aspect: Aspect) -> Aspect:
        """Returns the scale on which this rater rates an aspect."""
        own = {"low": self.low, "high": self.high, "higher_is_better": self.higher_is_better}
        return aspect.model_copy(update={name: value for name, value in own.items() if value is not None})

    def column_of(self, aspects: list[str]) -> dict[str, str]:
        """Returns the column of the file by aspect."""
        if self.pattern is None:
            return self.columns
        return {aspect: self.pattern.replace("<aspect>", aspect) for aspect in aspects} | self.columns


class PairsConfig(Model):
    """Pairs read row by row from one file (kind `pairs`)."""

    config: Name
    split: SplitName = "train"
    source: str
    where: dict[str, str] = Field(default_factory=dict)  # only read rows with these values, by column
    decode: Literal["conan-id"] | None = None  # decode the source id into further columns


class Card(Model):
    """The text of the dataset card. The card adds all numbers."""

    motivation: str
    composition: str
    collection: str
    agreement: str | None = None
    uses: str
    misuse: str
    sensitive: str
    terms: str


class Expectations(Model):
    """Expected counts of a build. Other counts are an error."""

    rows: dict[str, dict[str, int]]  # by config and split
    facts: dict[str, int] = Field(default_factory=dict)  # further counts, by name
    optional_splits: list[SplitName] = Field(default_factory=list)  # splits of optional files, without expected counts


class Recipe(Model):
    """A dataset recipe (one YAML file in `builders/`)."""

    name: Name
    kind: Literal["exhaustive", "pairs", "dialogues", "ratings", "tournament", "replies", "campaign"]
    title: str
    summary: str
    languages: list[str] = Field(min_length=1)  # codes of ISO 639-1, such as `en`
    synthetic: bool = False
    redistributable: bool = False  # whether the text columns may be published
    homepage: str | None = None
    card_licence: str  # a licence of the Hub, such as `cc-by-4.0`, `other` or `unknown`
    task_categories: list[str] = Field(min_length=1)
    annotations_creators: list[str] = Field(min_length=1)
    language_creators: list[str] = Field(min_length=1)
    citation: str
    card: Card
    sources: dict[str, Source] = Field(default_factory=dict)
    excluded: dict[str, str] = Field(default_factory=dict)  # unused source files, with the reason
    expect: Expectations
    expect_by_tier_rule: dict[str, Expectations] = Field(default_factory=dict)  # counts that differ with another rule
    tier_rule: str = "released"  # default tier rule, from the catalogue
    own_tier_rule: TierRule | None = None  # instead of one of the catalogue (kind `campaign`)
    pairs: list[PairsConfig] = Field(default_factory=list)
    # `text` for texts by people (left out of labels-only folders), `string` for codes and names, which are published.
    extra_columns: dict[str, Literal["string", "text", "int", "float"]] = Field(default_factory=dict)
    aspects: dict[str, Aspect] = Field(default_factory=dict)
    raters: list[Rater] = Field(default_factory=list)
    corpora: list[Name] = Field(default_factory=list)  # of a tournament
    systems: list[str] = Field(default_factory=list)

    _folder: Path = Path()

    @property
    def folder(self) -> Path:
        """The folder of the recipe file. Paths of local sources are relative to it."""
        return self._folder


def load_recipe(name: str) -> Recipe:
    """Loads and checks a recipe.

    Args:
        name: A recipe of the catalogue, or the path of a recipe file.

    Raises:
        InputError: The recipe is unknown, or does not match the schema; the message names the line.

    Examples:
        >>> load_recipe("demo").title
        'fcconan demo'
    """
    path = recipe_path(name)
    recipe: Recipe = read_yaml(path, Recipe)
    recipe._folder = path.resolve().parent
    return recipe
