"""The part ``on`` of a member's file: which commands are run for which events."""

import shutil
from pathlib import Path
from typing import Annotated, Self

from pydantic import Field, StringConstraints

from protocols.core.message import Message
from swarm.errors import BadInput

Argument = Annotated[str, StringConstraints(min_length=1, pattern=r"^[^\x00]+$")]


Command = Annotated[list[Argument], Field(min_length=1)]


class On(Message):
    """The commands to run: when an answer is awaited, when a promise breaks or hangs, and when a room ends."""

    waiting: Command | None = None
    violated: Command | None = None
    ended: Command | None = None

    def beside(self, folder: Path) -> Self:
        """Return the same with programs such as ``./remind.sh`` resolved in *folder*.

        Raise `BadInput` if one is missing.
        """
        found = {}
        for kind, command in self:
            if command is not None:
                program = str(folder / command[0]) if "/" in command[0] else command[0]
                if shutil.which(program) is None:
                    raise BadInput(f"on.{kind}: no program {command[0]!r} that can be run")
                found[kind] = [program, *command[1:]]
        return self.model_copy(update=found)
