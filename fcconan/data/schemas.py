"""The schemas of all rows: columns, types, vocabularies and forms of strings.

The type of a column determines its storage, and its form determines the strings of labels-only folders. `text` and
`texts` are strings whose redistribution may be forbidden; labels-only folders leave these columns out. Every other
string is an entry of a vocabulary or matches the pattern of names, which are ids of this package, too. People choose
names, so `build --labels-only` also compares them with the texts.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import datasets

Columns = dict[str, str]

RESTRICTED_TYPES = frozenset({"text", "texts"})
DTYPES = {
    "string": "string",
    "text": "string",
    "strings": "string",
    "texts": "string",
    "int": "int32",
    "float": "float64",
    "bool": "bool",
}
LIST_TYPES = frozenset({"strings", "texts"})

LABELS = ("not_appropriate", "appropriate")
VOTE_LABELS = ("not_appropriate", "not_sure", "appropriate")
AGREEMENTS = ("single", "unanimous", "majority", "adjudicated")
TIERS = ("diamond", "gold", "silver", "bronze")
VERDICTS = ("a", "b", "tie", "invalid")
RATER_KINDS = ("human", "model", "metric")
# Allowed values by column, in addition to missing values. Labels differ between votes and pairs.
ALLOWED_VALUES = {"agreement": AGREEMENTS, "tier": TIERS, "verdict": VERDICTS, "rater_kind": RATER_KINDS}
# Forms: regular expressions.
TEXT = "(?!)"  # no string
NAME = r"[A-Za-z0-9À-ɏ_.+@:/=(),-]{1,80}"
NAMES = rf"{NAME}(; {NAME})*"
_BY_TYPE = {"string": NAME, "strings": NAME, "text": TEXT, "texts": TEXT}


@dataclass(frozen=True)
class Column:
    """One column.

    Attributes:
        name: Its name.
        kind: Its type, a key of `DTYPES`.
        form: Regular expression of its strings in labels-only folders.
        nullable: Whether a value may be missing.
    """

    name: str
    kind: str
    form: str
    nullable: bool = True


@dataclass(frozen=True)
class Schema:
    """One kind of row.

    Attributes:
        name: The name of the kind.
        columns: The columns, in their order.
    """

    name: str
    columns: tuple[Column, ...]

    @property
    def kinds(self) -> Columns:
        """The types of the columns by name."""
        return {column.name: column.kind for column in self.columns}

    def __getitem__(self, name: str) -> Column:
        """Returns a column by its name."""
        return next(column for column in self.columns if column.name == name)

    def __contains__(self, name: object) -> bool:
        return any(column.name == name for column in self.columns)

    def extended(self, *columns: Column) -> "Schema":
        """Returns the schema with further columns, which replace earlier ones of the same name."""
        added = {column.name: column for column in columns}
        kept = tuple(added.pop(column.name, column) for column in self.columns)
        return Schema(self.name, (*kept, *added.values()))


def _columns(kind: str, names: str, form: str | None = None, *, nullable: bool = True) -> tuple[Column, ...]:
    form = form or _BY_TYPE.get(kind, NAME)
    return tuple(Column(name, kind, form, nullable) for name in names.split())


def _key(names: str) -> tuple[Column, ...]:
    return _columns("string", names, nullable=False)


_LABEL = "|".join(LABELS)
_VOTE_LABEL = "|".join(VOTE_LABELS)
_AGREEMENT = "|".join(AGREEMENTS)
_TIER = "|".join(TIERS)
_VERDICT = "|".join(VERDICTS)
_RATER_KIND = "|".join(RATER_KINDS)

PAIR = Schema(
    "pairs",
    (
        *_key("pair_id hs_id cn_id"),
        *_columns("text", "hate_speech counter_narrative"),
        *_columns("string", "label", _LABEL),
        *_columns("bool", "valid"),
        *_columns("int", "n_votes"),
        *_columns("string", "agreement", _AGREEMENT),
        *_columns("string", "tier", _TIER),
        *_columns("string", "hs_type hs_subtype", NAMES),
        *_columns("string", "cn_type", NAMES),
        *_columns("int", "age"),
        *_columns("string", "gender education"),
        *_columns("string", "source_id", NAMES),
        *_columns("int", "original_index"),
    ),
)
VOTE = Schema("votes", (*_key("pair_id"), *_key("rater"), *_columns("string", "label", _VOTE_LABEL)))
REPLY = Schema(
    "replies",
    (
        *_key("reply_id"),
        *_columns("string", "item_id hs_id"),
        *_columns("text", "hate_speech text"),
        *_columns("string", "system"),
        *_columns("string", "strategy", NAMES),
        *_columns("texts", "references"),
    ),
)
RATING = Schema(
    "ratings",
    (
        *_key("reply_id"),
        *_key("rater"),
        *_columns("string", "rater_kind", _RATER_KIND),
        *_columns("string", "aspect"),
        *_columns("float", "value low high"),
        *_columns("bool", "higher_is_better"),
        *_columns("string", "reason"),
        *_columns("text", "explanation"),
    ),
)
COMPARISON = Schema(
    "comparisons",
    (
        *_columns("string", "item_id"),
        *_key("system_a system_b"),
        *_columns("string", "reply_a reply_b"),
        *_columns("string", "rater"),
        *_columns("string", "rater_kind", _RATER_KIND),
        *_columns("string", "verdict", _VERDICT),
        *_columns("float", "score_a score_b"),
        *_columns("string", "reason"),
    ),
)
RANKING = Schema(
    "rankings",
    (*_key("query_id corpus_id"), *_columns("int", "rank"), *_columns("float", "score"), *_columns("string", "system")),
)
TEXT_BY_ID = Schema("corpus", (*_key("_id"), *_columns("text", "text")))
QRELS = Schema("qrels", (*_key("query-id corpus-id"), *_columns("int", "score")))

GENERATED = REPLY.extended(
    *_columns("string", "reason"),  # why the text is missing
    *_columns("strings", "flags"),  # refusal:KIND, empty, truncated
    *_columns("string", "model"),
    *_columns("string", "revision prompt_hash"),
    *_columns("string", "format"),
    *_columns("string", "decoding"),
    *_columns("int", "seed"),
    *_columns("strings", "examples sources"),  # ids of pairs; ids of shown or retrieved CNs, and of passages
    *_columns("int", "candidates picked prompt_tokens completion_tokens"),
)
_JUDGED = (
    *_columns("string", "strategy"),
    *_columns("int", "n_samples n_read"),
    *_columns("float", "retained_mass"),
    *_columns("bool", "cited"),
)
# The rated reply: later commands need no file of replies.
_ABOUT_RATINGS = (*_columns("string", "item_id hs_id"), *_columns("string", "system"))
ABOUT_REPLY = tuple(column.name for column in _ABOUT_RATINGS)
RATED = RATING.extended(*_JUDGED, *_ABOUT_RATINGS)
# Learned raters: distance of the reply to the training data.
LEARNED = RATED.extended(*_columns("float", "distance"))
LABELLED = VOTE.extended(
    *_columns("string", "rater_kind", _RATER_KIND),
    *_columns("string", "reason"),
    *_columns("text", "explanation"),
    *_JUDGED,
)
COMPARED = COMPARISON.extended(
    *_columns("string", "verdict_ab verdict_ba", _VERDICT),
    *_columns("string", "reason_ab reason_ba"),
    *_columns("bool", "flipped identical"),
)

# Columns of rows that commands write, by config.
PUBLISHED: dict[str, Schema] = {
    "replies": GENERATED,
    "ratings": LEARNED,
    "votes": LABELLED,
    "comparisons": COMPARED,
}
# Further columns of datasets.
_FURTHER = (
    *_columns("string", "dialogue_id text_id shown_first"),
    *_columns("strings", "also_in"),
    *_columns("text", "prompt knowledge reference explanation note"),
    *_columns("string", "label", _VOTE_LABEL),
)
_KNOWN: dict[str, Column] = {
    column.name: column
    for columns in (*(schema.columns for schema in (PAIR, REPLY, RATING, COMPARISON, TEXT_BY_ID, QRELS)), _FURTHER)
    for column in columns
}
# Columns of these names are text columns in every table, also if a manifest does not list them.
TEXT_COLUMNS = frozenset(
    column.name
    for columns in (*(schema.columns for schema in PUBLISHED.values()), tuple(_KNOWN.values()))
    for column in columns
    if column.kind in RESTRICTED_TYPES
)


def find_column(config: str, name: str) -> Column | None:
    """Returns a column of a config by name, or None for an unknown column."""
    schema = PUBLISHED.get(config)
    return schema[name] if schema is not None and name in schema else _KNOWN.get(name)


def feature_specification(columns: Columns) -> dict[str, Any]:
    """Returns the columns as `datasets` writes features into parquet metadata."""
    specification: dict[str, Any] = {}
    for name, kind in columns.items():
        value = {"dtype": DTYPES[kind], "_type": "Value"}
        specification[name] = {"feature": value, "_type": "List"} if kind in LIST_TYPES else value
    return specification


def features(columns: Columns) -> "datasets.Features":
    """Returns the columns as `datasets.Features`.

    Args:
        columns: The types of a schema, or such types with further columns.
    """
    import datasets

    return datasets.Features.from_dict(feature_specification(columns))


def without_text(columns: Columns) -> Columns:
    """Returns the columns of a labels-only folder."""
    return {name: kind for name, kind in columns.items() if kind not in RESTRICTED_TYPES}
