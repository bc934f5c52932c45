"""What a judge lets itself be swayed by: length, position, refusals, its own replies, the middle of the scale.

Every finding is a row with what an unbiased judge would give (`baseline`, null where that is not known) and an
interval whose unit is the HS with all that belongs to it: Wilson's for shares, a percentile bootstrap for the rest.
Where HS and replies make a grid, the unit is both the HS and the text: see `fcconan.judging.audit.findings`. People
are audited as any other rater: where they, too, prefer longer replies, longer replies may be better. Every rater gets
its rows, by `check`:

- `length_wins`: how often the longer reply (words) wins, ties counting half.
- `length_correlation`: Spearman between words and grade, the grade's sign turned where a low one is praise.
- `position_flips`, `position_reversals`: comparisons whose two orders give different verdicts, and opposite winners.
- `first_position_wins`: how often the reply shown first wins, over comparisons with a verdict in both orders.
- `refusal_wins`, `refusal_difference`: how often a refusal wins against a reply that is none; mean grade of refusals
  minus that of the others, in points of the scale, the sign turned where a low one is praise.
- `modal_share`, `levels_used`, `entropy`: share of the most frequent grade; different grades over possible ones;
  entropy over the logarithm of the possible ones. Baseline: the same of all grades that people gave these replies. The
  interval of the first is wide enough for any grade to be the most frequent one; the other two have none, as resamples
  can lose grades and never find new ones.
- `spread`: standard deviation over that of people's grades of the same replies, on scales of length 1.
- `self_preference`: how often its own replies win, minus how often they do with people, or with the other raters where
  there are no people, over comparisons that both judged.
- `self_preference_grades`: mean grade of its own replies minus that of the others, minus the same difference with
  people, or the other raters, over replies that both rated; on scales of length 1, the sign turned where a low one is
  praise.
- `failures`: share of ratings or comparisons that are missing, altogether (`failure` is null) and by reason.
"""

import hashlib
import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from fcconan import __version__
from fcconan.errors import InputError
from fcconan.judging.audit.findings import Findings, deviation, difference, entropy, ratio
from fcconan.judging.audit.rows import Graded, Replies, Verdict, read_comparisons, read_ratings
from fcconan.parsing import PATTERNS
from fcconan.scoring import Floats, family_parts

MOST_LEVELS = 401  # 1.00 to 5.00 in hundredths
_PEOPLE = "human"


