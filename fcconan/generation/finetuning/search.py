"""Fine-tuning of a causal language model on pairs, with adapters or all weights, and a search over learning rates.

Each learning rate is trained in `<out>.partial` (`fcconan.generation.finetuning.run`). The model with the lowest
validation perplexity becomes the folder `out`; `local:FOLDER` uses it with the same prompt and format. Perplexity is
the exponential of the mean negative log likelihood of all reply tokens, including the end token.
"""

import hashlib
import json
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any

import fcconan
from fcconan.data import claim_folder, locked, new_folder, write_whole
from fcconan.errors import InputError
from fcconan.generation.finetuning.data import TrainingSplit, encode
from fcconan.generation.finetuning.model import (
    EncodedPair,
    PretrainedModel,
    check_four_bit,
    choose_device,
    compute_dtype,
)
from fcconan.generation.finetuning.run import Entry, Notify, TrainingInputs, baseline_loss, perplexity, train_with_rate
from fcconan.generation.finetuning.settings import FinetuningSettings
from fcconan.models import format_names

REPORT = "training.json"
CURVE = "curve.svg"
CARD = "README.md"
Plot = Callable[[Mapping[str, Any]], str]
# Files of Trainer and peft that are not part of the model.
_NOT_THE_MODEL = (
    "optimizer.pt", "scheduler.pt", "scaler.pt", "rng_state.pth", "trainer_state.json", "training_args.bin",
    "README.md",
)  # fmt: skip


@dataclass(frozen=True)
class FinetuningData:
    """Training data: pairs with their prompt and format.

    Attributes:
        prompt: A `GenerationPrompt`.
        template: A `Format`; None for the tokenizer's own chat template.
        parts: Training and validation pairs.
        notes: Source of the pairs and counts of omitted pairs, for the report.
    """

    prompt: Any
    template: Any
    parts: TrainingSplit
    notes: Mapping[str, Any] = field(default_factory=dict)


