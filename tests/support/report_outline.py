"""What a page is made of, to be compared with what it was: sections, headings, tables, pictures, marks.

python -m tests.support.report_outline    writes the outlines anew, when the page was changed on purpose
"""

import json
import re
import tempfile
from collections import Counter
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
KEPT = ROOT / "tests" / "swarm" / "report" / "outlines.json"
MARKS = ("dot", "objection", "reserve", "rise", "bar", "window", "span", "event", "remedy", "now", "seal-mark",
         "reveal-mark", "late", "range", "agreed-line")  # fmt: skip


class _Outline(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.parts: list[dict[str, Any]] = [{"section": "verdict", "headings": [], "count": Counter()}]
        self._open = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        if tag == "section":
            self.parts.append({"section": given["id"], "headings": [], "count": Counter()})
        here = self.parts[-1]
        if tag in ("h1", "h2", "h3"):
            self._open = tag
            here["headings"].append("")
        elif tag in ("table", "tr", "figure", "details", "dt"):
            here["count"][tag] += 1
        elif tag == "svg" and given.get("role") == "img":
            here["count"]["picture"] += 1
        for mark in MARKS:
            if mark in given.get("class", "").split() and tag in ("path", "line", "rect", "circle"):
                here["count"][mark] += 1

    def handle_endtag(self, tag: str) -> None:
        if tag == self._open:
            self._open = ""

    def handle_data(self, data: str) -> None:
        if self._open:
            self.parts[-1]["headings"][-1] += data


def outline(text: str) -> list[dict[str, Any]]:
    """Return the outline of a page."""
    found = _Outline()
    found.feed(text)
    return [
        {
            "section": part["section"],
            "headings": [re.sub(r"\s+", " ", heading).strip() for heading in part["headings"]],
            "count": dict(sorted(part["count"].items())),
        }
        for part in found.parts
    ]


OUTLINES: dict[str, Any] = json.loads(KEPT.read_text("utf-8")) if KEPT.exists() else {}


def _write() -> None:
    from swarm.report import write_report
    from tests.support import report_rooms

    ledgers = ROOT / "tests" / "ledgers"
    with tempfile.TemporaryDirectory() as folder:
        ledger, roster = report_rooms.story(Path(folder))
        given = {"story": (ledger, roster)}
        given |= {name: (ledgers / f"{name}.jsonl", ledgers / "roster.yaml") for name in ("good", "forked", "tampered")}
        found = {}
        for name, (path, pins) in given.items():
            page = Path(folder, "page.html")
            write_report(path, page, pins)
            found[name] = outline(page.read_text("utf-8"))
    KEPT.write_text(json.dumps(found, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    _write()
