"""The application: collects the verbs, and turns errors into one message and an exit code."""

import contextlib
import io
import os
import sys
from typing import NoReturn

import typer

from swarm.cli.output import print_json
from swarm.cli.verbs import application
from swarm.errors import BadInput, SwarmError
from swarm.text import visible

EXIT_BAD_INPUT, EXIT_ABANDONED = 2, 3
# Some versions of Typer bring a click of their own, others use the installed one; this finds the class that it raises.
UsageError: type[typer.BadParameter] = typer.BadParameter.__bases__[0]

app = application()


def main() -> NoReturn:
    """Run the command line. Bad input never shows a traceback; a bug of ours does.

    With ``--json``, stdout contains one object in any case: after an error, ``error`` and the ``exit`` code.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    try:
        code = app(standalone_mode=False)
        sys.stdout.flush()
    except typer.Exit as leave:
        code = leave.exit_code
    except UsageError as error:
        error.show()
        code = _fail(error.format_message(), EXIT_BAD_INPUT, said=True)
    except (typer.Abort, KeyboardInterrupt):
        code = _fail("interrupted", EXIT_ABANDONED)
    except BadInput as error:
        code = _fail(str(error), EXIT_BAD_INPUT)
    except SwarmError as error:
        code = _fail(str(error), EXIT_ABANDONED)
    except BrokenPipeError:
        code = EXIT_ABANDONED
    _leave(code if isinstance(code, int) else 0)


def _leave(code: int) -> NoReturn:
    """Exit with *code*, even if the reader of our output has gone: Python would complain, and change the code."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
    sys.exit(code)


def _fail(text: str, code: int, *, said: bool = False) -> int:
    with contextlib.suppress(OSError):
        if not said:
            complain(text)
        if "--json" in sys.argv[1:]:
            print_json({"error": text, "exit": code})
    return code


def complain(text: str) -> None:
    """Say what is wrong, on stderr, in one line."""
    print(f"swarm: {visible(text)}", file=sys.stderr)
