"""Chat models on this machine, through transformers: batched, seeded, and every finished answer in a journal.

A draw belongs to its call alone: the numbers behind it come from seed, sample number and messages, so neither the
order of the calls nor the batch size changes it. What padding changes is the last bits of the scores, and only
`batch_size=1` excludes that: in 32-bit floats they hardly ever turn a token, in 16-bit floats now and then.
"""

import hashlib
import json
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from fcconan.errors import InputError
from fcconan.llm.call import Call, Reply
from fcconan.llm.completion import read_reply
from fcconan.llm.decoding import Batch, Row, kept_tokens, longest
from fcconan.llm.journal import Finished, Journal, request_key
from fcconan.llm.weights import loading, locate, one_line


class LocalModel:
    """A chat model that runs on this machine.

    Only what a call asks for shapes its answer: temperature and nucleus, where they are None, are those of the model's
    generation configuration, but its repetition penalties and the like are left out, since they would punish a judge
    for grades that its prompt names. A call's schema cannot be enforced here and is not looked at.

    A reply is `truncated` if neither the model nor a stop string ended it, `too_long` if the prompt leaves no room in
    the context, `bad_request` if the chat template refuses the messages, or they hold a control token of the model,
    which it would obey.

    Args:
        model: A folder, or a name on the Hugging Face Hub.
        journal: The file that keeps the answers.
        device: `cpu`, `cuda`, `cuda:1`, `mps`, or `auto` for all accelerators together; by default the first one.
        dtype: `float32`, `bfloat16`, `float16`, or `auto` for that of the weights.
        batch_size: Calls that are answered together.
        revision: The commit, tag or branch of a model on the Hub.
        context: Tokens that prompt and answer may have together; by default what the model's configuration says.
        plain: For models without a chat template: the messages' contents, with an empty line between them, are the
            prompt. Control tokens are then refused in the call's variables only.

    Attributes:
        name: The folder's own name, or the name on the Hub.
        configuration: All that changes the answers, besides the calls and last bits.

    Raises:
        InputError: The folder or the model is not there, or a setting is out of range.
    """

    def __init__(
        self,
        model: str | Path,
        *,
        journal: Path,
        device: str | None = None,
        dtype: str = "auto",
        batch_size: int = 8,
        revision: str | None = None,
        context: int | None = None,
        plain: bool = False,
    ) -> None:
        for setting, number in (("batch_size", batch_size), ("context", context)):
            if number is not None and number < 1:
                raise InputError(f"{setting} is {number}: give 1 or more")
        self._source, commit, weights = locate(str(model), revision)
        self.name = str(model) if commit else Path(self._source).resolve().name
        self.journal = Journal(journal)
        self._device, self._dtype, self._batch_size = device, dtype, batch_size
        self._revision, self._context, self._plain = commit, context, plain
        self.configuration: dict[str, Any] = {
            "kind": "local",
            "model": self.name,
            "revision": commit,
            "weights": weights,
            "dtype": dtype,
            "context": context,
            "plain": plain,
        }

    def replies(self, calls: Iterable[Call]) -> Iterator[Reply]:
        """Yields one reply for every call, in their order, reading a batch of calls at a time.

        Raises:
            InputError: The extra is not installed, the model cannot be loaded or does not fit, it has no chat template
                or no known context, or its scores are not finite.
        """
        left = iter(calls)
        while batch := list(islice(left, self._batch_size)):
            yield from self._answer(batch)

    def _answer(self, calls: Sequence[Call]) -> list[Reply]:
        requests = [self._request(call) for call in calls]
        keys = [request_key(request) for request in requests]
        known: dict[str, Reply] = {}
        rows: dict[str, Row] = {}
        for key, call, request in zip(keys, calls, requests, strict=True):
            if key in known or key in rows:
                continue
            body = self.journal.get(request)
            made = self._row(call, request) if body is None else read_reply(body)
            if isinstance(made, Reply):
                known[key] = made
            else:
                rows[key] = made
        for batch in self._fitting(list(rows.values())):
            start = time.monotonic()
            self._generate(batch)
            seconds = round(time.monotonic() - start, 3)
            at = datetime.now(UTC).isoformat(timespec="seconds")
            finished = [Finished(row.request, self._body(row), at, seconds) for row in batch]
            for row, body in zip(batch, self.journal.put_all(finished), strict=True):
                known[request_key(row.request)] = read_reply(body)
        return [known[key] for key in keys]

    def _request(self, call: Call) -> dict[str, Any]:
        """A request of the shape that a client keeps, with the model's files in the place of the endpoint."""
        sampling = {**asdict(call.sampling), "stop": list(call.sampling.stop)}
        body = {"model": self.name, "messages": call.messages, **sampling}
        return {"local": self.configuration, "path": "/chat/completions", "body": body, "sample": call.sample}

    def _row(self, call: Call, request: dict[str, Any]) -> Row | Reply:
        sampling = call.sampling
        fault = self._control_token(call)
        if fault:
            return Reply(reason="bad_request", detail=fault, model=self.name)
        try:
            prompt = self._prompt(call)
        except InputError:
            raise
        except Exception as error:  # what a template raises is its own affair
            return Reply(reason="bad_request", detail=one_line(error), model=self.name)
        if not prompt:
            return Reply(reason="bad_request", detail="the messages are empty", model=self.name)
        room = self._limit - len(prompt)
        if room < 1:
            detail = f"{len(prompt)} tokens in a context of {self._limit}"
            return Reply(reason="too_long", detail=detail, model=self.name, prompt_tokens=len(prompt))
        temperature, top_p = self._defaults
        if sampling.temperature is not None:
            temperature = sampling.temperature
        if sampling.top_p is not None:
            top_p = sampling.top_p
        limit = room if sampling.max_tokens is None else min(room, sampling.max_tokens)
        numbers = json.dumps([sampling.seed, call.sample, call.messages], sort_keys=True).encode()
        draw = np.random.default_rng(int.from_bytes(hashlib.sha256(numbers).digest()))
        return Row(request, prompt, limit, temperature, top_p, sampling, draw)

    def _prompt(self, call: Call) -> list[int]:
        if self._plain:
            return list(self._tokenizer("\n\n".join(message["content"] for message in call.messages))["input_ids"])
        if not self._tokenizer.chat_template:
            raise InputError(
                f"{self.name} has no chat template: choose a model that was tuned for chats, put its "
                "chat_template.jinja into its folder, or have prompts written as plain text (plain)"
            )
        return list(
            self._tokenizer.apply_chat_template(
                call.messages, add_generation_prompt=True, tokenize=True, return_dict=False
            )
        )

    def _control_token(self, call: Call) -> str:
        texts = call.variables.values() if self._plain else (message["content"] for message in call.messages)
        for text in texts:
            found = [token for token in self._control_tokens if token in text]
            if found:
                return f"the text holds {found[0]!r}, which {self.name} reads as a control token: take it out"
        return ""

    def _fitting(self, rows: Sequence[Row]) -> Iterator[list[Row]]:
        """Batches in which the longest prompt and the longest answer together fit the context."""
        batch: list[Row] = []
        for row in rows:
            if batch and longest([*batch, row]) > self._limit:
                yield batch
                batch = []
            batch.append(row)
        if batch:
            yield batch

    def _generate(self, rows: list[Row]) -> None:
        import torch
        from transformers import GenerationConfig, LogitsProcessorList, StoppingCriteriaList

        width = max(len(row.prompt) for row in rows)
        tokens = torch.full((len(rows), width), self._padding)
        mask = torch.zeros((len(rows), width), dtype=torch.long)
        for place, row in enumerate(rows):
            tokens[place, width - len(row.prompt) :] = torch.tensor(row.prompt)
            mask[place, width - len(row.prompt) :] = 1
        batch = Batch(rows, self._tokenizer, self._ends, self.name)
        device = self._model.device
        how = GenerationConfig(
            max_new_tokens=max(row.limit for row in rows), do_sample=False, pad_token_id=self._padding
        )
        try:
            self._model.generate(
                input_ids=tokens.to(device),
                attention_mask=mask.to(device),
                generation_config=how,
                logits_processor=LogitsProcessorList([batch.choose]),
                stopping_criteria=StoppingCriteriaList([batch.note]),
            )
        except torch.OutOfMemoryError as error:
            raise InputError(
                f"{len(rows)} calls with prompts of up to {width} tokens do not fit the memory of {device}: "
                "give a smaller batch size"
            ) from error

    def _body(self, row: Row) -> dict[str, Any]:
        choice: dict[str, Any] = {
            "index": 0,
            "message": {"role": "assistant", "content": row.text},
            "finish_reason": row.finish,
        }
        if row.sampling.top_logprobs:
            kept = kept_tokens(row, self._tokenizer)
            choice["logprobs"] = {"content": [self._token(*each) for each in row.alternatives[:kept]]}
        counts = {"prompt_tokens": len(row.prompt), "completion_tokens": len(row.tokens)}
        return {
            "object": "chat.completion",
            "model": self.name,
            "choices": [choice],
            "usage": {**counts, "total_tokens": sum(counts.values())},
        }

    def _token(self, token: int, logprob: float, others: Sequence[tuple[int, float]]) -> dict[str, Any]:
        top: dict[str, float] = {}
        for other, value in others:
            top.setdefault(self._tokenizer.decode([other]), value)  # pieces of letters all read alike
        alternatives = [{"token": text, "logprob": value} for text, value in top.items()]
        return {"token": self._tokenizer.decode([token]), "logprob": logprob, "top_logprobs": alternatives}

    @cached_property
    def _tokenizer(self) -> Any:
        with loading(self.name):
            from transformers import AutoTokenizer

            return AutoTokenizer.from_pretrained(self._source, revision=self._revision)

    @cached_property
    def _control_tokens(self) -> list[str]:
        added = self._tokenizer.added_tokens_decoder.values()
        return sorted({*self._tokenizer.all_special_tokens, *(token.content for token in added if token.special)})

    @cached_property
    def _model(self) -> Any:
        with loading(self.name):
            import torch
            from transformers import AutoModelForCausalLM, GenerationConfig
            from transformers.utils import logging

            logging.disable_progress_bar()
            found = torch.accelerator.current_accelerator() if torch.accelerator.is_available() else "cpu"
            model = AutoModelForCausalLM.from_pretrained(
                self._source, revision=self._revision, dtype=self._dtype, device_map=self._device or str(found)
            )
            model.eval()
            model.generation_config = GenerationConfig()  # or its penalties would be filled in
            return model

    @cached_property
    def _generation(self) -> Any:
        """The model's generation configuration, or an empty one."""
        with loading(self.name):
            from transformers import GenerationConfig

            try:
                return GenerationConfig.from_pretrained(self._source, revision=self._revision)
            except OSError:  # it has none
                return GenerationConfig()

    @cached_property
    def _defaults(self) -> tuple[float, float]:
        """Temperature and nucleus of the model."""
        draws, temperature, top_p = (getattr(self._generation, name) for name in ("do_sample", "temperature", "top_p"))
        return (1.0 if temperature is None else float(temperature)) if draws else 0.0, float(top_p or 1.0)

    @cached_property
    def _ends(self) -> frozenset[int]:
        stated = self._generation.eos_token_id
        ends = {*(stated if isinstance(stated, list) else [stated]), self._tokenizer.eos_token_id}
        return frozenset(end for end in ends if end is not None)

    @cached_property
    def _padding(self) -> int:
        own = self._tokenizer.pad_token_id
        return int(own) if own is not None else min(self._ends, default=0)

    @cached_property
    def _limit(self) -> int:
        if self._context is not None:
            return self._context
        with loading(self.name):
            from transformers import AutoConfig

            config = AutoConfig.from_pretrained(self._source, revision=self._revision)
        stated = getattr(config.get_text_config(), "max_position_embeddings", None)
        if stated is None:
            raise InputError(f"the configuration of {self.name} names no longest context: give one (context)")
        return int(stated)
