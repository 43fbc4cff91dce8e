"""The application: collects the verbs, and turns what goes wrong into one message and an exit code."""

import sys
from typing import NoReturn

import typer

from swarm.cli import audit, broker, check, decide, export, keys, run, track
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
app.command("run")(run.run_command)
app.command("audit")(audit.audit_command)
app.command("decide")(decide.decide_command)
app.command("track")(track.track_command)
app.command("broker")(broker.broker_command)
app.command("export")(export.export_command)
app.command("check")(check.check_command)
app.command("schema")(check.schema_command)
app.add_typer(keys.app, name="keys")


def main() -> NoReturn:
    """Run the command line. Bad input never shows a traceback; a bug of ours does."""
    try:
        code = app(standalone_mode=False)
        sys.exit(code if isinstance(code, int) else 0)
    except typer.Exit as leave:
        sys.exit(leave.exit_code)
    except UsageError as error:
        error.show()
        sys.exit(EXIT_BAD_INPUT)
    except typer.Abort:
        complain("interrupted")
        sys.exit(EXIT_ABANDONED)
    except KeyboardInterrupt:
        complain("interrupted")
        sys.exit(EXIT_ABANDONED)
    except BadInput as error:
        complain(str(error))
        sys.exit(EXIT_BAD_INPUT)
    except SwarmError as error:
        complain(str(error))
        sys.exit(EXIT_ABANDONED)
    except BrokenPipeError:
        sys.stderr.close()
        sys.exit(EXIT_ABANDONED)


def complain(text: str) -> None:
    """Say what is wrong, on stderr, in one line."""
    print(f"swarm: {visible(text)}", file=sys.stderr)
