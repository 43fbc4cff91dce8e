"""Why a mind gave no usable answer."""

from swarm.seat.mandate import Breach

LONGEST_REASON = 500


class Excused(Exception):
    """The mind gave no usable answer; the text says why, for the record."""

    def __init__(self, because: str) -> None:
        """Keep *because* as it can stand in an entry: cut, and nothing in it that has no UTF-8 form."""
        text = because[:LONGEST_REASON].encode("utf-8", "backslashreplace").decode()
        super().__init__(text or "no reason given")


class Unfit(Excused):
    """The mind has answered, and its answer is outside the model: `problem` is what it is told when asked again."""

    def __init__(self, because: str, problem: str | None = None) -> None:
        """Keep *because* for the record, and *problem*, which defaults to the same, for the mind."""
        super().__init__(because)
        self.problem = problem or str(self)


class Overstepped(Unfit):
    """The mind's answer is outside its mandate."""

    @classmethod
    def by(cls, found: Breach) -> "Overstepped":
        """Return the error for a breach of the mandate: the record does not learn what the mind is told."""
        return cls(found.public, found.private)
