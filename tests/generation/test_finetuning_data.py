"""Pairs about invented peoples, whose groups and lengths are counted by hand."""

import csv
from pathlib import Path
from typing import Any

import pytest

import fcconan
from fcconan.data.ids import make_cn_id, make_hs_id, make_pair_id
from fcconan.data.leakage import message_leakage_keys
from fcconan.errors import InputError
from fcconan.generation.finetuning.data import (
    TrainingSplit,
    divide,
    encode,
    evaluation_refusal,
    find_evaluation_pairs,
    prepare_pairs,
    shared_messages,
    without_duplicates,
)
from fcconan.generation.finetuning.model import pad_batch
from fcconan.generation.items import Item
from fcconan.generation.prompts import load_generation_prompt
from fcconan.generation.training_pool import Pair, load_training_pairs
from fcconan.models.chat_template import load_format
from tests.models.tiny_chat import END, tiny_chat

THEFT, CARDS, MOON = "The Ombrey steal books.", "Every Tessok cheats at cards.", "The Dravene howl at the moon."


def example(message: str, reply: str) -> Pair:
    hs, cn = make_hs_id(message), make_cn_id(reply)
    return Pair(make_pair_id(hs, cn), cn, message, reply, message_leakage_keys(message, [reply]))


def written(path: Path, rows: list[dict[str, str]]) -> Path:
    with path.open("w", encoding="utf-8", newline="") as file:
        table = csv.DictWriter(file, list(rows[0]))
        table.writeheader()
        table.writerows(rows)
    return path


def pairs_file(path: Path, *pairs: tuple[str, str]) -> Path:
    return written(path, [{"hate_speech": message, "counter_narrative": reply} for message, reply in pairs])


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory: pytest.TempPathFactory) -> Any:
    from transformers import AutoTokenizer

    return AutoTokenizer.from_pretrained(tiny_chat(tmp_path_factory.mktemp("tiny")))


def test_the_training_part_of_a_dataset_is_read(tmp_path: Path) -> None:
    fcconan.build("demo", tmp_path / "demo")
    read = load_training_pairs(tmp_path / "demo")
    assert len(read.pairs) == 44
    named = {key: read.configuration[key] for key in ("dataset", "config", "split", "pairs")}
    assert named == {"dataset": "demo", "config": "train", "split": "train", "pairs": 44}
    assert read.not_appropriate == 0
    first = read.pairs[0]
    assert first.pair_id == make_pair_id(make_hs_id(first.hate_speech), make_cn_id(first.counter_narrative))

    bronze = load_training_pairs(tmp_path / "demo", config="bronze")
    assert len(bronze.pairs) + bronze.not_appropriate == fcconan_rows(tmp_path / "demo" / "bronze")
    assert bronze.not_appropriate > 0


def fcconan_rows(folder: Path) -> int:
    import pyarrow.parquet as pq

    return sum(pq.read_metadata(path).num_rows for path in folder.glob("*.parquet"))


def test_empty_texts_are_refused_and_listed(tmp_path: Path) -> None:
    rows = [(THEFT, "They return them."), (THEFT, " "), ("", "No."), *[(CARDS, "")] * 5]
    path = pairs_file(tmp_path / "pairs.csv", *rows)
    with pytest.raises(InputError) as refused:
        load_training_pairs(path)
    listed = "; ".join(f"{path}, row {number}" for number in (2, 3, 4, 5, 6))
    assert str(refused.value) == (
        f"{path} has 7 pairs without a message or without a CN ({listed} and 2 more, which --json FILE lists): fill "
        "or remove those rows"
    )


def test_files_without_pairs_are_refused(tmp_path: Path) -> None:
    with pytest.raises(
        InputError, match="has no column 'counter_narrative', but hate_speech, answer, references: name one of these"
    ):
        load_training_pairs(written(tmp_path / "a.csv", [{"hate_speech": THEFT, "answer": "No."}]))
    named = load_training_pairs(tmp_path / "a.csv", columns={"counter_narrative": "answer"})
    assert [each.counter_narrative for each in named.pairs] == ["No."]
    judged = [{"hate_speech": THEFT, "counter_narrative": "No.", "label": "not_appropriate"}]
    with pytest.raises(InputError, match="has 1 pairs, none of them appropriate"):
        load_training_pairs(written(tmp_path / "b.csv", judged))


def test_the_language_of_a_pair_is_that_of_its_row(tmp_path: Path) -> None:
    rows = [
        {"hate_speech": THEFT, "counter_narrative": "No.", "language": "it"},
        {"hate_speech": CARDS, "counter_narrative": "No.", "language": ""},
    ]
    assert [each.language for each in load_training_pairs(written(tmp_path / "a.csv", rows)).pairs] == ["it", None]


