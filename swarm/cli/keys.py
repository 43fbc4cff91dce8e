"""`swarm keys`: make a key, show its public half."""

from pathlib import Path
from typing import Annotated

import typer

from swarm.signed.identity import Identity

app = typer.Typer(help="Make a key, or show the public half of one.", no_args_is_help=True, rich_markup_mode=None)


@app.command("new")
def new_command(file: Annotated[Path, typer.Argument(help="Where to keep the key (mode 0600).")]) -> int:
    """Make a key and print its public half. An existing file is never overwritten."""
    identity = Identity.new()
    identity.save(file)
    print(identity.public)
    return 0


@app.command("show")
def show_command(file: Annotated[Path, typer.Argument(help="A key file.")]) -> int:
    """Print the public half of a key."""
    print(Identity.load(file).public)
    return 0
