"""What `fcconan generate` does, once its options are read."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fcconan.cli import models
from fcconan.cli.generate_options import (
    CONDITIONED,
    ENCODER,
    FEW_SHOT,
    REFERENCE,
    RETRIEVAL,
    RETRIEVER,
    SHOWN,
    Asked,
    decoding_of,
    format_of,
    judge_plan_of,
    part_of,
    strategy_of,
)
from fcconan.cli.judge import inputs
from fcconan.errors import InputError

if TYPE_CHECKING:
    from fcconan.cli.watch import Watched
    from fcconan.generation import (
        BestOf,
        Catalogue,
        Decoding,
        Examples,
        GenerationPrompt,
        Generator,
        Item,
        Pick,
        Plan,
        Pool,
        Row,
    )
    from fcconan.judging import Plan as JudgePlan
    from fcconan.models import Call, Format, Model

OF_ITEMS = ("hate_speech", "hs_id", "item_id", "references")  # columns of replies that tell of messages, too


@dataclass(frozen=True)
class Work:
    """What one run reads and writes."""

    dataset: Path
    out: Path
    config: str | None
    split: str | None
    limit: int | None
    columns: dict[str, str]
    seed: int
    system: str | None
    connection: models.Connection
    json_file: Path | None

    def check(self, asked: Asked, made: str | None) -> None:
        """Checks that the run destroys nothing.

        Raises:
            InputError: It would, or a file cannot be written.
        """
        from fcconan.cli.output import check_json_target
        from fcconan.data import check_row_target
        from fcconan.generation import card_path

        check_row_target(self.out)
        written = {"--out": self.out, "--out (its card)": card_path(self.out), "--json": self.json_file}
        parts = [part_of(each)[0] for each in (asked.pool, made) if each is not None]
        files = [Path(each) for each in (asked.task, asked.format) if each is not None]
        names = [each for each in (asked.model, asked.judge) if each is not None]
        self.connection.check_files(
            written, read=[self.dataset, *files, *parts], folders=[asked.background], names=names
        )
        check_json_target(self.json_file, self.out)

    def run(self, asked: Asked, made: str | None) -> bool:
        """Writes the replies, their card and the summary; returns whether all went well.

        Raises:
            InputError: Options do not go together, or something cannot be used.
        """
        from fcconan.services import built_folder

        if (dataset := built_folder(self.dataset)) != self.dataset:
            return replace(self, dataset=dataset).run(asked, made)
        if made is None and asked.strategy not in (RETRIEVAL, REFERENCE):
            return self._by_model(asked)
        if self.connection.dry_run:
            raise InputError("--dry-run counts what a model would be asked, and none is: leave it out")
        if made is not None:
            asked.refuse("says how replies are made, and --from names replies that are there")
            result = self._import(made)
        elif asked.strategy == REFERENCE:
            asked.refuse(f"has no meaning with --strategy {REFERENCE}, which takes what people wrote", but=["strategy"])
            result = self._references()
        else:
            goes_with = ("strategy", "retriever", "pool", "own")
            asked.refuse(f"has no meaning with --strategy {RETRIEVAL}, which takes the best CN", but=goes_with)
            result = self._retrieve(asked)
        self._finish(result)
        return _is_whole(result)

    def _import(self, made: str) -> dict[str, Any]:
        from fcconan.generation import STRATEGY, ImportedReplies, row_maker

        source, config, split = part_of(made)
        same = source.resolve() == self.dataset.resolve()
        items = self._items({name: each for name, each in self.columns.items() if same and name in OF_ITEMS})
        found = ImportedReplies(
            source,
            items,
            config=config,
            split=split or (self.split if same else None),
            columns=self.columns,
            system=self.system,
        )
        rows = (row_maker(name, STRATEGY)(*each) for name in found.systems for each in found.of(name))
        total = found.counts["rows"] - found.counts["left_out"] - found.counts["unknown"]
        result = self._write(rows, total, items, found.configuration)
        return result | {"import": found.counts, "notes": found.notes()}

    def _references(self) -> dict[str, Any]:
        from fcconan.generation import References

        items = self._items()
        generator = References(seed=max(self.seed, 0), name=self.system or "gold")
        note = "The reference that is the reply is left out of the references of its row."
        return self._generate(generator, items) | {"notes": [note]}

    def _retrieve(self, asked: Asked) -> dict[str, Any]:
        from fcconan.generation import CatalogueGenerator

        items = self._items()
        source = self._catalogue(asked, 1)
        source.prepare(items)
        result = self._generate(CatalogueGenerator(source, name=self.system), items)
        return result | {"notes": notes_of(result)}

    def _by_model(self, asked: Asked) -> bool:
        from fcconan.generation import PROMPTS, check_prompt, load_generation_prompt

        if asked.model is None:
            raise InputError(
                f"there is no model: name one with --model, or choose --strategy {RETRIEVAL} or {REFERENCE}, or give "
                "--from FILE"
            )
        strategy = strategy_of(asked)
        decoding = decoding_of(asked)
        judged = judge_plan_of(asked, decoding.pick)
        prompt = load_generation_prompt(asked.task or PROMPTS[strategy])
        check_prompt(prompt, background=asked.background is not None, candidates=strategy == CONDITIONED)
        template = format_of(asked)
        items = self._items()
        beside = [asked.model, asked.judge] if asked.judge is not None else []
        model = self.connection.open(asked.model, beside=beside, template=template)
        judge = None if asked.judge is None else self.connection.open(asked.judge, beside=beside)
        plan = self._plan(asked, strategy, decoding, prompt)
        plan.prepare(items)
        if self.connection.dry_run:
            self._rehearse(model, judge, plan, judged, items)
            return True
        return self._ask(model, judge, plan, judged, template, items)

    def _ask(
        self,
        model: "Model",
        judge: "Model | None",
        plan: "Plan",
        judged: "JudgePlan | None",
        template: "Format | None",
        items: "list[Item]",
    ) -> bool:
        from fcconan.cli.watch import Watched
        from fcconan.generation import BestOf, ModelGenerator
        from fcconan.models import origins_of

        watched = Watched(model)
        watched_judge = None if judge is None else Watched(judge)
        pick = _pick(plan, judged, watched_judge)
        name = None if template is None else template.name
        own = getattr(model, "own_template", None)
        generator = ModelGenerator(watched, plan, pick=pick, name=self.system, format=name, own_template=own)
        result = self._generate(generator, items)
        best = pick if isinstance(pick, BestOf) else None
        origins = origins_of(model)
        dates = None if origins is None else origins.dates()
        result["answers"] = None if dates is None else dict(zip(("first", "last"), dates, strict=True))
        result["failed_requests"] = generator.failed + (best.judge.failed if best is not None else 0)
        if best is not None:
            counts = {"judged": best.judged, "unjudged": best.unjudged, "alike": best.alike}
            result["picked"] = {"by": best.judge.name, **counts}
        result["notes"] = notes_of(result, plan)
        self._finish(result, used=models.print_used([each for each in (model, judge) if each is not None]))
        _tell_written(generator.name, result, watched)
        rated = best is None or watched_judge is None or _tell_rated(best, watched_judge)
        return rated and _is_whole(result) and not result["failed_requests"]

    def _items(self, columns: Mapping[str, str] | None = None) -> "list[Item]":
        from fcconan.generation import load_items

        columns = self.columns if columns is None else columns
        return load_items(self.dataset, config=self.config, split=self.split, columns=columns or None, limit=self.limit)

    def _pool(self, asked: Asked) -> "Pool":
        from fcconan.generation import load_pool

        if asked.pool is not None:
            source, config, split = part_of(asked.pool)
            return load_pool(source, config=config, split=split)
        try:
            if self.config is None or any((self.dataset / "train").glob("*.parquet")):
                return load_pool(self.dataset, columns=self.columns or None)
            return load_pool(self.dataset, config=self.config, split=self.split)
        except InputError as error:
            raise InputError(f"{error}; or name other pairs with --pool") from error

    def _catalogue(self, asked: Asked, k: int) -> "Catalogue":
        from fcconan.generation import Catalogue

        return Catalogue(
            self._pool(asked),
            asked.retriever or RETRIEVER,
            k,
            own=bool(asked.own),
            client=self._client,
            device=self.connection.device,
            batch_size=self.connection.batch_size,
        )

    def _client(self) -> Any:
        """The client of a retriever behind an endpoint."""
        from fcconan.models import Client

        for option, given in (("--dry-run", self.connection.dry_run), ("--max-cost", self.connection.max_cost)):
            if given not in (None, False):
                raise InputError(
                    f"{option} does not hold for a retriever behind an endpoint: choose another, or leave it out"
                )
        return Client(
            journal=self.connection.answers(),
            base_url=self.connection.base_url,
            api_key_variable=self.connection.key_variable,
            timeout=self.connection.timeout,
            retries=self.connection.retries,
            concurrency=self.connection.concurrency,
        )

    def _examples(self, asked: Asked, k: int) -> "Examples":
        from fcconan.generation import Examples

        return Examples(self._pool(asked), k, asked.encoder or ENCODER, device=self.connection.device)

    def _plan(self, asked: Asked, strategy: str, decoding: "Decoding", prompt: "GenerationPrompt") -> "Plan":
        from fcconan.generation import Plan

        has_examples = strategy == FEW_SHOT or asked.examples is not None
        return Plan(
            prompt,
            decoding,
            examples=self._examples(asked, asked.examples or SHOWN) if has_examples else None,
            candidates=self._catalogue(asked, asked.top or SHOWN) if strategy == CONDITIONED else None,
            background=inputs.knowledge_of(asked.background, asked.passages, shown=True),
            seed=None if self.seed < 0 else self.seed,
        )

    def _generate(self, generator: "Generator", items: "list[Item]") -> dict[str, Any]:
        from fcconan.generation import generate_rows

        return self._write(generate_rows(generator, items), len(items), items, generator.configuration)

    def _write(
        self, rows: "Iterable[Row]", total: int, items: "list[Item]", configuration: dict[str, Any]
    ) -> dict[str, Any]:
        from fcconan.cli.progress import CountProgress
        from fcconan.data import RowWriter
        from fcconan.generation import GENERATED, Tally, dataset_of, open_part, packages_of
        from fcconan.services import reporting

        tally = Tally()
        with RowWriter(self.out, GENERATED) as writer:
            shown = CountProgress("generating")
            for row in reporting(rows, total, shown):
                tally.add(row)
                writer.write([row])
            shown.close()
        part = open_part(self.dataset, config=self.config, split=self.split)
        return {
            "dataset": dataset_of(part, items),
            "systems": tally.result(),
            "configuration": configuration,
            "packages": packages_of(configuration),
        }

    def _finish(self, result: dict[str, Any], used: list[dict[str, Any]] | None = None) -> None:
        from fcconan.cli.output import print_table, write_json
        from fcconan.generation import COUNTED, counts_of, write_card

        card = write_card(self.out, result)
        print_table(f"Replies in {self.out}", COUNTED, counts_of(result))
        for note in result.get("notes", ()):
            print(note)
        if result.get("picked"):
            picked = result["picked"]
            told = f"Messages whose reply {picked['by']} chose: {picked['judged']}"
            drawn = f"without a rated candidate, so that a draw decided: {picked['unjudged']}"
            print(f"{told}; {drawn}; with one candidate, or only equal ones: {picked['alike']}")
        if result.get("failed_requests"):
            failed = result["failed_requests"]
            requests = "1 request" if failed == 1 else f"{failed} requests"
            print(f"{requests} failed for a passing reason: run the command again to ask again")
        print(f"How they were made: {card}")
        if self.json_file is not None:
            sent = {} if used is None else {"used": used}
            write_json(self.json_file, {"out": str(self.out), "card": str(card), **result, **sent})

    def _rehearse(
        self, model: "Model", judge: "Model | None", plan: "Plan", judged: "JudgePlan | None", items: "list[Item]"
    ) -> None:
        from fcconan.generation import ModelGenerator

        longest = plan.decoding.max_tokens or 512

        def said(call: "Call", number: int) -> str:
            return f"{number} " + "word" * longest  # four bytes for a token, and none like another

        asked = models.Rehearsal(model, role=None if judge is None else "replies", answer=said)
        rating = None if judge is None else models.Rehearsal(judge, role="ratings")
        rehearsals = [each for each in (asked, rating) if each is not None]
        generator = ModelGenerator(asked, plan, pick=_pick(plan, judged, rating))
        for _ in generator.answers(items):
            pass
        models.print_rehearsals(rehearsals, self.connection.prices, self.json_file, at_most=judge is not None)


def notes_of(result: Mapping[str, Any], plan: "Plan | None" = None) -> list[str]:
    """Returns what a reader should know of one system's replies, a sentence each."""
    from fcconan.generation import NO_BACKGROUND, NO_CANDIDATES

    (counts,) = result["systems"]
    of = f"of {counts['n'] + counts['n_missing']} messages"
    said = []
    if without := counts["missing"].get(NO_BACKGROUND):
        why = getattr(plan and plan.background, "nothing", "nothing was found")
        said.append(f"{without} {of} have no background knowledge ({why}): they have no reply.")
    if without := counts["missing"].get(NO_CANDIDATES):
        said.append(f"{without} {of} have no CN in the pool that is not kin of theirs: they have no reply.")
    wanted = None if plan is None or plan.examples is None else plan.examples.configuration.get("k")
    if wanted is not None:
        fewer = sum(number for shown, number in counts["examples_shown"].items() if int(shown) < wanted)
        if fewer:
            said.append(f"{fewer} {of} were shown fewer than {wanted} examples: the pool has no more for them.")
    return said


