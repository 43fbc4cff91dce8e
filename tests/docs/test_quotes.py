"""Comments that quote a clause of the protocol or the tracker quote what stands on the page."""

import io
import re
import tokenize
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGES = [
    ROOT / "docs" / "tracker.md",
    ROOT / "docs" / "evidence.md",
    *sorted((ROOT / "docs" / "protocol").glob("*.md")),
]
CODE = [*sorted((ROOT / "protocols").rglob("*.py")), ROOT / "swarm" / "ledger" / "chain.py"]
SHORTEST = 20
"""Characters of a quotation; shorter ones are headings and words."""


def comments(path: Path) -> list[str]:
    """Return the comments of a file; lines that follow each other are one comment."""
    found: dict[int, str] = {}
    for token in tokenize.generate_tokens(io.StringIO(path.read_text("utf-8")).readline):
        if token.type == tokenize.COMMENT:
            line = token.start[0]
            before = found.pop(line - 1, "")
            found[line] = f"{before} {token.string.removeprefix('#').strip()}".strip()
    return list(found.values())


def test_every_quotation_stands_on_a_page() -> None:
    """Protects readers of the code: a clause that changes on its page is changed where the code rests on it."""
    pages = " ".join(" ".join(page.read_text("utf-8").split()) for page in PAGES)
    quoted = [
        (path.name, quotation)
        for path in CODE
        for comment in comments(path)
        for quotation in re.findall(r'"([^"]+)"', comment)
        if len(quotation) >= SHORTEST
    ]
    assert len(quoted) > 10
    assert [each for each in quoted if each[1].rstrip(".") not in pages] == []


def test_every_clause_that_is_named_exists() -> None:
    """Protects readers of the code: the clauses of the tracker that comments and docstrings name are numbered there."""
    numbers = {int(number) for number in re.findall(r"^(\d+)\. ", PAGES[0].read_text("utf-8"), re.MULTILINE)}
    named = {
        int(number)
        for path in (ROOT / "protocols" / "commitments").glob("*.py")
        for clause in re.findall(r"[Cc]lauses? (\d+(?: and \d+)*)", path.read_text("utf-8"))
        for number in re.findall(r"\d+", clause)
    }
    assert len(named) > 10 and named <= numbers