def test_pairs_are_identical_if_both_texts_are(tmp_path: Path) -> None:
    path = pairs_file(tmp_path / "a.csv", (THEFT, "No."), (THEFT, " No. "), (CARDS, "No."), (THEFT, "Which books?"))
    held = pairs_file(tmp_path / "b.csv", (MOON, "Moonlight suits us all."))
    assert prepare_pairs(path, validation=str(held), seed=0)[1]["identical_pairs"] == 1


def test_one_pair_of_every_message_is_kept_at_random() -> None:
    replies = ["They return them.", "Their library is full.", "Which books?"]
    pairs = [*(example(THEFT, reply) for reply in replies), example(CARDS, "I never saw one play."), example(MOON, "I")]
    draws = [without_duplicates(pairs, seed=seed) for seed in range(40)]
    assert draws[7] == without_duplicates(pairs, seed=7)
    for kept in draws:
        assert [each.hate_speech for each in kept] == [THEFT, CARDS, MOON]
    assert {kept[0].counter_narrative for kept in draws} == set(replies)


def test_messages_of_an_evaluation_are_refused_and_listed() -> None:
    pairs = [
        example(THEFT, "They return them."),
        example(CARDS, "I never saw one play."),
        example(MOON, "Moonlight suits us all."),
    ]
    items = [
        Item("it-1", "hs-1", "the OMBREY steal books", leakage_keys=message_leakage_keys("the OMBREY steal books")),
        Item(
            "it-2",
            "hs-2",
            "Dogs howl.",
            ("Moonlight suits us all!",),
            leakage_keys=message_leakage_keys("Dogs howl.", ["Moonlight suits us all!"]),
        ),
    ]
    assert find_evaluation_pairs(pairs, items) == {0, 2}
    refused = evaluation_refusal([pairs[0], pairs[2]], "exam")
    assert str(refused) == (
        "2 training pairs have a message of exam, a paraphrase of one, or a CN of it "
        f"({pairs[0].pair_id}, {pairs[2].pair_id}): take them out, or give --leave-out-evaluation"
    )
    assert [each["pair_id"] for each in refused.pairs] == [pairs[0].pair_id, pairs[2].pair_id]


@pytest.mark.parametrize("seed", range(5))
def test_the_validation_part_shares_no_message_and_no_reply(seed: int) -> None:
    baking = ("bake at night", "never rise", "sell stones")
    deeds = (
        "bark", "cheat", "drift", "envy us", "forget", "gossip", "hum", "idle", "joke", "kick", "lurk", "mumble", "nap",
        "owe us",
    )  # fmt: skip
    pairs = [example(f"Velmari {baking[number // 2]}.", f"Reply {number % 7} of ours.") for number in range(6)]
    pairs += [example(f"Quillish {deed}.", f"Another reply {number}.") for number, deed in enumerate(deeds)]
    parts = divide(pairs, 0.2, seed=seed)
    assert (len(parts.train), len(parts.validation)) == (16, 4)
    assert sorted(map(repr, (*parts.train, *parts.validation))) == sorted(map(repr, pairs))
    assert shared_messages(parts) == 0
    assert not {each.cn_id for each in parts.train} & {each.cn_id for each in parts.validation}
    assert divide(pairs, 0.2, seed=seed) == parts


def test_near_copies_are_kin_of_an_evaluation_and_stay_on_one_side() -> None:
    near = "Every Tessok cheated at cards."
    pairs = [example(CARDS, "A."), example(near, "B."), example(MOON, "C.")]
    assert find_evaluation_pairs(
        pairs[1:], [Item("it-1", "hs-1", CARDS, leakage_keys=message_leakage_keys(CARDS))]
    ) == {0}
    assert divide(pairs, 0.4, seed=0) == TrainingSplit(pairs[:2], pairs[2:])
    assert shared_messages(TrainingSplit(pairs[:1], pairs[1:])) == 1


def test_groups_stay_together_when_a_part_is_cut_off() -> None:
    joined = [example(THEFT, "A."), example("the ombrey STEAL books", "B."), example(CARDS, "B."), example(CARDS, "C.")]
    parts = divide([*joined, example(MOON, "D.")], 0.5, seed=0)
    assert parts == TrainingSplit(joined, [example(MOON, "D.")])
    with pytest.raises(
        InputError, match=r"the 4 training pairs are one group.* give a validation part with --validation"
    ):
        divide(joined, 0.5, seed=0)
    for share in (0.0, 1.0, float("nan")):
        with pytest.raises(InputError, match="give a number above 0 and below 1"):
            divide(joined, share, seed=0)


