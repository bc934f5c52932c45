import json
from pathlib import Path
from typing import Any

import pytest

from fcconan.errors import InputError
from fcconan.judging.rubrics import load_rubric
from fcconan.judging.tasks import Aspect, dump_task, load_task

CSV = (
    "\ufeffCalm,Inner Depth\r\n"
    '"How calm, on\nthe whole, is it?\n\n1 star: Not at\n all.\n\n2 Stars: A bit.\n3 star:Wholly.",'
    '"How deep? ""Very""?\n\n1 Star: Flat.\n2 Stars : Deep."\r\n'
)


def write(path: Path, text: str) -> str:
    path.write_bytes(text.encode())
    return str(path)


def prometheus(**rubrics: Any) -> str:
    return json.dumps({"rubrics": rubrics, "references": {"Calm": "Not read."}})


def test_a_csv_of_prompts_is_a_task(tmp_path: Path) -> None:
    found = load_rubric(write(tmp_path / "2024 Prompts.csv", CSV))
    assert (found.name, found.unit, found.context, found.labels) == (
        "rubric-2024-prompts",
        "reply",
        ["hate_speech"],
        [],
    )
    assert found.aspects == [
        Aspect(
            name="calm",
            title="Calm",
            question="How calm, on the whole, is it?",
            low=1,
            high=3,
            grades={1: "Not at all.", 2: "A bit.", 3: "Wholly."},
        ),
        Aspect(
            name="inner_depth",
            title="Inner Depth",
            question='How deep? "Very"?',
            low=1,
            high=2,
            grades={1: "Flat.", 2: "Deep."},
        ),
    ]


def test_a_rubric_of_prometheus_is_a_task(tmp_path: Path) -> None:
    text = prometheus(Calm="[How calm?]\nScore 0: Not.\nScore 1: A bit, 2: say.\nScore 2: Wholly.")
    found = load_rubric(write(tmp_path / "mine.json", text))
    assert found.name == "mine"
    [calm] = found.aspects
    assert (calm.question, calm.low, calm.high, calm.higher_is_better) == ("How calm?", 0, 2, True)
    assert calm.grades == {0: "Not.", 1: "A bit, 2: say.", 2: "Wholly."}


def test_a_rubric_of_prometheus_eval_is_a_task(tmp_path: Path) -> None:
    own = {"criteria": "How calm?", "score2_description": "Wholly:\nScore 1: no.", "score1_description": "Not at all."}
    [calm] = load_rubric(write(tmp_path / "inner_calm.json", json.dumps(own))).aspects
    assert (calm.name, calm.title, calm.question) == ("inner_calm", "inner_calm", "How calm?")
    assert calm.grades == {1: "Not at all.", 2: "Wholly: Score 1: no."}
    both = load_rubric(write(tmp_path / "mine.json", prometheus(Depth=GOOD, Calm=own)))
    assert [(aspect.title, aspect.grades[1]) for aspect in both.aspects] == [
        ("Depth", "Flat."),
        ("Calm", "Not at all."),
    ]


def test_what_only_announces_the_grades_is_no_part_of_the_question(tmp_path: Path) -> None:
    asked = "Rate how calm it is: wholly, say. Here is what every star stands for, from 1 to 2:"
    [calm] = load_rubric(write(tmp_path / "a.csv", f'Calm\n"{asked}\n\n1 star: Not.\n2 star: So."\n')).aspects
    assert calm.question == "Rate how calm it is: wholly, say."
    # All of it stays where nothing else is asked.
    [calm] = load_rubric(write(tmp_path / "a.csv", 'Calm\n"How calm:\n\n1 star: Not.\n2 star: So."\n')).aspects
    assert calm.question == "How calm:"


def test_grades_have_as_many_digits_as_they_need(tmp_path: Path) -> None:
    text = prometheus(Calm="How?\n" + "\n".join(f"Score {grade}: Grade {grade}." for grade in range(1, 11)))
    [calm] = load_rubric(write(tmp_path / "mine.json", text)).aspects
    assert (calm.high, calm.grades[1], calm.grades[10]) == (10, "Grade 1.", "Grade 10.")


