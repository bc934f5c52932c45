"""`generate`: replies to messages, by a model, a retriever, or people."""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from itertools import chain
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np

from fcconan.data import GENERATED, RowSource, make_reply_id, short_hash
from fcconan.errors import InputError
from fcconan.generation.pairs import NO_CANDIDATES, find_examples, pool_of, read_messages, retrieve
from fcconan.generation.prompts import BACKGROUND, generation_messages, load_decoding, load_generation_prompt
from fcconan.groups import AtLeastOne, Endpoint, NotNegative, Rows
from fcconan.judging import Passages, PromptTemplate
from fcconan.models import (
    ChatRequest,
    ChatResponse,
    Sampling,
    identified,
    load_format,
    model_notes,
    open_model,
    plan_requests,
    usage_table,
)
from fcconan.parsing import find_refusal, split_thinking
from fcconan.result import Result
from fcconan.retrieval import Retriever, TrainingPair, encoder_system, make_systems

if TYPE_CHECKING:
    from pandas import DataFrame

    Named = Any  # in Python also a model, or a system of `bench`
else:
    Named = str | None

Row = dict[str, Any]
# Strategies with a model -> the prompt.
PROMPTS = {"zero-shot": "brief", "few-shot": "brief", "grounded": "grounded"}
RETRIEVER, SIMILAR = "bm25", "sbert-minilm"  # of CNs, and of the messages of examples
EXAMPLES = 3
TRUNCATED = "truncated"
NO_BACKGROUND, NO_REFERENCE = "no_background", "no_reference"
ADVICE = {
    NO_BACKGROUND: "no passage shares a word with a message, so give others",
    NO_REFERENCE: "name a column with --rename.references COLUMN",
    NO_CANDIDATES: "all CNs are of near copies of the messages, so give other pairs with --background",
    "empty": "raise --max-tokens, if the model thinks before it answers",
    TRUNCATED: "raise --max-tokens",
}


