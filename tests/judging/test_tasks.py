import re
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from fcconan.data.content import content_folder, task_names, task_path
from fcconan.data.schemas import VERDICTS, VOTE_LABELS
from fcconan.errors import InputError
from fcconan.judging.tasks import Aspect, Label, Task, dump_task, load_task

# Messages name lines of this file, counted from 1.
TINY = """\
name: tiny
title: A tiny task
unit: reply
question: How good is this reply?
aspects:
  - name: calm
    title: Calm
    question: How calm is the reply?
    low: 1
    high: 3
    grades:
      1: Angry.
      2: Tense.
      3: Calm.
    steps:
      - Read it.
"""
LABELS = """\
name: tiny
title: A tiny task
unit: pair
question: Does it fit?
labels:
  - name: fits
    meaning: It does.
  - name: misfits
    meaning: It does not.
"""
# Aspect: lowest grade, highest grade, decimals, whether high is praise. From the papers; see the head of each file.
SCALES = {
    "multi-aspect": {
        "specificity": (1, 5, 0, True),
        "opposition": (1, 5, 0, True),
        "relatedness": (1, 5, 0, True),
        "toxicity": (1, 5, 0, True),
        "fluency": (1, 5, 0, True),
        "overall": (1, 5, 0, True),
    },
    "cseval": {
        "relevance": (1, 5, 0, True),
        "coherence": (1, 5, 0, True),
        "aggressiveness": (1, 5, 0, False),
        "suitableness": (1, 3, 0, True),
    },
    "features": {
        "relatedness": (0, 5, 0, True),
        "specificity": (0, 5, 0, True),
        "richness": (0, 5, 0, True),
        "coherence": (0, 5, 0, True),
        "grammaticality": (0, 5, 0, True),
        "overall": (1, 5, 0, True),
    },
    "grounded": {
        "relatedness": (1, 5, 2, True),
        "opposition": (1, 5, 2, True),
        "specificity": (1, 5, 2, True),
        "toxicity": (1, 5, 2, True),
        "fluency": (1, 5, 2, True),
    },
}
LABELLED = {"appropriateness": VOTE_LABELS, "pairwise": VERDICTS[:3]}
EVERY_TASK = sorted([*SCALES, *LABELLED])
EVERY_ASPECT = [(task, aspect) for task, aspects in SCALES.items() for aspect in aspects]


def _write(folder: Path, content: str) -> Path:
    path = folder / "task.yaml"
    path.write_text(content, encoding="utf-8")
    return path


def _error(folder: Path, content: str) -> str:
    """Returns the message with which a task is refused, without the path that it begins with."""
    path = _write(folder, content)
    with pytest.raises(InputError) as caught:
        load_task(path)
    message = str(caught.value)
    assert "\n" not in message
    assert message.startswith(str(path))
    return message.removeprefix(str(path))


def _guidelines(task: str) -> str:
    return (content_folder() / "annotations" / task / "guidelines.md").read_text(encoding="utf-8")


def _tables(section: str) -> list[tuple[str, str]]:
    """Returns the rows of two-column tables, without head and rule."""
    rows = re.findall(r"^\| ([^|]+) \| ([^|]+) \|$", section, re.MULTILINE)
    return [row for row in rows if row[0] not in ("Grade", "Label")]


def test_the_catalogue_holds_these_tasks() -> None:
    assert task_names() == ["appropriateness", "cseval", "features", "grounded", "multi-aspect", "pairwise"]
    assert task_names() == EVERY_TASK


@pytest.mark.parametrize("name", EVERY_TASK)
def test_every_task_of_the_catalogue_loads_under_the_name_of_its_folder(name: str) -> None:
    assert task_path(name) == content_folder() / "annotations" / name / "task.yaml"
    assert load_task(name).name == name


@pytest.mark.parametrize("name", SCALES)
def test_aspects_and_scales(name: str) -> None:
    aspects = load_task(name).aspects
    assert {one.name: (one.low, one.high, one.decimals, one.higher_is_better) for one in aspects} == SCALES[name]
    assert [one.name for one in aspects] == list(SCALES[name])


