"""Table 4 of the FC-CONAN paper, and protocol sound on its data."""

import pytest

from fcconan import Bootstrap, bench
from tests.upstream.conftest import Release

# Average, minimum, maximum and CV%, as printed; the paper averages rounded values of the four metrics.
TABLE_4 = {
    "tfidf": (0.2203, 0.0703, 0.4024, 63.275),
    "bm25": (0.1819, 0.0296, 0.3811, 81.675),
    "sbert-minilm": (0.3270, 0.1766, 0.4804, 39.200),
}

pytestmark = [pytest.mark.upstream, pytest.mark.slow]


@pytest.mark.long
def test_table_4(release: Release) -> None:
    found = bench(release("fc-conan"), system=[*TABLE_4], protocol="paper", bootstrap=Bootstrap(resamples=200))
    parts = found.to_frame("partitions").set_index("partition")
    assert parts["n_positive"].to_dict() == {"diamond": 35, "gold": 54, "silver": 431, "bronze": 702}
    assert parts["n_without_positive"].to_dict() == {"diamond": 22, "gold": 16, "silver": 0, "bronze": 0}
    tiers = found.to_frame("tiers").set_index(["system", "statistic"])["value"]
    for name, printed in TABLE_4.items():
        own = [tiers[name, statistic] for statistic in ("avg", "min", "max", "cv")]
        assert own[:3] == pytest.approx(printed[:3], abs=1e-4) and own[3] == pytest.approx(printed[3], abs=0.02)
        assert tiers[f"{name} (published)", "avg"] == printed[0]
    assert "gpt-4o (published)" in found.references


def test_protocol_sound_ranks_the_full_catalogue(release: Release) -> None:
    found = bench(release("fc-conan"), system=["bm25"], bootstrap=Bootstrap(resamples=0))
    assert "training:2301-without-728" in found.signature and "primary:ndcg@10@silver" in found.signature
    table = found.to_frame().query("system == 'bm25'").set_index("partition")
    assert table["n"].to_dict() == {"diamond": 23, "gold": 29, "silver": 45, "bronze": 45}
