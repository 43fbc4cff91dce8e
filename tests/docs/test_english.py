"""Turns of phrase that a native reader must read twice: they stay out of the pages, docstrings and comments.

Each was found in this project, with what to write in its place. A list like this cannot judge style; it keeps what
was mended from coming back.
"""

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = [ROOT / name for name in ("protocols", "agents", "swarm")]
MODULES = sorted(path for package in PACKAGES for path in package.rglob("*.py"))
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]

INSTEAD = {
    r"^That [a-z*`]": "a noun or a sentence: 'A citation: one answer refers to one claim.'",
    r"\b(?:that|which|what) (?:is|are) none\b": "'… is not one'",
    r"\bis none of (?:ours|theirs|mine)\b": "'is not ours'",
    r"\bof no (?:more|further) (?:interest|use)\b": "'is ignored', 'is not needed'",
    r"\b[Aa]ll else\b": "'everything else'",
    r"\b(?:is|are) gone by\b": "say what is trusted, and for how long",
    r"(?<![Tt]here )\bis no (?:record|entry|ledger|opening|member|answer|key)\b": "'is not a …'",
}


def prose_of(path: Path) -> Iterator[str]:
    """Yield the docstrings and comments of a module: strings that stand alone, and what follows a ``#``."""
    text = path.read_text("utf-8")
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            yield node.value.value
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            yield token.string.removeprefix("#").strip()


def found_in(text: str) -> list[str]:
    """Return what stands in *text* and should not, with what to write instead."""
    return [
        f"{match[0]!r}: write {instead}"
        for pattern, instead in INSTEAD.items()
        for match in re.finditer(pattern, " ".join(text.split()))
    ]


def test_docstrings_and_comments_are_idiomatic() -> None:
    """Protects readers of the code: the phrases of the list are in no docstring and no comment."""
    said = [f"{path}: {each}" for path in MODULES for text in prose_of(path) for each in found_in(text)]
    assert said == []


@pytest.mark.parametrize("page", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_pages_are_idiomatic(page: Path) -> None:
    """Protects readers of the pages: the phrases of the list are in no text outside of code blocks and code spans."""
    text = re.sub(r"```.*?```|`[^`\n]*`", "", page.read_text("utf-8"), flags=re.DOTALL)
    assert [each for block in text.split("\n\n") for each in found_in(block)] == []


def test_the_list_finds_what_it_is_for() -> None:
    """The patterns match the sentences for which they were written."""
    for sentence in (
        "That an answer cites a claim.",
        "`BadInput` for a file that is none",
        "A room that is none of ours",
        "What they raise is retrieved, and is of no more interest.",
        "all else goes to stderr",
        "How long a clock that is beyond the room's skew is gone by.",
        "Bytes that pass are an entry; the rest is no record.",
    ):
        assert found_in(sentence), sentence
