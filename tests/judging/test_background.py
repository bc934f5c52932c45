import json
import math
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from fcconan.errors import InputError
from fcconan.judging.background import KnownKnowledge, Passages

ONE = "Ombrey readers return every library book."
TWO = "The library of Tessok is old, and the library is full."
THREE = "Velmari bakers rise early."


def folder(path: Path, **files: str) -> Path:
    for name, text in files.items():
        (path / name.replace("_", ".")).write_text(text, encoding="utf-8")
    return path


def asked(passages: Passages, message: str) -> str | None:
    return passages({"hate_speech": message})


def known(path: Path, rows: list[dict[str, Any]], split: str = "train") -> Path:
    (path / "pairs").mkdir(exist_ok=True)
    pq.write_table(pa.Table.from_pylist(rows), path / "pairs" / f"{split}-00000-of-00001.parquet")
    return path


def test_knowledge_is_found_by_the_id_of_the_message(tmp_path: Path) -> None:
    known(
        tmp_path,
        [
            {"hs_id": "hs-1", "knowledge": "Ombrey read."},
            {"hs_id": "hs-1", "knowledge": "Ombrey read."},
            {"hs_id": "hs-2", "knowledge": None},
            {"hs_id": "hs-1", "knowledge": "Ombrey write."},
        ],
    )
    known(tmp_path, [{"hs_id": "hs-3", "knowledge": "Tessok bake."}], "test")
    found = KnownKnowledge(tmp_path)
    assert found({"hs_id": "hs-1"}) == "Ombrey read.\n\nOmbrey write."
    assert found({"hs_id": "hs-2"}) is None
    assert found({"hs_id": "hs-3"}) == "Tessok bake."
    assert found({"hs_id": "hs-4"}) is None
    known(tmp_path, [{"hs_id": "hs-3", "knowledge": "Tessok cook."}], "test")
    assert KnownKnowledge(tmp_path).configuration != found.configuration


@pytest.mark.parametrize("rows", [[{"hs_id": "hs-1", "knowledge": None}], [{"hs_id": "hs-1"}]])
def test_a_dataset_without_knowledge_is_refused(tmp_path: Path, rows: list[dict[str, Any]]) -> None:
    with pytest.raises(InputError, match="has no pairs with `knowledge`: give a folder of `fcconan build kn-conan`"):
        KnownKnowledge(known(tmp_path, rows))


def test_passages_come_by_bm25(tmp_path: Path) -> None:
    passages = Passages(folder(tmp_path, a_txt=f"{ONE}\n\n{TWO}", b_md=THREE), k=3)
    # BM25+ with k1 1.5 and b 0.75, over 6, 11 and 4 words (mean 7). What delta adds is the same for all passages.

    def weight(n_with: int, count: int, length: int) -> float:
        return math.log(4 / n_with) * count * 2.5 / (1.5 * (0.25 + 0.75 * length / 7) + count)

    one, two = weight(2, 1, 6), weight(2, 2, 11)
    assert (one, two) == pytest.approx((0.7407, 0.8366), abs=1e-4)
    assert asked(passages, "That LIBRARY!") == f"{TWO}\n\n{ONE}"
    book, early = weight(1, 1, 6), weight(1, 1, 4)
    assert (one + book, early, two) == pytest.approx((2.2223, 1.7175, 0.8366), abs=1e-4)
    assert asked(passages, "library book early") == f"{ONE}\n\n{THREE}\n\n{TWO}"
    assert asked(Passages(tmp_path, k=1), "library book early") == ONE
    assert asked(passages, "Quillish?") is None
    assert asked(passages, "...") is None


def test_equal_passages_stay_in_the_order_of_the_files(tmp_path: Path) -> None:
    passages = Passages(folder(tmp_path, b_txt="Ombrey sing.", a_txt="Ombrey dance.", c_txt="Ombrey swim."), k=2)
    assert asked(passages, "Ombrey") == "Ombrey dance.\n\nOmbrey sing."