def generate(
    dataset: RowSource,
    *,
    model: Named = None,
    strategy: Literal["zero-shot", "few-shot", "grounded", "retrieval", "reference"] | None = None,
    examples: AtLeastOne | None = None,
    background: RowSource | None = None,
    retriever: Named = None,
    prompt: str | None = None,
    prompt_format: str | None = None,
    decoding: str = "greedy",
    temperature: Annotated[float | None, NotNegative] = None,
    max_tokens: AtLeastOne | None = None,
    limit: AtLeastOne | None = None,
    system: str | None = None,
    dry_run: bool = False,
    seed: Annotated[int, NotNegative] = 0,
    rows: Rows = Rows(),
    endpoint: Endpoint = Endpoint(),
) -> Result:
    """Write a reply to each message, by a model, a retriever or people.

    A model sees an instruction and the message (`zero-shot`), also the training pairs with the most similar messages
    (`few-shot`), or passages (`grounded`). `retrieval` replies with the CN of the training pairs that a retriever ranks
    first. `reference` replies with one of the human CNs and removes it from the references of the row. Pairs in the
    leakage group of a message are never used for it.

    Args:
        dataset: Messages: a dataset with replies, a tier, pairs or queries, or rows with hate_speech and, where there
            are any, references or counter_narrative.
        model: Language model: a name at the endpoint, local:FOLDER_OR_NAME, or replay:FILE; in Python also an object
            with `name`, `identity` and `replies`.
        strategy: Source of replies; default: few-shot with examples, grounded with background, otherwise zero-shot.
        examples: Number of examples of few-shot; default: 3.
        background: Texts that the strategy uses: of grounded a folder of passages; of few-shot and retrieval pairs,
            by default the training part of the dataset.
        retriever: System of bench, module:factory, or sentence-transformers model (folder or Hub name) that ranks the
            CNs of retrieval (default: bm25) or the messages of examples (default: sbert-minilm).
        prompt: Prompt of the catalogue (brief, plain, message, grounded) or a YAML file.
        prompt_format: Chat format of a local model, by name or as a Jinja file; default: its own.
        decoding: Decoding preset (greedy, paper-zero-shot, one-line, top-pk) or a YAML file.
        temperature: Temperature of sampling, instead of that of the preset.
        max_tokens: Longest reply, instead of that of the preset.
        limit: Use only the first messages.
        system: Name of the system in the rows; default: the model and the settings that differ from the defaults.
        dry_run: Only count the requests, and show the first one.
        seed: Seed of all random choices; candidate n of a message is sampled with seed + n.
        rows: Which rows are read.
        endpoint: Endpoint of the model.

    Returns:
        `systems`: one row, with `system`, `strategy`, `n`, `n_missing`, `reasons`, `refusals`, `empty`, `truncated` and
        `mean_words`. `replies`, the rows of `--out`: one row for each message. `usage`: requests, tokens and cost of
        the model. With `dry_run`: `requests` and `messages`.

    Raises:
        InputError: The messages, the model, the pairs or the prompt cannot be used, or no message has a reply.

    Examples:
        >>> pairs = [{"hate_speech": "Elves take our jobs.", "counter_narrative": "They bake our bread."}]
        >>> generate(pairs, strategy="reference").to_frame("replies")["text"].tolist()
        ['They bake our bread.']
    """
    strategy = strategy or ("few-shot" if examples else "zero-shot" if background is None else "grounded")
    if (model is None) is (strategy in PROMPTS):
        raise InputError(
            f"found strategy {strategy} {'without' if model is None else 'with'} a model, expected --model for "
            f"{', '.join(PROMPTS)}, and none for retrieval and reference"
        )
    if examples and strategy != "few-shot":
        raise InputError(f"found --examples with strategy {strategy}, expected few-shot: leave one of them out")
    messages, data = read_messages(dataset, rows, limit)
    identity: dict[str, Any] = {"data": data, "messages": len(messages), "strategy": strategy}
    notes: list[str] = []
    if strategy in ("few-shot", "retrieval"):
        pairs, identity["pairs"] = pool_of(dataset, background, rows)
        chosen = retriever if retriever is not None else RETRIEVER if strategy == "retrieval" else SIMILAR
        make = partial(_retriever, chosen, endpoint)
    if strategy == "reference":
        identity["seed"] = seed
        return _result(messages, _references(messages, seed), system or "gold", identity, {"seed": seed}, notes)
    if strategy == "retrieval":
        found, identity["retriever"] = retrieve(messages, pairs, make)
        return _result(messages, found, system or f"{identity['retriever']}:retrieval", identity, {}, notes)

    named = prompt or PROMPTS[strategy]
    template = load_generation_prompt(named)
    if (BACKGROUND in template.variables) != (strategy == "grounded"):
        raise InputError(
            f"found the prompt {named} with strategy {strategy}, expected {{{{background}}}} in a prompt of grounded, "
            "and in no other: choose another prompt"
        )
    form = None if prompt_format is None else load_format(prompt_format)
    if form is not None and not str(model).startswith("local:"):
        raise InputError(f"found --prompt-format with {model}, expected a model local:FOLDER_OR_NAME: leave it out")
    said, settings = load_decoding(decoding, temperature=temperature, max_tokens=max_tokens)
    opened: Any = open_model(model, endpoint, form)
    parts: list[str] = [strategy]
    if strategy == "few-shot":
        k, similar = examples or EXAMPLES, make([])
        places = find_examples(messages, pairs, k, similar)
        texts = [*zip(pairs["hate_speech"], pairs["counter_narrative"], strict=True)]
        messages["shown"] = [[texts[place] for place in own] for own in places]
        messages["examples"] = [pairs["pair_id"].iloc[own].tolist() for own in places]
        fewer = sum(len(own) < k for own in places)
        notes += [f"{fewer} of {len(messages)} messages were shown fewer than {k} examples."] * (fewer > 0)
        identity |= {"examples": k, "retriever": similar.name}
        parts += [f"{k}-example{'s' * (k > 1)}"] * (k != EXAMPLES) + [similar.name] * (similar.name != SIMILAR)
    elif strategy == "grounded":
        messages, without = _with_background(messages, background)
        notes += [f"{without} of {len(messages)} messages have no background: they have no reply."] * (without > 0)
        identity["background"] = short_hash(*messages["background"])
    parts += [PurePath(named).stem] * (named != PROMPTS[strategy])
    parts += [PurePath(form.name).stem] if form else []
    parts += [re.sub(r"[^\w.=-]+", "-", said.removeprefix("greedy, "))] * (said != "greedy")
    parts += [f"seed-{seed}"] * (seed != 0)
    identity |= {
        "model": identified(opened),
        "prompt": f"{PurePath(named).stem}@{template.hash}",
        "format": form and f"{form.name}@{form.hash}",
        "decoding": ",".join(f"{key}={value}" for key, value in settings.items() if value not in (None, [])),
        "seed": seed,
    }
    for missing in {"shown", "examples", "sources"} - {*messages}:
        messages[missing] = [[]] * len(messages)
    calls = _requests(messages, template, settings, seed, strategy == "grounded")
    if dry_run:
        return Result("generate", plan_requests((opened, [*chain(*calls)])), identity, notes)
    answers = iter([*opened.replies([*chain(*calls)])])
    found = [
        _picked([next(answers) for _ in own], settings["pick"], [seed, _number(item)], opened)
        for own, item in zip(calls, messages["item_id"], strict=True)
    ]
    how: Row = {"model": opened.name, "prompt_hash": template.hash, "format": form and form.name, "decoding": said}
    name = system or f"{opened.name}:{'-'.join(parts)}"
    return _result(messages, found, name, identity, {**how, "seed": seed}, notes, [opened])


