"""The index of the documentation leads to every page, and the decisions are listed by their titles."""

import re
from pathlib import Path

import pytest

DOCS = Path(__file__).resolve().parents[2] / "docs"
PAGES = sorted(path for path in DOCS.rglob("*.md") if path.name != "README.md" or path.parent.name == "recipes")
DECISIONS = sorted((DOCS / "adr").glob("0*.md"))


def links_of(page: Path) -> set[Path]:
    """Return the pages that *page* links to."""
    targets = re.findall(r"\]\(([^)#:]+\.md)(?:#[^)]*)?\)", page.read_text("utf-8"))
    return {(page.parent / target).resolve() for target in targets}


@pytest.mark.parametrize("page", PAGES, ids=lambda path: str(path.relative_to(DOCS)))
def test_the_index_links_every_page(page: Path) -> None:
    """Protects readers who start at the index: docs/README.md, or its list of decisions, links the page."""
    assert page in links_of(DOCS / "README.md") | links_of(DOCS / "adr" / "README.md")


def test_the_readme_links_the_index_and_the_glossary() -> None:
    """Protects newcomers: the first page leads to the index and explains its words."""
    assert {DOCS / "README.md", DOCS / "glossary.md"} <= links_of(DOCS.parent / "README.md")


@pytest.mark.parametrize("page", DECISIONS, ids=lambda path: path.stem)
def test_each_decision_is_listed_by_its_title(page: Path) -> None:
    """Protects the list of decisions: a new or renamed one has its line. Add the line that the failure shows."""
    number, title = re.fullmatch(r"# (\d+)\. (.+)", page.read_text("utf-8").splitlines()[0]).groups()  # type: ignore[union-attr]
    assert int(number) == int(page.name[:4])
    assert f"{number}. [{title}]({page.name})" in (DOCS / "adr" / "README.md").read_text("utf-8").splitlines()


def test_the_glossary_explains_the_words_of_the_first_pages() -> None:
    """Protects newcomers: the words that the pages use without explanation have an entry."""
    explained = set(re.findall(r"\*\*([a-z]+)[^*]*\*\*", (DOCS / "glossary.md").read_text("utf-8")))
    wanted = "agent mind peer member seat room step duty ledger roster reserve bar desk entry log mandate seal"
    assert set(wanted.split()) - explained == set()
