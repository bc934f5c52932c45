"""Chat models on this machine, through transformers: batched, seeded, and every finished answer stored.

A draw belongs to its call alone: the numbers behind it come from seed, sample number and messages, so neither the
order of the calls nor the batch size changes it. What padding changes is the last bits of the scores, and only
`batch_size=1` excludes that: in 32-bit floats they hardly ever turn a token, in 16-bit floats now and then.
"""

import json
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from functools import cached_property
from hashlib import sha256
from itertools import islice
from pathlib import Path
from typing import Any
from warnings import catch_warnings

from fcconan.errors import InputError
from fcconan.models.answers.origins import Origins
from fcconan.models.answers.store import Answers
from fcconan.models.chat_template import Format, control_tokens, format_names, held_token, prompt_tokens
from fcconan.models.requests import Call, Finished, Reply, Request
from fcconan.models.responses import read_reply
from fcconan.models.token_sampling import Batch, Row, kept_tokens, longest
from fcconan.models.weights import loading, locate, locate_base, longest_context, one_line

# What is said by an allocator that has nothing left, besides torch's own error.
_FULL = ("DefaultCPUAllocator", "can't allocate memory", "not enough memory", "out of memory", "ALLOC_FAILED")


class LocalModel:
    """A chat model that runs on this machine.

    Only what a call asks for shapes its answer: temperature and nucleus, where they are None, are those of the model's
    generation configuration, but its repetition penalties and the like are left out, since they would punish a judge
    for grades that its prompt names. A call's schema cannot be enforced here and is not looked at.

    A reply is `truncated` if neither the model nor a stop string ended it, `too_long` if the prompt leaves no room in
    the context, `bad_request` if the chat template refuses the messages, or they hold a control token of the model,
    which it would obey.

    An instruction is never left out: where a chat template has no place for messages of the system, they go to the
    front of what the user says next. A batch that does not fit the memory is halved, and so are all later ones; the
    answers stay the same.

    Args:
        model: A folder, or a name on the Hugging Face Hub. A folder may hold an adapter that peft wrote; the model
            that it was trained upon is then loaded with it.
        journal: The file that holds the answers (see `Answers`), or the opened store.
        device: `cpu`, `cuda`, `cuda:1`, `mps`, or `auto` for all accelerators together; by default the first one.
        dtype: `float32`, `bfloat16`, `float16`, or `auto` for that of the weights.
        batch_size: Calls that are answered together.
        revision: The commit, tag or branch of a model on the Hub.
        context: Tokens that prompt and answer may have together; by default what the model's configuration says.
        template: How messages are written, in the place of the tokenizer's chat template.

    Attributes:
        name: The folder's own name, or the name on the Hub.
        configuration: All that changes the answers, besides the calls and last bits.
        answers: The store of answers.
        origins: Where the answers of this run came from.

    Raises:
        InputError: The folder or the model is not there.
    """

    def __init__(
        self,
        model: str | Path,
        *,
        journal: Path | Answers,
        device: str | None = None,
        dtype: str = "auto",
        batch_size: int = 8,
        revision: str | None = None,
        context: int | None = None,
        template: Format | None = None,
    ) -> None:
        self._source = source = locate(str(model), revision)
        self.name = source.name
        base = None if source.commit else locate_base(Path(source.path))
        self._is_adapter, self._base = base is not None, base or source
        self.answers = journal if isinstance(journal, Answers) else Answers(journal)
        self.origins = Origins()
        self._device, self._dtype, self._batch_size = device, dtype, batch_size
        self._context, self._template = context, template
        self.configuration: dict[str, Any] = {
            "kind": "local",
            "model": self.name,
            "revision": source.commit,
            "weights": source.hash,
            "dtype": dtype,
            "context": context,
            "plain": False,  # an option of earlier versions; without it their answers would not be found
        }
        if base is not None:
            together = sha256(f"{source.hash}\n{base.hash or base.commit}".encode()).hexdigest()[:12]
            self.configuration |= {"weights": together, "base": {"model": base.name, "revision": base.commit}}
        if template is not None:  # or what was answered without one would not be found
            self.configuration["format"] = {"name": template.name, "hash": template.hash}

    @property
    def own_template(self) -> str | None:
        """12 hexadecimal digits that change with the tokenizer's chat template; None where that is not used.

        It is no part of a request: the weights' hash, or the commit, tells of it already.

        Raises:
            InputError: The tokenizer cannot be loaded.
        """
        if self._template is not None or not self._tokenizer.chat_template:
            return None
        template = self._tokenizer.chat_template
        text = template if isinstance(template, str) else json.dumps(template, sort_keys=True)  # some have several
        return Format("", text).hash

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
        known: dict[str, Reply] = {}
        rows: dict[str, Row] = {}
        for call, request in zip(calls, requests, strict=True):
            if request.key in known or request.key in rows:
                continue
            stored = self.answers.get(request)
            if stored is not None:
                self.origins.add(self.name, stored)
            made = self._row(call, request) if stored is None else read_reply(stored.response)
            if isinstance(made, Reply):
                known[request.key] = made
            else:
                rows[request.key] = made
        waiting = list(rows.values())
        if waiting:
            self.answers.prepare()
        while waiting:
            batch = self._first(waiting)
            start = time.monotonic()
            if not self._generate(batch):
                self._halve(batch)
                waiting = [row.restarted() for row in waiting]
                continue
            seconds = round(time.monotonic() - start, 3)
            at = datetime.now(UTC).isoformat(timespec="milliseconds")
            finished = [Finished(row.request, self._body(row), at, seconds) for row in batch]
            for row, stored in zip(batch, self.answers.put_all(finished), strict=True):
                self.origins.add(self.name, stored)
                known[row.request.key] = read_reply(stored.response)
            waiting = waiting[len(batch) :]
        return [known[request.key] for request in requests]

    def _request(self, call: Call) -> Request:
        """A request of the shape that a client keeps, with the model's files in the place of the endpoint."""
        sampling = {**asdict(call.sampling), "stop": list(call.sampling.stop)}
        if call.sampling.top_k is None:  # requests of the time before there was one are the same
            del sampling["top_k"]
        body = {"model": self.name, "messages": call.messages, **sampling}
        whole = {"local": self.configuration, "path": "/chat/completions", "body": body, "sample": call.sample}
        return Request(whole)

    def _row(self, call: Call, request: Request) -> Row | Reply:
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
        temperature = temperature if sampling.temperature is None else sampling.temperature
        top_p = top_p if sampling.top_p is None else sampling.top_p
        limit = room if sampling.max_tokens is None else min(room, sampling.max_tokens)
        numbers = json.dumps([sampling.seed, call.sample, call.messages], sort_keys=True).encode()
        seed = int.from_bytes(sha256(numbers).digest())
        return Row(request, prompt, limit, temperature, top_p, sampling, seed)

    def _prompt(self, call: Call) -> list[int]:
        template = self._template
        if template is None and not self._tokenizer.chat_template:
            raise InputError(
                f"{self.name} has no chat template: choose a model that was tuned for chats, put its "
                "chat_template.jinja into its folder, or name a format (`fcconan generate --prompt-format`: "
                f"{', '.join(format_names())})"
            )
        if template is not None and "eos_token" in template.template and self._tokenizer.eos_token is None:
            raise InputError(
                f"the format {template.name} needs an end token, and {self.name} has none: set the eos_token of its "
                "tokenizer, or choose another format"
            )
        return prompt_tokens(self._tokenizer, call.messages, None if template is None else template.template)

    def _control_token(self, call: Call) -> str:
        texts = [message["content"] for message in call.messages]
        found = held_token(texts, self._control_tokens)
        if found is not None:
            return f"the text holds {found!r}, which {self.name} reads as a control token: take it out"
        mark = None if self._template is None else held_token(texts, self._template.marks)
        if mark is not None and self._template is not None:
            return f"the text holds {mark!r}, which the format {self._template.name} sets around messages: take it out"
        return ""

    def _first(self, rows: Sequence[Row]) -> list[Row]:
        """A batch of which the longest prompt and the longest answer together fit the context."""
        batch = [rows[0]]
        for row in rows[1 : self._batch_size]:
            if longest([*batch, row]) > self._limit:
                break
            batch.append(row)
        return batch

    def _halve(self, rows: Sequence[Row]) -> None:
        """Makes batches smaller after one that did not fit the memory."""
        if len(rows) == 1:
            raise InputError(
                f"one call with a prompt of {len(rows[0].prompt)} tokens does not fit the memory of "
                f"{self._model.device}: give shorter prompts, a smaller dtype, or another device"
            )
        self._batch_size = len(rows) // 2
        print(
            f"fcconan: {len(rows)} calls at once do not fit the memory for {self.name}: going on with "
            f"{self._batch_size}",
            file=sys.stderr,
        )

    def _generate(self, rows: list[Row]) -> bool:
        """Answers the calls of a batch; returns whether they fitted the memory."""
        import torch
        from torch.nn.utils.rnn import pad_sequence
        from transformers import GenerationConfig, LogitsProcessorList, StoppingCriteriaList

        prompts = [torch.tensor(row.prompt) for row in rows]
        masks = [torch.ones_like(prompt) for prompt in prompts]
        left = {"batch_first": True, "padding_side": "left"}
        tokens = pad_sequence(prompts, padding_value=self._padding, **left)
        mask = pad_sequence(masks, padding_value=0, **left)
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
        except (RuntimeError, MemoryError) as error:
            if not _is_full(error):
                raise
        else:
            return True
        if torch.cuda.is_available():
            torch.cuda.empty_cache()  # what the error held is free only now
        return False

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

            own = Path(self._source.path)
            has_own = not self._is_adapter or (own / "tokenizer_config.json").is_file()
            path, commit, _ = self._source if has_own else self._base
            tokenizer = AutoTokenizer.from_pretrained(path, revision=commit)
            template = own / "chat_template.jinja"
            if not has_own and template.is_file():
                tokenizer.chat_template = template.read_text(encoding="utf-8")
            return tokenizer

    @cached_property
    def _control_tokens(self) -> list[str]:
        return control_tokens(self._tokenizer)

    @cached_property
    def _model(self) -> Any:
        with loading(self.name):
            if self._is_adapter:
                from peft import PeftModel  # before the base is loaded, which takes minutes
            import torch
            from transformers import AutoModelForCausalLM, GenerationConfig
            from transformers.utils import logging

            logging.disable_progress_bar()
            found = torch.accelerator.current_accelerator() if torch.accelerator.is_available() else "cpu"
            model = AutoModelForCausalLM.from_pretrained(
                self._base.path, revision=self._base.commit, dtype=self._dtype, device_map=self._device or str(found)
            )
            if self._is_adapter:
                with catch_warnings(action="ignore", category=FutureWarning):  # peft asks transformers in an old way
                    model = PeftModel.from_pretrained(model, self._source.path)
            model.eval()
            model.generation_config = GenerationConfig()  # or its penalties would be filled in
            return model

    @cached_property
    def _generation(self) -> Any:
        """The model's generation configuration, or an empty one."""
        with loading(self.name):
            from transformers import GenerationConfig

            try:
                return GenerationConfig.from_pretrained(self._base.path, revision=self._base.commit)
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
        stated = longest_context(self._base)
        if stated is None:
            raise InputError(f"the configuration of {self.name} names no longest context: give one (context)")
        return stated


def _is_full(error: BaseException) -> bool:
    import torch

    return isinstance(error, torch.OutOfMemoryError | MemoryError) or any(said in str(error) for said in _FULL)
