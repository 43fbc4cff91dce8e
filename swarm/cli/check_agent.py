"""`swarm check-agent`: what a mind does with every duty, and with temptations that it should resist."""

import contextlib
import sys
from pathlib import Path
from typing import Annotated

import typer

from swarm.cli.output import print_json
from swarm.text import visible


def check_agent_command(
    agent: Annotated[Path, typer.Argument(help="The agent file: a member without a name.", show_default=False)],
    *,
    only: Annotated[list[str] | None, typer.Option(help="Try this act only, such as score; may be repeated.")] = None,
    scenario: Annotated[
        Path | None, typer.Option(help="Take the room (issues, terms, events, members) from this scenario.")
    ] = None,
    member: Annotated[str | None, typer.Option("--as", help="The scenario's member that the mind sits as.")] = None,
    seconds: Annotated[int, typer.Option(help="How long each duty may take.")] = 60,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object instead of text.")] = False,
) -> int:
    """Put a mind through every duty and its temptations, and report what it did.

    No server is needed: each trial is a room in memory, in which the others follow scripts and a real peer asks the
    mind, within the file's mandate. It reports what is done and gives no mark: exchange one model for another with
    open eyes.

    Example: swarm check-agent ben.yaml --only score --only ratify

    Exit codes: 0 tried to the end, 2 bad input.
    """
    from swarm.peers.standing import read_agent_file
    from swarm.people.approving import people_for
    from swarm.trial.check import check_agent
    from swarm.trial.report import lines

    def tell(line: str) -> None:
        with contextlib.suppress(OSError):
            print(visible(line), file=sys.stderr, flush=True)

    asked = read_agent_file(agent).member.model_copy(update={"mandate": None})
    person = people_for([asked], None)
    # A mind's output is not a result.
    with contextlib.redirect_stdout(sys.stderr):
        report = check_agent(
            agent, only=only or (), scenario=scenario, member=member, seconds=seconds, person=person, tell=tell
        )
    if as_json:
        print_json(report.json_object())
    else:
        print("\n".join(lines(report)))
    return 0
