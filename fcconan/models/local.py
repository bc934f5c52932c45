"""Chat models on this machine, through transformers: in batches, and every answer stored."""

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from fcconan.data import file_sha256, one_line, quiet_hub
from fcconan.errors import InputError
from fcconan.models.chat_template import Format, control_tokens, find_token, format_names, prompt_tokens
from fcconan.models.requests import ChatRequest, ChatResponse, Sampling, read_reply, stop_in
from fcconan.models.store import Answers

if TYPE_CHECKING:
    import torch

_WEIGHTS = (".safetensors", ".bin")
_LOADED = (*_WEIGHTS, ".json", ".jinja", ".model", ".txt")  # all files that change the output of a model
_FULL = "allocat|out of memory|not enough memory"  # errors of torch
_ENDLESS = 1 << 20  # tokens of the context of models that state none


class ModelSource(NamedTuple):
    """Where a model is loaded from.

    Attributes:
        path: Folder, or name on the Hub.
        commit: Commit of a model on the Hub; None for a folder.
        hash: Hash of the files of a folder; None for a model on the Hub.
    """

    path: str
    commit: str | None
    hash: str | None

    @property
    def name(self) -> str:
        """Name of the folder, or name on the Hub."""
        return self.path if self.commit else Path(self.path).resolve().name


def locate_model(model: str) -> ModelSource:
    """Returns the source of a model, with an identity of its weights.

    All files of a folder are read, because further training does not change sizes and headers (0.7 s for 1 GB). The
    hash of an adapter of peft covers its base model.

    Raises:
        InputError: The model is not found.
    """
    folder = Path(model).expanduser()
    if folder.is_dir():
        files = sorted(path for path in folder.iterdir() if path.suffix in _LOADED)
        if not any(path.suffix in _WEIGHTS for path in files):
            raise InputError(f"found no weights in {folder}, expected .safetensors or .bin: name a folder with a model")
        parts = [f"{path.name}\n{file_sha256(path)}\n" for path in files]
        base = _base_model(str(folder))
        if base != str(folder):
            parts.extend(map(str, locate_model(base)[1:]))
        return ModelSource(str(folder), None, sha256("".join(parts).encode()).hexdigest()[:12])
    if model.startswith((".", "/", "~")) or model.count("/") > 1:
        raise InputError(f"found no folder {model}, expected a model: name a folder, or a model on the Hub")
    with loading_errors(model):
        from huggingface_hub import hf_hub_download

        config = hf_hub_download(model, "config.json")
    return ModelSource(model, Path(config).parent.name, None)  # a snapshot's folder has the name of its commit


def _base_model(path: str) -> str:
    """Returns the base model of an adapter; other models are their own."""
    adapter = Path(path, "adapter_config.json")
    stated = json.loads(adapter.read_bytes()) if adapter.is_file() else {}
    return str(stated.get("base_model_name_or_path") or path)


@contextmanager
def loading_errors(name: str) -> Iterator[None]:
    """Turns all errors of loading a model into an `InputError`.

    Raises:
        InputError: The model cannot be loaded, or a package is missing.
    """
    try:
        with quiet_hub():
            yield
    except ImportError as error:
        extra = "finetune" if "peft" in str(error) else "neural"
        raise InputError(
            f"models on this machine need an extra ({one_line(error)}): `pip install -e '.[{extra}]'` in the clone"
        ) from error
    except Exception as error:  # a dozen types, from the Hub, the file system, torch and tokenizers
        raise InputError(
            f"the model {name} cannot be loaded ({one_line(error)}): name a folder, or a model on the Hub as owner/name"
        ) from error


