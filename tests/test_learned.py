"""`judge train`, and ratings by a learned rater, against regressions by hand."""

import json
import math
import shlex
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.stats import spearmanr
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GroupKFold

from fcconan import Bootstrap, InputError, Rows, correlate, rate, train_rater
from fcconan.data import file_sha256, read
from fcconan.judging import rate_learned
from tests.conftest import RunCli

PEOPLES = ("Ombrey", "Tessok", "Velmari", "Dravene", "Quillish")
CLAIMS = ("keep our books", "sing all night", "cheat at cards", "never say hello", "bake too little")
WORDS = "they return sing early late books songs and the library lists neighbours never complain about us".split()
TONE = {"tone": (1.0, 5.0), "wit": (math.nan, math.nan)}
NONE = Bootstrap(resamples=0)
Floats = Any


def rated(count: int = 75, seed: int = 0) -> pd.DataFrame:
    """Ratings by two people in a wide table, with the texts: longer replies have a better tone, on 1 to 5."""
    rng, rows = np.random.default_rng(seed), []
    for n in range(count):
        claim = f"The {PEOPLES[n % 5]} {CLAIMS[n // 5 % 5]}."
        text = " ".join(rng.choice(WORDS, size=rng.integers(2, 20))) + str(rng.choice(["?", "!", "."]))
        tone = np.clip(len(text) / 25 + rng.normal(), 1, 5)
        row = {"reply_id": f"r{n}", "hate_speech": claim, "text": f"{n} {text}", "system": "ab"[n % 2]}
        rows += [row | {"rater": name, "tone": tone, "wit": rng.normal()} for name in ("anna", "ben")]
    return pd.DataFrame(rows)


def long(wide: pd.DataFrame) -> pd.DataFrame:
    texts = ["reply_id", "hate_speech", "text", "system", "rater"]
    found = wide.melt(texts, ["tone", "wit"], "aspect", "value")
    return found.assign(
        **{end: found["aspect"].map(lambda name, at=at: TONE[name][at]) for at, end in ((0, "low"), (1, "high"))}
    )


def new_replies(*texts: str) -> pd.DataFrame:
    rows = [
        {"reply_id": f"new{n}", "hate_speech": f"Message {n} of {text}", "text": text} for n, text in enumerate(texts)
    ]
    return pd.DataFrame(rows)


def scaled(features: Floats, of: Floats) -> Floats:
    """Returns standardised features."""
    deviation = of.std(axis=0)
    return (features - of.mean(axis=0)) / np.where(deviation > 0, deviation, 1) / math.sqrt(features.shape[1])


def by_hand(features: Floats, values: Floats, asked: Floats, embedded: int = 0) -> Floats:
    """Kernel ridge regression of centred values, in its closed form; next to embeddings, the rest has weight .7."""
    asked = np.minimum(np.maximum(asked, features.min(axis=0)), features.max(axis=0))

    def points(given: Floats) -> Floats:
        surface = scaled(given[:, embedded:], features[:, embedded:])
        if not embedded:
            return surface
        return np.hstack([scaled(given[:, :embedded], features[:, :embedded]), 0.7 * surface])

    weights = np.linalg.solve(rbf_kernel(points(features), gamma=0.3) + np.eye(len(features)), values - values.mean())
    return rbf_kernel(points(asked), points(features), gamma=0.3) @ weights + values.mean()


def saved(folder: Path) -> tuple[Floats, Floats]:
    with np.load(folder / "training.npz") as arrays:
        return arrays["features"], arrays["means"]


