"""Why a mind gave no usable answer."""

from swarm.seat.limits import Breach

LONGEST_REASON = 500


class Excused(Exception):
    """The mind gave no usable answer; the text says why, for the record."""

    def __init__(self, because: str) -> None:
        """Keep *because* in the form of an entry: shortened, and without anything that has no UTF-8 form."""
        text = because[:LONGEST_REASON].encode("utf-8", "backslashreplace").decode()
        super().__init__(text or "no reason given")


class Unfit(Excused):
    """The mind's answer is outside the model: `problem` is what the mind is told when it is asked again."""

    def __init__(self, because: str, problem: str | None = None) -> None:
        """Keep *because* for the record, and *problem* (default: the same) for the mind."""
        super().__init__(because)
        self.problem = problem or str(self)


class Overstepped(Unfit):
    """The mind's answer is outside its mandate."""

    @classmethod
    def by(cls, found: Breach) -> "Overstepped":
        """Return the error for a breach of the mandate: the mind is told more than the record."""
        return cls(found.public, found.private)