@pytest.mark.parametrize("name", LABELLED)
def test_labels(name: str) -> None:
    task = load_task(name)
    assert tuple(label.name for label in task.labels) == LABELLED[name]
    assert len({label.meaning for label in task.labels}) == 3


def test_what_is_judged_and_what_is_shown() -> None:
    tasks = [load_task(name) for name in EVERY_TASK]
    assert {task.name: task.unit for task in tasks} == {
        "appropriateness": "pair",
        "cseval": "reply",
        "features": "reply",
        "grounded": "reply",
        "multi-aspect": "reply",
        "pairwise": "comparison",
    }
    assert {task.name: task.context for task in tasks if task.context != ["hate_speech"]} == {
        "grounded": ["hate_speech", "background"]
    }
    assert [task.name for task in tasks if task.explain] == ["grounded"]


@pytest.mark.parametrize(("task", "aspect"), EVERY_ASPECT)
def test_no_two_grades_read_alike(task: str, aspect: str) -> None:
    one = load_task(task).aspect(aspect)
    assert len({text.casefold() for text in one.grades.values()}) == one.high - one.low + 1


@pytest.mark.parametrize(("task", "aspect"), EVERY_ASPECT)
def test_every_aspect_has_four_to_six_steps(task: str, aspect: str) -> None:
    steps = load_task(task).aspect(aspect).steps
    assert 4 <= len(set(steps)) == len(steps) <= 6


@pytest.mark.parametrize(
    ("task", "aspect", "title", "words"),
    [
        ("multi-aspect", "toxicity", "5 is best", "1 stands for a toxic reply, 5 for one that is not toxic"),
        ("grounded", "toxicity", "5.00 is best", "1.00 stands for a toxic reply, 5.00 for one that is not toxic"),
        ("cseval", "aggressiveness", "1 is best", "1 stands for a calm reply, 5 for an abusive one"),
    ],
)
def test_a_scale_that_invites_confusion_says_its_direction(task: str, aspect: str, title: str, words: str) -> None:
    one = load_task(task).aspect(aspect)
    assert title in one.title
    assert words in one.question


@pytest.mark.parametrize("task", SCALES)
def test_guidelines_show_every_aspect_with_the_grades_that_models_read(task: str) -> None:
    sections = re.split(r"^#{2,3} ", _guidelines(task), flags=re.MULTILINE)
    by_title = {section.partition("\n")[0]: section for section in sections}
    for aspect in load_task(task).aspects:
        section = by_title[aspect.title]
        assert aspect.question in section
        assert _tables(section)[: len(aspect.grades)] == [(str(grade), text) for grade, text in aspect.grades.items()]


def test_guidelines_of_comparisons_show_every_label_and_rule() -> None:
    task = load_task("pairwise")
    text = _guidelines("pairwise")
    assert _tables(text) == [(f"`{label.name}`", label.meaning) for label in task.labels]
    assert [rule for rule in task.rules if f"- {rule}\n" not in text] == []


@pytest.mark.parametrize("task", EVERY_TASK)
def test_guidelines_have_their_parts(task: str) -> None:
    text = _guidelines(task)
    headings = re.findall(r"^## (.+)$", text, re.MULTILINE)
    wanted = ["What you will see", "The question", "Worked examples", "How to work", "Looking after yourself"]
    assert [heading for heading in headings if heading in wanted] == wanted
    assert load_task(task).question in text
    assert "at any time, without giving a reason" in text


@pytest.mark.parametrize("task", SCALES)
def test_worked_examples_keep_to_the_scales(task: str) -> None:
    examples = _guidelines(task).split("## Worked examples")[1].split("\n## ")[0]
    cells = [
        [cell.strip() for cell in line.strip("|").split("|")] for line in examples.splitlines() if line[:3] == '| "'
    ]
    assert len(cells) >= 5
    for _, *grades, _ in cells:
        assert len(grades) == len(SCALES[task])
        for grade, (low, high, decimals, _) in zip(grades, SCALES[task].values(), strict=True):
            assert re.fullmatch(rf"\d\.\d{{{decimals}}}" if decimals else r"\d", grade)
            assert low <= float(grade) <= high


