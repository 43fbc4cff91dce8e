"""Where a term is used: options and promises that use a term with an open meaning say so on the record."""

import re
from collections.abc import Iterable

from protocols.core.names import fold
from protocols.messages.commitments import CommitmentTerms

_LETTER = "[0-9A-Z_a-z\u00aa\u00b5\u00ba\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u1fff]"
"""What continues a word: digits, and the letters and marks of alphabets, without ideographs."""


def words_of(terms: CommitmentTerms) -> str:
    """Return the texts of a commitment in which a term may occur."""
    return f"{terms.id} {terms.antecedent or ''} {terms.consequent}"


def used_terms(terms: Iterable[str], words: str) -> list[str]:
    """Return those of *terms* that occur in *words* as whole words, each once, ignoring case."""
    folded = fold(words)
    return [term for term in dict.fromkeys(terms) if _stands_in(fold(term), folded)]


def _stands_in(term: str, words: str) -> bool:
    return re.search(f"(?<!{_LETTER}){re.escape(term)}(?!{_LETTER})", words) is not None
