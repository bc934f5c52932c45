"""The speed benchmarks say in one line that upstream files are missing."""

import os
import subprocess
import sys
from pathlib import Path

SPEED = Path(__file__).parent.parent / "benchmarks" / "speed"


def test_without_upstream_files_a_benchmark_ends_in_one_line(tmp_path: Path) -> None:
    nowhere = {"FCCONAN_RAW_URL": "http://127.0.0.1:9", "FCCONAN_CACHE": str(tmp_path / "cache"), "NO_PROXY": "*"}
    environment = {name: value for name, value in os.environ.items() if name != "FCCONAN_MIRROR"} | nowhere
    done = subprocess.run(
        [sys.executable, str(SPEED / "retrieval.py"), "--part", "benchmark", "--json", str(tmp_path / "result.json")],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    lines = [line for line in done.stderr.splitlines() if not line.startswith("note: fetching from ")]
    assert done.returncode == 2
    assert len(lines) == 1
    assert lines[0].startswith("retrieval.py: fc_conan_partitions/")
    assert "set FCCONAN_MIRROR to a folder with" in lines[0]
    assert not (tmp_path / "result.json").exists()
