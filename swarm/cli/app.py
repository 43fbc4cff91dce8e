"""The application: collects the verbs, and turns what goes wrong into one message and an exit code."""

import contextlib
import io
import os
import sys
from typing import NoReturn

import typer

from swarm.cli import audit, broker, check, decide, demo, explain, export, keys, mcp, peer, run, say, status, track
from swarm.cli.approve import approve_command
from swarm.cli.check_agent import check_agent_command
from swarm.cli.open import open_command
from swarm.cli.output import print_json
from swarm.cli.report import report_command
from swarm.errors import BadInput, SwarmError
from swarm.text import visible

EXIT_BAD_INPUT, EXIT_ABANDONED = 2, 3
# Typer brings a click of its own or uses the installed one, as its version has it; this finds the one it raises.
UsageError: type[typer.BadParameter] = typer.BadParameter.__bases__[0]

app = typer.Typer(
    name="swarm",
    help="Independent agents settle a question as peers, and can be held to what they said.",
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("demo")(demo.demo_command)
app.command("run")(run.run_command)
app.command("audit")(audit.audit_command)
app.command("decide")(decide.decide_command)
app.command("track")(track.track_command)
app.command("explain")(explain.explain_command)
app.command("report")(report_command)
app.command("broker")(broker.broker_command)
app.command("export")(export.export_command)
app.command("open")(open_command)
app.command("peer")(peer.peer_command)
app.command("approve")(approve_command)
app.command("mcp")(mcp.mcp_command)
app.command("say")(say.say_command)
app.command("receipt")(say.receipt_command)
app.command("status")(status.status_command)
app.command("watch")(status.watch_command)
app.command("rooms")(status.rooms_command)
app.command("doctor")(status.doctor_command)
app.command("check")(check.check_command)
app.command("check-agent")(check_agent_command)
app.command("schema")(check.schema_command)
app.add_typer(keys.app, name="keys")


def main() -> NoReturn:
    """Run the command line. Bad input never shows a traceback; a bug of ours does.

    With ``--json`` stdout holds one object whatever happens: of what went wrong, ``error`` and the ``exit`` code.
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
    """Exit with *code*, even if whoever reads our output has gone: Python would complain, and change the code."""
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
