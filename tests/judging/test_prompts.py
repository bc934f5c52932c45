import re
from pathlib import Path

import pytest

from fcconan.errors import InputError
from fcconan.judging.prompts import PromptTemplate, dump_prompt, load_prompt, rating_schema, separate_braces
from tests.judging.fake_model import aspect

KNOWN = {"hate_speech", "counter_narrative", "background"}

# The shape of a judge's prompt file: two roles, braces of a JSON pattern, indentation, empty lines, trailing space.
WHOLE = """- role: system
  content: |
    You grade replies about invented peoples.
      • Use the range 1.00–5.00.


- role: user
  content: |
    ## Message:
    {{hate_speech}}

    ## Known:
    {{ background }}

    ## Reply:
    {{counter_narrative}}

    Answer with JSON.\x20

    {
      "Fluency": { "score": 1.00, "explanation": "..." },
      "Nested": {"a": {"b": {"c": 1}}}
    }
"""


def write(path: Path, text: str) -> Path:
    file = path / "prompt.yaml"
    file.write_text(text, encoding="utf-8")
    return file


def load(path: Path, text: str, needed: tuple[str, ...] = ()) -> PromptTemplate:
    return load_prompt(write(path, text), known=KNOWN, needed=needed)


def test_a_prompt_file_is_loaded_as_it_stands(tmp_path: Path) -> None:
    prompt = load(tmp_path, WHOLE, ("hate_speech", "counter_narrative"))
    assert [role for role, _ in prompt.messages] == ["system", "user"]
    assert prompt.messages[0][1] == "You grade replies about invented peoples.\n  • Use the range 1.00–5.00.\n"
    assert prompt.messages[1][1].startswith("## Message:\n{{hate_speech}}\n\n## Known:\n{{ background }}\n")
    assert prompt.messages[1][1].endswith('"Nested": {"a": {"b": {"c": 1}}}\n}\n')
    assert prompt.variables == {"hate_speech", "background", "counter_narrative"}


def test_texts_take_the_place_of_variables_and_are_never_evaluated(tmp_path: Path) -> None:
    prompt = load(tmp_path, WHOLE)
    nasty = r"{{background}} }} \1 \g<0> {{ hate_speech }} {% if x %} $0 %s {0}"
    rendered = prompt.render({"hate_speech": nasty, "counter_narrative": "{{x}}", "background": "B"})
    assert [message["role"] for message in rendered] == ["system", "user"]
    assert rendered[1]["content"].startswith(f"## Message:\n{nasty}\n\n## Known:\nB\n\n## Reply:\n{{{{x}}}}\n")


def test_some_variables_can_be_filled_for_good() -> None:
    prompt = PromptTemplate((("user", "{{ grades }} of {{hate_speech}}: {{grades}}"),))
    filled = prompt.filled({"grades": "1: {{hate_speech}} {{{a"})
    shown = "1: { {hate_speech}} { { {a"
    assert filled.messages == (("user", f"{shown} of {{{{hate_speech}}}}: {shown}"),)
    assert filled.render({"hate_speech": "H"}) == [{"role": "user", "content": f"{shown} of H: {shown}"}]


def test_inert_text_has_no_variables_and_otherwise_stays() -> None:
    assert separate_braces('{"a": {"b": 1}} { {x}}') == '{"a": {"b": 1}} { {x}}'
    assert PromptTemplate((("user", separate_braces("{{{{x}}}}")),)).variables == frozenset()


def test_the_hash_changes_with_role_and_content() -> None:
    prompts = [PromptTemplate((("user", "a"),)), PromptTemplate((("system", "a"),)), PromptTemplate((("user", "b"),))]
    assert len({prompt.hash for prompt in prompts}) == 3
    assert prompts[0].hash == PromptTemplate((("user", "a"),)).hash
    assert re.fullmatch("[0-9a-f]{12}", prompts[0].hash)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: b\n", "line 1: found no list"),
        ("[]\n", "the list of messages is empty"),
        ("- role: user\n", "line 1: 0.content: Field required"),
        ("- role: user\n  content: a\n- hello\n", "line 3: 1: Input should be a valid dictionary"),
        ("- role: user\n  content: a\n  name: b\n", "line 3: unknown key '0.name'; remove it"),
        (
            "- role: judge\n  content: a\n",
            "line 1: 0.role: Input should be 'system', 'user' or 'assistant'",
        ),
        ("- role: user\n  content: 3\n", "line 2: 0.content: Input should be a valid string (found 3)"),
        ("- role: user\n  content: '  '\n", "line 2: 0.content: is empty: write"),
        (
            "- {role: user, content: '{{hs}} {{cn}}'}\n",
            "there is no variable cn, hs; choose among background, counter_n",
        ),
        ("- {role: user, content: 'a {{counter narrative}}'}\n", "has '{{counter narrative}}', expected a variable"),
        ("- {role: user, content: 'a {{}} b'}\n", "has '{{}}', expected a variable"),
        ("- {role: user, content: 'a {{background} b'}\n", "has '{{background', expected a variable"),
        ("- {role: user, content: '{{background}}'}\n", "does not show hate_speech; put {{hate_speech}} into it"),
    ],
)
def test_other_files_are_refused_in_one_line(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(InputError) as error:
        load(tmp_path, text, ("hate_speech",))
    assert message in str(error.value)
    assert str(error.value).startswith(str(tmp_path / "prompt.yaml"))
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    "content",
    [
        "plain",
        "  two\n  spaces\n",
        "\n\nleading lines",
        "ends with a space \nand a tab\t\n\n",
        "a: b # c\n- d",
        "quotes \" ' and {braces}}",
        "- role: user\n",
        "odd\x85marks\u2028and\u2029more",
        "odd\u2028\nmarks\r\nand lines\r",
        "\ufeffmark",
        "naïve 😀 ‘text’",
        "yes",
        "1",
    ],
)
def test_what_is_dumped_is_loaded_again(tmp_path: Path, content: str) -> None:
    file = tmp_path / "again.yaml"
    messages = [{"role": "system", "content": "x"}, {"role": "user", "content": content}]
    file.write_bytes(dump_prompt(messages).encode())
    assert load_prompt(file, known=(), needed=()).messages == (("system", "x"), ("user", content))


def test_a_dumped_prompt_is_readable() -> None:
    text = dump_prompt([{"role": "user", "content": "First.\nSecond, 100 % of it.\n"}])
    assert text == "- role: user\n  content: |\n    First.\n    Second, 100 % of it.\n"


def test_only_the_whole_schema_has_a_title() -> None:
    both = {"score": {"type": "integer", "enum": [1, 2]}, "explanation": {"type": "string"}}
    closed = {"additionalProperties": False}
    inner = {"type": "object", "properties": both, "required": ["score", "explanation"], **closed}
    assert rating_schema([aspect("calm", 1, 2)], explained=True) == {
        "title": "rating",
        "type": "object",
        "properties": {"calm": inner},
        "required": ["calm"],
        **closed,
    }
