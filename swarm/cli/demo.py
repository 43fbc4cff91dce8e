"""`swarm demo`: the renewal, from any folder; its ledger, roster and report stay."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.resources import as_file
from io import StringIO
from pathlib import Path
from queue import SimpleQueue
from typing import Annotated, Any

import typer
from rich.console import Console

from swarm.cli.output import console
from swarm.cli.run import Shown
from swarm.cli.view import RunView

LONGEST_PACE_S = 60.0
NAMES = ("renewal.jsonl", "renewal.roster.yaml", "renewal.html")


def demo_command(
    pace: Annotated[
        float, typer.Option(min=0, max=LONGEST_PACE_S, help="Seconds between the things shown, to speak over them.")
    ] = 0,
    directory: Annotated[
        Path, typer.Option("--dir", help="Write ledger, roster and report into this folder; it is made if need be.")
    ] = Path("swarm-demo"),
) -> int:
    """Watch four people of one vendor settle a contract renewal, over a real NATS server of their own.

    Needs no file and no network. Ends with a report to open in a browser.

    Example: swarm demo --pace 2

    Exit codes: 0 agreed, 1 ended without agreement, 2 bad input, 3 abandoned.
    """
    from swarm.demo import scenario
    from swarm.report import write_report
    from swarm.running.running import run

    ledger, roster, report = (directory / name for name in NAMES)
    again = prepare(directory)
    shown = Shown()
    with paced(console(), pace) as out, as_file(scenario()) as path:
        progress = Console(file=StringIO()) if pace else console(stderr=True)
        view = RunView(out, progress, beat=out.beat)
        result = run(path, ledger=ledger, roster=roster, watch=lambda fold: shown.show(lambda: view.show(fold)))
        if result.outcome == "abandoned":
            out.hurry()
        if result.ledger.path is None:
            shown.show(lambda: view.finish(result, roster))
        else:
            write_report(ledger, report, roster=roster)
            shown.show(lambda: view.finish(result, roster))
            shown.show(lambda: told(out, ledger, report, again))
    return result.exit_code


def told(out: Console, ledger: Path, report: Path, again: bool) -> None:
    """Say where the report is, how to ask for reasons, and whether an earlier demo was overwritten."""
    out.print(f"             Ask it why:         swarm explain {ledger}")
    out.print(f"REPORT       {report}, to open in a browser.", style="bold")
    if again:
        out.print(f"             An earlier demo's files in {ledger.parent} were written over.", style="dim")


def prepare(directory: Path) -> bool:
    """Make the folder, and return whether it contains files of an earlier demo, which this one will overwrite.

    Raises `BadInput` if the folder cannot be made, or contains a file with one of these names that is not a demo's.
    """
    from swarm.demo import SLUG
    from swarm.errors import BadInput
    from swarm.ledger.file import ledger_room

    there = [path for name in NAMES if (path := directory / name).exists()]
    ledger = directory / NAMES[0]
    ours = ledger.is_file() and (ledger_room(ledger) or "").startswith(f"{SLUG}-")
    if there and not ours:
        raise BadInput(
            "is there already, and no earlier demo made it; --dir names another folder", source=str(there[0])
        )
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise BadInput(f"the folder cannot be made: {error.strerror}", source=str(directory)) from None
    return bool(there)


class PacedConsole(Console):
    """Prints the output of a run at its own pace: in a thread, so that nobody in the room waits for it.

    Without a pace it prints at once.
    """

    def __init__(self, to: Console, pace_s: float) -> None:
        """Print on *to*, with *pace_s* seconds at each `beat`."""
        super().__init__(file=to.file)
        self._to = to
        self._pace_s = pace_s
        self._waiting: SimpleQueue[Callable[[], object] | None] = SimpleQueue()
        self._hurried = threading.Event()
        self._thread = threading.Thread(target=self._work, daemon=True) if pace_s else None
        if self._thread is not None:
            self._thread.start()

    def print(self, *objects: Any, **how: Any) -> None:
        """Print in turn."""
        if self._thread is None:
            self._to.print(*objects, **how)
        else:
            self._waiting.put(lambda: self._to.print(*objects, **how))

    def beat(self) -> None:
        """Let one beat pass before the next output."""
        if self._thread is not None:
            self._waiting.put(lambda: self._hurried.wait(self._pace_s))

    def hurry(self) -> None:
        """Print the rest without pauses."""
        self._hurried.set()

    def close(self) -> None:
        """Return once everything is printed."""
        if self._thread is not None:
            self._waiting.put(None)
            self._thread.join()

    def _work(self) -> None:
        shown = Shown()
        while (act := self._waiting.get()) is not None:
            shown.show(act)


@contextmanager
def paced(out: Console, pace_s: float) -> Iterator[PacedConsole]:
    """Yield a console that prints on *out* at this pace, and wait until everything is printed.

    After an error, it prints the rest without pauses.
    """
    slow = PacedConsole(out, pace_s)
    try:
        yield slow
        slow.close()
    finally:
        slow.hurry()
        slow.close()