def test_values_are_those_of_regressions_on_the_other_folds(tmp_path: Path) -> None:
    wide = rated()
    result = train_rater(long(wide), out=tmp_path / "mine", encoder="none", bootstrap=Bootstrap(resamples=200))
    features, means = saved(tmp_path / "mine")
    assert means[:, 0] == pytest.approx(wide.groupby("reply_id", sort=False)["tone"].mean())
    table = result.to_frame().set_index("aspect")
    own = pd.read_parquet(tmp_path / "mine" / "out-of-fold.parquet")
    groups = pd.factorize(wide.drop_duplicates("reply_id")["hate_speech"])[0]  # messages of a group are equal here
    assert len(set(groups)) == 25
    assert (own["rater"] == "learned:mine").all() and (own["rater_kind"] == "model").all()
    for place, (aspect, (low, high)) in enumerate(TONE.items()):
        found = own[own["aspect"] == aspect]["value"].to_numpy()
        expected = np.zeros(len(groups))
        for rest, held in GroupKFold(5).split(features, groups=groups):
            expected[held] = by_hand(features[rest], means[rest, place], features[held])
        if aspect == "tone":
            expected = expected.clip(low, high)
        assert found == pytest.approx(expected, abs=1e-9)
        assert table["value"][aspect] == pytest.approx(spearmanr(expected, means[:, place]).statistic)
        assert table["mean_absolute_error"][aspect] == pytest.approx(np.abs(expected - means[:, place]).mean())
    assert table["value"]["tone"] > 0.5 and (table["n"] == 75).all()
    assert (table["low"] < table["value"]).all() and (table["value"] < table["high"]).all()
    again = correlate(long(wide), own, level=("pooled",), coefficient=("spearman",), bootstrap=NONE).to_frame()
    assert again["value"].tolist() == pytest.approx(table["value"].tolist())


def test_other_replies_are_rated_by_the_regression_on_all(tmp_path: Path) -> None:
    folder = tmp_path / "mine"
    train_rater(long(rated()), out=folder, encoder="none", bootstrap=NONE)
    features, means = saved(folder)
    others = rated(20, seed=1).assign(hate_speech=lambda rows: "They say: " + rows["hate_speech"])
    found, notes = rate_learned(folder, others.drop_duplicates("reply_id"))
    train_rater(long(others), out=tmp_path / "others", encoder="none", bootstrap=NONE)
    asked, _ = saved(tmp_path / "others")  # their features
    assert notes == ("20 of 20 replies resemble no reply that learned:mine was trained on.",)  # longer messages
    assert found["aspect"].tolist() == ["tone", "wit"] * 20
    for place, aspect in enumerate(TONE):
        expected = by_hand(features, means[:, place], asked)
        own = found[found["aspect"] == aspect]["value"].to_numpy()
        assert own == pytest.approx(expected.clip(1, 5) if aspect == "tone" else expected, abs=1e-9)
    apart = np.linalg.norm(scaled(asked, features)[:, None] - scaled(features, features), axis=2) * math.sqrt(21)
    assert found["distance"].to_numpy()[::2] == pytest.approx(apart.min(axis=1))
    only, _ = rate_learned(folder, others.drop_duplicates("reply_id"), ["wit"])
    assert only["value"].tolist() == found[found["aspect"] == "wit"]["value"].tolist()
    assert set(only["aspect"]) == {"wit"} and only["low"].isna().all()


def test_surface_features_by_hand(tmp_path: Path) -> None:
    wide = rated(20)
    wide.loc[wide["reply_id"] == "r0", ["hate_speech", "text"]] = ["The Ombrey lie.", 'Do THE Ombrey lie? "No", 9 say!']
    wide.loc[wide["reply_id"] == "r1", "text"] = "they sing all day, they sing ALL day" + "!" * 60
    train_rater(long(wide), out=tmp_path / "mine", encoder="none", folds=2, bootstrap=NONE)
    # Characters, words and sentences of the reply; characters and words of the message.
    counts = [31 / 181, 7 / 37, 2 / 4, 15 / 165, 3 / 33]
    shares = [3 / 7, 3 / 7, 1, 31 / 7]  # do THE Ombrey lie No 9 say: the, ombrey and lie are shared
    marks = [1 / 2, 1 / 2, 1 / 2, 2 / 3]  # ? ! , "
    rest = [1, 1 / 31, 6 / 31, 1, 1, 0, 1 / 7]  # question, digits, capitals, first capital, end, address, loud words
    features = saved(tmp_path / "mine")[0]
    assert features[0] == pytest.approx([*counts, *shares, *marks, *rest, 0])
    assert features[1][8] == 10  # characters for each word, at most 10
    assert features[1][-1] == pytest.approx(2 / 6)  # of 6 runs of three words, 2 occurred before


