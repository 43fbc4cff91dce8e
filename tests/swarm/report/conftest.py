"""Pages of a few ledgers, and a real browser to look at them with."""

import shutil
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from swarm.report import Reading, write_report
from tests.support import report_rooms
from tests.support.lacking import IN_CI

LEDGERS = Path(__file__).parents[2] / "ledgers"
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
FLAGS = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
]  # fmt: skip
_left_out: list[str] = []


@dataclass(frozen=True)
class Page:
    """A page on disk, its text, and what it was made of."""

    path: Path
    ledger: Path
    text: str
    reading: Reading

    @property
    def url(self) -> str:
        return self.path.as_uri()

    @property
    def plain(self) -> dict[str, Any]:
        """The audit as JSON."""
        return self.reading.audit.plain()


@pytest.fixture(scope="session")
def page_of(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Page]:
    """Return the page of a ledger, by its name: one of tests/ledgers (``unpinned`` without a roster), or one played."""
    made: dict[str, Page] = {}
    folder = tmp_path_factory.mktemp("pages")

    def page(name: str) -> Page:
        if name not in made:
            roster: Path | None
            if hasattr(report_rooms, name):
                ledger, roster = getattr(report_rooms, name)(folder)
            else:
                ledger = LEDGERS / f"{name}.jsonl"
                roster = None if name == "unpinned" else LEDGERS / "roster.yaml"
            target = folder / f"{name}.html"
            reading = write_report(ledger, target, roster)
            made[name] = Page(target, ledger, target.read_text("utf-8"), reading)
        return made[name]

    return page


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Yield a browser's context with a profile of its own; it ends with the module, and with it its event loop."""
    from playwright.sync_api import sync_playwright

    assert CHROMIUM is not None, "there is no chromium here"
    with tempfile.TemporaryDirectory() as profile, sync_playwright() as play:
        context = play.chromium.launch_persistent_context(
            profile, executable_path=CHROMIUM, headless=True, args=FLAGS, accept_downloads=True
        )
        yield context
        context.close()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave out what needs a browser where there is none; in CI such a test fails."""
    if CHROMIUM is not None or IN_CI:
        return
    for item in items:
        if item.path.parent == Path(__file__).parent and "browser" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.skip(reason="there is no chromium here"))
            _left_out.append(item.nodeid)


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Say which tests were left out."""
    if _left_out:
        terminalreporter.write_line(f"left out, since there is no chromium here ({len(_left_out)}):")
        for nodeid in _left_out:
            terminalreporter.write_line(f"  {nodeid}")