def audit_judge(
    ratings: Iterable[Mapping[str, Any]] | None = None,
    comparisons: Iterable[Mapping[str, Any]] | None = None,
    replies: Iterable[Mapping[str, Any]] | None = None,
    *,
    own: Mapping[str, str | Sequence[str]] | None = None,
    resamples: int = 10_000,
    seed: int = 0,
    confidence: float = 0.95,
    population: str = "",
) -> dict[str, Any]:
    """Looks for the known biases of judges.

    Args:
        ratings: Rows with the columns of a Rating.
        comparisons: Rows with the columns of a Comparison, verdicts always in terms of `system_a` and `system_b`. What
            was said in each order stands in `verdict_ab` and `verdict_ba`, or in a row for each order, whose column
            `order` is `ab` (reply a shown first) or `ba`.
        replies: Rows with `reply_id`, `text`, `hs_id` and, for grades of a rater's own replies, `system`. Without them
            no length and no refusal is known, and the unit of the bootstrap is the item of a comparison and the reply
            of a rating.
        own: Rater -> the system, or systems, whose replies are its own; by default the system of the rater's name.
        resamples: How many resamples.
        seed: Decides the resamples.
        confidence: Of the intervals.
        population: What is audited, for the signature: files with their hashes.

    Returns:
        `signature`, and `rows`: `check`, `rater`, `aspect`, `failure`, `value`, `low`, `high`, `no_interval`
        (why a value has none: `one_unit`; `no_spread`, where all resamples are alike; `biased`), `n` (ratings or
        comparisons behind the value), `n_units`, `n_missing` (missing, invalid, or of a reply without text),
        `baseline`, `reason` (why there is no value; otherwise null) and `note`. `families` declares the only
        correction: the interval of `modal_share` holds for all grades. Every other interval holds by itself.

    Raises:
        InputError: There is nothing to audit, a row cannot be read or is given twice, `own` names who is not there, or
            an option is out of range.
    """
    if ratings is None and comparisons is None:
        raise InputError("there are neither ratings nor comparisons: give one of them to be audited")
    if resamples < 1 or not 0 < confidence < 1:
        raise InputError(f"resamples {resamples}, confidence {confidence}: give 1 or more, and a share between 0 and 1")
    known = Replies(replies)
    findings = Findings(resamples, seed, confidence)
    verdicts = read_comparisons(comparisons or (), known)
    graded = read_ratings(ratings or (), known)
    if own is not None and (verdicts or graded):
        written = {system for each in verdicts for system in each.systems} | known.systems()
        _check_own(own, {each.rater for each in verdicts} | {each.rater for each in graded}, written)
    for rater in sorted({each.rater for each in verdicts}):
        mine = [each for each in verdicts if each.rater == rater]
        _wins(findings, "length_wins", rater, mine, lambda reply: known.words(reply))
        _positions(findings, rater, mine)
        _wins(findings, "refusal_wins", rater, mine, lambda reply: known.refuses(reply))
        _self_preference(findings, rater, mine, verdicts, _systems(rater, own))
        _failures(findings, rater, None, [(each.unit, each.reason) for each in mine])
    for rater, aspect in sorted({(each.rater, each.aspect) for each in graded}):
        grades = [each for each in graded if (each.rater, each.aspect) == (rater, aspect)]
        _length_correlation(findings, grades, known)
        _refusal_difference(findings, grades, known)
        others = [each for each in graded if each.aspect == aspect and each.rater != rater]
        _self_preference_grades(findings, grades, others, _systems(rater, own), known)
        _compression(findings, grades, [each for each in others if each.kind == _PEOPLE], known)
        _failures(findings, rater, aspect, [(each.unit, each.reason) for each in grades], _texts(grades, known))
    patterns = hashlib.sha256(PATTERNS.read_bytes()).hexdigest()[:8]
    signature = "|".join(
        [
            "audit",
            *([f"data:{population}"] if population else []),
            f"resamples:{resamples}",
            f"seed:{seed}",
            f"confidence:{confidence}",
            f"refusals:{patterns}",
            *([f"{key}:{value}" for key, value in family_parts(findings.families, "modal-share").items()]),
            f"v:{__version__}",
        ]
    )
    return {
        "signature": signature,
        "rows": findings.rows,
        "families": [family.to_json() for family in findings.families],
    }


def _share(findings: Findings, check: str, rater: str, found: Sequence[tuple[str, float]], **columns: Any) -> None:
    """Adds the mean of values, each with its unit."""
    values = np.array([value for _, value in found], dtype=np.float64)
    findings.add_share(check, rater, [unit for unit, _ in found], values, **columns)


def _check_own(own: Mapping[str, str | Sequence[str]], raters: set[str], written: set[str]) -> None:
    for rater in own:
        if rater not in raters:
            raise InputError(
                f"own replies are named for the rater {rater!r}, and there are {', '.join(sorted(raters))}"
            )
        systems = _systems(rater, own)
        if not systems & written:
            there = ", ".join(sorted(written)) or "none that are named"
            raise InputError(
                f"{rater} is said to have written the replies of {', '.join(sorted(systems))}, and there are replies "
                f"of {there}"
            )


def _texts(grades: Sequence[Graded], known: Replies) -> list[str]:
    return [known.key(each.reply) for each in grades]


def _unknown(number: int, what: str) -> str:
    return f"{number} {what} in --replies" if number else ""


def _joined(*notes: str) -> str:
    return "; ".join(note for note in notes if note)


