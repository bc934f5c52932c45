"""`fcconan judge`: rate and compare replies with models, and see how far the judges can be trusted."""

from fcconan.oldcli.judge import audit, compare, prompt, rate, train
from fcconan.oldcli.typer_command import group

NAME = "judge"
app = group(
    NAME,
    "Rate and compare replies with language models, and audit the judges.",
    (rate, train, compare, audit, prompt),
)