class LocalModel:
    """A chat model that runs on this machine: on the accelerator that torch finds, in the dtype of its weights.

    Batches are cut from the whole list of requests, in its order. A batch is generated whole unless all its answers are
    stored, so an interrupted run continues with the same samples. Samples depend on the list and on the batch size.
    Padding changes the last bits of the scores, which rarely changes a token of a greedy answer.

    If temperature or nucleus of a request are None, those of the model's generation configuration are used. Its
    penalties are ignored, because they would penalise grades that a judge's prompt contains. Schemas are ignored.

    An answer is `truncated` if neither the model nor a stop string ended it, `too_long` if the prompt leaves no room in
    the context, and `bad_request` if the chat template refuses the messages or they contain a control token.

    Args:
        name: A folder, also of an adapter of peft, or a name on the Hugging Face Hub.
        answers: Store of answers.
        batch_size: Number of requests in a batch.
        template: Chat template that replaces the one of the tokenizer.

    Attributes:
        name: Name of the folder, or name on the Hub.
        identity: All settings that change the answers, in addition to the requests.
        used: Sums of `requests`, `stored` (taken from the store), `prompt_tokens` and `completion_tokens`.

    Raises:
        InputError: The model is not found.
    """

    def __init__(self, name: str, answers: Answers, *, batch_size: int = 8, template: Format | None = None) -> None:
        source = locate_model(name)
        self.name, self._path, self._base = source.name, source.path, _base_model(source.path)
        self._answers, self._batch_size, self._template = answers, batch_size, template
        self.identity: dict[str, Any] = {"model": self.name, "weights": source.hash or source.commit}
        if template is not None:
            self.identity["format"] = f"{template.name}@{template.hash}"
        self.used: Counter[str] = Counter()

    def is_known(self, call: ChatRequest) -> bool:
        """Returns whether the answer to a request is stored."""
        return self._answers.get(self._request(call)) is not None

    def replies(self, calls: Iterable[ChatRequest]) -> Iterator[ChatResponse]:
        """Yields one answer for each request, in order; it is stored before.

        Raises:
            InputError: The model cannot be loaded, a batch does not fit into memory, the model has no chat template, or
                its scores are not finite.
        """
        from tqdm import tqdm

        requests = [(json.dumps(self._request(call), sort_keys=True), call) for call in calls]
        alike: dict[Sampling, list[tuple[str, ChatRequest]]] = {}
        for key, call in dict(requests).items():  # equal ones once
            alike.setdefault(replace(call.sampling, seed=None), []).append((key, call))
        size = self._batch_size
        batches = (part[start : start + size] for part in alike.values() for start in range(0, len(part), size))
        found: dict[str, ChatResponse] = {}
        for key, _ in tqdm(requests, desc=self.name, leave=False, disable=None):
            while key not in found:
                keys, batch = zip(*next(batches), strict=True)
                found |= zip(keys, self._answer(batch), strict=True)
            yield found[key]

    def _request(self, call: ChatRequest) -> dict[str, Any]:
        sampling = vars(call.sampling)
        return {"local": self.identity, "messages": call.messages, "sampling": sampling, "sample": call.sample}

    def _answer(self, calls: Sequence[ChatRequest]) -> list[ChatResponse]:
        requests = [self._request(call) for call in calls]
        bodies = [self._answers.get(request) for request in requests]
        known = [body for body in bodies if body is not None]
        self.used["stored"] += len(known)
        if len(known) == len(calls):
            return [read_reply(body) for body in known]
        prompts = [self._prompt(call) for call in calls]
        fitting = {place: prompt for place, prompt in enumerate(prompts) if not isinstance(prompt, ChatResponse)}
        longest = calls[0].sampling.max_tokens or self._limit
        # An answer that may fill the context is generated alone, so that no other one is cut at its end.
        alone = [place for place, prompt in fitting.items() if len(prompt) + longest > self._limit]
        for places in [[place for place in fitting if place not in alone], *([place] for place in alone)]:
            if all(bodies[place] is not None for place in places):
                continue
            own = json.dumps([requests[place] for place in places], sort_keys=True)
            seed = int.from_bytes(sha256(own.encode()).digest()[:8])
            prompted = [fitting[place] for place in places]
            for place, body in zip(places, self._generate(prompted, calls[0].sampling, seed), strict=True):
                if bodies[place] is None:
                    self._answers.put(requests[place], body)
                    bodies[place] = body
                    self.used += Counter(requests=1, **body["usage"])
        return [
            prompt if isinstance(prompt, ChatResponse) else read_reply(body or {})
            for prompt, body in zip(prompts, bodies, strict=True)
        ]

    def _prompt(self, call: ChatRequest) -> list[int] | ChatResponse:
        """Returns the tokens of a prompt, or the failure of its request."""
        template = self._template
        marks = [*self._control_tokens, *(() if template is None else template.marks)]
        mark = find_token((message["content"] for message in call.messages), marks)
        if mark is not None:
            return ChatResponse(reason="bad_request", detail=f"the text contains the control token {mark!r}: remove it")
        try:
            prompt = prompt_tokens(self._tokenizer, call.messages, None if template is None else template.template)
        except Exception as error:  # a template may raise any exception
            return ChatResponse(reason="bad_request", detail=one_line(error))
        if 0 < len(prompt) < self._limit:
            return prompt
        detail = f"{len(prompt)} tokens in a context of {self._limit}"
        return ChatResponse(reason="too_long" if prompt else "bad_request", detail=detail)

    def _generate(self, prompts: Sequence[list[int]], sampling: Sampling, seed: int) -> list[dict[str, Any]]:
        """Returns the answers to prompts as chat completions."""
        import torch
        from torch.nn.utils.rnn import pad_sequence
        from transformers import GenerationConfig, LogitsProcessorList, StoppingCriteriaList

        model, stated = self._model
        width = max(map(len, prompts))
        limit = min(sampling.max_tokens or self._limit, self._limit - width)
        temperature = sampling.temperature
        if temperature is None:
            temperature = (stated.temperature or 1.0) if stated.do_sample else 0.0
        how: dict[str, Any] = {"do_sample": False}
        if temperature > 0:
            top_p = sampling.top_p or stated.top_p or 1.0
            how = {"do_sample": True, "temperature": temperature, "top_p": top_p, "top_k": sampling.top_k or 0}
        ends = {*(stated.eos_token_id if isinstance(stated.eos_token_id, list) else [stated.eos_token_id])}
        watch = _Watch(self._tokenizer, ends | {self._tokenizer.eos_token_id}, sampling, width)
        padding = self._tokenizer.pad_token_id or 0
        left = {"batch_first": True, "padding_side": "left"}
        tokens = pad_sequence([torch.tensor(each) for each in prompts], padding_value=padding, **left)
        mask = pad_sequence([torch.ones(len(each), dtype=torch.int64) for each in prompts], **left)
        try:
            with torch.random.fork_rng():
                torch.manual_seed(seed)
                whole = model.generate(
                    input_ids=tokens.to(model.device),
                    attention_mask=mask.to(model.device),
                    generation_config=GenerationConfig(max_new_tokens=limit, pad_token_id=padding, **how),
                    logits_processor=LogitsProcessorList([watch.note]),
                    stopping_criteria=StoppingCriteriaList([watch.ended]),
                )
        except (RuntimeError, MemoryError) as error:
            if not (isinstance(error, MemoryError) or re.search(_FULL, str(error))):
                raise
            raise InputError(
                f"a batch of {len(prompts)} prompts of {width} tokens does not fit into the memory of {model.device}: "
                "lower --concurrency"
            ) from error
        bodies = (watch.body(row, answer) for row, answer in enumerate(whole[:, width:].tolist()))
        return [
            body | {"model": self.name, "usage": {"prompt_tokens": len(prompt), "completion_tokens": tokens}}
            for prompt, (body, tokens) in zip(prompts, bodies, strict=True)
        ]

    @cached_property
    def _tokenizer(self) -> Any:
        with loading_errors(self.name):
            from transformers import AutoTokenizer

            has_own = Path(self._path, "tokenizer_config.json").is_file()
            tokenizer = AutoTokenizer.from_pretrained(self._path if has_own else self._base)
        if self._template is None and not tokenizer.chat_template:
            raise InputError(
                f"found no chat template in {self.name}, expected a chat model: name a format with --prompt-format "
                f"({', '.join(format_names())})"
            )
        return tokenizer

    @cached_property
    def _control_tokens(self) -> list[str]:
        return control_tokens(self._tokenizer)

    @cached_property
    def _limit(self) -> int:
        """Largest number of tokens of prompt and answer."""
        with loading_errors(self.name):
            from transformers import AutoConfig

            config = AutoConfig.from_pretrained(self._base).get_text_config()
        return getattr(config, "max_position_embeddings", None) or _ENDLESS

    @cached_property
    def _model(self) -> tuple[Any, Any]:
        """The model, and its generation configuration."""
        with loading_errors(self.name):
            if self._base != self._path:
                import peft  # noqa: F401  # before the base is loaded, which takes minutes
            import torch
            from transformers import AutoModelForCausalLM, GenerationConfig
            from transformers.utils import logging

            logging.disable_progress_bar()
            device = torch.accelerator.current_accelerator() if torch.accelerator.is_available() else "cpu"
            model = AutoModelForCausalLM.from_pretrained(self._path, dtype="auto", device_map=str(device))
        stated, model.generation_config = model.generation_config, GenerationConfig()  # else its penalties are used
        return model.eval(), stated


