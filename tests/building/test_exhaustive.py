from pathlib import Path

import pytest

from fcconan.building import build_tables, load_recipe
from fcconan.data import make_cn_id, make_hs_id, make_pair_id
from fcconan.errors import InputError
from tests import small


@pytest.mark.parametrize("rule", ["released", "strict"])
def test_tier_and_agreement_follow_the_votes(tmp_path: Path, rule: str) -> None:
    built, left_out = build_tables(load_recipe(str(small.write_small(tmp_path))), tier_rule=rule)
    rows = built.table("bronze", "test").rows()
    tiers = [pair[6] if rule == "released" else pair[7] for pair in small.PAIRS]
    assert [(row["agreement"], row["tier"]) for row in rows] == [
        (p[5], t) for p, t in zip(small.PAIRS, tiers, strict=True)
    ]
    assert [row["n_votes"] for row in rows] == [max(1, len(pair[4])) for pair in small.PAIRS]
    assert left_out == []
    for tier, rank in small.NESTED.items():
        expected = [i for i, best in enumerate(tiers) if small.NESTED[best] <= rank]
        assert built.table(tier, "test").data["original_index"] == expected


def test_texts_that_look_missing_survive(tmp_path: Path) -> None:
    built, _ = build_tables(load_recipe(str(small.write_small(tmp_path))))
    assert set(built.table("corpus", "test").data["text"]) == set(small.CN)
    assert built.table("train", "shared_cn").data["counter_narrative"] == ["None"]


def test_votes_of_single_annotators_are_inferred_from_the_label(tmp_path: Path) -> None:
    built, _ = build_tables(load_recipe(str(small.write_small(tmp_path))))
    votes = built.table("votes", "test").rows()
    pair = make_pair_id(make_hs_id(small.HS[1]), make_cn_id(small.CN[0]))
    assert [vote for vote in votes if vote["pair_id"] == pair] == [
        {"pair_id": pair, "rater": "annotator-1", "label": "not_appropriate", "inferred": True}
    ]
    assert sum(vote["inferred"] for vote in votes) == 2
    assert len(votes) == 22  # 3+2+3+2 + 1+1+2+2 + 3+3


def test_qrels_hold_judged_negatives_and_nothing_unjudged(tmp_path: Path) -> None:
    built, _ = build_tables(load_recipe(str(small.write_small(tmp_path))))
    qrels = {(row["query-id"], row["corpus-id"]): row["score"] for row in built.table("qrels", "test").rows()}
    expected = {(make_hs_id(small.HS[hs]), make_cn_id(small.CN[cn])): int(label) for hs, cn, label, *_ in small.PAIRS}
    assert qrels == expected
    assert len(built.table("gold-qrels", "test")) == 6
    assert built.aliases["gold-corpus"] == "corpus"
    assert built.aliases["bronze-qrels"] == "qrels"


def test_metadata_is_carried_over(tmp_path: Path) -> None:
    built, _ = build_tables(load_recipe(str(small.write_small(tmp_path))))
    row = built.table("diamond", "test").rows()[0]
    assert {name: row[name] for name in ("hs_type", "hs_subtype", "cn_type", "age", "gender", "education")} == {
        "hs_type": "Prejudice",
        "hs_subtype": "habits; trade",
        "cn_type": "facts",
        "age": 25,
        "gender": "female",
        "education": "master",
    }


def _with(tmp_path: Path, file: str, row: int, column: str, value: str) -> Path:
    """Writes the dataset with one cell changed, pinned to the changed file."""
    small.write_files(tmp_path)
    rows = small.bronze_rows()
    rows[row][column] = value
    small.write_csv(tmp_path / file, rows, small.COLUMNS)
    return small.write_recipe(tmp_path)


def test_a_tier_that_the_votes_do_not_give_fails_the_build(tmp_path: Path) -> None:
    small.write_files(tmp_path)
    rows = small.bronze_rows()
    small.write_csv(tmp_path / "diamond.csv", [rows[0], rows[1], rows[2], rows[3]], small.COLUMNS)
    with pytest.raises(
        InputError, match=r"^diamond: 4 pairs upstream, 4 by the tier rule 'released', 2 differ \(such as hs-"
    ):
        build_tables(load_recipe(str(small.write_recipe(tmp_path))))


def test_strict_does_not_compare_the_diamond_tier_and_still_compares_the_others(tmp_path: Path) -> None:
    small.write_files(tmp_path)
    rows = small.bronze_rows()
    small.write_csv(tmp_path / "silver.csv", rows[:6], small.COLUMNS)
    with pytest.raises(InputError, match=r"^silver: 6 pairs upstream, 7 by the tier rule 'strict'"):
        build_tables(load_recipe(str(small.write_recipe(tmp_path))), tier_rule="strict")


