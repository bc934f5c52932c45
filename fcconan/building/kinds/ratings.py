"""Replies rated on several aspects by people, models and metrics (CSEval).

The same reply occurs in several source files. It has one id here, and its rows list the other splits with this reply.
"""

from collections import Counter, defaultdict
from collections.abc import Sequence
from functools import cache
from itertools import product, zip_longest
from typing import Any

from fcconan.building.kinds.replies import reply_row
from fcconan.building.recipes import Rater
from fcconan.building.rows import Row, describe_alpha, rating_row
from fcconan.building.source_files import SourceFiles, coded, numbers
from fcconan.building.tables import Built, Table
from fcconan.data import RATING, REPLY, normalise
from fcconan.errors import InputError

ASPECTS = ("relevance", "coherence", "aggressiveness", "suitableness")
ROUNDS = ("agreement_round1", "agreement_round2")
NUMBERS = (1, 2, 3)  # annotators of a round
TEXTS = ("hate_speech", "text")
WORDS = {*TEXTS, "source_id", "reference", "strategy", "system"}  # columns of no numbers
UNKNOWN = "unknown"
SYSTEMS = {
    "": UNKNOWN,
    "dialoGPT": "dialogpt",
    "GPS": "gps",
    "QUARC": "quarc",
    "GPT3.5_ZS": "gpt-3.5-zs",
    "GPT3.5_FS": "gpt-3.5-fs",
}
STRATEGIES = {name.capitalize(): name for name in ("informative", "questioning", "denouncing", "positive")}
RANK = "preference_rank"
RANK_AS_ANALYSED = "rank_as_analysed"  # from the analysis file, which reverses the rank in most groups
ANALYSIS = "rank-analysis-file"  # its file lacks the groups that upstream flagged
RANKED = ("rankings", "rankings_combined")  # splits of ratings; the second has ranks that upstream combined
GROUP = 5
EXTRA = {"source_id": "string", "also_in": "strings", "independent": "bool"}
SCORE = {
    "reply_id": "string",
    **dict.fromkeys((*ASPECTS, "unified"), "float"),
    "n_raters": "int",
    "reason": "string",
}
ROUNDING = 1e-6
PEOPLE = "annotators"  # rater of the aggregated values
FEWEST_EQUAL = 30  # replies; fewer may be equal by chance


def unified_score(relevance: float, coherence: float, aggressiveness: float, suitableness: float) -> float:
    """Returns the unified score of CSEval, 1 to 5 (equation 2).

    `fcconan.scoring.system_means` is the same for any scales, but differs in the last digits, which change the
    fingerprint of the dataset.

    Args:
        relevance: Rating from 1 to 5.
        coherence: Rating from 1 to 5.
        aggressiveness: Rating from 1 (best) to 5.
        suitableness: Rating from 1 to 3.
    """
    return (relevance + (6 - aggressiveness) + coherence + ((suitableness - 1) / 2 * 4 + 1)) / 4


def build(upstream: SourceFiles) -> Built:
    """Builds replies, ratings and aggregated scores.

    Args:
        upstream: The recipe, with all `raters` except the annotators of the two rounds, and its files: `test`, `dev`,
            the two rounds, `agreement`, `rankings`, the files of the raters, and optionally `full`.

    Raises:
        InputError: A file has an invalid format, or two files disagree on one reply.
    """
    return _Builder(upstream).build()