def test_replies_that_resemble_nothing_are_named(tmp_path: Path) -> None:
    wide, folder = rated(), tmp_path / "mine"
    train_rater(long(wide), out=folder, encoder="none", bootstrap=NONE)
    features, _ = saved(folder)
    groups = pd.factorize(wide.drop_duplicates("reply_id")["hate_speech"])[0]
    apart: list[float] = []
    for rest, held in GroupKFold(5).split(features, groups=groups):
        points = (scaled(features[each], features[rest]) * math.sqrt(21) for each in (held, rest))
        apart += np.linalg.norm(next(points)[:, None] - next(points), axis=2).min(axis=1).tolist()
    asked = new_replies("1 " + wide["text"][0], "9" * 300 + "???!!!\n\n" * 30)
    asked.loc[0, "hate_speech"] = wide["hate_speech"][0].replace("books", "boots")
    found, notes = rate_learned(folder, asked, ["tone"])
    assert notes == ("1 of 2 replies resemble no reply that learned:mine was trained on.",)
    assert found["explanation"].isna().tolist() == [True, False]
    assert ((found["distance"] > np.quantile(apart, 0.99)) == [False, True]).all()


class Tiny:
    """An encoder of two dimensions: length and share of vowels, on the unit circle."""

    def __init__(self, model: str) -> None:
        self.model = model

    def encode(self, texts: list[str], *, role: str) -> Floats:
        found = np.array([[len(text), 5 * sum(letter in "aeiou" for letter in text)] for text in texts], dtype=float)
        return found / np.linalg.norm(found, axis=1, keepdims=True)


def test_embeddings_are_of_message_and_reply_with_product_and_difference(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fcconan.judging.features.SentenceEncoder", Tiny)
    found = train_rater(long(rated()), out=tmp_path / "mine", encoder="tiny", bootstrap=NONE)
    assert "|encoder:tiny|" in found.signature
    others = rated(20, seed=1).assign(hate_speech=lambda rows: "They say: " + rows["hate_speech"])
    train_rater(long(others), out=tmp_path / "others", encoder="tiny", bootstrap=NONE)
    once = others.drop_duplicates("reply_id")
    message, reply = (Tiny("tiny").encode([*once[name]], role="query") for name in ("hate_speech", "text"))
    (features, means), (asked, _) = saved(tmp_path / "mine"), saved(tmp_path / "others")
    assert features.shape == (75, 8 + 1 + 21) and asked[:, 8] == pytest.approx((message * reply).sum(axis=1))
    assert asked[:, :8] == pytest.approx(np.hstack([message, reply, message * reply, np.abs(message - reply)]))
    rate, _ = rate_learned(tmp_path / "mine", once, ("tone",))
    assert rate["distance"].to_numpy() == pytest.approx(1 - (reply @ features[:, 2:4].T).max(axis=1))
    expected = by_hand(features, means[:, 0], asked, embedded=8)
    assert rate["value"].to_numpy() == pytest.approx(expected.clip(1, 5), abs=1e-9)


def test_texts_of_the_training_are_left_out(tmp_path: Path) -> None:
    wide, folder = rated(), tmp_path / "mine"
    train_rater(long(wide), out=folder, encoder="none", bootstrap=NONE)
    rows = new_replies("One.", "Two.", "Three.", "\u200b")
    rows.loc[0, "hate_speech"] = wide["hate_speech"][0].upper()
    rows.loc[1, "text"] = wide["text"][4]
    found, notes = rate_learned(folder, rows, ("tone",))
    assert notes[0] == "2 of 4 replies are left out: learned:mine was trained on message or text."
    assert found["reply_id"].tolist() == ["new2", "new3"]
    assert found["reason"].tolist() == [None, "empty_reply"]
    assert np.isfinite(found["value"][0]) and found[["value", "distance"]].iloc[1].isna().all()
    with pytest.raises(InputError, match=r"^learned:mine was trained on message or text of all replies: .*out-of-fold"):
        rate_learned(folder, rows[:2])


def test_the_printed_command_rates_aspects_of_ones_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run_cli: RunCli
) -> None:
    monkeypatch.chdir(tmp_path)
    rated().to_csv("rated.csv", index=False)
    new_replies("They return all books.", "They sing in tune.").assign(item_id=["1", "2"], system="c").to_csv(
        "REPLIES.csv", index=False
    )
    train = ("judge", "train", "rated.csv", "--encoder", "none", "--out", "my rater", "--resamples", 0)
    done = run_cli(*train, "--json", "trained.json")
    assert done.returncode == 0, done.stderr
    [line] = json.loads(Path("trained.json").read_text(encoding="utf-8"))["notes"]
    words = shlex.split(line.partition(": fcconan ")[2].replace("REPLIES", "REPLIES.csv"))
    done = run_cli(*words)
    assert done.returncode == 0, done.stderr
    found = read("ratings", "RATINGS.csv")[0]
    expected, _ = rate_learned(Path("my rater"), read("replies", "REPLIES.csv")[0])
    assert found[["reply_id", "aspect"]].values.tolist() == expected[["reply_id", "aspect"]].values.tolist()
    assert found["value"].tolist() == pytest.approx(expected["value"].tolist())
    done = run_cli(*train)
    assert (done.returncode, done.stderr) == (
        2,
        "fcconan: my rater exists: choose another name, or give --force to replace it\n",
    )
    assert run_cli(*train, "--force").returncode == 0