def test_a_task_of_ones_own_is_found_by_file_and_by_folder(tmp_path: Path) -> None:
    path = _write(tmp_path, TINY)
    task = load_task(path)
    assert task.aspect("calm").grades == {1: "Angry.", 2: "Tense.", 3: "Calm."}
    assert task.aspect("calm").scale == (1.0, 3.0)
    assert load_task(str(path)) == load_task(tmp_path) == load_task(f"{tmp_path}/") == task


def test_a_name_of_the_catalogue_comes_before_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "cseval").mkdir()
    _write(tmp_path / "cseval", TINY)
    monkeypatch.chdir(tmp_path)
    assert load_task("cseval").name == "cseval"
    assert load_task("./cseval").name == "tiny"


KNOWN = "appropriateness, cseval, features, grounded, multi-aspect, pairwise"


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("cs-eval", f"unknown task 'cs-eval': did you mean 'cseval'? known are {KNOWN}, or a .yaml file"),
        ("Grounded", f"unknown task 'Grounded': did you mean 'grounded'? known are {KNOWN}, or a .yaml file"),
        ("zzz", f"unknown task 'zzz': known are {KNOWN}, or a .yaml file"),
        ("no/such.yaml", f"no task file at no/such.yaml: give a .yaml file, or one of {KNOWN}"),
        ("no/such", f"unknown task 'no/such': known are {KNOWN}, or a .yaml file"),
        ("bare", f"no task file at bare/task.yaml: give a .yaml file, or one of {KNOWN}"),
    ],
)
def test_unknown_tasks(name: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "bare").mkdir()
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError) as caught:
        load_task(name)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("unit: reply", "unit: text", ", line 3: unit: Input should be 'pair', 'reply' or 'comparison' (found 'text')"),
        ("unit: reply\n", "", ", line 1: unit: Field required"),
        (
            "question: How good",
            "qestion: How good",
            ", line 4: unknown key 'qestion'; did you mean 'question'? (and 1 more)",
        ),
        ("    grades:", "    grade:", ", line 11: unknown key 'aspects.0.grade'; did you mean 'grades'? (and 1 more)"),
        ("    low: 1", "    low: 1\n    zzz: 1", ", line 10: unknown key 'aspects.0.zzz'; remove it"),
        ("    low: 1", "    low: 3", ", line 6: aspects.0: low is 3 and high 3: low must be the smaller one"),
        (
            "    low: 1",
            "    low: -99999999999",
            ", line 6: aspects.0: grades are given for [1, 2, 3]: give one for each of -99999999999 to 3",
        ),
        # YAML reads `yes` as true, which Python takes for 1.
        ("    low: 1", "    low: yes", ", line 9: aspects.0.low: Input should be a valid integer (found True)"),
        (
            "      2: Tense.\n",
            "",
            ", line 6: aspects.0: grades are given for [1, 3]: give one for each of 1 to 3",
        ),
        (
            "      3: Calm.",
            "      3: Calm.\n      4: Serene.",
            ", line 6: aspects.0: grades are given for [1, 2, 3, 4]: give one for each of 1 to 3",
        ),
        # A grade in quotes is a text; taken for a number, it would replace the grade 2 in silence.
        (
            "      3: Calm.",
            '      3: Calm.\n      "2": Serene.',
            ", line 15: aspects.0.grades.2: Input should be a valid integer (found '2')",
        ),
        ("      2: Tense.", "      2:", ", line 13: aspects.0.grades.2: Input should be a valid string (found None)"),
        (
            "      2: Tense.",
            '      2: " "',
            ", line 13: aspects.0.grades.2: is empty: write a text for the raters (found ' ')",
        ),
        ("title: A tiny task", "title: ''", ", line 2: title: is empty: write a text for the raters (found '')"),
        (
            "      - Read it.",
            "      - ''",
            ", line 16: aspects.0.steps.0: is empty: write a text for the raters (found '')",
        ),
        (
            "      2: Tense.",
            "      2: angry.",
            ", line 13: grades 1 and 2 of calm have the same meaning: reword one",
        ),
        (
            "      2: Tense.",
            "      2: Tense.\n      2: Stern.",
            ", line 14: key 2 occurs twice; remove one of them",
        ),
        (
            "unit: reply",
            "unit: [reply",
            ", line 4: not valid YAML (expected ',' or ']', but got ':'); correct the line",
        ),
        (
            "aspects:",
            "labels: [{name: fits, meaning: It does.}]\naspects:",
            ", line 1: the task: a task has either aspects or labels",
        ),
    ],
)
def test_bad_tasks_are_refused_in_one_line(old: str, new: str, message: str, tmp_path: Path) -> None:
    assert TINY.count(old) == 1
    assert _error(tmp_path, TINY.replace(old, new)) == message


