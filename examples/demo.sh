#!/usr/bin/env bash
# The demo without a network: builds the dataset, benchmarks retrieval, rates replies, and scores judges and systems.
# The judge is a file of recorded answers. Texts are about invented peoples and labels are simulated: the values have no
# meaning outside the demo. Needs `fcconan` and its `python` on the path; `make demo` calls it with those of .venv.
set -euo pipefail

fcconan build demo --out demo-dataset --force
mkdir -p demo-report
fcconan bench demo-dataset --system popularity --system tfidf --system bm25 --report demo-report/retrieval --force

# A recorded answer for each reply: a grade from 1 to 5 by the number of words that it shares with the message.
python - <<'PYTHON'
import json

import pandas

replies = pandas.read_parquet("demo-dataset/replies")
shared = [len({*m.lower().split()} & {*t.lower().split()}) for m, t in zip(replies["hate_speech"], replies["text"])]
answers = [json.dumps({"relevance": min(1 + number, 5)}) for number in shared]
columns = {"hate_speech": replies["hate_speech"], "counter_narrative": replies["text"], "output": answers}
pandas.DataFrame(columns).drop_duplicates().to_csv("demo-answers.csv", index=False)
PYTHON
fcconan judge rate demo-dataset --task cseval --aspect relevance --model replay:demo-answers.csv \
    --out demo-ratings.csv --force

fcconan correlate demo-dataset demo-ratings.csv --report demo-report/judges --force
fcconan rank demo-dataset --filter.rater_kind human --majority --report demo-report/tournament --force