def _retriever(name: Any, endpoint: Endpoint, train: list[TrainingPair]) -> Retriever:
    """Returns the system of a name: of the suite of `bench`, or a sentence-transformers model."""
    if isinstance(name, str) and ":" not in name and ("/" in name or Path(name).is_dir()):
        return encoder_system(name)
    (system,) = make_systems([name], train=train, open_model=partial(open_model, endpoint=endpoint))
    return system


def _with_background(messages: "DataFrame", folder: Any) -> tuple["DataFrame", int]:
    """Returns messages with passages, their own or found ones, and the number of those without any."""
    if folder is None and not messages["background"].any():
        raise InputError(
            "found no background, expected it for grounded: give --background FOLDER, or a column background"
        )
    passages = None if folder is None else Passages(Path(folder))
    texts = [row.background or (passages and passages.find(row.hate_speech)) or "" for row in messages.itertuples()]
    sources = [[f"passage-{short_hash(each)}" for each in text.split("\n\n") if each] for text in texts]
    return messages.assign(background=texts, sources=sources), texts.count("")


def _requests(
    messages: "DataFrame", template: PromptTemplate, settings: Row, seed: int, grounded: bool
) -> list[list[ChatRequest]]:
    """Returns the requests of each message: one for each candidate, with different seeds."""
    given = {name: settings[name] for name in ("temperature", "max_tokens", "top_p", "top_k")}
    sampling, found = Sampling(**given, stop=tuple(settings["stop"])), list[list[ChatRequest]]()
    for row in messages.itertuples():
        how = {"language": row.language, "background": row.background if grounded else "", "examples": row.shown}
        asked, variables = generation_messages(template, row.hate_speech, **how)
        # With equal seeds, endpoints would return the same reply for all candidates.
        candidates = range(0 if grounded and not row.background else settings["candidates"])
        found.append([ChatRequest(asked, replace(sampling, seed=seed + n), None, n, variables) for n in candidates])
    return found


