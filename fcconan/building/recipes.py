"""Recipes of datasets: pinned sources, column mapping, card text, and expected counts."""

from pathlib import Path
from typing import Annotated, Literal

from pydantic import (
    AfterValidator,
    Field,
    ValidationInfo,
    field_validator,
)

from fcconan.building.tiers import TIER_RULES, TierRule
from fcconan.data import PAIR, Model, Source, read_yaml, recipe_path

Name = Annotated[str, Field(pattern=r"^[a-z0-9]+(-[a-z0-9]+)*$")]
SplitName = Annotated[str, Field(pattern=r"^\w+(\.\w+)*$", description="`datasets` does not allow hyphens here.")]

# Values that the Hub accepts. It checks them only at the upload of a card.
LANGUAGES = (  # ISO 639-1
    "aa ab ae af ak am an ar as av ay az ba be bg bi bm bn bo br bs ca ce ch co cr cs cu cv cy da de dv dz ee "
    "el en eo es et eu fa ff fi fj fo fr fy ga gd gl gn gu gv ha he hi ho hr ht hu hy hz ia id ie ig ii ik io "
    "is it iu ja jv ka kg ki kj kk kl km kn ko kr ks ku kv kw ky la lb lg li ln lo lt lu lv mg mh mi mk ml mn "
    "mr ms mt my na nb nd ne ng nl nn no nr nv ny oc oj om or os pa pi pl ps pt qu rm rn ro ru rw sa sc sd se "
    "sg si sk sl sm sn so sq sr ss st su sv sw ta te tg th ti tk tl tn to tr ts tt tw ty ug uk ur uz ve vi vo "
    "wa wo xh yi yo za zh zu"
).split()


LICENCES = (  # allowed in recipes and cards
    "apache-2.0 bsd-3-clause cc0-1.0 cc-by-3.0 cc-by-4.0 cc-by-nc-3.0 cc-by-nc-4.0 cc-by-nc-nd-4.0 cc-by-nc-sa-3.0 "
    "cc-by-nc-sa-4.0 cc-by-nd-4.0 cc-by-sa-3.0 cc-by-sa-4.0 gpl-3.0 mit odbl odc-by other unknown"
).split()


def _language(code: str) -> str:
    if code not in LANGUAGES:
        raise ValueError("not a code of ISO 639-1, such as 'en'")
    return code


def _licence(name: str) -> str:
    if name not in LICENCES:
        raise ValueError(f"Input should be {', '.join(map(repr, LICENCES))}")
    return name


Language = Annotated[str, AfterValidator(_language)]
CardLicence = Annotated[str, AfterValidator(_licence)]
TaskCategory = Literal[
    "text-retrieval", "text-generation", "text-classification", "text-ranking", "sentence-similarity"
]
AnnotationsCreator = Literal["expert-generated", "crowdsourced", "machine-generated", "found", "no-annotation"]
LanguageCreator = Literal["expert-generated", "crowdsourced", "machine-generated", "found", "other"]


class Aspect(Model):
    """One rated aspect of replies."""

    low: float | None = Field(None, description="Lowest possible value; empty for a metric without bounds.")
    high: float | None = None
    higher_is_better: bool | None = Field(
        True, description="Empty if the values of the source have no consistent direction."
    )


class Rater(Model):
    """One rater and the columns of its values."""

    name: str
    kind: Literal["human", "model", "metric"]
    source: str
    split: SplitName | None = None
    columns: dict[str, str] = Field(default_factory=dict, description="Column of the file, by aspect.")
    pattern: str | None = Field(
        None,
        description="Column of the file for every aspect of the recipe, with `<aspect>` for its name.",
    )
    outputs: str | None = Field(None, description="Column of the raw output, with `<aspect>` as in `pattern`.")
    low: float | None = Field(None, description="Lowest possible value, if it differs from that of the aspect.")
    high: float | None = Field(None, description="Highest possible value, if it differs from that of the aspect.")
    higher_is_better: bool | None = Field(None, description="Direction, if it differs from that of the aspect.")

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
    where: dict[str, str] = Field(default_factory=dict, description="Only read rows with these values, by column.")
    decode: Literal["conan-id"] | None = Field(None, description="Decode the source id into further columns.")


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

    rows: dict[str, dict[str, int]] = Field(description="Rows by config and split.")
    facts: dict[str, int] = Field(default_factory=dict, description="Further counts, by name.")
    optional_splits: list[SplitName] = Field(
        default_factory=list, description="Splits of optional files, without expected counts."
    )