def _is_whole(result: Mapping[str, Any]) -> bool:
    """Whether there are replies, and none is missing."""
    return bool(result["systems"]) and not any(each["n_missing"] for each in result["systems"])


def may_be_mended(summary: Path) -> bool:
    """Whether another run may find what one lacks, by its summary: a request failed for a passing reason."""
    import json

    from fcconan.generation import PASSING

    result = json.loads(summary.read_bytes())
    return bool(result.get("failed_requests")) or any(PASSING & each["missing"].keys() for each in result["systems"])


def _tell_written(name: str, result: Mapping[str, Any], watched: "Watched") -> None:
    """Says why there is no reply at all, where that is so."""
    from fcconan.cli.watch import why_nothing
    from fcconan.generation import NO_BACKGROUND, NO_CANDIDATES

    (counts,) = result["systems"]
    if not counts["n"] and not counts["missing"].keys() <= {NO_BACKGROUND, NO_CANDIDATES}:  # of which the notes tell
        print(why_nothing(f"{name} wrote nothing", counts["missing"], [watched], expected="words"))


def _tell_rated(best: "BestOf", watched: "Watched") -> bool:
    """Says why no candidate was rated, where that is so; returns whether any was, or none had to be."""
    from fcconan.cli.watch import why_nothing
    from fcconan.services import expected_answer

    if best.judged or not best.unjudged:
        return True
    expected = expected_answer(best.judge.plan.questions())
    print(why_nothing(f"{best.judge.name} rated nothing", best.missing, [watched], expected=expected))
    return False


def _pick(plan: "Plan", judged: "JudgePlan | None", judge: "Model | None") -> "Pick":
    from fcconan.generation import BestOf, First, Random
    from fcconan.judging import ModelJudge

    seed = plan.seed or 0
    if judged is not None and judge is not None:
        return BestOf(ModelJudge(judge, judged, background=plan.background), seed)
    return Random(seed) if plan.decoding.pick == "random" else First()
