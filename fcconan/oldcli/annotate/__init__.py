"""`fcconan annotate`: from two lists of texts to a graded, agreed, publishable dataset."""

from fcconan.oldcli.annotate import (
    adjudicate,
    assign,
    export,
    import_,
    new,
    raters,
    simulate,
    status,
    tier,
    validate,
)
from fcconan.oldcli.typer_command import group

NAME = "annotate"
# In the order in which a campaign needs them.
app = group(
    NAME,
    "Run an annotation campaign: choose pairs, assign them, collect and check answers, grade and release.",
    (new, raters, assign, export, import_, adjudicate, validate, tier, status, simulate),
)
