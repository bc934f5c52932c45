from pathlib import Path

import datasets
import pyarrow.parquet as pq
import pytest

from fcconan.building import table_path
from fcconan.data import read_manifest


@pytest.mark.parametrize(
    "name", ["gold", "gold-corpus", "gold-qrels", "train", "votes", "replies", "ratings", "comparisons"]
)
def test_rows_of_every_kind_stream_from_a_folder_with_their_features(demo: Path, name: str) -> None:
    manifest = read_manifest(demo)
    config = manifest["aliases"].get(name, name)
    (split,) = manifest["counts"][config]
    stream = datasets.load_dataset(str(demo), name, split=split, streaming=True)
    assert isinstance(stream, datasets.IterableDataset)
    table = pq.read_table(demo / table_path(config, split))
    assert stream.features == datasets.Features.from_arrow_schema(table.schema)
    assert list(stream.take(3)) == table.slice(0, 3).to_pylist()