def _picked(answers: Sequence[ChatResponse], pick: str, seed: Sequence[int], model: Any) -> Row:
    """Returns the first candidate with a text, or a random one, and the facts of the row about it."""
    candidates: list[tuple[str | None, str | None]] = []
    for each in answers:
        written = (each.cut if each.text is None else each.text) or ""
        text = (split_thinking(written) or ("", ""))[1].strip()
        candidates.append((text, None) if text else (None, each.reason or "empty"))
    order = np.random.default_rng(seed).permutation(len(answers)).tolist() if pick == "random" else range(len(answers))
    picked = next((place for place in order if candidates[place][0] is not None), None)
    reply, reason = candidates[picked or 0] if answers else (None, NO_BACKGROUND)
    of = answers if picked is None else answers[picked : picked + 1]
    reported = next((each.model for each in of if each.model and each.model != model.name), None)
    tokens = {
        name: sum(known) if (known := [each for each in counts if each is not None]) else None
        for name in ("prompt_tokens", "completion_tokens")
        for counts in [[getattr(each, name) for each in answers]]
    }
    return {
        "text": reply,
        "reason": reason,
        "detail": next((each.detail for each in answers if each.detail), ""),
        "flags": [TRUNCATED] if picked is not None and answers[picked].text is None else [],
        "revision": model.identity.get("revision") or model.identity.get("weights") or reported,
        "candidates": len(answers),
        "picked": picked,
        **tokens,
    }


def _references(messages: "DataFrame", seed: int) -> list[Row]:
    """Returns one of the references of each message, and the others."""
    found = []
    for item, texts in zip(messages["item_id"], messages["references"], strict=True):
        if not texts:
            found.append({"text": None, "reason": NO_REFERENCE})
            continue
        drawn = int(np.random.default_rng([seed, _number(item)]).integers(len(texts)))
        found.append({"text": texts[drawn].strip(), "reason": None, "references": texts[:drawn] + texts[drawn + 1 :]})
    return found


def _number(item_id: str) -> int:
    """Returns an integer for seeds that depends on the id only."""
    return int(short_hash(item_id), 16)


def _result(
    messages: "DataFrame",
    found: Sequence[Row],
    system: str,
    identity: Row,
    how: Row,
    notes: Sequence[str],
    models: Sequence[Any] = (),
) -> Result:
    """Returns the rows of replies and their counts.

    Raises:
        InputError: No message has a reply.
    """
    from pandas import DataFrame

    rows = []
    for row, reply in zip(messages.to_dict("records"), found, strict=True):
        text, flags = reply["text"], reply.get("flags", [])
        if text is not None and not any(map(str.isalnum, text)):
            flags = ["empty", *flags]
        elif text is not None and (refusal := find_refusal(text)) is not None:
            flags = [f"refusal:{refusal}", *flags]
        made = make_reply_id(row["item_id"], system, text or "")
        own = {"flags": flags, "reply_id": made, "system": system, "strategy": identity["strategy"]}
        rows.append({**dict.fromkeys(GENERATED.kinds), **row, **how, **reply, **own})
    replies = DataFrame(rows, columns=[*GENERATED.kinds], dtype=object)
    texts, all_flags = replies["text"].dropna(), Counter(chain(*replies["flags"]))
    reasons = Counter(replies["reason"].dropna())
    if texts.empty:
        ((reason, number),) = reasons.most_common(1)
        detail = next((each["detail"] for each in found if each["reason"] == reason and each.get("detail")), "")
        raise InputError(
            f"{system} wrote nothing: {number} of {len(found)} messages have the reason {reason}"
            f"{f' ({detail})' if detail else ''}: {ADVICE.get(reason, 'check the model')}"
        )
    counts = {
        "system": system,
        "strategy": identity["strategy"],
        "n": len(texts),
        "n_missing": len(replies) - len(texts),
        "reasons": ", ".join(f"{reason} {number}" for reason, number in sorted(reasons.items())) or None,
        "refusals": sum(number for flag, number in all_flags.items() if flag.startswith("refusal:")),
        "empty": all_flags["empty"],
        "truncated": all_flags[TRUNCATED],
        "mean_words": texts.str.split().str.len().mean(),
    }
    tables = {"systems": DataFrame([counts]), "replies": replies, "usage": usage_table(models)}
    return Result("generate", tables, identity, [*notes, *model_notes(models)], out="replies")