def _wins(
    findings: Findings, check: str, rater: str, verdicts: list[Verdict], size: Callable[[str | None], int | None]
) -> None:
    """Adds how often the reply with more of something wins."""
    found, missing, equal, unknown = [], 0, 0, 0
    for each in verdicts:
        a, b = (size(reply) for reply in each.replies)
        unknown += a is None or b is None
        if a is None or b is None or (a != b and each.share is None):
            missing += 1
        elif a == b:
            equal += 1
        elif each.share is not None:
            found.append((each.unit, each.share if a > b else 1 - each.share))
    note = _joined(
        f"{equal} comparisons of replies that do not differ in this are left out",
        _unknown(unknown, "comparisons have a reply that is not"),
    )
    _share(findings, check, rater, found, n_missing=missing, baseline=0.5, note=note)


def _positions(findings: Findings, rater: str, verdicts: list[Verdict]) -> None:
    asked = [each for each in verdicts if each.orders]
    both = [(each.unit, x, y) for each in asked for x, y in [_both(each)] if x is not None and y is not None]
    missing = len(asked) - len(both)
    note = f"{len(verdicts) - len(asked)} comparisons do not say what was answered in which order"
    columns = {"n_missing": missing, "note": note}
    _share(findings, "position_flips", rater, [(unit, float(x != y)) for unit, x, y in both], baseline=0.0, **columns)
    opposite = [(unit, float(abs(x - y) == 1)) for unit, x, y in both]
    _share(findings, "position_reversals", rater, opposite, baseline=0.0, **columns)
    # Shown first are a in one order and b in the other.
    first = [(unit, (x + 1 - y) / 2) for unit, x, y in both]
    _share(findings, "first_position_wins", rater, first, baseline=0.5, **columns)


def _both(verdict: Verdict) -> tuple[float | None, float | None]:
    return verdict.orders.get("ab"), verdict.orders.get("ba")


def _systems(rater: str, own: Mapping[str, str | Sequence[str]] | None) -> set[str]:
    systems = rater if own is None else own.get(rater, ())
    return {systems} if isinstance(systems, str) else set(systems)


def _self_preference(
    findings: Findings, rater: str, mine: list[Verdict], all_verdicts: list[Verdict], systems: set[str]
) -> None:
    if not any(systems & set(each.systems) for each in mine):
        return
    reference: dict[tuple[str, str, str], list[float]] = defaultdict(list)
    others = [each for each in all_verdicts if each.rater != rater]
    people = [each for each in others if each.kind == _PEOPLE]
    for each in people or others:
        share = _own_share(each, systems)
        if share is not None:
            reference[each.pair].append(share)
    about_own = [each for each in mine if (each.systems[0] in systems) != (each.systems[1] in systems)]
    shares = [(each, _own_share(each, systems)) for each in about_own]
    used = [(each, share) for each, share in shares if share is not None and each.pair in reference]
    terms = np.array(
        [[share, 1.0, sum(reference[each.pair]), len(reference[each.pair])] for each, share in used], dtype=np.float64
    )
    terms = terms.reshape(-1, 4).T
    note = "no comparison that others judged, too"
    if used:
        rates = [float(ratio(terms[at : at + 2].sum(axis=1))) for at in (0, 2)]
        note = f"own replies win {rates[0]:.3f}, with {'people' if people else 'the other raters'} {rates[1]:.3f}"
    units = [each.unit for each, _ in used]
    missing = len(about_own) - len(used)
    findings.add("self_preference", rater, units, terms, difference, n_missing=missing, baseline=0.0, note=note)


def _own_share(verdict: Verdict, systems: set[str]) -> float | None:
    """Returns the share of the own reply; None where the verdict is invalid, or not about one own reply."""
    a, b = (system in systems for system in verdict.systems)
    return None if verdict.share is None or a == b else verdict.share if a else 1 - verdict.share


