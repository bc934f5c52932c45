"""Prompts for generation: what a model is shown, word for word."""

from pathlib import Path

import pytest

from fcconan.errors import InputError
from fcconan.generation.items import Example, Item, PromptContext
from fcconan.generation.prompts import language_name, load_generation_prompt, prompt_names

HS, CN = "The Ombrey never return a book.", "Ombrey readers return books early."
ITEM = Item("item-1", "hs-1", f" {HS}\n", language="it")
TESSOK = Example("p1", "c1", "Every Tessok cheats.", "Cards were banned there.")
DRAVENE = Example("p2", "c2", "The Dravene sing.", "Rather well,\n\nsay the Dravene. ")
OWN = """
- role: system
  content: |
    Answer in {{language}}.
- role: user
  content: |
    Message: {{ hate_speech }}
    Answer:
"""


def test_a_prompt_alone_shows_the_message_alone() -> None:
    for name in ("brief", "plain", "message"):
        prompt = load_generation_prompt(name)
        messages, filled = prompt.messages(ITEM, PromptContext())
        assert messages[-1] == {"role": "user", "content": HS}
        assert [each["role"] for each in messages] == ["system", "user"][name == "message" :]
        assert filled == {"hate_speech": HS}
        assert (prompt.name, prompt.variables) == (name, frozenset({"hate_speech"}))


def test_examples_are_turns_before_the_message() -> None:
    messages, filled = load_generation_prompt("brief").messages(ITEM, PromptContext(examples=(TESSOK, DRAVENE)))
    assert messages[1:] == [
        {"role": "user", "content": "Every Tessok cheats."},
        {"role": "assistant", "content": "Cards were banned there."},
        {"role": "user", "content": "The Dravene sing."},
        {"role": "assistant", "content": "Rather well,\n\nsay the Dravene."},
        {"role": "user", "content": HS},
    ]
    assert messages[0] == load_generation_prompt("brief").messages(ITEM, PromptContext())[0][0]
    assert filled == {
        "hate_speech": HS,
        "examples": "Every Tessok cheats.\n\nCards were banned there.\n\nThe Dravene sing.\n\n"
        "Rather well,\n\nsay the Dravene.",
    }


def test_examples_are_put_as_the_message_is(tmp_path: Path) -> None:
    path = tmp_path / "my own.yaml"
    path.write_text(OWN, encoding="utf-8")
    prompt = load_generation_prompt(path)
    messages, filled = prompt.messages(ITEM, PromptContext(examples=(TESSOK,)))
    assert [(each["role"], each["content"]) for each in messages] == [
        ("system", "Answer in Italian."),
        ("user", "Message: Every Tessok cheats.\nAnswer:"),
        ("assistant", "Cards were banned there."),
        ("user", f"Message: {HS}\nAnswer:"),
    ]
    assert filled["language"] == "Italian"
    assert prompt.name == "my own"
    same = tmp_path / "same.yml"
    same.write_text(OWN, encoding="utf-8")
    assert load_generation_prompt(str(same)).hash == prompt.hash
    same.write_text(OWN.replace("Answer in", "Reply in"), encoding="utf-8")
    assert load_generation_prompt(same).hash != prompt.hash
    assert len(prompt.hash) == 12


def test_what_is_known_stands_in_the_message_of_the_system() -> None:
    messages, filled = load_generation_prompt("grounded").messages(ITEM, PromptContext(background=("One. ", "Two.")))
    assert messages[0]["content"].endswith("\n\nBackground:\n\nOne.\n\nTwo.")
    assert filled == {"hate_speech": HS, "background": "One.\n\nTwo."}


def test_braces_in_a_message_are_words() -> None:
    item = Item("item-1", "hs-1", "{{background}} {{language}} {% raw %}")
    messages, _ = load_generation_prompt("grounded").messages(item, PromptContext(background=("{{hate_speech}}",)))
    assert messages[-1]["content"] == "{{background}} {{language}} {% raw %}"
    assert messages[0]["content"].endswith("{{hate_speech}}")


def test_all_prompts_of_the_catalogue_can_be_used() -> None:
    assert prompt_names() == ["brief", "grounded", "message", "plain"]
    assert len({load_generation_prompt(name).hash for name in prompt_names()}) == 4


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("en", "English"),
        ("IT", "Italian"),
        ("es-MX", "Spanish"),
        ("xx", "xx"),
        (None, "the language of the message"),
        (" ", "the language of the message"),
    ],
)
def test_languages_have_names(code: str | None, expected: str) -> None:
    assert language_name(code) == expected


def test_examples_have_no_background_of_their_own(tmp_path: Path) -> None:
    path = tmp_path / "one.yaml"
    path.write_text('- {role: user, content: "{{background}} {{hate_speech}}"}\n', encoding="utf-8")
    prompt = load_generation_prompt(path)
    assert prompt.messages(ITEM, PromptContext(background=("Known.",)))[0][0]["content"] == f"Known. {HS}"
    with pytest.raises(
        InputError, match=r"^the last message of the prompt one shows \{\{background\}\}, which examples"
    ):
        prompt.messages(ITEM, PromptContext(background=("Known.",), examples=(TESSOK,)))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("- {role: user, content: Answer.}", "the prompt does not show hate_speech"),
        ("- {role: user, content: '{{hate_speech}} {{counter_narrative}}'}", "there is no variable counter_narrative"),
        (
            "- {role: user, content: '{{hate_speech}}'}\n- {role: assistant, content: 'Well,'}",
            "the last message is the assistant's, with no variable in it; end by a message of the user that shows "
            "{{hate_speech}}",
        ),
        (
            "- {role: system, content: '{{hate_speech}}'}\n- {role: user, content: 'In {{language}}.'}",
            "the last message is the user's, with language in it; end by",
        ),
        ("role: user", "found no list"),
    ],
)
def test_bad_prompt_files_are_refused_in_one_line(tmp_path: Path, content: str, message: str) -> None:
    path = tmp_path / "bad.yaml"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(InputError) as caught:
        load_generation_prompt(path)
    assert str(caught.value).startswith(str(path)) and message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_unknown_prompts_are_refused_in_one_line(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"^unknown prompt 'breif': did you mean 'brief'\? known are brief, .* file$"):
        load_generation_prompt("breif")
    with pytest.raises(InputError, match=r"^no prompt file at \S+gone.yaml: give a .yaml file, or one of brief, "):
        load_generation_prompt(tmp_path / "gone.yaml")