class _Builder:
    def __init__(self, upstream: SourceFiles) -> None:
        self.recipe, self.upstream = upstream.recipe, upstream
        self.read = cache(self._read)  # some files are read several times
        self.replies: defaultdict[str, list[Row]] = defaultdict(list)
        self.ratings: defaultdict[str, list[Row]] = defaultdict(list)
        self.scores: defaultdict[str, list[Row]] = defaultdict(list)
        self.by_source_id: dict[str, Row] = {}
        self.system_of: dict[str, str] = {}
        self.built = Built([])

    def build(self) -> Built:
        """Builds all tables. The test split comes first, because the other files refer to its replies."""
        for name in ("test", "rankings", "full"):  # files that have the systems of records
            for row in self.read(name) if name in self.upstream.files else ():
                record, system = row["source_id"], row.get("system", UNKNOWN)
                if record and system != UNKNOWN and self.system_of.setdefault(record, system) != system:
                    raise _wrong(row, f"record {record} is of {system} here, of {self.system_of[record]} elsewhere")
        rounds = [self.read(name) for name in ROUNDS]
        self._test(rounds)
        together, parts = self.read("agreement"), [record for part in rounds for record in part]
        cells = ("text", *(f"{aspect}_{number}" for aspect in ASPECTS for number in NUMBERS))
        for record, same in zip_longest(together, parts):
            if not (record and same) or any(record[cell] != same[cell] for cell in cells):
                raise _wrong(together[0], "the file is not the two agreement rounds, one after the other")
        first, tested = len(rounds[0]), self.replies["test"]
        for name, rows, replies in zip(ROUNDS, rounds, (tested[:first], tested[first : len(parts)]), strict=True):
            self._round(name, rows, replies)
        self._plain("dev")
        if "full" in self.upstream.files:
            self._plain("full")
        self._rankings()
        self._report_overlaps()
        for config, columns, rows_of, key in (
            ("replies", REPLY.kinds | EXTRA, self.replies, ("reply_id",)),
            ("ratings", RATING.kinds, self.ratings, ("reply_id", "rater", "aspect")),
            ("scores", SCORE, self.scores, ("reply_id",)),
        ):
            splits = (split for split in ("dev", "test", "full", *ROUNDS, *RANKED) if split in rows_of)
            self.built.tables += [Table.from_rows(config, split, columns, rows_of[split], key) for split in splits]
        return self.built

    def _read(self, name: str) -> list[Row]:
        """Returns the rows of a file with the values of its raters as numbers, and its name and their number."""
        columns = {}
        for rater in self._raters_of(name):
            for aspect, column in rater.column_of(list(ASPECTS)).items():
                columns[_cell(rater, aspect)] = column
                if rater.outputs:
                    columns[_cell(rater, aspect) + ":output"] = rater.outputs.replace("<aspect>", aspect)
        texts = [column for column in TEXTS if column in self.recipe.sources[name].columns]
        rows = self.upstream.read(name, *texts, columns=columns)
        made: dict[str, Sequence[Any]] = {
            name: numbers(rows, name) for name in rows if name not in WORDS and not name.endswith(":output")
        }
        if "system" in rows:
            made["system"] = coded(rows, "system", SYSTEMS)
        if "reference" in rows:
            made["kind"] = coded(rows, "strategy", STRATEGIES)
        columns_of = {**{name: [*rows[name]] for name in rows}, **made}
        return [
            dict(zip(columns_of, values, strict=True)) | {"file": rows.attrs["name"], "at": at}
            for at, values in enumerate(zip(*columns_of.values(), strict=True))
        ]

    def _raters_of(self, source: str) -> tuple[Rater, ...]:
        return tuple(rater for rater in self.recipe.raters if rater.source == source)

    def _test(self, rounds: list[list[Row]]) -> None:
        raters = self._raters_of("test")
        originals = [record for part in rounds for record in part]
        respelt = 0
        for record, original in zip_longest(self.read("test"), originals):
            text, panel = record["text"], None
            if original is not None:
                # Annotators of the round who rated the reply on all aspects.
                given = [[original[f"{name}_{number}"] is not None for number in NUMBERS] for name in ASPECTS]
                panel = min(map(sum, given))
                if original["hate_speech"] != record["hate_speech"] or _bare(original["text"]) != _bare(text):
                    raise _wrong(record, f"is not the reply of row {original['at'] + 2} of {original['file']}")
                respelt += normalise(original["text"]) != normalise(text)
                text = original["text"]  # the test file lacks part of the punctuation
            reply = self._add_reply("test", self._reply(record, text))
            self._add_score("test", reply, record, panel)
            for rater in raters:
                for name in rater.column_of(list(ASPECTS)):
                    value, output = _rated(record, rater, name)
                    if value is not None:  # empty: the model or metric was not run on this reply
                        self._rate("test", reply, rater, name, value, output)
        self.built.facts["replies_respelt"] = respelt
        self.built.notes.append(
            f"The first {len(originals)} replies of `test` are those of the two agreement rounds. {respelt} of them "
            "lost punctuation in the upstream file of the test split; the text here is that of the rounds."
        )
        self._report_equal_ratings(len(originals))

    def _report_equal_ratings(self, n_in_rounds: int) -> None:
        """Notes the models whose ratings equal people's in all replies of `test` after those of the rounds."""
        later = {reply["reply_id"] for reply in self.replies["test"][n_in_rounds:]}
        values: defaultdict[tuple[str, str], dict[str, float]] = defaultdict(dict)
        for row in self.ratings["test"]:
            if row["value"] is not None:
                values[row["rater"], row["aspect"]][row["reply_id"]] = row["value"]
        models = [rater.name for rater in self._raters_of("test") if rater.kind == "model"]
        for model, aspect in product(models, ASPECTS):
            people, own = values[PEOPLE, aspect], values[model, aspect]
            equal = {reply for reply, value in own.items() if people.get(reply) == value}
            if len(later) >= FEWEST_EQUAL and later <= equal:
                for reply in self.replies["test"][n_in_rounds:]:
                    reply["independent"] = False
                self.built.notes.append(
                    f"Ratings of {aspect} by people (`{PEOPLE}`) and by `{model}` are equal for all {len(later)} "
                    f"replies of `test` after the first {n_in_rounds}, but only for {len(equal - later)} of the first "
                    f"{n_in_rounds}. The last {len(later)} are not independent (column `independent` of "
                    "`replies`), and `fcconan correlate` leaves them out."
                )

    def _reply(self, record: Row, text: str, *, unnamed: str = "") -> Row:
        """Returns a reply; `unnamed` is the id of a source record without an id."""
        source_id = record["source_id"]
        system: str = self.system_of.get(source_id) or record.get("system", UNKNOWN)
        reply = reply_row(record["hate_speech"], record["reference"], text, system, source_id=source_id or unnamed)
        return reply | {"strategy": record["kind"], "source_id": source_id or None, "independent": True}

    def _add_reply(self, split: str, reply: Row) -> Row:
        self.replies[split].append(dict(reply))
        if reply["source_id"]:
            self.by_source_id.setdefault(reply["source_id"], reply)
        return reply

    def _known_or_new(self, record: Row, *, unnamed: str = "") -> Row:
        """Returns the reply of the same source record in an earlier file, or a new one."""
        known = self.by_source_id.get(record["source_id"])
        if known is None:
            return self._reply(record, record["text"], unnamed=unnamed)
        same_item = (known["hate_speech"], known["references"]) == (record["hate_speech"], [record["reference"]])
        if not same_item or _bare(known["text"]) != _bare(record["text"]):
            raise _wrong(record, "another HS, reference or reply than that of its record in an earlier file")
        return known

    def _rate(
        self, split: str, reply: Row, rater: Rater, aspect: str, value: float | None, output: str | None = None
    ) -> Row:
        """Adds one rating, and returns it."""
        row = rating_row(reply["reply_id"], rater, aspect, self.recipe.aspects[aspect], value, output)
        self.ratings[split].append(row)
        return row

    def _add_score(self, split: str, reply: Row, record: Row, n_raters: int | None) -> None:
        """Adds the aggregated values of a reply, as ratings and as a score."""
        annotators = Rater(name=PEOPLE, kind="human", source=split)
        rated = [self._rate(split, reply, annotators, name, record[name]) for name in ASPECTS]
        values = {row["aspect"]: row["value"] for row in rated}
        self.scores[split].append(_score_row(reply, values, n_raters, [row["reason"] for row in rated]))

    def _round(self, split: str, rows: list[Row], replies: list[Row]) -> None:
        """Adds one agreement round: the ratings of three annotators, and the mean of replies with three ratings."""
        raters = [Rater(name=f"rater-{number}", kind="human", source=split) for number in NUMBERS]
        units: dict[str, list[list[float]]] = {name: [] for name in ASPECTS}
        for record, reply in zip(rows, replies, strict=True):
            self.replies[split].append(dict(reply))
            means: dict[str, float | None] = {}
            reasons: list[str | None] = []
            for name in ASPECTS:
                values = [record[f"{name}_{number}"] for number in NUMBERS]
                rated = [
                    self._rate(split, reply, rater, name, value) for rater, value in zip(raters, values, strict=True)
                ]
                given = [value for value in values if value is not None]
                mean = sum(given) / len(given) if len(given) == len(values) else None
                released = record[name]
                if (released is None) != (mean is None) or abs((released or 0) - (mean or 0)) > ROUNDING:
                    raise _wrong(record, f"{name} is {released}, the mean of the three annotators is {mean}")
                valid = [row["value"] for row in rated if row["reason"] is None]
                units[name].append(valid)
                means[name] = mean if len(valid) == len(values) else None
                if len(valid) < len(given):
                    reasons.append("out_of_scale")
                elif mean is None:
                    reasons.append("incomplete_panel" if given else "not_rated")
            n_raters = min(len(of_aspect[-1]) for of_aspect in units.values())
            self.scores[split].append(_score_row(reply, means, n_raters, reasons))
        self.built.agreement += [
            describe_alpha(f"(ordinal), {split}, {name}", units[name], "ordinal", "replies") for name in ASPECTS
        ]

    def _plain(self, split: str) -> None:
        """Adds a split whose file has only replies and aggregated scores."""
        for record in self.read(split):
            self._add_score(split, self._add_reply(split, self._known_or_new(record)), record, None)

    def _rankings(self) -> None:
        rows = self.read("rankings")
        rankers = tuple(rater for rater in self.recipe.raters if rater.split in RANKED)
        files = {
            rater.source: {_texts(each): each for each in self.read(rater.source) if each["text"].strip()}
            for rater in rankers
        }
        flagged: list[Row] = []
        for record in rows:
            reply = self._add_reply("rankings", self._known_or_new(record, unnamed=f"ranking-{record['at']}"))
            for rater in rankers:
                ranked = files[rater.source].get(_texts(record))
                if ranked is None and rater.name != ANALYSIS:
                    raise _wrong(record, f"this reply is not in the file {rater.source}")
                flagged += [record] if ranked is None else []
                for name in rater.column_of(list(ASPECTS)):  # without values for groups that upstream left out
                    rated = (None, None) if ranked is None else _rated(ranked, rater, name)
                    self._rate(str(rater.split), reply, rater, name, *rated)
        groups = Counter(record["at"] // GROUP for record in flagged)
        if any(count < GROUP for count in groups.values()):
            raise _wrong(flagged[0], "the analysis file lacks this reply and not its whole group")
        self.built.facts |= {"ranked_groups": len(rows) // GROUP, "ranked_groups_flagged": len(groups)}
        self.built.notes.append(
            f"Ranked groups that upstream flagged and left out of its analysis file: {len(groups)} of "
            f"{len(rows) // GROUP}; the ranks by the annotators are included."
        )
        self._compare_ranks()

    def _compare_ranks(self) -> None:
        """Counts the groups in which the analysis file has the rank of an annotation file, or its reverse."""
        ranks: defaultdict[str, list[float | None]] = defaultdict(list)
        for rating in (each for split in RANKED for each in self.ratings.get(split, ())):
            if rating["aspect"] in (RANK, RANK_AS_ANALYSED):
                ranks[rating["rater"]].append(rating["value"])
        if ANALYSIS not in ranks:
            return
        analysed_of = {n: group for n, group in enumerate(_groups(ranks.pop(ANALYSIS))) if None not in group}
        analysed = list(analysed_of.values())
        turned = [[GROUP + 1 - value for value in group if value is not None] for group in analysed]
        shown = []
        for rater, values in ranks.items():
            every = _groups(values)
            groups = [every[number] for number in analysed_of]
            same = sum(a == b for a, b in zip(analysed, groups, strict=True))
            reverse = sum(a == b != c for a, b, c in zip(turned, groups, analysed, strict=True))
            self.built.facts |= {f"analysis_groups_as_{rater}": same, f"analysis_groups_reversed_from_{rater}": reverse}
            shown.append(f"that of `{rater}` in {same} and {GROUP + 1} minus it in {reverse}")
        self.built.notes.append(
            f"The human rank of the upstream analysis file (aspect `{RANK_AS_ANALYSED}`) has no consistent direction: "
            f"over {len(analysed)} groups it is {', '.join(shown)}. Use the ranks of the annotators."
        )

    def _report_overlaps(self) -> None:
        """Lists for each reply the other splits with the same HS and text, also under another record."""
        holders: defaultdict[tuple[str, str], set[str]] = defaultdict(set)
        for split, replies in self.replies.items():
            for reply in replies:
                holders[_same_reply(reply)].add(split)
        for split, replies in self.replies.items():
            for reply in replies:
                reply["also_in"] = sorted(holders[_same_reply(reply)] - {split})
        messages, records = (
            {split: {reply[key] for reply in replies} for split, replies in self.replies.items()}
            for key in ("hs_id", "reply_id")
        )
        texts = Counter(_same_reply(reply) for reply in self.replies["test"])
        facts = {
            "replies": len(set().union(*records.values())),
            "test_replies_in_dev": sum("dev" in reply["also_in"] for reply in self.replies["test"]),
            "test_records_in_dev": len(records["dev"] & records["test"]),
            "hs_in_dev_and_test": len(messages["dev"] & messages["test"]),
            "test_replies_with_text_of_another": sum(count - 1 for count in texts.values()),
        }
        whole = [split for split in self.replies if split not in ROUNDS]  # the rounds are part of `test`
        shared = Counter(
            (split, other)
            for split in whole
            for reply in self.replies[split]
            for other in reply["also_in"]
            if other in whole
        )
        pieces = [f"{number} of `{split}` in `{other}`" for (split, other), number in sorted(shared.items())]
        self.built.facts |= facts
        self.built.notes += [
            f"Upstream put {facts['hs_in_dev_and_test']} HS into both `dev` and `test`. Rows whose HS and reply are in "
            f"another split too: {', '.join(pieces) or 'none'}. Nothing was moved: `also_in` names the other splits. "
            "Leave the rows of `dev` out of `test` when something was tuned on `dev`.",
            f"{facts['test_replies_with_text_of_another']} rows of `test` hold the HS and reply of another row under "
            "another upstream record, rated again; both are included.",
        ]


def _wrong(record: Row, problem: str) -> InputError:
    return InputError(f"{record['file']}, row {record['at'] + 2}: {problem}: give the files of one release")


def _same_reply(reply: Row) -> tuple[str, str]:
    return reply["hs_id"], _bare(reply["text"])


def _cell(rater: Rater, aspect: str) -> str:
    return f"{rater.name}:{aspect}"


def _rated(record: Row, rater: Rater, aspect: str) -> tuple[float | None, str | None]:
    """Returns the value of a rater, and the raw output if the recipe names its column."""
    cell = _cell(rater, aspect)
    return record[cell], record[f"{cell}:output"] if rater.outputs else None


def _bare(text: str) -> str:
    """Returns letters and digits only, because the test file lacks part of the punctuation."""
    return "".join(character for character in text.lower() if character.isalnum())


def _texts(record: Row) -> tuple[str, str, str]:
    return record["hate_speech"], record["text"], record["strategy"]


def _groups(values: list[float | None]) -> list[list[float | None]]:
    return [values[start : start + GROUP] for start in range(0, len(values), GROUP)]


def _score_row(reply: Row, values: dict[str, float | None], n_raters: int | None, reasons: list[str | None]) -> Row:
    """Returns the values of a reply with their unified score, and the first of several reasons."""
    known = {name: value for name, value in values.items() if value is not None}
    return {
        "reply_id": reply["reply_id"],
        **values,
        "unified": unified_score(**known) if len(known) == len(ASPECTS) else None,
        "n_raters": n_raters,
        "reason": next(filter(None, reasons), None),
    }
