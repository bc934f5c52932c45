"""Replies rated on several aspects by people, models and metrics (CSEval).

The same reply occurs in several upstream files. It is one reply here, with one id, and its rows name the other splits
that hold it.
"""

from collections import Counter, defaultdict
from functools import cache
from itertools import zip_longest

from fcconan.building.kinds.replies import reply_row
from fcconan.building.recipes import Rater
from fcconan.building.rows import Row, alpha_in_words, rating_row
from fcconan.building.tables import Built, Table
from fcconan.building.upstream_csv import Record, Rows, Upstream
from fcconan.data import RATING, REPLY, normalise
from fcconan.errors import InputError

ASPECTS = ("relevance", "coherence", "aggressiveness", "suitableness")
ROUNDS = ("agreement_round1", "agreement_round2")
NUMBERS = (1, 2, 3)  # of the annotators of a round
TEXTS = ("hate_speech", "text")
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
RANK_AS_ANALYSED = "rank_as_analysed"  # of the analysis file, which turns the rank round in most of its groups
ANALYSIS = "rank-analysis-file"  # the rater whose file lacks the groups that upstream flagged
RANKED = ("rankings", "rankings_combined")  # splits of ratings; the second has what people did not rank themselves
GROUP = 5
EXTRA = {"source_id": "string", "also_in": "strings"}
SCORE = {
    "reply_id": "string",
    **dict.fromkeys((*ASPECTS, "unified"), "float"),
    "n_raters": "int",
    "reason": "string",
}
ROUNDING = 1e-6


def unified_score(relevance: float, coherence: float, aggressiveness: float, suitableness: float) -> float:
    """Returns CSEval's unified score, 1 to 5 (equation 2).

    `fcconan.scoring.leaderboards.unified` is the same on any scales, but rounds otherwise, and the last digits are in
    the fingerprint of the dataset.

    Args:
        relevance: From 1 to 5.
        coherence: From 1 to 5.
        aggressiveness: From 1, the best, to 5.
        suitableness: From 1 to 3.
    """
    return (relevance + (6 - aggressiveness) + coherence + ((suitableness - 1) / 2 * 4 + 1)) / 4


def build(upstream: Upstream) -> Built:
    """Builds replies, ratings and aggregated scores.

    Args:
        upstream: The recipe, whose `raters` are those other than the annotators of the two rounds, and its files:
            `test`, `dev`, the two rounds, `agreement`, `rankings`, the files of the raters, and `full` where it is
            there.

    Raises:
        InputError: A file breaks a rule of the format, or two files disagree on one reply.
    """
    return _Builder(upstream).build()