def test_what_is_prepared_is_counted(tmp_path: Path) -> None:
    learnt = pairs_file(
        tmp_path / "learnt.csv", (THEFT, "A."), (THEFT, "B."), (THEFT, "B."), (CARDS, "C."), ("They dance.", "D.")
    )
    held = pairs_file(tmp_path / "held.csv", (MOON, "E."), ("They dance!", "F."))
    exam = [
        Item("it-1", "hs-1", CARDS, leakage_keys=message_leakage_keys(CARDS)),
        Item("it-2", "hs-2", MOON, leakage_keys=message_leakage_keys(MOON)),
    ]
    parts, notes = prepare_pairs(
        learnt,
        validation=str(held),
        evaluation={"exam": exam},
        leave_out_evaluation=True,
        drop_duplicates=True,
        seed=3,
    )
    assert [each.hate_speech for each in parts.train] == [THEFT, "They dance."]
    assert [each.counter_narrative for each in parts.validation] == ["F."]
    assert notes["left_out"] == {"kin_of_evaluation": 2, "duplicate": 2}
    assert notes["validation_pairs_with_a_message_of_training"] == 1
    assert (notes["validation"]["dataset"], notes["validation"]["pairs"]) == ("held.csv", 2)
    assert (notes["evaluation"], notes["identical_pairs"]) == (["exam"], 0)

    parts, notes = prepare_pairs(learnt, validation="0.4", seed=3)
    assert (len(parts.train), len(parts.validation), notes["left_out"]) == (3, 2, {})
    assert (notes["validation"], notes["identical_pairs"]) == ({"share": 0.4}, 1)
    with pytest.raises(InputError, match="2 training pairs have a message of exam"):
        prepare_pairs(learnt, validation=str(held), evaluation={"exam": exam}, seed=3)
    with pytest.raises(InputError, match="is a file and has no splits"):
        prepare_pairs(learnt, validation="dev", seed=3)
    with pytest.raises(InputError, match=r"all pairs of .* share messages with the evaluation"):
        prepare_pairs(
            held,
            evaluation={
                "all": [Item("i", "h", text, leakage_keys=message_leakage_keys(text)) for text in (MOON, "They dance!")]
            },
            leave_out_evaluation=True,
            seed=3,
        )


def test_the_loss_is_on_the_reply_and_one_end_token(tokenizer: Any) -> None:
    prompt = load_generation_prompt("message")
    pairs = [example(THEFT, "They return them."), example(CARDS, "No.")]
    encoded, left_out = encode(pairs, tokenizer=tokenizer, prompt=prompt, template=None, max_length=512)
    assert left_out == {}
    batch = pad_batch(encoded, tokenizer.pad_token_id)
    for pair, each, tokens, labels, mask in zip(
        pairs, encoded, batch["input_ids"], batch["labels"], batch["attention_mask"], strict=True
    ):
        asked = tokenizer.apply_chat_template(
            [{"role": "user", "content": pair.hate_speech}], add_generation_prompt=True, tokenize=False
        )
        assert tokenizer.decode(each.tokens[: each.prompt]) == asked
        assert tokenizer.decode(labels[labels != -100]) == pair.counter_narrative + END
        assert (labels != -100).nonzero().flatten().tolist() == list(range(each.prompt, len(each.tokens)))
        assert mask.sum() == len(each.tokens)
        assert (tokens[len(each.tokens) :] == tokenizer.pad_token_id).all()


def test_pairs_that_cannot_be_learnt_from_are_named(tokenizer: Any) -> None:
    prompt = load_generation_prompt("message")
    short, long = example(THEFT, "No."), example(CARDS, "word " * 300)
    held = example(MOON, f"They sing. {END}")

    def with_limit(limit: int, *pairs: Pair) -> Any:
        return encode(pairs, tokenizer=tokenizer, prompt=prompt, template=None, max_length=limit)

    encoded, left_out = with_limit(100, short, long, held)
    assert len(encoded) == 1
    assert left_out == {"too_long": [long.pair_id], "control_token": [held.pair_id]}
    length = len(encoded[0].tokens)
    assert len(with_limit(length, short)[0]) == 1
    with pytest.raises(
        InputError, match=f"none of 1 pairs fits {length - 1} tokens, the shortest {length}: give a larger"
    ):
        with_limit(length - 1, short)
    with pytest.raises(InputError, match=r"the prompt grounded shows .*, which training pairs do not have"):
        encode([short], tokenizer=tokenizer, prompt=load_generation_prompt("grounded"), template=None, max_length=512)


def test_a_named_format_takes_the_place_of_the_chat_template(tokenizer: Any) -> None:
    template = load_format("dialogpt")
    encoded, _ = encode(
        [example(THEFT, "No.")],
        tokenizer=tokenizer,
        prompt=load_generation_prompt("message"),
        template=template,
        max_length=512,
    )
    assert tokenizer.decode(encoded[0].tokens) == f"{THEFT}{END}No.{END}"
    assert tokenizer.decode(encoded[0].tokens[: encoded[0].prompt]) == f"{THEFT}{END}"
