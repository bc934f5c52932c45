"""Schemas: the columns of each kind of row, and which of them are texts."""

from fcconan.data import COMPARISON, GENERATED, PAIR, RATING, REPLY, VOTE, find_column, without_text


def test_the_kinds_of_rows_have_the_columns_of_the_contract() -> None:
    contract = {
        "pair_id hs_id cn_id hate_speech counter_narrative label valid n_votes agreement tier hs_type hs_subtype "
        "cn_type age gender education source_id original_index": PAIR,
        "pair_id rater label": VOTE,
        "reply_id item_id hs_id hate_speech text system strategy references": REPLY,
        "reply_id rater rater_kind aspect value low high higher_is_better reason explanation": RATING,
        "item_id system_a system_b reply_a reply_b rater rater_kind verdict score_a score_b reason": COMPARISON,
    }
    assert [" ".join(schema.kinds) for schema in contract.values()] == [*contract]


def test_labels_only_leaves_out_the_columns_of_texts() -> None:
    assert PAIR.kinds.keys() - without_text(PAIR.kinds).keys() == {"hate_speech", "counter_narrative"}
    assert GENERATED.kinds.keys() - without_text(GENERATED.kinds).keys() == {"hate_speech", "text", "references"}
    assert RATING.kinds.keys() - without_text(RATING.kinds).keys() == {"explanation"}


def test_a_column_may_have_another_form_in_another_config() -> None:
    labels = {config: find_column(config, "label") for config in ("votes", "gold")}
    assert {config: column and column.kind for config, column in labels.items()} == dict.fromkeys(labels, "string")
    strategies = [find_column(config, "strategy") for config in ("replies", "ratings")]
    assert strategies[0] != strategies[1] and find_column("gold", "nothing") is None
