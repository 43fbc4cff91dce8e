"""The log of a standing verb: on stderr, in words or as JSON lines."""

import json
import logging
from enum import StrEnum
from typing import Annotated

import typer

from protocols.core.instants import SECOND, Instant, format_instant
from swarm.signed.invitation import is_room_name


class LogForm(StrEnum):
    """How the log is written."""

    TEXT = "text"
    JSON = "json"


LogOption = Annotated[LogForm, typer.Option("--log", help="Write the log on stderr as text or as JSON lines.")]


class _Lines(logging.Formatter):
    """One JSON object per line: ``time``, ``level``, ``text``, with ``room`` if it is about one, and ``trace``."""

    def format(self, record: logging.LogRecord) -> str:
        """Return *record* as its line."""
        line = {
            "time": format_instant(Instant(int(record.created * SECOND))),
            "level": record.levelname.lower(),
            "text": record.getMessage(),
        }
        arguments = record.args if isinstance(record.args, tuple) else ()
        rooms = [argument for argument in arguments if isinstance(argument, str) and is_room_name(argument)]
        if rooms:
            line["room"] = rooms[0]
        if record.exc_info:
            line["trace"] = self.formatException(record.exc_info)
        return json.dumps(line, sort_keys=True)


def log_to_stderr(form: LogForm) -> None:
    """Write everything that this project's modules log from now on to stderr."""
    handler = logging.StreamHandler()
    handler.setFormatter(_Lines() if form is LogForm.JSON else logging.Formatter("%(asctime)s %(message)s"))
    logger = logging.getLogger("swarm")
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
