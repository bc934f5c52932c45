"""`fcconan generate`."""

from pathlib import Path
from typing import Annotated

import typer

from fcconan.cli import models
from fcconan.cli.judge import inputs
from fcconan.cli.options import MOST_ROWS, MOST_TOKENS, seed_option

NAME = "generate"
EXAMPLE = "Example: fcconan generate demo-dataset --model local:models/my-chat-model --examples 3 --out replies.parquet"
PART = "DATASET[:CONFIG[:SPLIT]]"

Dataset = Annotated[
    Path,
    typer.Argument(
        help="Messages: a folder that `fcconan build` wrote, a dataset's name, or a CSV, TSV, JSONL or parquet file."
    ),
]
Strategy = Annotated[
    str | None,
    typer.Option(
        "--strategy",
        help="zero-shot, few-shot, grounded, retrieval-conditioned; or, without a model, retrieval (the best CN of a "
        "catalogue) or reference (a CN of the people). Default: what the other options say.",
    ),
]
Task = Annotated[str | None, typer.Option("--task", help="A prompt of annotations/generation/, or a prompt file.")]
Format = Annotated[
    str | None, typer.Option("--format", help="Of local models: a named prompt format, or a Jinja template.")
]
Decoding = Annotated[
    str | None, typer.Option("--decoding", help="Named settings, such as greedy (default) or paper-zero-shot.")
]
Temperature = Annotated[float | None, typer.Option("--temperature", help="Instead of that of --decoding.")]
TopP = Annotated[float | None, typer.Option("--top-p", help="Instead of that of --decoding.")]
TopK = Annotated[int | None, typer.Option("--top-k", help="Instead of that of --decoding.")]
MaxTokens = Annotated[int | None, typer.Option("--max-tokens", max=MOST_TOKENS, help="Longest reply.")]
Stop = Annotated[
    list[str] | None, typer.Option("--stop", help="A reply ends before this; \\n is a line break; once for each.")
]
Seed = Annotated[int, seed_option("Of draws and choices; -1 sends none.", least=-1, largest=1_000_000_000)]
Candidates = Annotated[int | None, typer.Option("--candidates", min=1, help="Replies drawn for each message.")]
Pick = Annotated[str | None, typer.Option("--pick", help="Which of them counts: first, random or judge.")]
JudgeModel = Annotated[str | None, typer.Option("--judge", help="The model that rates them, named as --model.")]
JudgeTask = Annotated[str | None, typer.Option("--judge-task", help="What it rates; default: multi-aspect.")]
JudgeAspects = Annotated[
    list[str] | None, typer.Option("--judge-aspect", help="It rates this aspect only; once for each.")
]
Examples = Annotated[
    int | None,
    typer.Option("--examples", min=1, help="few-shot: pairs of similar messages to show; default: 3."),
]
Encoder = Annotated[
    str | None, typer.Option("--encoder", help="Finds them: minilm (default), tfidf, or a sentence-transformers model.")
]
Retriever = Annotated[
    str | None, typer.Option("--retriever", help="Finds CNs: a system of `fcconan bench`; default: tfidf.")
]
Top = Annotated[
    int | None, typer.Option("--top", min=1, help="retrieval-conditioned: CNs that the model sees; default: 3.")
]
Own = Annotated[
    bool,
    typer.Option("--own", help="Keep the CNs of the message itself among those to find: finding them is the task."),
]
PoolPart = Annotated[
    str | None,
    typer.Option("--pool", help=f"{PART} or a file: pairs to take from; default: the dataset's training part."),
]
Made = Annotated[str | None, typer.Option("--from", help=f"Replies that were made elsewhere: a file, or {PART}.")]
System = Annotated[
    str | None, typer.Option("--system", help="The system's name in the rows; with --from, the one that is read.")
]
Config = Annotated[str | None, typer.Option("--config", help="Part of the dataset with the messages.")]
Column = Annotated[
    list[str] | None,
    typer.Option("--column", help="NAME=COLUMN of the file, such as hate_speech=HS; with --from, of that file."),
]
Limit = Annotated[int | None, typer.Option("--limit", min=1, max=MOST_ROWS, help="The first messages only.")]


@models.connected(without=("structured",))
def run(
    dataset: Dataset,
    out: Annotated[Path, typer.Option("--out", help="File of replies: .parquet, .jsonl or .csv.")],
    model: Annotated[str | None, typer.Option("--model", help=f"{models.MODEL_HELP}.")] = None,
    strategy: Strategy = None,
    task: Task = None,
    format: Format = None,
    decoding: Decoding = None,
    temperature: Temperature = None,
    top_p: TopP = None,
    top_k: TopK = None,
    max_tokens: MaxTokens = None,
    stop: Stop = None,
    seed: Seed = 0,
    candidates: Candidates = None,
    pick: Pick = None,
    judge: JudgeModel = None,
    judge_task: JudgeTask = None,
    judge_aspect: JudgeAspects = None,
    examples: Examples = None,
    encoder: Encoder = None,
    retriever: Retriever = None,
    top: Top = None,
    own: Own = False,
    pool: PoolPart = None,
    background: inputs.Background = None,
    passages: inputs.PassageCount = None,
    made: Made = None,
    system: System = None,
    config: Config = None,
    split: inputs.Split = None,
    column: Column = None,
    limit: Limit = None,
    connection: models.Connection = models.DEFAULT,
    json_file: Annotated[Path | None, typer.Option("--json", help="Write the summary to this file.")] = None,
) -> None:
    """Answer every message of a dataset by a model, from a catalogue, or with replies that were made elsewhere."""
    from fcconan.cli.generate_options import Asked
    from fcconan.cli.generating import Work

    asked = Asked(
        model=model,
        strategy=strategy,
        task=task,
        format=format,
        decoding=decoding,
        temperature=temperature,
        top_p=top_p,
        top_k=top_k,
        max_tokens=max_tokens,
        stop=stop or None,
        candidates=candidates,
        pick=pick,
        judge=judge,
        judge_task=judge_task,
        judge_aspect=judge_aspect or None,
        examples=examples,
        encoder=encoder,
        retriever=retriever,
        top=top,
        own=own or None,
        pool=pool,
        background=background,
        passages=passages,
    )
    columns = inputs.named("--column", column, "NAME=COLUMN, such as hate_speech=HS")
    work = Work(dataset, out, config, split, limit, columns, seed, system, connection, json_file)
    work.check(asked, made)
    if not work.run(asked, made):
        raise typer.Exit(1)
