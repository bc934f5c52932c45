"""Descriptions of configs and columns, for dataset cards and the documentation."""

# Content of one row, by config. A prefix of `-qrels`, `-corpus`, `-queries` or `-pairs` names a part.
CONFIGS = {
    "diamond": "a labelled pair of HS and CN of the tier Diamond",
    "gold": "a labelled pair of HS and CN of the tier Gold; includes Diamond",
    "silver": "a labelled pair of HS and CN of the tier Silver; includes Gold",
    "bronze": "a labelled pair of HS and CN; includes all other tiers",
    "train": "a training pair whose HS is not in the evaluation part",
    "pairs": "a CN with the HS that it answers",
    "votes": "the label of one annotator for one pair",
    "corpus": "a CN to retrieve",
    "queries": "an HS to find CNs for",
    "qrels": "the relevance of one CN for one HS",
    "items": "an HS with its reference CN",
    "replies": "a CN that a named system wrote for an HS",
    "candidates": "a candidate for a reply",
    "ratings": "the value of one rater for one aspect of one reply",
    "scores": "the mean ratings of one reply",
    "grades": "the median of the human ratings of one reply on one aspect",
    "comparisons": "the verdict of one rater between two replies",
    "labels": "the final verdict between two replies",
    "rubrics": "the prompt for one aspect",
    "turns": "one turn of a dialogue",
}
_PARTS = ("qrels", "corpus", "queries", "pairs")