def test_a_word_of_every_passage_counts_for_them(tmp_path: Path) -> None:
    assert asked(Passages(folder(tmp_path, a_txt="Ombrey sing."), k=3), "Ombrey") == "Ombrey sing."


def test_words_that_only_hold_sentences_together_find_nothing(tmp_path: Path) -> None:
    passages = Passages(folder(tmp_path, a_txt=ONE, b_txt=TWO, c_txt=THREE))
    assert asked(passages, "The Velmari are OF no use, and every one of them isn't.") == THREE
    assert asked(passages, "This is the end of every one, and they would have it so.") is None
    assert asked(passages, "is") is None


def test_a_word_of_more_than_half_of_ten_passages_finds_nothing_in_any_language(tmp_path: Path) -> None:
    """`kaj` is in six of ten, `ili` in five."""
    texts = [f"Ombrey{n} {'kaj' if n < 6 else 'ne'} {'ili' if n < 5 else 'sed'} kantas" for n in range(10)]
    passages = Passages(folder(tmp_path, a_txt="\n\n".join(texts)), k=1)
    assert asked(passages, "Ombrey7 kaj kantas") == texts[7]
    assert asked(passages, "Quillish kaj kantas") is None
    assert asked(passages, "Quillish ili") == texts[0]
    # Of nine passages, a share of more than half says nothing about a word.
    folder(tmp_path, a_txt="\n\n".join(texts[:9]))
    assert asked(Passages(tmp_path, k=1), "Quillish kaj") == texts[0]


def test_common_words_change_no_score(tmp_path: Path) -> None:
    passages = Passages(folder(tmp_path, a_txt=f"{ONE}\n\n{TWO}", b_md=THREE), k=3)
    for message in ("library book early", "library", "Tessok rise"):
        assert asked(passages, f"They are of the {message} and it is is is is") == asked(passages, message)


def test_passages_are_paragraphs_and_rows(tmp_path: Path) -> None:
    folder(
        tmp_path,
        a_txt="\ufeffOne\r\nline.\r\n \t\r\nTwo.\n\n\n\nOne line.",
        b_csv="text,source\nThree.,x\n,y\n",
        c_pdf="Four.",
    )
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "d.jsonl").write_text(json.dumps({"text": "Five\nlines."}) + "\n")
    (tmp_path / "deep.txt").mkdir()
    passages = Passages(tmp_path, k=9)
    assert sorted((asked(passages, "one two three four five") or "").split("\n\n")) == [
        "Five lines.",
        "One line.",
        "Three.",
        "Two.",
    ]


def test_the_configuration_changes_with_passages_and_their_number(tmp_path: Path) -> None:
    first = Passages(folder(tmp_path, a_txt=ONE)).configuration
    assert first["k"] == 3
    assert Passages(tmp_path).configuration == first
    assert Passages(tmp_path, k=2).configuration == {**first, "k": 2}
    assert Passages(folder(tmp_path, b_txt=TWO)).configuration["passages"] != first["passages"]


def test_folders_that_cannot_be_used(tmp_path: Path) -> None:
    with pytest.raises(
        InputError, match=r"has no passages: give a folder with \.txt, \.md or \.parquet, \.jsonl, \.csv"
    ):
        Passages(folder(tmp_path, a_txt=" \n\n ", b_pdf="x"))
    with pytest.raises(InputError, match=r"nowhere is not a folder: give a folder with passages"):
        Passages(tmp_path / "nowhere")
    (tmp_path / "a.txt").write_bytes(b"caf\xe9")
    with pytest.raises(InputError, match=r"a\.txt: byte 3 is not UTF-8: save it as UTF-8"):
        Passages(tmp_path)
    (tmp_path / "a.txt").unlink()
    folder(tmp_path, c_csv="passage\nOne.\n")
    with pytest.raises(InputError, match=r"c\.csv has no column 'text', but passage: name one of these"):
        Passages(tmp_path)
