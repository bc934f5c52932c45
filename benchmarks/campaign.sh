#!/bin/sh
# A complete simulated annotation campaign of the size of FC-CONAN: 5805 new pairs of CONAN, nine annotators, four
# validators, from `new` to a dataset that load_dataset reads.
#
#   benchmarks/campaign.sh WORK_FOLDER [CONAN]
#
# WORK_FOLDER must be new or empty. CONAN is the output of `fcconan build conan`; without it, CONAN is built. FCCONAN is
# the command (default: `fcconan`) and PYTHON its Python (default: `python3`). All runs write the same bytes.
set -eu

if [ $# -lt 1 ]; then
    echo "usage: $0 WORK_FOLDER [CONAN]" >&2
    exit 2
fi
work=$1
fcconan=${FCCONAN:-fcconan}
mkdir -p "$work"
if [ -n "$(ls -A "$work")" ]; then
    echo "$work is not empty: choose another folder" >&2
    exit 2
fi

if [ $# -gt 1 ]; then
    conan=$2
else
    conan=$work/conan
    $fcconan build conan --out "$conan"
fi

campaign=$work/campaign
annotate() {
    verb=$1
    shift
    echo "== annotate $verb $*"
    $fcconan annotate "$verb" "$campaign" "$@"
}

# 45 HS and 129 CNs, without the pairs of CONAN.
annotate new --task appropriateness --corpus "$conan" --language en --encoder tfidf \
    --hs 45 --cns 129 --divisible-by 9 --seed 1
for number in 1 2 3 4 5 6 7 8 9; do echo "annotator-$number,annotator,active"; done >> "$campaign/raters.csv"
for number in 1 2 3 4; do echo "validator-$number,validator,active"; done >> "$campaign/raters.csv"

annotate assign --overlap.2 0.2 --overlap.3 0.05 --session-size 100
annotate simulate --out "$work/main" --accuracy 0.9 --skip-rate 0.005
annotate import "$work"/main/*.csv
$fcconan agree "$campaign" --resamples 1000 --json "$work/agreement.json"
annotate adjudicate
annotate validate --overlap.2 0.1 --resamples 0
annotate simulate --round validation --out "$work/validation" --accuracy 0.96
annotate import "$work"/validation/*.csv
annotate validate --resamples 1000
annotate release --tier-rule released --synthetic --out "$work/data"
$fcconan build "$work/data/recipe.yaml" --out "$work/release"

# The share of wrong labels in each tier.
HF_DATASETS_DISABLE_PROGRESS_BARS=1 ${PYTHON:-python3} - "$work" <<'PYTHON'
import json
import sys
from pathlib import Path

from datasets import load_dataset

work = Path(sys.argv[1])
truth = {row["unit_id"]: row["value"] for row in map(json.loads, (work / "main" / "truth.jsonl").open())}
for tier in ("diamond", "gold", "silver", "bronze"):
    rows = load_dataset(str(work / "release"), tier, split="test")
    wrong = sum(row["label"] != truth[row["pair_id"]] for row in rows)
    print(f"{tier}: {len(rows)} pairs, {wrong / len(rows):.4f} of the labels are wrong")
PYTHON
