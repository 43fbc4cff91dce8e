"""Pictures of the pages of all examples, to be looked at: python tests/support/screenshots.py FOLDER

Each example that needs no person and no model is run in memory, its ledger reported, and the page taken whole in light
and dark, wide and narrow, and as printed. The ledgers of tests/ledgers come too: those are what does not verify.
"""

import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from playwright.sync_api import sync_playwright

from swarm.report import write_report
from swarm.running.running import run

ROOT = Path(__file__).resolve().parents[2]
LEDGERS = ROOT / "tests" / "ledgers"
NEEDS_SOMEBODY = ("agent: human", "agent: llm")
SHOTS = [
    ("wide", 1440, "light", "screen"),
    ("wide-dark", 1440, "dark", "screen"),
    ("narrow", 360, "light", "screen"),
    ("narrow-dark", 360, "dark", "screen"),
    ("print", 760, "light", "print"),
]
FLAGS = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
]  # fmt: skip


def pages(folder: Path) -> Iterator[Path]:
    """Write a page for each example and each frozen ledger; yield their paths."""
    for scenario in sorted((ROOT / "examples").glob("*.yaml")):
        if any(word in scenario.read_text("utf-8") for word in NEEDS_SOMEBODY):
            print(f"{scenario.name}: left out, it asks a person or a model")
            continue
        ledger, roster = folder / f"{scenario.stem}.jsonl", folder / f"{scenario.stem}.roster.yaml"
        run(scenario, memory=True, ledger=ledger, roster=roster)
        yield _page(folder, ledger, roster)
    for ledger in sorted(LEDGERS.glob("*.jsonl")):
        roster = None if ledger.stem == "unpinned" else LEDGERS / "roster.yaml"
        yield _page(folder, ledger, roster)


def _page(folder: Path, ledger: Path, roster: Path | None) -> Path:
    page = folder / f"{ledger.stem}.html"
    write_report(ledger, page, roster)
    return page


def main(folder: Path) -> None:
    """Write pages and pictures into *folder*."""
    folder.mkdir(parents=True, exist_ok=True)
    chromium = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if chromium is None:
        sys.exit("there is no chromium here")
    made = list(pages(folder))
    with tempfile.TemporaryDirectory() as profile, sync_playwright() as play:
        browser = play.chromium.launch_persistent_context(profile, executable_path=chromium, headless=True, args=FLAGS)
        for page in made:
            for name, width, scheme, media in SHOTS:
                tab = browser.new_page()
                tab.set_viewport_size({"width": width, "height": 900})
                tab.emulate_media(color_scheme=scheme, media=media)
                tab.goto(page.resolve().as_uri())
                tab.screenshot(path=folder / f"{page.stem}-{name}.png", full_page=True)
                tab.close()
            print(f"{page.stem}: {len(SHOTS)} pictures")
        browser.close()


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(Path(sys.argv[1]))