@pytest.mark.parametrize(
    ("column", "value", "message"),
    [
        ("label", "2", "label is '2', expected one of '0', '1'"),
        ("valid", "yes", "valid is 'yes', expected one of '', '0', '1'"),
        ("vote_1", "appropriate", "vote_1 is 'appropriate', expected one of '', '0', '1', '2'"),
        ("education", "some school", "education is 'some school', expected one of"),
        ("age", "25.5", "age is '25.5', expected a whole number"),
        ("counter_narrative", " ", "counter_narrative is empty"),
    ],
)
def test_bad_cells_are_named_with_file_and_row(tmp_path: Path, column: str, value: str, message: str) -> None:
    recipe = load_recipe(str(_with(tmp_path, "bronze.csv", 0, column, value)))
    with pytest.raises(InputError) as caught:
        build_tables(recipe)
    assert str(caught.value).startswith("bronze.csv, row 2: ")
    assert message in str(caught.value)


def test_other_counts_than_stated_fail_the_build_and_are_named(tmp_path: Path) -> None:
    small.write_files(tmp_path)
    data = small.recipe_data(tmp_path)
    data["expect"]["rows"]["gold"]["test"] = 7
    data["expect"]["facts"]["pool"] = 9
    with pytest.raises(InputError, match=r"gold/test rows: found 6, expected 7; pool: found 3, expected 9"):
        build_tables(load_recipe(str(small.write_recipe(tmp_path, data))))
    del data["expect"]["rows"]["gold"]
    data["expect"]["rows"]["gone"] = {"test": 1}
    message = r": gold/test rows: found 6, expected nothing; gone/test rows: found nothing, expected 1; pool: "
    with pytest.raises(InputError, match=message):
        build_tables(load_recipe(str(small.write_recipe(tmp_path, data))))


def test_one_file_with_the_pairs_and_any_number_of_votes_is_enough(tmp_path: Path) -> None:
    """A maker's own data: no released tiers, no numbering, single votes written down, four annotators."""
    rows = [
        {"hs": small.HS[0], "cn": small.CN[0], "ok": "1", "checked": "1", "a": "2", "b": "", "c": "", "d": ""},
        {"hs": small.HS[0], "cn": small.CN[1], "ok": "0", "checked": "1", "a": "0", "b": "2", "c": "0", "d": "0"},
        {"hs": small.HS[1], "cn": small.CN[0], "ok": "0", "checked": "1", "a": "0", "b": "2", "c": "", "d": ""},
        {"hs": small.HS[1], "cn": small.CN[1], "ok": "0", "checked": "0", "a": "", "b": "", "c": "", "d": ""},
    ]
    small.write_csv(tmp_path / "bronze.csv", rows)
    data = small.recipe_data(tmp_path)
    columns = {"hate_speech": "hs", "counter_narrative": "cn", "label": "ok", "valid": "checked"}
    data["sources"]["bronze"]["columns"] = columns | {f"vote_{n}": name for n, name in enumerate("abcd", start=1)}
    data["expect"] = {
        "rows": {
            **{tier: {"test": count} for tier, count in {"diamond": 1, "gold": 2, "silver": 3, "bronze": 4}.items()},
            **{f"{tier}-qrels": {"test": count} for tier, count in {"diamond": 1, "gold": 2, "silver": 3}.items()},
            **{"qrels": {"test": 4}, "corpus": {"test": 2}, "queries": {"test": 2}, "votes": {"test": 8}},
        }
    }
    del data["expect_by_tier_rule"]
    built, _ = build_tables(load_recipe(str(small.write_recipe(tmp_path, data))))
    pairs = built.table("bronze", "test").rows()
    assert [(p["tier"], p["agreement"], p["n_votes"]) for p in pairs] == [
        ("silver", "single", 1),
        ("diamond", "majority", 4),
        ("gold", "adjudicated", 2),
        ("bronze", "single", 1),
    ]
    assert [(p["source_id"], p["original_index"]) for p in pairs] == [("0", 0), ("1", 1), ("2", 2), ("3", 3)]
    assert [vote["inferred"] for vote in built.table("votes", "test").rows()] == [False] * 7 + [True]
    assert built.notes == ["4 of 4 combinations of HS and CN are judged."]


def test_votes_in_the_codes_of_labels_are_refused(tmp_path: Path) -> None:
    """Votes of 0 and 1 like the labels: a 1 would be read as not sure."""
    rows = [
        {"hs": small.HS[0], "cn": small.CN[0], "ok": "1", "checked": "1", "a": "1", "b": "1"},
        {"hs": small.HS[0], "cn": small.CN[1], "ok": "0", "checked": "1", "a": "0", "b": "1"},
    ]
    small.write_csv(tmp_path / "bronze.csv", rows)
    data = small.recipe_data(tmp_path)
    columns = {"hate_speech": "hs", "counter_narrative": "cn", "label": "ok", "valid": "checked"}
    data["sources"]["bronze"]["columns"] = columns | {"vote_1": "a", "vote_2": "b"}
    with pytest.raises(InputError) as caught:
        build_tables(load_recipe(str(small.write_recipe(tmp_path, data))))
    assert "has the label 1 (yes) and no vote 2 (yes), expected votes 0 (no), 1 (not sure) and 2 (yes)" in str(
        caught.value
    )