class Finetuner:
    """Fine-tunes a model; the constructor checks model, data and settings.

    Args:
        base: Base model.
        data: Training data.
        settings: Settings of the fine-tuning.
        device: `cpu` or `cuda`; by default the first CUDA device, or else the CPU.
        plot: Function that draws the losses of a report as SVG; without one, the folder has no `curve.svg`.

    Raises:
        InputError: The tokenizer has no chat template and no format is given, the device does not support 4 bit, or no
            pair is usable.
    """

    def __init__(
        self,
        base: PretrainedModel,
        data: FinetuningData,
        settings: FinetuningSettings,
        *,
        device: str | None = None,
        plot: Plot | None = None,
    ) -> None:
        self.base, self.data, self.settings, self.device, self._plot = base, data, settings, choose_device(device), plot
        if settings.method == "qlora":
            check_four_bit(self.device)
        self.tokenizer = base.tokenizer()
        if data.template is None and not self.tokenizer.chat_template:
            raise InputError(
                f"{base.name} has no chat template: name a format with --prompt-format ({', '.join(format_names())})"
            )
        from transformers import AutoConfig

        context = AutoConfig.from_pretrained(base.found.path).get_text_config().max_position_embeddings
        longest = min(settings.max_length, context)
        self._left_out: dict[str, dict[str, list[str]]] = {}
        self._encoded: dict[str, list[EncodedPair]] = {}
        for name, examples in data.parts._asdict().items():
            if not examples:
                raise InputError(f"the {name} part has no pairs: give more, or another share for validation")
            self._encoded[name], self._left_out[name] = encode(
                examples,
                tokenizer=self.tokenizer,
                prompt=data.prompt,
                template=data.template,
                max_length=longest,
            )
        self.longest = longest

    def plan(self) -> dict[str, Any]:
        """Returns the numbers of pairs, tokens, and steps of a training."""
        counts = {
            name: {
                "pairs": len(pairs),
                "tokens": sum(len(pair.tokens) for pair in pairs),
                "reply_tokens": sum(pair.reply for pair in pairs),
                "longest": max(len(pair.tokens) for pair in pairs),
                "left_out": {reason: len(ids) for reason, ids in self._left_out[name].items()},
            }
            for name, pairs in self._encoded.items()
        }
        steps = -(-len(self._encoded["train"]) // self.settings.batch_size)
        return {
            "model": self.base.name,
            "parts": counts,
            "max_length": self.longest,
            "steps_an_epoch": steps,
            "steps_at_most": steps * self.settings.epochs * len(self.settings.learning_rates),
            "learning_rates": list(self.settings.learning_rates),
            "epochs_at_most": self.settings.epochs,
        }

    def finished(self, out: Path) -> dict[str, Any] | None:
        """Returns the report if `out` holds the result for the same model, pairs, settings and device, else None."""
        try:
            report: dict[str, Any] = json.loads((out / REPORT).read_text(encoding="utf-8"))
            return report if report.get("training") == self._fingerprint() else None
        except (OSError, ValueError, AttributeError):
            return None

    def run(self, out: Path, *, notify: Notify = lambda line: None) -> dict[str, Any]:
        """Trains, or continues an interrupted training, and writes the folder.

        Args:
            out: The folder: new, empty, or with the finished result of the same training, which stays unchanged.
            notify: Callback for messages during the training, such as a batch that does not fit into memory.

        Returns:
            The report, as in `training.json` in the folder.

        Raises:
            InputError: `out` is in use or `<out>.partial` has an unfinished training of other data or settings, the
                model cannot be loaded, one pair does not fit into memory, or every learning rate diverged.
        """
        work = out.with_name(f"{out.name}.partial")
        done = self.finished(out)
        if done is not None:
            shutil.rmtree(work, ignore_errors=True)  # the end of a run that was killed after its last step
            return done
        if out.exists() and (not out.is_dir() or any(out.iterdir())):
            raise InputError(f"{out} is there and not empty: choose another --out, or remove it")
        claim_folder(work, self._what(), "training")
        with locked(work):
            return self._trained(out, work, notify)

    def _trained(self, out: Path, work: Path, notify: Notify) -> dict[str, Any]:
        inputs = TrainingInputs(
            self.base,
            self._encoded["train"],
            self._encoded["validation"],
            _padding(self.tokenizer),
            self.device,
            self._fingerprint(),
        )
        before = baseline_loss(inputs, self.settings, work, notify)
        runs = [
            train_with_rate(rate, inputs, self.settings, work / f"rate-{rate!r}", notify)
            for rate in self.settings.learning_rates
        ]
        finite = [run for run in runs if run["validation_loss"] is not None]
        if not finite:
            shutil.rmtree(work)
            rates = ", ".join(f"{rate:g}" for rate in self.settings.learning_rates)
            raise InputError(f"training diverged at every learning rate ({rates}): give a smaller one")
        best = min(finite, key=lambda run: float(run["validation_loss"]))  # the first of equals
        report = self._report(before, runs, best)
        self._write(out, work, report, best)
        return report

    def _what(self) -> dict[str, Any]:
        """Inputs that must be equal for an interrupted training to continue."""
        tokens = hashlib.sha256()
        for pairs in self._encoded.values():
            tokens.update(json.dumps(pairs).encode())
        return {
            "model": {"name": self.base.name, "revision": self.base.revision, "weights": self.base.weights},
            "pairs": tokens.hexdigest(),
            "device": self.device,
            **json.loads(json.dumps(asdict(self.settings))),
        }

    def _fingerprint(self) -> str:
        return hashlib.sha256(json.dumps(self._what(), sort_keys=True).encode()).hexdigest()

    def _report(self, before: float, runs: Sequence[Entry], best: Entry) -> dict[str, Any]:
        curves = [entry for run in runs for entry in run["curve"]]
        memory = [entry["peak_bytes"] for entry in curves if entry["peak_bytes"] is not None]
        template = self.data.template
        plan = self.plan()
        return {
            "fcconan": fcconan.__version__,
            "training": self._fingerprint(),
            "model": {"name": self.base.name, "revision": self.base.revision, "weights": self.base.weights},
            "data": dict(self.data.notes),
            "parts": {name: {**counts, "left_out": self._left_out[name]} for name, counts in plan["parts"].items()},
            "prompt": {"name": self.data.prompt.name, "hash": self.data.prompt.hash},
            "format": None if template is None else {"name": template.name, "hash": template.hash},
            "settings": {**asdict(self.settings), "max_length": self.longest},
            "computed_in": str(compute_dtype(self.settings, self.device)).removeprefix("torch."),
            "device": self.device,
            "before": {"validation_loss": before, "perplexity": perplexity(before)},
            "after": {"validation_loss": best["validation_loss"], "perplexity": best["perplexity"]},
            "learning_rate": best["learning_rate"],
            "best_epoch": best["best_epoch"],
            "runs": [{key: value for key, value in run.items() if key != "checkpoint"} for run in runs],
            "seconds": round(sum(entry["seconds"] for entry in curves), 3),
            "peak_bytes": max(memory, default=None),
            "versions": {name: version(name) for name in _packages(self.settings)},
        }

    def _write(self, out: Path, work: Path, report: Mapping[str, Any], best: Entry) -> None:
        checkpoint = work / f"rate-{best['learning_rate']!r}" / best["checkpoint"]
        with new_folder(out) as stage:
            without = shutil.ignore_patterns(*_NOT_THE_MODEL)
            shutil.copytree(checkpoint, stage, ignore=without, dirs_exist_ok=True)
            _with_cache(stage / "config.json")
            if self.data.template is not None:
                self.tokenizer.chat_template = self.data.template.template
            self.tokenizer.save_pretrained(stage)
            write_whole(stage / REPORT, json.dumps(report, indent=2) + "\n")
            if self._plot is not None:
                write_whole(stage / CURVE, self._plot(report) + "\n")
            write_whole(stage / CARD, _card(report))
        shutil.rmtree(work, ignore_errors=True)


def _padding(tokenizer: Any) -> int:
    """Returns the padding token, or the end token if there is none; padding is masked."""
    own = tokenizer.pad_token_id
    return int(tokenizer.eos_token_id if own is None else own)


def _with_cache(configuration: Path) -> None:
    """Switches the model's cache of keys and values on again, which Trainer disabled and fast generation needs."""
    if configuration.is_file():
        settings = json.loads(configuration.read_text(encoding="utf-8"))
        configuration.write_text(json.dumps({**settings, "use_cache": True}, indent=2) + "\n", encoding="utf-8")


def _packages(settings: FinetuningSettings) -> tuple[str, ...]:
    extra = {"full": (), "lora": ("peft",), "qlora": ("peft", "bitsandbytes")}[settings.method]
    return ("accelerate", *extra, "torch", "transformers")


def _card(report: Mapping[str, Any]) -> str:
    what = {"full": "all weights", "lora": "LoRA adapters", "qlora": "LoRA adapters on 4 bit"}
    settings, train = report["settings"], report["parts"]["train"]
    shape = "its own chat template" if report["format"] is None else f"the format `{report['format']['name']}`"
    library = "transformers" if settings["method"] == "full" else "peft"
    return (
        f"---\nlibrary_name: {library}\npipeline_tag: text-generation\n---\n\n# Counter-narrative generator\n\n"
        f"`{report['model']['name']}`, fine-tuned by fcconan {report['fcconan']} ({what[settings['method']]}) on "
        f"{train['pairs']} pairs of hate speech and counter-narrative, in the prompt `{report['prompt']['name']}` and "
        f"{shape}. Learning rate {report['learning_rate']:g}, epoch {report['best_epoch']}. `{REPORT}` holds every "
        f"setting and score, `{CURVE}` the curve.\n\n"
        "The texts it was trained on may not be redistributable; check their terms before you publish these weights.\n"
    )
