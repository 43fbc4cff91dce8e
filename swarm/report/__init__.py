"""The report: a ledger as one page that can be read in five seconds, and checked sentence by sentence.

::

    ledger ─▶ reading (audit, fold, timeline) ─▶ a view of each section, plain data ─▶ pictures (SVG) ─▶ page (Jinja2)

It is one self-contained file: no script, nothing fetched, the same bytes for the same ledger.
"""

from collections.abc import Sequence
from pathlib import Path

from swarm.auditing.auditing import PathLike
from swarm.errors import BadInput
from swarm.files.writing import replace_text
from swarm.report.page import render
from swarm.report.reading import Reading, read

__all__ = ["Reading", "read", "render", "write_report"]


def write_report(
    ledger: PathLike, output: PathLike, roster: PathLike | None = None, receipts: Sequence[PathLike] = ()
) -> Reading:
    """Write the page of *ledger* to *output* and return what it was made of.

    *roster* pins the members' keys, *receipts* are members' checkpoints. Raises `BadInput` for input that cannot be
    read, and for an output that cannot be written or is one of the inputs; a page that stood there before stays then.
    """
    target = Path(output)
    if not target.resolve().parent.is_dir():
        raise BadInput("no such folder to write to", source=str(target))
    given = [Path(path) for path in (ledger, roster, *receipts) if path is not None]
    if any(target.exists() and path.exists() and target.samefile(path) for path in given):
        raise BadInput("that is what is read; it is not written over", source=str(target))
    reading = read(ledger, roster, receipts)
    page = render(reading)
    replace_text(target, page, "page")
    return reading
