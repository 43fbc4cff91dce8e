"""Where a term is used: options and promises that use a term with an open meaning say so on the record."""

import re
from collections.abc import Iterable

from protocols.messages.commitments import CommitmentTerms


def words_of(terms: CommitmentTerms) -> str:
    """Return the texts of a commitment in which a term may occur."""
    return f"{terms.id} {terms.antecedent or ''} {terms.consequent}"


def used_terms(terms: Iterable[str], words: str) -> list[str]:
    """Return those of *terms* that occur in *words* as whole words, each once, ignoring case."""
    return [t for t in dict.fromkeys(terms) if re.search(rf"(?<!\w){re.escape(t)}(?!\w)", words, re.IGNORECASE)]