class _Watch:
    """Records log-probabilities and ends of a batch while transformers generates it."""

    def __init__(self, tokenizer: Any, ends: set[int | None], sampling: Sampling, width: int) -> None:
        self._tokenizer, self._ends, self._width = tokenizer, ends, width
        self._stop, self._top = sampling.stop, sampling.top_logprobs
        self._lengths: dict[int, int] = {}  # of the answers that have ended
        self._steps: list[tuple[list[list[int]], list[list[float]]]] = []  # chosen and likeliest tokens of each row

    def note(self, tokens: "torch.Tensor", scores: "torch.Tensor") -> "torch.Tensor":
        """A logits processor that changes nothing; scores: (rows, tokens).

        Raises:
            InputError: A score is not finite.
        """
        import torch

        if not bool((scores < torch.inf).all()):  # minus infinity is a valid score of impossible tokens
            raise InputError("the scores of the model are not finite: check its weights and their dtype")
        if self._top:
            self._logprobs = scores.log_softmax(-1)
        return scores

    def ended(self, tokens: "torch.Tensor", scores: object, **unused: object) -> "torch.Tensor":
        """A stopping criterion: returns which rows have ended."""
        import torch

        last = tokens[:, -1:]
        if self._top:
            values, others = self._logprobs.topk(self._top)
            own = self._logprobs.gather(1, last)
            self._steps.append((torch.cat([last, others], 1).tolist(), torch.cat([own, values], 1).tolist()))
        for row, answer in enumerate(tokens[:, self._width :].tolist()):
            if row not in self._lengths and (answer[-1] in self._ends or self._cut(answer) is not None):
                self._lengths[row] = len(answer)
        return torch.tensor([row in self._lengths for row in range(len(tokens))], device=tokens.device)

    def body(self, row: int, answer: list[int]) -> tuple[dict[str, Any], int]:
        """Returns the answer of a row as a chat completion, and its number of tokens."""
        answer = answer[: self._lengths.get(row)]
        said = answer[:-1] if answer[-1] in self._ends else answer
        text = self._text(said)[: self._cut(said)]
        finish = "stop" if row in self._lengths else "length"
        choice: dict[str, Any] = {"message": {"role": "assistant", "content": text}, "finish_reason": finish}
        if self._top:
            kept = len(answer)  # without the end token and those of a stop string
            while kept and len(self._text(answer[: kept - 1])) >= len(text):
                kept -= 1
            entries = [
                [
                    {"token": self._tokenizer.decode([token]), "logprob": logprob}
                    for token, logprob in zip(tokens[row], logprobs[row], strict=True)
                ]
                for tokens, logprobs in self._steps[:kept]
            ]
            choice["logprobs"] = {"content": [{**own, "top_logprobs": others} for own, *others in entries]}
        return {"object": "chat.completion", "choices": [choice]}, len(answer)

    def _cut(self, answer: Sequence[int]) -> int | None:
        return stop_in(self._text(answer), self._stop) if self._stop else None

    def _text(self, answer: Sequence[int]) -> str:
        return str(self._tokenizer.decode(answer, skip_special_tokens=True, clean_up_tokenization_spaces=False))