def test_the_ratings_of_a_dataset_come_with_their_replies(demo: Path, tmp_path: Path) -> None:
    rows = Rows(filter={"aspect": ("relevance",)})
    found = train_rater(demo, out=tmp_path / "mine", encoder="none", rows=rows, bootstrap=NONE)
    assert found.to_frame()[["aspect", "n"]].values.tolist() == [["relevance", 96]]
    ratings, replies = (sorted((demo / name).glob("*.parquet")) for name in ("ratings", "replies"))
    apart = train_rater(*ratings, replies=replies[0], out=tmp_path / "apart", encoder="none", rows=rows, bootstrap=NONE)
    assert apart.to_frame()["value"].tolist() == found.to_frame()["value"].tolist()
    with pytest.raises(InputError, match=r"has no column hate_speech, text: give the rated replies with --replies$"):
        train_rater(*ratings, out=tmp_path / "none", encoder="none")
    other = replies[0].with_name("other.csv")
    with pytest.raises(InputError, match=r"^found no reply in rows@\w+ that people rated: give"):
        train_rater(*ratings, replies=new_replies("One.").assign(item_id="i", system="s"), out=other, encoder="none")


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"folds": 30}, r"^found replies to 25 different messages with tone, expected 30 or more: give more ratings"),
        ({"encoder": "./nowhere"}, r"^no model folder at \./nowhere: give a folder"),
    ],
)
def test_mistakes_are_named(tmp_path: Path, how: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        train_rater(long(rated()), out=tmp_path / "mine", **({"encoder": "none"} | how))
    assert not (tmp_path / "mine").exists()


def test_mistakes_about_the_rater_are_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"^found no rater.json in .*, or cseval-surface or cseval: check the path$"):
        rate_learned(tmp_path, new_replies("One."))
    train_rater(long(rated()), out=tmp_path / "mine", encoder="none", bootstrap=NONE)
    with pytest.raises(InputError, match=r"^unknown aspect 'ton': did you mean 'tone'\?"):
        rate_learned(tmp_path / "mine", new_replies("One."), ["ton"])


@pytest.mark.upstream
def test_a_named_rater_is_trained_on_the_independent_rows(
    mirror: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FCCONAN_CACHE", str(tmp_path / "cache"))
    others = rated(4).drop_duplicates("reply_id").assign(item_id="i")
    first = rate(others, model="learned:cseval-surface", aspect=("suitableness",))
    [folder] = (tmp_path / "cache" / "raters").glob("*/cseval-surface")
    assert first.signature.endswith(f"|model:learned:cseval-surface@{file_sha256(folder / 'rater.json')[:12]}")
    # By hand: the means of the annotators in the first 1500 rows, of which 7 have no rating on the scale.
    ratings = read("ratings", "cseval", rows=Rows("test", filter={"rater": ("annotators",)}))[0]
    order = ratings["reply_id"].drop_duplicates()[:1500]
    values = ratings[ratings["aspect"] == "suitableness"].set_index("reply_id")["value"].reindex(order).dropna()
    _, means = saved(folder)
    assert sorted(means[:, 3]) == sorted(values) and len(values) == 1493
    assert first.tables["ratings"]["rater"].tolist() == ["learned:cseval-surface"] * 4
    written = (folder / "rater.json").stat().st_mtime_ns
    again = rate(others, model="learned:cseval-surface", aspect=("suitableness",))
    assert again.to_json() == first.to_json() and (folder / "rater.json").stat().st_mtime_ns == written