def test_other_names_are_tasks(tmp_path: Path) -> None:
    assert load_rubric("cseval") == load_task("cseval")
    found = load_rubric(write(tmp_path / "a.csv", CSV))
    assert load_rubric(write(tmp_path / "task.yaml", dump_task(found))) == found


def test_toxicity_of_the_multi_aspect_paper_praises_with_five() -> None:
    assert load_task("multi-aspect").aspect("toxicity").higher_is_better
    assert not load_task("cseval").aspect("aggressiveness").higher_is_better


GOOD = "How?\nScore 1: Flat.\nScore 2: Deep."


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.csv", "Calm,Depth\n", "has rows of 2 cells, expected two rows of equal length"),
        ("a.csv", "", "has rows of no cells, expected two rows of equal length"),
        ("a.csv", "Calm,Depth\na\n", "has rows of 2, 1 cells, expected two rows of equal length"),
        (
            "a.csv",
            "Calm,Calm\na,b\n",
            "has rows of 2, 2 cells, expected two rows of equal length: different names of aspects",
        ),
        ("a.csv", 'Calm\n"a\n', "not CSV (unexpected end of data); correct it"),
        (
            "a.csv",
            "Calm\nHow calm?\n",
            "Calm has no lines such as `Score 1: ...` or `1 star: ...`; add one for each grade",
        ),
        ("a.json", "{", "not JSON (Expecting property name"),
        ("a.json", "[]", "; expected `rubrics` (aspect -> text), or `criteria`"),
        ("a.json", '{"rubric": {}}', "rubrics: Field required; expected `rubrics` (aspect -> text), or `criteria`"),
        (
            "calm.json",
            '{"criteria": "How?", "best": "Deep."}',
            "found 'best'; give texts under score1_description, score2_description and so on",
        ),
        ("calm.json", '{"criteria": "How?", "score1_description_old": "Deep."}', "found 'score1_description_old'"),
        ("calm.json", '{"criteria": "How?", "score1_description": 1}', "Input should be a valid string"),
        ("calm.json", '{"criteria": "How?"}', "calm has no lines such as `Score 1: ...`"),
        ("a.json", '{"rubrics": {}}', "rubrics: Dictionary should have at least 1 item"),
        ("a.json", '{"rubrics": ["a"]}', "rubrics: Input should be a valid dictionary"),
        ("a.json", '{"rubrics": {"Calm": 3}}', "rubrics.Calm: Input should be a valid dictionary"),
        ("a.json", prometheus(Calm=GOOD + "\nScore 2: Again."), "Calm describes the grade 2 twice; keep one"),
        (
            "a.json",
            prometheus(Calm=GOOD + "\nScore 4: Odd."),
            "aspects.0: grades are given for [1, 2, 4]: give one for each",
        ),
        ("a.json", prometheus(Calm="How?\nScore 1: Flat."), "Calm has no lines such as"),
        (
            "a.json",
            prometheus(Calm="How?\nScore 1:\nScore 2: Deep."),
            "aspects.0.grades.1: is empty: write a text",
        ),
        (
            "a.json",
            prometheus(Calm="Score 1: Flat.\nScore 2: Deep."),
            "aspects.0.question: is empty: write a text",
        ),
        ("a.json", prometheus(**{"A b": GOOD, "A-B": GOOD}), "two aspects or labels have the same name"),
        ("a.json", prometheus(**{"5 Ws": GOOD}), "aspects.0.name: String should match pattern"),
    ],
)
def test_broken_files_are_refused_in_one_line(tmp_path: Path, name: str, text: str, message: str) -> None:
    with pytest.raises(InputError) as error:
        load_rubric(write(tmp_path / name, text))
    assert message in str(error.value)
    assert str(error.value).startswith(str(tmp_path / name))
    assert "\n" not in str(error.value)


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"a\.csv cannot be read \(No such file or directory\): check the path"):
        load_rubric(str(tmp_path / "a.csv"))
    (tmp_path / "a.json").write_bytes(b'{"caf\xe9": 1}')
    with pytest.raises(InputError, match=r"a\.json: byte 5 is not UTF-8: save it as UTF-8"):
        load_rubric(str(tmp_path / "a.json"))
