"""Loads the rubric files of the multi-aspect paper, and the prompt of the grounded judge, as they were released."""

import csv
import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest
import yaml

from fcconan import rate
from fcconan.judging import PromptTemplate, Task, load_prompt, load_rubric
from fcconan.models import ChatRequest, ChatResponse

pytestmark = pytest.mark.upstream

FOLDER = "OSU-NLP-Group/LLM-CN-Eval/src/evaluation"
ASPECTS = ["opposition", "relatedness", "specificity", "toxicity", "fluency", "overall"]


@pytest.fixture
def csv_file(mirror: Path) -> Path:
    return mirror / FOLDER / "prompts.csv"


@pytest.fixture
def json_file(mirror: Path) -> Path:
    return mirror / FOLDER / "Prometheus" / "cn_prometheus.json"


def check(task: Task) -> None:
    assert [aspect.name for aspect in task.aspects] == ASPECTS
    for aspect in task.aspects:
        assert (aspect.low, aspect.high, aspect.decimals, aspect.higher_is_better) == (1, 5, 0, True)
        assert aspect.question
        for text in aspect.grades.values():
            assert text.endswith((".", "!"))
            assert not re.search(r"\bstars?\b:|\bscore \d", text, re.IGNORECASE)


def test_both_files_hold_the_same_six_rubrics(csv_file: Path, json_file: Path) -> None:
    first, second = load_rubric(str(csv_file)), load_rubric(str(json_file))
    check(first)
    check(second)
    assert (first.name, second.name) == ("prompts", "cn-prometheus")
    for one, other in zip(first.aspects, second.aspects, strict=True):
        assert one.title == other.title
        assert one.grades == other.grades
        assert one.question != other.question


def test_no_word_of_a_grade_is_lost(csv_file: Path, json_file: Path) -> None:
    with csv_file.open(encoding="utf-8-sig", newline="") as file:
        [prompts] = csv.DictReader(file)
    rubrics = json.loads(json_file.read_text(encoding="utf-8"))["rubrics"]
    for texts, marks, path in ((prompts, r"\d [Ss]tars?:", csv_file), (rubrics, r"Score \d:", json_file)):
        for aspect in load_rubric(str(path)).aspects:
            words = re.sub(marks, " ", texts[aspect.title]).replace("[", "").replace("]", "").split()
            asked, grades = aspect.question.split(), " ".join(aspect.grades.values()).split()
            assert (words[: len(asked)], words[-len(grades) :]) == (asked, grades)
            # What only announces the grades is left out; the JSON file has none.
            announced = " ".join(words[len(asked) : -len(grades)])
            assert announced.endswith(":") and "." not in announced if path == csv_file else not announced


# The prompt of the grounded judge.


@pytest.fixture
def prompt_file(mirror: Path) -> Path:
    path = mirror.parent / "prompts" / "grounded_five_aspects.yaml"
    if not path.exists():
        pytest.skip("the prompts are not beside the mirror")
    return path


TEXTS = {"hate_speech": "Tessok do {{nothing}}.", "counter_narrative": 'They "bake" }}.', "background": "B\n\nB."}


def test_the_grounded_prompt_loads_unchanged(prompt_file: Path) -> None:
    prompt = load_prompt(prompt_file, known=TEXTS, needed=TEXTS)
    messages = yaml.safe_load(prompt_file.read_text(encoding="utf-8"))
    assert prompt == PromptTemplate(tuple((message["role"], message["content"]) for message in messages))
    assert prompt.variables == set(TEXTS)
    expected = messages[1]["content"]
    for name, text in TEXTS.items():
        before, _, after = expected.partition("{{" + name + "}}")
        expected = before + text.replace("{{", "\0") + after
    assert prompt.render(TEXTS)[1] == {"role": "user", "content": expected.replace("\0", "{{")}


def test_the_grounded_prompt_asks_for_the_aspects_of_the_task(prompt_file: Path) -> None:
    class Judge:
        name = "judge"

        def replies(self, calls: Iterable[ChatRequest]) -> Iterator[ChatResponse]:
            names = ("Fluency", "Opposition", "Relatedness", "Specificity", "Toxicity")
            said = {name: {"score": 4.25, "explanation": f"The {name}."} for name in names}
            # Its own pattern, copied, is no rating: 1.00 for every aspect.
            pattern = yaml.safe_load(prompt_file.read_text(encoding="utf-8"))[1]["content"]
            return (
                ChatResponse(text)
                for text, _ in zip((f"```json\n{json.dumps(said)}\n```", pattern), calls, strict=True)
            )

    rows = [{**TEXTS, "text": text, "system": "one"} for text in ("They bake.", "They read.")]
    found = rate(rows, model=Judge(), task="grounded", rating_method="grounded", prompt=prompt_file)
    assert found.to_frame()[["n", "n_missing", "value"]].values.tolist() == [[1, 1, 4.25]] * 5
    assert found.to_frame("ratings")["explanation"][0].startswith("The ")
