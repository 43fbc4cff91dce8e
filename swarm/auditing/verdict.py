"""The result of an audit of one ledger, and what it does not say."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from protocols.room.outcome import Decision
from swarm.auditing.promised import NOT_SHOWN, Shown


@dataclass(frozen=True, slots=True)
class Trace:
    """What an audit keeps for comparing one ledger with another: its running heads, and who signed which of them.

    ``heads[i]`` is the head after i records that hold. ``signed`` maps each member to the highest count whose head here
    it signed; ``denied`` are signatures of other heads: count, head, member. ``exporter`` signed the closing
    checkpoint, if there is one and it is over these records.
    """

    room: str
    heads: Sequence[str]
    signed: Mapping[str, int]
    denied: Sequence[tuple[int, str, str]]
    exporter: str | None


IN_PART: Final = ("failed", "contested")
"""Verdicts on a ledger of which only a part is shown."""


@dataclass(frozen=True, slots=True)
class Exporter:
    """Whose checkpoint closes a ledger: its key, and the member that holds it; None for a key of no member."""

    key: str
    member: str | None

    def plain(self) -> dict[str, Any]:
        """Return it as JSON."""
        return {"key": self.key, "member": self.member}


@dataclass(frozen=True, slots=True)
class AuditResult:
    """What one ledger shows. ``findings`` are the audit's own first, then those of the replay.

    ``contested`` says who signed another log and from which record on, ``stands`` how many records come before that and
    hold. ``signed`` gives each member how many records of this log it has signed. What lies beyond ``covered_to`` rests
    on the word of ``alone``, a member's name if that is known.
    """

    path: str
    verdict: str
    entries: int
    members: dict[str, str]
    pinned: bool
    complete: bool
    covered_to: int
    exporter: Exporter | None
    contested: list[dict[str, Any]]
    stands: int
    signed: dict[str, int]
    alone: str
    promises: dict[str, Shown]
    findings: list[dict[str, Any]]
    summary: dict[str, Any] = field(default_factory=dict)
    trace: Trace | None = field(default=None, repr=False, compare=False)
    """None if the opening itself does not hold."""

    @property
    def outcome(self) -> str | None:
        """How the room ended; None if the opening itself does not hold."""
        outcome: str | None = self.summary.get("outcome")
        return outcome

    @property
    def decision(self) -> Decision | None:
        """What was agreed as recomputed from the ledger, or None."""
        plain = self.summary.get("decision")
        return None if plain is None else Decision.of(plain)

    @property
    def unmet(self) -> list[str]:
        """Commitments that ``--strict`` objects to: violated without remedy, unconfirmed, disputed or still owed."""
        return [name for name, promise in self.promises.items() if promise.unmet]

    @property
    def uncovered(self) -> list[str]:
        """Commitments whose state rests on one member's word alone."""
        return [name for name, promise in self.promises.items() if not promise.covered]

    @property
    def rests_on_one_word(self) -> bool:
        """Whether any promise's state, or that it is still owed at the end of the watch, does so."""
        return any(not (promise.covered and promise.owed_covered) for promise in self.promises.values())

    @property
    def caveats(self) -> dict[str, str]:
        """What is not shown of a commitment's state, for those with anything to say."""
        return {name: NOT_SHOWN if self.promises[name].state == NOT_SHOWN else self._by_word for name in self.uncovered}

    @property
    def _by_word(self) -> str:
        named = self.alone in self.members
        return f"by {self.alone}'s word alone" if named else f"by the word of {self.alone} alone"

    @property
    def says_not(self) -> list[str]:
        """What the verdict does not say."""
        return says_not(
            self.verdict,
            pinned=self.pinned,
            complete=self.complete,
            covered_to=self.covered_to,
            entries=self.entries,
            stands=self.stands,
        )

    def plain(self) -> dict[str, Any]:
        """Return the result as JSON."""
        return {
            "verdict": self.verdict,
            "entries": self.entries,
            "members": self.members,
            "pinned": self.pinned,
            "complete": self.complete,
            "covered_to": self.covered_to,
            "exporter": None if self.exporter is None else self.exporter.plain(),
            "contested": self.contested,
            "stands": self.stands,
            "signed": self.signed,
            "says_not": self.says_not,
            **(self.summary or NOTHING_REPLAYED),
            "commitments": {name: promise.plain() for name, promise in self.promises.items()},
            "findings": self.findings,
        }

    def exit_code(self, *, strict: bool = False) -> int:
        """Return the exit code of the audit."""
        code = {"verified": 0, "failed": 1, "incomplete": 3, "contested": 3}[self.verdict]
        if not strict or code:
            return code
        return 3 if self.rests_on_one_word else 4 if self.unmet else 0


NOTHING_REPLAYED: dict[str, Any] = {
    "room": None,
    "outcome": None,
    "reason": None,
    "decision": None,
    "divergences": [],
    "untested": [],
    "commitments": {},
    "claims": [],
    "patterns": {},
}
"""The summary of a ledger whose opening itself does not hold."""


def says_not(verdict: str, *, pinned: bool, complete: bool, covered_to: int, entries: int, stands: int) -> list[str]:
    """Return what an audit with this *verdict* leaves open, each to be read after "It does not say".

    The fields are those of `swarm.auditing.auditing.AuditResult`.
    """
    open_ends: list[str] = []
    if verdict == "failed":
        open_ends.append("who changed it, exporter, broker or member: only where it contradicts what was signed")
        open_ends.append(f"what the room came to: only what the {_records(entries)} that were read show")
    if verdict == "contested":
        open_ends.append("who lies: one that signed another log, or those that made this one; the file looks the same")
        open_ends.append(f"what came after record {stands}: only what stands before it is shown")
    open_ends.append("that the broker showed everybody this log: hold other members' ledgers of the room against it")
    if verdict != "contested" and not complete:
        open_ends.append("that this is the whole room: records may be missing at its end")
    elif verdict != "contested" and covered_to < entries:
        open_ends.append(f"that nothing else was said after record {covered_to}: no other member has signed beyond it")
    elif verdict != "contested":
        open_ends.append(f"that nothing was said after record {entries}")
    if pinned:
        open_ends.append("that a key's holder is who your roster says: it only holds the ledger to that roster")
    else:
        open_ends.append("who holds these keys: no roster pins them, and a ledger made up as a whole looks the same")
    open_ends.append("that what members said is true, or meant well")
    return open_ends


def _records(count: int) -> str:
    return "one record" if count == 1 else f"{count} records"
