"""The command line: one file per command. Errors are one line on standard error; bad input exits with code 2."""

import _thread
import io
import os
import signal
import sys
import threading
from typing import Annotated

import typer
from typer.exceptions import Abort, Exit, TyperException

from fcconan.data import DEBUG_VARIABLE, TRACEBACK, hub_address, is_debugging, protect_streams, show_traceback
from fcconan.errors import InputError, RemoteError
from fcconan.oldcli import (
    annotate,
    build,
    list_datasets,
)
from fcconan.oldcli.typer_command import Group

AGAIN = 0.01  # seconds
INTERRUPTED, TERMINATED = 130, 128 + signal.SIGTERM
LONGEST = 1_500  # characters of a message; a longer one repeats a cell, a name or a line of the input as a whole
STOPPED = "interrupted; no file is incomplete: run the command again to continue"

app = typer.Typer(
    name="fcconan",
    cls=Group,
    help="Build counter-narrative (CN) datasets from pinned files, benchmark retrieval, write, judge and score CNs.",
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    # Typer would drop escape sequences silently; the streams write them out.
    context_settings={"help_option_names": ["-h", "--help"], "color": True},
)
# The sections of the help, and the commands in their order.
COMMANDS = {
    "Datasets": (list_datasets, build),
}
for panel, verbs in COMMANDS.items():
    for verb in verbs:
        verb.COMMAND.add_to(app, panel)
app.add_typer(annotate.app, rich_help_panel="Campaigns and judges")


@app.callback(invoke_without_command=True)
def _options(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Print the version and exit.")] = False,
    debug: Annotated[
        bool, typer.Option("--debug", help="Print the traceback of every error, including errors of your own systems.")
    ] = False,
) -> None:
    if debug:
        os.environ[DEBUG_VARIABLE] = "1"  # worker processes inherit it
    if "HF_ENDPOINT" in os.environ:
        hub_address()  # before any library imports the Hub's client, which fails on a wrong address and prints it
    if version:
        import fcconan

        typer.echo(f"fcconan {fcconan.__version__}")
    elif context.invoked_subcommand is None:
        typer.echo(context.get_help())
    else:
        _check_current_folder()


def _check_current_folder() -> None:
    try:
        os.getcwd()  # noqa: PTH109 - Path.cwd does the same
    except FileNotFoundError as error:
        raise InputError(
            "the current folder was deleted: change to another folder and run the command again"
        ) from error


def main() -> None:
    """Runs the command line and exits."""
    signal.signal(signal.SIGTERM, _terminate)
    sys.unraisablehook = _signal_again
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # closed by the shell, as `>&-` does; `print` would then write to the other one
            setattr(sys, name, io.TextIOWrapper(io.FileIO(os.devnull, "w"), encoding="utf-8"))
    if isinstance(sys.stdout, io.TextIOWrapper) and sys.stdout.errors == "strict":
        sys.stdout.reconfigure(errors="backslashreplace")  # a path need not be Unicode
    protect_streams()
    debug = os.environ.get(DEBUG_VARIABLE)
    try:
        _run()
    finally:
        if debug is None:
            os.environ.pop(DEBUG_VARIABLE, None)


def _run() -> None:
    try:
        status = app(prog_name="fcconan", standalone_mode=False)
        sys.stdout.flush()
        if status == INTERRUPTED:  # Typer turns Ctrl-C into this status
            raise KeyboardInterrupt
    except (InputError, RemoteError) as error:
        show_traceback(error)
        _fail(str(error), 2 if isinstance(error, InputError) else 1)
    except TyperException as error:
        context = getattr(error, "ctx", None)
        command = context.command_path if context else "fcconan"
        message = error.format_message().rstrip(".")
        _fail(f"{message}{'' if message.endswith('?') else '.'} See `{command} --help`.", 2)
    except Exit as error:
        sys.exit(error.exit_code)
    except BrokenPipeError:  # the reader went away, as `head` does
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except OSError as error:
        show_traceback(error)
        if error.filename is not None:
            _fail(f"{error.filename}: {error.strerror}: check the path and its permissions", 2)
        _fail(f"the result cannot be printed or written ({error.strerror or error})", 1)
    except (Abort, KeyboardInterrupt):
        _fail(STOPPED, INTERRUPTED)
    except SystemExit as stop:
        if stop.code == TERMINATED:
            _fail(STOPPED, TERMINATED)
        raise
    except Exception as error:
        show_traceback(error)
        loop = str(error).removeprefix("Symlink loop from ")  # of `Path.resolve`, before Python 3.13
        if isinstance(error, RuntimeError) and loop != str(error):
            _fail(f"{loop} is a symbolic link that leads to itself: give the file or folder that is meant", 2)
        hint = "report it with this traceback" if is_debugging() else TRACEBACK
        _fail(f"unexpected error ({type(error).__name__}: {' '.join(str(error).split())[:300]}): {hint}", 1)
    sys.exit(status if isinstance(status, int) else 0)


def _terminate(number: int, frame: object) -> None:
    """Exits in order on SIGTERM, so that temporary files are removed."""
    sys.exit(TERMINATED)


def _signal_again(unraisable: "sys.UnraisableHookArgs") -> None:
    """Repeats a signal received within a finalizer, where Python ignores the exception of its handler.

    A thread repeats it, since here the finalizer has not ended yet.
    """
    error = unraisable.exc_value
    if isinstance(error, KeyboardInterrupt):
        number = signal.SIGINT
    elif isinstance(error, SystemExit) and error.code == TERMINATED:
        number = signal.SIGTERM
    else:
        sys.__unraisablehook__(unraisable)
        return
    again = threading.Timer(AGAIN, _send_to_main_thread, [number])
    again.daemon = True
    again.start()


def _send_to_main_thread(number: int) -> None:
    """Sends a signal, which also ends a wait of the main thread; on Windows it is handled after the wait."""
    if sys.platform == "win32":
        _thread.interrupt_main(number)
    else:
        signal.pthread_kill(threading.main_thread().ident or 0, number)


def _fail(message: str, code: int) -> None:
    message = " ".join(message.split())
    if len(message) > LONGEST:
        half = LONGEST // 2
        message = f"{message[:half]} ... ({len(message) - 2 * half} more characters) ... {message[-half:]}"
    print(f"fcconan: {message}", file=sys.stderr)
    sys.exit(code)