def _self_preference_grades(
    findings: Findings, grades: list[Graded], others: list[Graded], systems: set[str], known: Replies
) -> None:
    wrote = {each.reply: known.system(each.reply) for each in grades}
    if not systems & set(wrote.values()):
        return
    people = [each for each in others if each.kind == _PEOPLE]
    reference: dict[str, list[float]] = defaultdict(list)
    for each in people or others:
        if each.value is not None and each.scale is not None:
            reference[each.reply].append(each.sign * _on_unit_scale(each))
    used = [
        each
        for each in grades
        if each.value is not None and each.scale is not None and wrote[each.reply] and each.reply in reference
    ]
    is_own = np.array([wrote[each.reply] in systems for each in used], dtype=np.float64)
    mine = np.array([each.sign * _on_unit_scale(each) for each in used], dtype=np.float64)
    theirs = np.array([np.mean(reference[each.reply]) for each in used], dtype=np.float64)

    def own_minus_others(values: Floats) -> Floats:
        return np.stack([is_own * values, is_own, (1 - is_own) * values, 1 - is_own])

    note = f"{int(is_own.sum())} of {len(used)} replies that others rated, too, are its own"
    if 0 < is_own.sum() < len(used):
        gaps = [float(difference(own_minus_others(values).sum(axis=1))) for values in (mine, theirs)]
        note = f"own minus other replies {gaps[0]:.3f}, with {'people' if people else 'the other raters'} {gaps[1]:.3f}"
    # Each reply counts once with both, so the difference of the two differences is that of what the judge adds.
    findings.add(
        "self_preference_grades",
        grades[0].rater,
        [each.unit for each in used],
        own_minus_others(mine - theirs),
        difference,
        texts=_texts(used, known),
        n_missing=len(grades) - len(used),
        aspect=grades[0].aspect,
        baseline=0.0,
        undefined="one_group",
        note=note,
    )


def _failures(
    findings: Findings, rater: str, aspect: str | None, found: list[tuple[str, str | None]], texts: Sequence[str] = ()
) -> None:
    counts = Counter(reason for _, reason in found if reason)
    for failure in (None, *sorted(counts)):
        missing = [(unit, float(reason is not None and failure in (None, reason))) for unit, reason in found]
        _share(findings, "failures", rater, missing, aspect=aspect, failure=failure, baseline=0.0, texts=texts)


def _length_correlation(findings: Findings, grades: list[Graded], known: Replies) -> None:
    sized = [(each, words) for each in grades if (words := known.words(each.reply)) is not None]
    found = [(each, words, each.sign * each.value) for each, words in sized if each.value is not None]
    findings.add_spearman(
        "length_correlation",
        grades[0].rater,
        [each.unit for each, _, _ in found],
        np.array([row[1:] for row in found], dtype=np.float64).reshape(-1, 2).T,
        texts=_texts([each for each, _, _ in found], known),
        n_missing=len(grades) - len(found),
        aspect=grades[0].aspect,
        baseline=0.0,
        note=_unknown(len(grades) - len(sized), "ratings have no reply"),
    )


def _refusal_difference(findings: Findings, grades: list[Graded], known: Replies) -> None:
    seen = [(each, declines) for each in grades if (declines := known.refuses(each.reply)) is not None]
    found = [(each, float(declines), each.sign * each.value) for each, declines in seen if each.value is not None]
    refuses, values = (np.array([row[at] for row in found], dtype=np.float64) for at in (1, 2))
    findings.add(
        "refusal_difference",
        grades[0].rater,
        [each.unit for each, _, _ in found],
        np.stack([refuses * values, refuses, (1 - refuses) * values, 1 - refuses]),
        difference,
        texts=_texts([each for each, _, _ in found], known),
        n_missing=len(grades) - len(found),
        aspect=grades[0].aspect,
        baseline=0.0,
        undefined="one_group",
        note=_joined(
            f"{int(refuses.sum())} refusals" if found else "",
            _unknown(len(grades) - len(seen), "ratings have no reply"),
        ),
    )


