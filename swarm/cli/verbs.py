"""The verbs and their modules, so that a call loads the module of its own verb and no other."""

from importlib import import_module
from typing import Any

import typer
from typer.core import TyperGroup
from typer.main import get_command, get_group

VERBS = {
    "demo": (
        "demo:demo_command",
        "Watch four people of one vendor settle a contract renewal, over a real NATS server of their own.",
    ),
    "run": ("run:run_command", "Open a room, start one process a member, and see it through."),
    "audit": (
        "audit:audit_command",
        "Check a ledger against its signatures and recompute everything it claims.",
    ),
    "decide": ("decide:decide_command", "Say which option a table of scores selects, and why."),
    "track": ("track:track_command", "Say what became of each promise in a history."),
    "referee": (
        "referee:referee_command",
        "Say who may act, what each plan came to, and what was refused, in a history of deeds.",
    ),
    "explain": (
        "explain:explain_command",
        "Say why: this option, why not another, what would have changed it, what became of a promise.",
    ),
    "report": (
        "report:report_command",
        "Write a ledger as one self-contained page: what was decided and why, what was promised, and how to check it.",
    ),
    "broker": (
        "broker:broker_command",
        "Run the embedded NATS server on 127.0.0.1 until interrupted; or prepare another one.",
    ),
    "export": (
        "export:export_command",
        "Write the ledger of a room, closed by a checkpoint of the exporter: a member's key, or a new one.",
    ),
    "open": (
        "open:open_command",
        "Open a room for peers that run elsewhere (swarm peer), and leave every member an invitation to it.",
    ),
    "peer": ("peer:peer_command", "Stand by, and join the rooms that accepted openers invite this key to."),
    "approve": (
        "approve:approve_command",
        "List what waits for approval in DIR, or answer it; at a terminal, each is asked for.",
    ),
    "mcp": (
        "mcp:mcp_command",
        "Take part as an MCP client: its model answers, this process signs. Stdin and stdout speak the protocol.",
    ),
    "say": ("say:say_command", "Say one thing in a room as a member."),
    "receipt": (
        "say:receipt_command",
        "Sign how far a room's log goes now, and its head there; an audit takes it with --receipt.",
    ),
    "status": (
        "status:status_command",
        "Say how a room stands: its step, who owes what since when, signs of life, clocks, promises, findings.",
    ),
    "watch": (
        "status:watch_command",
        "Follow a room live until it is over: one line for each change, and the hooks that you name.",
    ),
    "rooms": (
        "status:rooms_command",
        "List the rooms that a key has spoken in or is invited to, and what it owes there.",
    ),
    "doctor": (
        "status:doctor_command",
        "Look whether a peer can work from here, and say what to do where it cannot.",
    ),
    "check": (
        "check:check_command",
        "Check one of our files; the first problem is named with its place and what is valid.",
    ),
    "check-agent": (
        "check_agent:check_agent_command",
        "Put a mind through every duty and its temptations, and report what it did.",
    ),
    "schema": ("check:schema_command", "Print the JSON Schema of one of our files."),
    "keys": ("keys:app", "Make a key, or show the public half of one."),
}
"""Each verb's place under `swarm.cli`, and the first paragraph of its help; in the order in which help lists them."""


class Verbs(TyperGroup):
    """The group of all verbs: `VERBS` describes them until one is called, then the verb itself does."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return the name, the loaded verb and the remaining arguments; an unknown name ends as usual."""
        name, listed, rest = super().resolve_command(ctx, args)
        return name, None if listed is None else load(str(listed.name)), rest


def load(verb: str) -> Any:
    """Return *verb* as a command, with its module imported."""
    module, _, name = VERBS[verb][0].partition(":")
    found = getattr(import_module(f"swarm.cli.{module}"), name)
    if isinstance(found, typer.Typer):
        group = get_group(found)
        group.name = verb
        return group
    alone = typer.Typer(add_completion=False, rich_markup_mode=None, context_settings=CONTEXT)
    alone.command(verb)(found)
    return get_command(alone)


CONTEXT = {"help_option_names": ["-h", "--help"]}


def application() -> typer.Typer:
    """Return the application with every verb listed and none loaded."""
    app = typer.Typer(
        name="swarm",
        help="Independent agents settle a question as peers, and can be held to what they said.",
        cls=Verbs,
        no_args_is_help=True,
        add_completion=True,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
        context_settings=CONTEXT,
    )
    for verb, (_, summary) in VERBS.items():
        app.command(verb, help=summary)(_listed)
    return app


def _listed() -> None:
    """Stand for a verb in the list of all; `Verbs` puts the verb itself in its place before anything runs."""