class _Builder:
    def __init__(self, upstream: Upstream) -> None:
        self.recipe, self.upstream = upstream.recipe, upstream
        self.read = cache(self._read)  # some files are needed again
        self.replies: defaultdict[str, list[Row]] = defaultdict(list)
        self.ratings: defaultdict[str, list[Row]] = defaultdict(list)
        self.scores: defaultdict[str, list[Row]] = defaultdict(list)
        self.by_source_id: dict[str, Row] = {}
        self.system_of: dict[str, str] = {}
        self.built = Built([])

    def build(self) -> Built:
        """Builds everything, the test split first: the other files refer to its replies."""
        self._collect_systems()
        rounds = [self.read(name) for name in ROUNDS]
        self._test(rounds)
        for name, rows, replies in zip(ROUNDS, rounds, self._replies_of_rounds(rounds), strict=True):
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

    def _collect_systems(self) -> None:
        """Collects which system wrote which record, from every file that says so: not all files do."""
        for name in ("test", "rankings", "full"):
            if name in self.upstream.files and "system" in self.upstream.source(name).columns:
                for row in self.read(name):
                    record, system = row["source_id"], row.one_of("system", SYSTEMS)
                    if record and system != UNKNOWN and self.system_of.setdefault(record, system) != system:
                        raise row.fail(f"record {record} is of {system} here, of {self.system_of[record]} elsewhere")

    def _read(self, name: str) -> Rows:
        """Reads a file with the columns of its raters."""
        columns = {}
        for rater in self._raters_of(name):
            for aspect, column in rater.column_of(list(ASPECTS)).items():
                columns[_cell(rater, aspect)] = column
                if rater.outputs:
                    columns[_cell(rater, aspect) + ":output"] = rater.outputs.replace("<aspect>", aspect)
        texts = tuple(column for column in TEXTS if column in self.upstream.source(name).columns)
        return self.upstream.read(name, text_columns=texts, columns=columns)

    def _raters_of(self, source: str) -> tuple[Rater, ...]:
        return tuple(rater for rater in self.recipe.raters if rater.source == source)

    def _test(self, rounds: list[Rows]) -> None:
        raters = self._raters_of("test")
        rows = self.read("test")
        originals = [record for part in rounds for record in part]
        if len(rows) < len(originals):
            raise InputError(f"{rows.name}: has {len(rows)} replies, the agreement rounds {len(originals)}")
        respelt = 0
        for record, original in zip_longest(rows, originals):
            text = record["text"]
            if original is not None:
                if original["hate_speech"] != record["hate_speech"] or _bare(original["text"]) != _bare(text):
                    raise record.fail(f"is not the reply of {original.place}; their order changed")
                respelt += normalise(original["text"]) != normalise(text)
                text = original["text"]  # the rounds keep the punctuation that the test file lost
            reply = self._add_reply("test", self._reply(record, text))
            self._add_score("test", reply, record, _panel(original) if original is not None else None)
            for rater in raters:
                for name in rater.column_of(list(ASPECTS)):
                    value, output = _rated(record, rater, name)
                    if value is not None:  # an empty cell of a model or metric: it was not run on this reply
                        self._rate("test", reply, rater, name, value, output)
        self.built.facts["replies_respelt"] = respelt
        self.built.notes.append(
            f"The first {len(originals)} replies of `test` are those of the two agreement rounds. {respelt} of them "
            "lost punctuation in the upstream file of the test split; the text here is that of the rounds."
        )

    def _reply(self, record: Record, text: str, *, unnamed: str = "") -> Row:
        """Returns a reply; `unnamed` distinguishes it where its upstream record has no id."""
        source_id = record["source_id"]
        stated = record.one_of("system", SYSTEMS) if "system" in record else UNKNOWN
        system = self.system_of.get(source_id, stated)
        reply = reply_row(record["hate_speech"], record["reference"], text, system, source_id=source_id or unnamed)
        return reply | {"strategy": record.one_of("strategy", STRATEGIES), "source_id": source_id or None}

    def _add_reply(self, split: str, reply: Row) -> Row:
        self.replies[split].append(dict(reply))
        if reply["source_id"]:
            self.by_source_id.setdefault(reply["source_id"], reply)
        return reply

    def _known_or_new(self, record: Record, *, unnamed: str = "") -> Row:
        """Returns the reply of the same upstream record in an earlier file, or a new one."""
        known = self.by_source_id.get(record["source_id"])
        if known is None:
            return self._reply(record, record["text"], unnamed=unnamed)
        same_item = (known["hate_speech"], known["references"]) == (record["hate_speech"], [record["reference"]])
        if not same_item or _bare(known["text"]) != _bare(record["text"]):
            raise record.fail(
                f"record {known['source_id']} has another HS, reference or reply here than in an earlier file"
            )
        return known

    def _rate(
        self, split: str, reply: Row, rater: Rater, aspect: str, value: float | None, output: str | None = None
    ) -> Row:
        """Adds one rating, and returns it."""
        row = rating_row(reply["reply_id"], rater, aspect, self.recipe.aspects[aspect], value, output)
        self.ratings[split].append(row)
        return row

    def _add_score(self, split: str, reply: Row, record: Record, n_raters: int | None) -> None:
        """Adds the aggregated values of a reply, as ratings and as a score."""
        annotators = Rater(name="annotators", kind="human", source=split)
        rated = [self._rate(split, reply, annotators, name, record.number(name)) for name in ASPECTS]
        values = {row["aspect"]: row["value"] for row in rated}
        self.scores[split].append(_score_row(reply, values, n_raters, [row["reason"] for row in rated]))

    def _replies_of_rounds(self, rounds: list[Rows]) -> list[list[Row]]:
        together = self.read("agreement")
        names = ("text", *(f"{aspect}_{number}" for aspect in ASPECTS for number in NUMBERS))
        if any(together[name] != [cell for part in rounds for cell in part[name]] for name in names):
            raise InputError(f"{together.name}: is not the two agreement rounds, one after the other; a file changed")
        first = len(rounds[0])
        return [self.replies["test"][:first], self.replies["test"][first : len(together)]]

    def _round(self, split: str, rows: Rows, replies: list[Row]) -> None:
        """Adds one agreement round: three annotators, and the mean of a reply that all three rated."""
        raters = [Rater(name=f"rater-{number}", kind="human", source=split) for number in NUMBERS]
        units: dict[str, list[list[float]]] = {name: [] for name in ASPECTS}
        for record, reply in zip(rows, replies, strict=True):
            self.replies[split].append(dict(reply))
            means: dict[str, float | None] = {}
            reasons: list[str | None] = []
            for name in ASPECTS:
                values = [record.number(f"{name}_{number}") for number in NUMBERS]
                rated = [
                    self._rate(split, reply, rater, name, value) for rater, value in zip(raters, values, strict=True)
                ]
                given = [value for value in values if value is not None]
                mean = sum(given) / len(given) if len(given) == len(values) else None
                released = record.number(name)
                if (released is None) != (mean is None) or abs((released or 0) - (mean or 0)) > ROUNDING:
                    raise record.fail(f"{name} is {released}, the mean of the three annotators is {mean}")
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
            alpha_in_words(f"(ordinal), {split}, {name}", units[name], "ordinal", "replies") for name in ASPECTS
        ]

    def _plain(self, split: str) -> None:
        """Adds a split whose file holds replies and aggregated scores, and no more."""
        for record in self.read(split):
            self._add_score(split, self._add_reply(split, self._known_or_new(record)), record, None)

    def _rankings(self) -> None:
        rows = self.read("rankings")
        rankers = tuple(rater for rater in self.recipe.raters if rater.split in RANKED)
        files = {
            rater.source: {_texts(each): each for each in self.read(rater.source) if each["text"].strip()}
            for rater in rankers
        }
        flagged: list[Record] = []
        for record in rows:
            reply = self._add_reply("rankings", self._known_or_new(record, unnamed=f"ranking-{record.at}"))
            for rater in rankers:
                ranked = files[rater.source].get(_texts(record))
                if ranked is None and rater.name != ANALYSIS:
                    name = self.read(rater.source).name
                    raise record.fail(f"this reply is not in {name}; the files do not go together")
                flagged += [record] if ranked is None else []
                for name in rater.column_of(list(ASPECTS)):  # no value where upstream left its group out
                    rated = (None, None) if ranked is None else _rated(ranked, rater, name)
                    self._rate(str(rater.split), reply, rater, name, *rated)
        groups = Counter(record.at // GROUP for record in flagged)
        if any(count < GROUP for count in groups.values()):
            raise flagged[0].fail("the analysis file lacks this reply and not its whole group")
        self.built.facts |= {"ranked_groups": len(rows) // GROUP, "ranked_groups_flagged": len(groups)}
        self.built.notes.append(
            f"Ranked groups that upstream flagged and left out of its analysis file: {len(groups)} of "
            f"{len(rows) // GROUP}; the ranks that the annotators gave are kept."
        )
        self._compare_ranks()

    def _compare_ranks(self) -> None:
        """Reports in how many groups the analysis file has an annotation file's rank, or that rank turned round."""
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
            f"The human rank of the upstream analysis file (aspect `{RANK_AS_ANALYSED}`) has no one direction: over "
            f"{len(analysed)} groups it is {', '.join(shown)}. Use the annotators' own ranks."
        )

    def _report_overlaps(self) -> None:
        """Says of every reply which other splits hold it: the same HS and text, be it under another record."""
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
            "another upstream record, rated again; both are kept.",
        ]


