"""Why a mind gave no usable answer: a code and fixed words for the record, the detail for the member itself.

Before a reveal nobody else may read what a member was about to answer, and the complaint about an answer often quotes
it. So what a peer says for its mind comes from a table; the text of an error goes to the member's own log.
"""

from typing import Final

from swarm.seat.limits import Breach

LONGEST_REASON = 500

WORDS: Final = {
    "invalid": "its answer is not valid",
    "mandate": "its answer is outside its mandate",
    "not_approved": "its answer was not approved",
    "late": "it gave no answer in time",
    "failed": "it failed",
    "refused": "its model refuses to answer",
    "budget": "nothing is left of its budget",
    "unsayable": "its answer cannot be said",
    "lost": "its own seal does not open",
}
"""What the record says about a member without a usable answer, by code."""


def public(code: str) -> str:
    """Return what the record says of *code*."""
    return f"{code}: {WORDS[code]}"


def sayable(text: str) -> str:
    """Return *text* in the form of an entry: shortened, and without anything that has no UTF-8 form."""
    return text[:LONGEST_REASON].encode("utf-8", "backslashreplace").decode() or "no reason given"


class Excused(Exception):
    """The mind gave no usable answer; the text says why, for the member itself.

    ``because`` is what the record says: with *code* its fixed words, without one the mind's own.
    """

    def __init__(self, detail: str, code: str | None = None) -> None:
        super().__init__(sayable(detail))
        self.code = code
        self.because = str(self) if code is None else public(code)


class Unfit(Excused):
    """The mind's answer is outside the model: `problem` is what the mind is told when it is asked again."""

    def __init__(self, detail: str, problem: str | None = None, code: str = "invalid") -> None:
        super().__init__(detail, code)
        self.problem = problem or str(self)


class Overstepped(Unfit):
    """The mind's answer is outside its mandate. The text names the part of the mandate, and no amount."""

    @classmethod
    def by(cls, found: Breach) -> "Overstepped":
        """Return the error for a breach of the mandate: the mind is told more than others ever are."""
        return cls(found.public, found.private, "mandate")
