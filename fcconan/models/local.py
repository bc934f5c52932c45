"""Chat models on this machine, through transformers: batched, seeded, and every finished answer stored.

Random numbers of a request depend on its seed, sample number and messages, not on the order of requests or the batch
size. Padding changes the last bits of the scores. This rarely changes a token with 32-bit floats, and sometimes with
16-bit floats; `batch_size=1` avoids it.
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
from fcconan.models.answers.store import AnswerStore
from fcconan.models.chat_template import Format, control_tokens, find_token, format_names, prompt_tokens
from fcconan.models.requests import ChatRequest, ChatResponse, Finished, Request
from fcconan.models.responses import read_reply
from fcconan.models.token_sampling import Batch, RequestState, count_text_tokens, max_length
from fcconan.models.weights import loading_errors, locate_base_model, locate_model, longest_context, one_line

# Messages of out-of-memory errors, in addition to torch's own exception.
_FULL = ("DefaultCPUAllocator", "can't allocate memory", "not enough memory", "out of memory", "ALLOC_FAILED")


class LocalModel:
    """A chat model that runs on this machine.

    Answers depend on the sampling settings of a call only. If temperature or nucleus are None, the values of the
    model's generation configuration are used; its repetition penalties and similar settings are ignored, because they
    would penalise grades that a judge's prompt contains. The schema of a call is ignored.

    A reply is `truncated` if neither the model nor a stop string ended it, `too_long` if the prompt leaves no room in
    the context, and `bad_request` if the chat template refuses the messages or they contain a control token of the
    model.

    Instructions are never lost: if a chat template has no system messages, they are put before the next user message. A
    batch that does not fit into memory is halved, and so are all later ones; the answers stay the same.

    Args:
        model: A folder, or a name on the Hugging Face Hub. A folder may have an adapter of peft; its base model is then
            loaded, too.
        journal: File of the answers (see `AnswerStore`), or the open store.
        device: `cpu`, `cuda`, `cuda:1`, `mps`, or `auto` for all accelerators together; by default the first one.
        dtype: `float32`, `bfloat16`, `float16`, or `auto` for the dtype of the weights.
        batch_size: Number of calls in a batch.
        revision: Commit, tag or branch of a model on the Hub.
        context: Maximum number of tokens of prompt and answer; by default the value of the model's configuration.
        template: Chat template that replaces the one of the tokenizer.

    Attributes:
        name: Name of the folder, or name on the Hub.
        configuration: All settings that change the answers, in addition to the calls and rounding errors.
        answers: Store of answers.
        origins: Origins of the answers of this run.

    Raises:
        InputError: The folder or the model is not found.
    """

    def __init__(
        self,
        model: str | Path,
        *,
        journal: Path | AnswerStore,
        device: str | None = None,
        dtype: str = "auto",
        batch_size: int = 8,
        revision: str | None = None,
        context: int | None = None,
        template: Format | None = None,
    ) -> None:
        self._source = source = locate_model(str(model), revision)
        self.name = source.name
        base = None if source.commit else locate_base_model(Path(source.path))
        self._is_adapter, self._base = base is not None, base or source
        self.answers = journal if isinstance(journal, AnswerStore) else AnswerStore(journal)
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
            "plain": False,  # an option of earlier versions, which is part of the keys of their answers
        }
        if base is not None:
            together = sha256(f"{source.hash}\n{base.hash or base.commit}".encode()).hexdigest()[:12]
            self.configuration |= {"weights": together, "base": {"model": base.name, "revision": base.commit}}
        if template is not None:  # absent without a template, as in the keys of earlier versions
            self.configuration["format"] = {"name": template.name, "hash": template.hash}

    @property
    def own_template(self) -> str | None:
        """12 hexadecimal digits that change with the tokenizer's chat template; None if it is not used.

        Requests do not contain this hash, because the hash of the weights or the commit covers the template.

        Raises:
            InputError: The tokenizer cannot be loaded.
        """
        if self._template is not None or not self._tokenizer.chat_template:
            return None
        template = self._tokenizer.chat_template
        text = template if isinstance(template, str) else json.dumps(template, sort_keys=True)  # some have several
        return Format("", text).hash

    def replies(self, calls: Iterable[ChatRequest]) -> Iterator[ChatResponse]:
        """Yields one reply for each call, in order; calls are read in batches.

        Raises:
            InputError: The extra is not installed, the model cannot be loaded or does not fit, it has no chat template
                or no known context, or its scores are not finite.
        """
        left = iter(calls)
        while batch := list(islice(left, self._batch_size)):
            yield from self._answer(batch)

    def _answer(self, calls: Sequence[ChatRequest]) -> list[ChatResponse]:
        requests = [self._request(call) for call in calls]
        known: dict[str, ChatResponse] = {}
        rows: dict[str, RequestState] = {}
        for call, request in zip(calls, requests, strict=True):
            if request.key in known or request.key in rows:
                continue
            stored = self.answers.get(request)
            if stored is not None:
                self.origins.add(self.name, stored)
            made = self._row(call, request) if stored is None else read_reply(stored.response)
            if isinstance(made, ChatResponse):
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

    def _request(self, call: ChatRequest) -> Request:
        """Returns a request as a client stores it, with the model instead of the endpoint."""
        sampling = {**asdict(call.sampling), "stop": list(call.sampling.stop)}
        if call.sampling.top_k is None:  # absent as in the keys of earlier versions
            del sampling["top_k"]
        body = {"model": self.name, "messages": call.messages, **sampling}
        whole = {"local": self.configuration, "path": "/chat/completions", "body": body, "sample": call.sample}
        return Request(whole)

    def _row(self, call: ChatRequest, request: Request) -> RequestState | ChatResponse:
        sampling = call.sampling
        fault = self._control_token(call)
        if fault:
            return ChatResponse(reason="bad_request", detail=fault, model=self.name)
        try:
            prompt = self._prompt(call)
        except InputError:
            raise
        except Exception as error:  # a template may raise any exception
            return ChatResponse(reason="bad_request", detail=one_line(error), model=self.name)
        if not prompt:
            return ChatResponse(reason="bad_request", detail="the messages are empty", model=self.name)
        room = self._limit - len(prompt)
        if room < 1:
            detail = f"{len(prompt)} tokens in a context of {self._limit}"
            return ChatResponse(reason="too_long", detail=detail, model=self.name, prompt_tokens=len(prompt))
        temperature, top_p = self._defaults
        temperature = temperature if sampling.temperature is None else sampling.temperature
        top_p = top_p if sampling.top_p is None else sampling.top_p
        limit = room if sampling.max_tokens is None else min(room, sampling.max_tokens)
        numbers = json.dumps([sampling.seed, call.sample, call.messages], sort_keys=True).encode()
        seed = int.from_bytes(sha256(numbers).digest())
        return RequestState(request, prompt, limit, temperature, top_p, sampling, seed)

    def _prompt(self, call: ChatRequest) -> list[int]:
        template = self._template
        if template is None and not self._tokenizer.chat_template:
            raise InputError(
                f"{self.name} has no chat template: choose a chat model, add chat_template.jinja to its "
                "folder, or name a format (`fcconan generate --prompt-format`: "
                f"{', '.join(format_names())})"
            )
        if template is not None and "eos_token" in template.template and self._tokenizer.eos_token is None:
            raise InputError(
                f"the format {template.name} needs an end token, and {self.name} has none: set the eos_token of its "
                "tokenizer, or choose another format"
            )
        return prompt_tokens(self._tokenizer, call.messages, None if template is None else template.template)

    def _control_token(self, call: ChatRequest) -> str:
        texts = [message["content"] for message in call.messages]
        found = find_token(texts, self._control_tokens)
        if found is not None:
            return f"the text contains {found!r}, a control token of {self.name}: remove it"
        mark = None if self._template is None else find_token(texts, self._template.marks)
        if mark is not None and self._template is not None:
            return f"the text contains {mark!r}, a marker of the format {self._template.name}: remove it"
        return ""

    def _first(self, rows: Sequence[RequestState]) -> list[RequestState]:
        """Returns a batch whose longest prompt and answer together fit into the context."""
        batch = [rows[0]]
        for row in rows[1 : self._batch_size]:
            if max_length([*batch, row]) > self._limit:
                break
            batch.append(row)
        return batch

    def _halve(self, rows: Sequence[RequestState]) -> None:
        """Halves the batch size after a batch that did not fit into memory."""
        if len(rows) == 1:
            raise InputError(
                f"one call with a prompt of {len(rows[0].prompt)} tokens does not fit into the memory of "
                f"{self._model.device}: give shorter prompts, a smaller dtype, or another device"
            )
        self._batch_size = len(rows) // 2
        print(
            f"fcconan: a batch of {len(rows)} does not fit into memory for {self.name}: continuing with batches of "
            f"{self._batch_size}",
            file=sys.stderr,
        )

    def _generate(self, rows: list[RequestState]) -> bool:
        """Generates the answers of a batch; returns False if it does not fit into memory."""
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
            torch.cuda.empty_cache()  # only now, as the error held references to its memory
        return False

    def _body(self, row: RequestState) -> dict[str, Any]:
        choice: dict[str, Any] = {
            "index": 0,
            "message": {"role": "assistant", "content": row.text},
            "finish_reason": row.finish,
        }
        if row.sampling.top_logprobs:
            kept = count_text_tokens(row, self._tokenizer)
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
            top.setdefault(self._tokenizer.decode([other]), value)  # partial characters all decode to the same text
        alternatives = [{"token": text, "logprob": value} for text, value in top.items()]
        return {"token": self._tokenizer.decode([token]), "logprob": logprob, "top_logprobs": alternatives}

    @cached_property
    def _tokenizer(self) -> Any:
        with loading_errors(self.name):
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
        with loading_errors(self.name):
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
                with catch_warnings(
                    action="ignore", category=FutureWarning
                ):  # peft uses a deprecated call of transformers
                    model = PeftModel.from_pretrained(model, self._source.path)
            model.eval()
            model.generation_config = GenerationConfig()  # otherwise its penalties would be used
            return model

    @cached_property
    def _generation(self) -> Any:
        """Generation configuration of the model, or an empty one."""
        with loading_errors(self.name):
            from transformers import GenerationConfig

            try:
                return GenerationConfig.from_pretrained(self._base.path, revision=self._base.commit)
            except OSError:  # the model has none
                return GenerationConfig()

    @cached_property
    def _defaults(self) -> tuple[float, float]:
        """Temperature and nucleus of the model's generation configuration."""
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
            raise InputError(f"the configuration of {self.name} does not state the context length: give it (context)")
        return stated


def _is_full(error: BaseException) -> bool:
    import torch

    return isinstance(error, torch.OutOfMemoryError | MemoryError) or any(said in str(error) for said in _FULL)