_COLUMNS = {
    # Pairs and texts
    "pair_id": "id of the pair: `<hs_id>:<cn_id>`",
    "hs_id": "id of the hate-speech message (HS): `hs-` and a hash of the normalised text, or an id of the source",
    "cn_id": "id of the counter-narrative (CN): `cn-` and a hash of the normalised text",
    "hate_speech": "text of the HS",
    "counter_narrative": "text of the CN",
    "label": "final label: whether the CN is an `appropriate` or a `not_appropriate` answer to the HS",
    "valid": ("whether a validator confirmed the final label; null if no validator saw the pair"),
    "n_votes": "number of annotators who labelled the pair",
    "agreement": (
        "relation of the votes to the final label: `single` (one vote), `unanimous`, `majority` (more than half of the "
        "votes are the final label) or `adjudicated` (the final label has no majority)"
    ),
    "tier": "best tier of the pair: `diamond`, `gold`, `silver` or `bronze`",
    "hs_type": "topic of the HS; several topics are separated by `; `",
    "hs_subtype": "subtopic of the HS; several are separated by `; `",
    "cn_type": "strategy of the CN, such as `facts` or `humor`; several are separated by `; `",
    "age": "age of the author of the CN, in years",
    "gender": "gender of the author of the CN",
    "education": (
        "education of the author of the CN: `below_high_school`, `high_school`, `some_university`, `bachelor`, "
        "`master` or `phd`"
    ),
    "source_id": "id of the row in the source file, or its number where the file has no ids",
    "original_index": "number of the row in the source, from 0",
    "text_id": "id of the text: `hs-` or `cn-` and a hash of the normalised text",
    "text": "text",
    "note": "remark",
    "rater": "name or pseudonym of the rater",
    "rater_kind": "kind of the rater: `human`, `model` or `metric`",
    "role": "role of the annotator in the campaign",
    "round": "round of the campaign",
    "inferred": (
        "whether the source has no separate vote for the pair, so that its final label is taken as the vote of its "
        "only annotator"
    ),
    "n_validators": "number of validators",
    "language": "language of the pair, from the id in the source file",
    "text_language": "language of the texts; differs from `language` for translated pairs",
    "type_code": "code of the topic in the id of the source file",
    "subtopic_code": "code of the subtopic in the id of the source file",
    "hs_code": "code of the HS in the id of the source file",
    "cn_code": "code of the CN in the id of the source file",
    "augmentation": "origin of the pair in CONAN: the original, a paraphrase or a translation",
    "target": "group that the HS attacks",
    "collection_version": "session of the data collection",
    "collection": "session of the data collection",
    "knowledge": "passage that the CN is based on",
    "_id": "id of the text",
    "query-id": "id of the HS",
    "corpus-id": "id of the CN",
    # Replies
    "reply_id": (
        "id of the reply: an id of the source, or `re-` and a hash of its item, system, normalised text and, if "
        "present, `source_id`"
    ),
    "item_id": "id of the item, an HS with its references: `it-` and a hash of them, or an id of the source",
    "system": "name of the system that wrote the reply; `unknown` if the source does not name it",
    "strategy": "intended strategy of the reply, such as `informative` or `denouncing`",
    "references": "reference CNs of the item",
    "reference": "reference CN of the item",
    "also_in": "other splits with the same HS and reply",
    "independent": (
        "whether people and models rated the reply independently; false for the replies of CSEval's test split for "
        "which people's and GPT-4's relevance are equal throughout"
    ),
    "corpus": "corpus of the item",
    "question_id": "number of the item in the source files",
    "compared_by_humans": "whether people compared replies to the item",
    "chosen": "whether the candidate became the reply",
    "flags": "properties to check before use: `truncated`, `empty`, refusals",
    "model": "model that wrote the reply",
    "revision": "revision or hash of the model",
    "prompt_hash": "hash of the prompt template",
    "format": "format of the prompt: chat messages or plain text",
    "decoding": "name of the decoding settings",
    "seed": "seed of the generation",
    "examples": "ids of the pairs that the prompt shows as examples",
    "sources": "ids of the CNs and passages that the prompt shows, or of the retrieved CN",
    "candidates": "number of candidates",
    "picked": "number of the selected candidate, from 0",
    "prompt_tokens": "number of tokens of the prompts",
    "completion_tokens": "number of generated tokens",
    "dialogue_id": "id of the dialogue",
    "turn_id": "number of the turn within the dialogue, from 0",
    "prompt": "text of the prompt",
    # Ratings
    "aspect": "rated aspect, such as `relevance`",
    "value": "value; empty if missing, see `reason`",
    "low": "lowest possible value; empty for a scale without bounds",
    "high": "highest possible value; empty for a scale without bounds",
    "higher_is_better": "whether higher values are better; empty if the scale has no direction",
    "reason": "reason why the value is missing, such as `not_rated` or `parse_failed`",
    "explanation": "explanation of the rater; without a value, the beginning of the answer of the model",
    "n_raters": "number of the annotators who rated all aspects; empty if the source does not state it",
    "relevance": "mean rating of relevance, 1 to 5",
    "coherence": "mean rating of coherence, 1 to 5",
    "aggressiveness": "mean rating of aggressiveness, 1 to 5; lower is better",
    "suitableness": "mean rating of suitableness, 1 to 3",
    "unified": "mean of the four aspects, mapped to the scale 1 to 5 where higher is better",
    "n_samples": "number of requests to the judge",
    "n_read": "number of answers with a readable value",
    "retained_mass": "probability of the grades on the scale among all tokens, for probability-weighted ratings",
    "cited": "whether the explanation quotes words of the texts; empty if it need not",
    "distance": "distance of the reply to the nearest one that a learned rater was trained on",
    # Comparisons
    "system_a": "system of reply a",
    "system_b": "system of reply b",
    "reply_a": "id of reply a",
    "reply_b": "id of reply b",
    "verdict": "better reply: `a`, `b`, `tie`, or `invalid` (see `reason`)",
    "score_a": "score of reply a, for judges that give scores",
    "score_b": "score of reply b, for judges that give scores",
    "shown_first": "reply that the rater saw first, `a` or `b`",
    "decided": "how the final verdict was reached",
    "verdict_ab": "verdict with reply a shown first",
    "verdict_ba": "verdict with reply b shown first; `a` is still reply a",
    "reason_ab": "reason why `verdict_ab` is missing",
    "reason_ba": "reason why `verdict_ba` is missing",
    "flipped": "whether the two orders gave different verdicts; empty without two verdicts",
    "identical": "whether both replies have the same text; these are ties without a request",
    "score": "score of the CN for the HS",
}
_JUDGED = {"strategy": "rating method of the judge, such as `rubric` or `g-eval`; empty for other raters"}
_REPLIES = {"text": "text of the reply", "source_id": "id of the reply in the source file"}
# Columns whose meaning depends on the config.
_COLUMNS_OF_CONFIG: dict[str, dict[str, str]] = {
    "votes": {
        "rater": "position or pseudonym of the annotator",
        "label": "label of the annotator: `appropriate`, `not_sure` or `not_appropriate`",
        "reason": "reason why the label is missing",
    }
    | _JUDGED,
    "ratings": _JUDGED,
    "corpus": {"text": "text of the CN"},
    "queries": {"text": "text of the HS"},
    "qrels": {"score": "1 if the CN is appropriate for the HS, else 0"},
    "replies": _REPLIES
    | {
        "reason": "reason why the text is missing",
    },
    "candidates": _REPLIES,
    "comparisons": {"reason": "reason why the verdict is `invalid`, such as `no_scores` or `unresolved`"},
    "labels": {
        "reason": "reason why there is no final verdict",
        "valid": "whether validators confirmed the final verdict; empty if no validator saw the comparison",
        "n_votes": "number of annotators who compared the two replies",
        "agreement": "relation of the verdicts to the final one: `single`, `unanimous`, `majority` or `adjudicated`",
    },
    "grades": {
        "value": "median rating",
        "n_votes": "number of annotators who rated the reply",
        "valid": "whether validators confirmed the median; empty if no validator saw the reply",
    },
    "turns": {
        "role": "`hs` or `cn`",
        "text": "text of the turn",
        "text_id": "id of the text; empty for a turn without text",
    },
}


def _part(config: str) -> str:
    """Returns the general name of a config: `gold-qrels` is `qrels`."""
    last = config.rpartition("-")[2]
    return last if last in _PARTS else config


def describe_config(config: str) -> str | None:
    """Returns the content of one row of a config, or None for an unknown config.

    Examples:
        >>> describe_config("gold-qrels")
        'the relevance of one CN for one HS'
    """
    return CONFIGS.get(_part(config))


def describe_column(config: str, column: str) -> str | None:
    """Returns the meaning of a column of a config, or None for an unknown column.

    Examples:
        >>> describe_column("queries", "text")
        'text of the HS'
    """
    return _COLUMNS_OF_CONFIG.get(_part(config), {}).get(column) or _COLUMNS.get(column)