def _compression(findings: Findings, grades: list[Graded], people: list[Graded], known: Replies) -> None:
    found = [each for each in grades if each.value is not None]
    rated = {each.reply for each in found}
    same = [each for each in people if each.value is not None and each.reply in rated]
    common: dict[str, Any] = {"aspect": grades[0].aspect, "n_missing": len(grades) - len(found)}
    rater, units = grades[0].rater, [each.unit for each in found]
    possible, theirs = _levels(found), _levels(same)
    checks: list[tuple[str, Callable[[Floats, int], float]]] = [
        ("modal_share", lambda counts, _: float(counts.max() / counts.sum())),
        ("levels_used", lambda counts, levels: len(counts) / levels),
        ("entropy", lambda counts, levels: min(1.0, float(entropy(counts)) / math.log(levels))),
    ]
    for check, statistic in checks:
        if possible is None:
            undefined: dict[str, Any] = {"n": len(found), "n_units": len(set(units)), "undefined": "no_levels"}
            findings.write(check, rater, np.nan, None, **undefined, **common)
            continue
        counts = _indicators(found).sum(axis=1)
        baseline = None if theirs is None else statistic(_indicators(same).sum(axis=1), theirs)
        if check == "modal_share":
            is_modal, texts = _indicators(found)[counts.argmax()], _texts(found, known)
            findings.add_share(
                check, rater, units, is_modal, texts=texts, among=len(counts), baseline=baseline, **common
            )
            continue
        row: dict[str, Any] = {"n": len(found), "n_units": len(set(units)), "no_interval": "biased"}
        findings.write(check, rater, statistic(counts, possible), None, baseline=baseline, **row, **common)
    _spread(findings, rater, found, same, common, known)


def _levels(grades: list[Graded]) -> int | None:
    """Returns how many grades were possible; None where the scale is unknown, differs, or is no scale of grades.

    Grades are whole numbers, tenths or hundredths, whichever is the coarsest that all of them are.
    """
    scales = {each.scale for each in grades}
    scale = scales.pop() if len(scales) == 1 else None
    if scale is None:
        return None
    for steps in (1, 10, 100):
        places = [(each.value - scale[0]) * steps for each in grades if each.value is not None]
        if all(abs(place - round(place)) < 1e-6 for place in places):
            possible = round((scale[1] - scale[0]) * steps) + 1
            return possible if 2 <= possible <= MOST_LEVELS else None
    return None


def _indicators(grades: list[Graded]) -> Floats:
    """Returns which grade each rating is; shape (different grades, ratings)."""
    levels, codes = np.unique([each.value for each in grades], return_inverse=True)
    return np.eye(len(levels))[:, codes]


def _spread(
    findings: Findings,
    rater: str,
    found: list[Graded],
    people: list[Graded],
    common: Mapping[str, Any],
    known: Replies,
) -> None:
    rated = {each.reply for each in people}
    mine = [each for each in found if each.reply in rated]
    both = [each for each in (*mine, *people) if each.scale is not None]
    values = np.array([_on_unit_scale(each) for each in both])
    is_mine = np.array([each.rater == rater for each in both], dtype=np.float64)
    terms = np.stack([part for of in (is_mine, 1 - is_mine) for part in (of * values**2, of * values, of)])
    columns = {**common, "n_missing": common["n_missing"] + len(found) - len(mine)}
    findings.add(
        "spread",
        rater,
        [each.unit for each in both],
        terms,
        lambda sums: ratio(np.stack([deviation(sums[:3]), deviation(sums[3:])])),
        texts=_texts(both, known),
        n=int(is_mine.sum()),
        baseline=1.0,
        undefined="constant" if people else "no_people",
        note=f"{len(people)} ratings of people",
        **columns,
    )


def _on_unit_scale(grade: Graded) -> float:
    if grade.value is None or grade.scale is None:
        raise AssertionError("only grades on a scale come here")
    return (grade.value - grade.scale[0]) / (grade.scale[1] - grade.scale[0])