def _same_reply(reply: Row) -> tuple[str, str]:
    return reply["hs_id"], _bare(reply["text"])


def _panel(record: Record) -> int:
    """Returns how many of the three annotators of a round rated a reply on every aspect."""
    return min(sum(record.number(f"{name}_{number}") is not None for number in NUMBERS) for name in ASPECTS)


def _cell(rater: Rater, aspect: str) -> str:
    return f"{rater.name}:{aspect}"


def _rated(record: Record, rater: Rater, aspect: str) -> tuple[float | None, str | None]:
    """Returns a rater's value, and the raw output behind it where the recipe names its column."""
    cell = _cell(rater, aspect)
    return record.number(cell), record[f"{cell}:output"] if rater.outputs else None


def _bare(text: str) -> str:
    """Returns letters and digits only: the test file lost part of the punctuation."""
    return "".join(character for character in text.lower() if character.isalnum())


def _texts(record: Record) -> tuple[str, str, str]:
    return record["hate_speech"], record["text"], record["strategy"]


def _groups(values: list[float | None]) -> list[list[float | None]]:
    return [values[start : start + GROUP] for start in range(0, len(values), GROUP)]


def _score_row(reply: Row, values: dict[str, float | None], n_raters: int | None, reasons: list[str | None]) -> Row:
    """Returns the values of a reply with their unified score; of several reasons, the first is given."""
    known = {name: value for name, value in values.items() if value is not None}
    return {
        "reply_id": reply["reply_id"],
        **values,
        "unified": unified_score(**known) if len(known) == len(ASPECTS) else None,
        "n_raters": n_raters,
        "reason": next(filter(None, reasons), None),
    }
