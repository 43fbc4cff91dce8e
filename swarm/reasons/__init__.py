"""Why a room came to its result, in sentences that each name the entries they rest on.

::

    fold ─▶ counterfactual (the table, recomputed) ─▶ choosing, changing, promised ─▶ Reason(text, positions)

The terminal (`swarm explain LEDGER`) and the report share one wording. Everything is read from a `Fold` (or its room),
and nothing else; what would have changed the choice is recomputed, never guessed.
"""

from swarm.reasons.changing import would_have_changed
from swarm.reasons.choosing import of_member, reasons, why_not
from swarm.reasons.promised import of_commitment
from swarm.reasons.words import Reason, find_options

__all__ = ["Reason", "find_options", "of_commitment", "of_member", "reasons", "why_not", "would_have_changed"]
