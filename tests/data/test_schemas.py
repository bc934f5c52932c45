from typing import Any

import datasets
import pyarrow as pa
import pytest

from fcconan.building.tables import Built, Table
from fcconan.data import schemas
from fcconan.errors import InputError

EVERY_TYPE = {name: name for name in schemas.DTYPES}


def _table() -> Table:
    values = {"string": "a", "text": "b", "strings": ["c"], "texts": [], "int": 1, "float": 0.5, "bool": True}
    return Table.from_rows("config", "test", EVERY_TYPE, [values, {"string": "z"}], ("string",))


def test_features_are_those_that_datasets_reads_from_the_parquet_schema() -> None:
    schema = _table().arrow().schema
    assert datasets.Features.from_arrow_schema(schema) == schemas.features(EVERY_TYPE)
    assert schemas.features(EVERY_TYPE).arrow_schema.field("int").type == pa.int32()
    assert schemas.features(EVERY_TYPE).arrow_schema.field("float").type == pa.float64()


@pytest.mark.parametrize("value", ["1", "one", 1.5, 2**31, 2**70, [1]])
def test_a_wrong_type_fails_instead_of_being_cast_and_the_column_is_named(value: object) -> None:
    table = Table.from_rows("votes", "test", {"id": "string", "count": "int"}, [{"id": "a", "count": value}], ("id",))
    with pytest.raises(InputError, match=r"^votes/test: column count holds no int32 \(.+\)$"):
        table.arrow()


def test_a_wrong_type_in_a_list_fails_and_the_column_is_named() -> None:
    table = Table.from_rows("replies", "test", {"id": "string", "of": "texts"}, [{"id": "a", "of": [1]}], ("id",))
    with pytest.raises(InputError, match=r"^replies/test: column of holds no list<\w+: string> \(.+\)$"):
        table.arrow()


def test_labels_only_has_no_column_of_text() -> None:
    assert list(_table().labels_only().columns) == ["string", "strings", "int", "float", "bool"]
    assert schemas.without_text(schemas.PAIR.kinds).keys() == schemas.PAIR.kinds.keys() - {
        "hate_speech",
        "counter_narrative",
    }
    assert schemas.without_text(schemas.REPLY.kinds).keys() == schemas.REPLY.kinds.keys() - {
        "hate_speech",
        "text",
        "references",
    }
    assert schemas.without_text(schemas.RATING.kinds).keys() == schemas.RATING.kinds.keys() - {"explanation"}


def test_the_six_rows_have_the_columns_of_the_contract() -> None:
    contract = {
        "PAIR": "pair_id hs_id cn_id hate_speech counter_narrative label valid n_votes agreement tier hs_type "
        "hs_subtype cn_type age gender education source_id original_index",
        "VOTE": "pair_id rater label",
        "REPLY": "reply_id item_id hs_id hate_speech text system strategy references",
        "RATING": "reply_id rater rater_kind aspect value low high higher_is_better reason explanation",
        "COMPARISON": "item_id system_a system_b reply_a reply_b rater rater_kind verdict score_a score_b reason",
        "RANKING": "query_id corpus_id rank score system",
    }
    for name, columns in contract.items():
        assert set(getattr(schemas, name).kinds) == set(columns.split()), name


def test_a_key_that_stands_twice_is_refused() -> None:
    table = Table.from_rows(
        "votes", "test", schemas.VOTE.kinds, [{"pair_id": "p", "rater": "r"}] * 2, ("pair_id", "rater")
    )
    with pytest.raises(InputError, match="votes/test: two rows share pair_id p, rater r"):
        table.check()


def test_an_unknown_column_is_refused() -> None:
    with pytest.raises(KeyError, match="no column"):
        Table.from_rows("votes", "test", schemas.VOTE.kinds, [{"pair": "p"}], ("pair_id",))


def test_the_content_hash_depends_on_values_types_and_split_only() -> None:
    table = _table()
    assert table.content_hash() == _table().content_hash()
    changed = Table(table.config, table.split, table.columns, {**table.data, "int": [2, None]}, table.key)
    moved = Table(table.config, "train", table.columns, table.data, table.key)
    retyped = Table(table.config, table.split, {**table.columns, "int": "float"}, table.data, table.key)
    assert len({one.content_hash() for one in (table, changed, moved, retyped)}) == 4


def test_tables_are_found_by_config_and_split() -> None:
    built = Built([_table()])
    assert built.table("config", "test").rows()[1]["string"] == "z"
    with pytest.raises(KeyError):
        built.table("config", "train")


def test_an_unknown_label_is_refused_and_a_missing_one_is_not() -> None:
    unlabelled: dict[str, Any] = {"pair_id": "p", "rater": "r", "label": None}
    votes = [unlabelled, {"pair_id": "q", "rater": "r", "label": "maybe"}]
    Table.from_rows("votes", "test", schemas.VOTE.kinds, votes[:1], ("pair_id", "rater")).check()
    with pytest.raises(InputError, match="votes/test: label is 'maybe', expected one of not_appropriate, not_sure"):
        Table.from_rows("votes", "test", schemas.VOTE.kinds, votes, ("pair_id", "rater")).check()