class Recipe(Model):
    """A dataset recipe (one YAML file in `builders/`)."""

    name: Name
    kind: Literal["exhaustive", "pairs", "dialogues", "ratings", "tournament", "replies", "demo", "campaign"]
    title: str
    summary: str
    languages: list[Language] = Field(min_length=1)
    synthetic: bool = False
    redistributable: bool = Field(False, description="Whether the text columns may be published.")
    homepage: str | None = Field(None, description="Address of the page of the dataset, if it has one.")
    card_licence: CardLicence
    task_categories: list[TaskCategory] = Field(min_length=1)
    annotations_creators: list[AnnotationsCreator] = Field(min_length=1)
    language_creators: list[LanguageCreator] = Field(min_length=1)
    citation: str
    card: Card
    sources: dict[str, Source] = Field(default_factory=dict)
    excluded: dict[str, str] = Field(default_factory=dict, description="Unused source files, with the reason.")
    expect: Expectations
    expect_by_tier_rule: dict[str, Expectations] = Field(
        default_factory=dict, description="Counts that differ with another tier rule."
    )
    tier_rule: str = Field("released", description="Default tier rule, from the catalogue.")
    own_tier_rule: TierRule | None = Field(
        None, description="Tier rule instead of one of the catalogue (kind `campaign`)."
    )
    pairs: list[PairsConfig] = Field(default_factory=list)
    extra_columns: dict[str, Literal["string", "text", "int", "float"]] = Field(
        default_factory=dict,
        description="Further columns: `text` for texts by people (left out of labels-only folders), `string` for codes "
        "and names, which are published.",
    )
    aspects: dict[str, Aspect] = Field(default_factory=dict)
    raters: list[Rater] = Field(default_factory=list)
    corpora: list[Name] = Field(default_factory=list, description="The corpora of a tournament.")
    systems: list[str] = Field(default_factory=list)
    seed: int = Field(0, description="Seed of a simulated dataset.")

    _folder: Path = Path()

    @field_validator("tier_rule")
    @classmethod
    def _known_rule(cls, name: str) -> str:
        if name not in TIER_RULES:
            raise ValueError(f"unknown tier rule; the catalogue has {', '.join(TIER_RULES)}")
        return name

    @field_validator("own_tier_rule")
    @classmethod
    def _only_campaigns(cls, rule: TierRule | None, info: ValidationInfo) -> TierRule | None:
        if rule is not None and info.data.get("kind") != "campaign":
            raise ValueError("only kind 'campaign' may have its own tier rule; remove it")
        return rule

    @field_validator("pairs")
    @classmethod
    def _once_each(cls, pairs: list[PairsConfig]) -> list[PairsConfig]:
        names = [f"{entry.config}/{entry.split}" for entry in pairs]
        for name in names:
            if names.count(name) > 1:
                raise ValueError(f"{name} occurs twice; give one of them another config or split")
        return pairs

    @field_validator("extra_columns")
    @classmethod
    def _new_and_mapped(cls, columns: dict[str, str], info: ValidationInfo) -> dict[str, str]:
        mapped = {column for source in info.data.get("sources", {}).values() for column in source.columns}
        for name in columns:
            if name in PAIR.kinds:
                raise ValueError(f"{name!r} is a column of every dataset; choose another name")
            if name not in mapped:
                raise ValueError(f"{name!r} is not mapped; add it to the `columns` of a source")
        return columns

    @property
    def folder(self) -> Path:
        """The folder of the recipe file. Paths of local sources are relative to it."""
        return self._folder


def load_recipe(name: str) -> Recipe:
    """Loads and checks a recipe.

    Args:
        name: A recipe of the catalogue, or the path of a recipe file.

    Raises:
        InputError: The recipe is unknown, or does not match the schema; the message names the key.

    Examples:
        >>> load_recipe("demo").title
        'fcconan demo'
    """
    path = recipe_path(name)
    recipe: Recipe = read_yaml(path, Recipe)
    recipe._folder = path.resolve().parent
    return recipe
