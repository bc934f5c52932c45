"""The schemas of all rows: columns, types, vocabularies and forms of strings.

The type of a column determines its storage, and its form determines the strings of labels-only folders. `text` and
`texts` are strings whose redistribution may be forbidden; labels-only folders leave these columns out. Every other
string is an entry of a vocabulary or matches the pattern of names, which are ids of this package, too. People choose
names, so `build --labels-only` also compares them with the texts.
"""

from typing import Any, NamedTuple

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


# Forms of strings in labels-only folders: regular expressions.
TEXT = "(?!)"  # no string
NAME = r"[A-Za-z0-9À-ɏ_.+@:/=(),-]{1,80}"
NAMES = rf"{NAME}(; {NAME})*"
# Columns with another form than a name.
_FORMS = {
    **dict.fromkeys("hs_type hs_subtype cn_type strategy".split(), NAMES),
    **dict.fromkeys("verdict verdict_ab verdict_ba".split(), "|".join(VERDICTS)),
    "label": "|".join(LABELS),
    "agreement": "|".join(AGREEMENTS),
    "tier": "|".join(TIERS),
    "rater_kind": "|".join(RATER_KINDS),
}


class Column(NamedTuple):
    """The type of a column, a key of `DTYPES`, and the regular expression of its strings in labels-only folders."""

    kind: str
    form: str


class Schema(dict[str, Column]):
    """One kind of row: its columns by name, in their order.

    Args:
        columns: Names with their types, such as `n_votes:int`; without a type, a string.
        base: Columns that precede.
        forms: Forms of columns that differ from those of other kinds of rows.
    """

    def __init__(self, columns: str, *base: "Schema", **forms: str) -> None:
        super().__init__({name: column for each in base for name, column in each.items()})
        for column in columns.split():
            name, _, kind = column.partition(":")
            default = TEXT if kind in RESTRICTED_TYPES else NAME
            self[name] = Column(kind or "string", (_FORMS | forms).get(name, default))

    @property
    def kinds(self) -> Columns:
        """The types of the columns by name."""
        return {name: column.kind for name, column in self.items()}


_VOTE_LABEL = "|".join(VOTE_LABELS)
PAIR = Schema(
    "pair_id hs_id cn_id hate_speech:text counter_narrative:text label valid:bool n_votes:int agreement tier "
    "hs_type hs_subtype cn_type age:int gender education source_id original_index:int"
)
VOTE = Schema("pair_id rater label", label=_VOTE_LABEL)
REPLY = Schema("reply_id item_id hs_id hate_speech:text text:text system strategy references:texts")
RATING = Schema(
    "reply_id rater rater_kind aspect value:float low:float high:float higher_is_better:bool reason explanation:text"
)
COMPARISON = Schema(
    "item_id system_a system_b reply_a reply_b rater rater_kind verdict score_a:float score_b:float reason"
)
RANKING = Schema("query_id corpus_id rank:int score:float system")
TEXT_BY_ID = Schema("_id text:text")
QRELS = Schema("query-id corpus-id score:int")

# Rows that commands write. `reason` is that of a missing value, `flags` are refusal:KIND, empty and truncated,
# `examples` are ids of pairs, and `sources` those of shown or retrieved CNs, and of passages.
GENERATED = Schema(
    "reason flags:strings model revision prompt_hash format decoding seed:int examples:strings sources:strings "
    "candidates:int picked:int prompt_tokens:int completion_tokens:int",
    REPLY,
)
_JUDGED = Schema("strategy n_samples:int n_read:int retained_mass:float cited:bool", strategy=NAME)
# The rated reply: later commands need no file of replies.
_ABOUT_RATINGS = Schema("item_id hs_id system")
ABOUT_REPLY = tuple(_ABOUT_RATINGS)
RATED = Schema("", RATING, _JUDGED, _ABOUT_RATINGS)
# Learned raters: distance of the reply to the training data.
LEARNED = Schema("distance:float", RATED)
LABELLED = Schema("", VOTE, Schema("rater_kind reason explanation:text"), _JUDGED)
COMPARED = Schema("verdict_ab verdict_ba reason_ab reason_ba flipped:bool identical:bool", COMPARISON)

# Columns of rows that commands write, by config.
PUBLISHED = {"replies": GENERATED, "ratings": LEARNED, "votes": LABELLED, "comparisons": COMPARED}
_FURTHER = Schema(
    "dialogue_id text_id shown_first source_id also_in:strings independent:bool prompt:text knowledge:text "
    "reference:text explanation:text note:text label",
    label=_VOTE_LABEL,
)
_KNOWN = Schema("", PAIR, REPLY, RATING, COMPARISON, TEXT_BY_ID, QRELS, _FURTHER)
# Columns of these names are text columns in every table, also if a manifest does not list them.
_ALL = [each for schema in (_KNOWN, *PUBLISHED.values()) for each in schema.items()]
TEXT_COLUMNS = frozenset(name for name, column in _ALL if column.form == TEXT)


def find_column(config: str, name: str) -> Column | None:
    """Returns a column of a config by name, or None for an unknown column."""
    return PUBLISHED.get(config, _KNOWN).get(name) or _KNOWN.get(name)


def feature_specification(columns: Columns) -> dict[str, Any]:
    """Returns the columns as `datasets` writes features into parquet metadata."""
    specification: dict[str, Any] = {}
    for name, kind in columns.items():
        value = {"dtype": DTYPES[kind], "_type": "Value"}
        specification[name] = {"feature": value, "_type": "List"} if kind in LIST_TYPES else value
    return specification


def without_text(columns: Columns) -> Columns:
    """Returns the columns of a labels-only folder."""
    return {name: kind for name, kind in columns.items() if kind not in RESTRICTED_TYPES}