def test_bad_labels_are_refused_in_one_line(tmp_path: Path) -> None:
    assert _error(tmp_path, LABELS.replace("name: misfits", "name: fits")) == (
        ", line 1: the task: two aspects or labels have the same name: rename one"
    )
    assert _error(tmp_path, LABELS.replace("meaning: It does not.", "meanings: It does not.")) == (
        ", line 9: unknown key 'labels.1.meanings'; did you mean 'meaning'? (and 1 more)"
    )
    # Unquoted, YAML reads `no` as false.
    assert _error(tmp_path, LABELS.replace("name: misfits", "name: no")) == (
        ", line 8: labels.1.name: Input should be a valid string (found False)"
    )


@pytest.mark.parametrize("name", EVERY_TASK)
def test_every_task_survives_dumping(name: str, tmp_path: Path) -> None:
    task = load_task(name)
    assert load_task(_write(tmp_path, dump_task(task))) == task


def test_a_dumped_task_shows_what_can_be_changed() -> None:
    task = Task(
        name="tiny",
        title="A tiny task",
        unit="reply",
        question="How good?",
        aspects=[Aspect(name="calm", title="Calm", question="How calm?", low=0, high=1, grades={0: "Not.", 1: "Yes"})],
    )
    assert dump_task(task) == (
        "name: tiny\n"
        "title: A tiny task\n"
        "unit: reply\n"
        "question: How good?\n"
        "context:\n"
        "  - hate_speech\n"
        "aspects:\n"
        "  - name: calm\n"
        "    title: Calm\n"
        "    question: How calm?\n"
        "    low: 0\n"
        "    high: 1\n"
        "    decimals: 0\n"
        "    higher_is_better: true\n"
        "    grades:\n"
        "      0: Not.\n"
        "      1: 'Yes'\n"
        "explain: false\n"
    )


TEXT = st.text(min_size=1).filter(lambda text: text.strip())


@given(title=TEXT, question=TEXT, meanings=st.tuples(TEXT, TEXT), rules=st.lists(TEXT, max_size=3))
def test_any_text_survives_dumping(
    tmp_path_factory: pytest.TempPathFactory,
    title: str,
    question: str,
    meanings: tuple[str, str],
    rules: list[str],
) -> None:
    labels = [Label(name="no", meaning=meanings[0]), Label(name="yes", meaning=meanings[1])]
    task = Task(name="tiny", title=title, unit="pair", question=question, labels=labels, rules=rules, explain=True)
    path = _write(tmp_path_factory.getbasetemp(), dump_task(task))
    assert load_task(path) == task


def test_an_empty_context_survives_dumping(tmp_path: Path) -> None:
    labels = [Label(name="fits", meaning="It does."), Label(name="misfits", meaning="It does not.")]
    task = Task(name="tiny", title="T", unit="pair", question="Q?", context=[], labels=labels)
    assert load_task(_write(tmp_path, dump_task(task))) == task
