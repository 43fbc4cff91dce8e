"""The fold: records in, room out. Every peer and every auditor runs this and nothing else.

The opening fixes the roster, and with it whose records belong to the room. The chain checks each record; a record that
passes reaches the rules as an event with the log's time.
"""

from dataclasses import dataclass, field

from protocols.core.event import Event
from protocols.core.findings import Finding
from protocols.core.instants import SECOND, Instant, format_instant
from protocols.messages.bodies import parse_body
from protocols.messages.commitments import DelegateCommitment, ReportEvent
from protocols.messages.room import RoomOpen, room_name
from protocols.room.room import Room
from protocols.stage.stage import Refused
from swarm.errors import BadEntry
from swarm.ledger.chain import Chain, Link, Record
from swarm.log.port import Stored
from swarm.signed.entry import brief, is_signed, parse_entry
from swarm.signed.identity import NO_KEY, is_public_key

LONGEST_REASON = 400
"""Characters of a model's error about a body, because the error may quote what was sent."""


@dataclass(slots=True)
class Fold:
    """One room, folded up to ``chain.position``. ``names`` maps each key to its member's name.

    ``latest`` holds each author's last record that is a valid entry. ``reports`` holds the position and store time of
    each report, by its entry's id.
    """

    chain: Chain
    room: Room
    names: dict[str, str]
    last: Record
    records: list[Record] = field(default_factory=list)
    keep: bool = True
    latest: dict[str, Record] = field(default_factory=dict)
    reports: dict[str, tuple[int, Instant]] = field(default_factory=dict)
    offers: dict[str, tuple[int, Instant]] = field(default_factory=dict)

    @classmethod
    def open(cls, stored: Stored, room: str, *, keep: bool = True, keeps_moves: bool = False) -> "Fold":
        """Open *room* from its first record; raises `BadEntry` if that is not a valid opening of this very room.

        With *keep*, the records are kept for an export; otherwise only the state and the heads are. *keeps_moves* is
        passed to `Room.open`.
        """
        opening = read_opening(stored, room)
        keys = [entry.key for entry in opening.roster]
        chain = Chain.of(room, keys, opening.rules.skew_seconds)
        link = chain.add(stored)
        if link is None or not link.counts or link.code is not None:
            raise BadEntry(
                link.code or "bad_opening" if link else "bad_opening", link.why if link else "not of a member"
            )
        entry = link.record.entry
        assert entry is not None
        names = {member.key: member.name for member in opening.roster}
        event = Event(1, link.at, names[stored.author], entry.id, entry.seen_count, opening, entry.cost)
        try:
            state = Room.open(event, stored.author, keeps_moves=keeps_moves)
        except Refused as refused:
            raise BadEntry(refused.code, refused.why) from None
        kept, latest = [link.record] if keep else [], {link.record.author: link.record}
        return cls(chain, state, names, link.record, kept, keep, latest)

    def add(self, stored: Stored) -> list[Finding] | None:
        """Fold the next record and return what is noteworthy; None if it is not of this room."""
        link = self.chain.add(stored)
        if link is None:
            return None
        self.last = link.record
        if self.keep:
            self.records.append(link.record)
        if link.record.entry is not None:
            self.latest[link.record.author] = link.record
        name = self.names[link.record.author]
        if not link.counts:
            self.room.position = link.record.position
            return self._note(link, name)
        entry = link.record.entry
        assert entry is not None
        if link.code is None:
            try:
                body = parse_body(entry.body)
            except ValueError as error:
                why = f"{brief(entry.kind)}: {brief(str(error), LONGEST_REASON)}"
                link = Link(link.record, link.at, True, "bad_body", why)
            else:
                position = link.record.position
                if isinstance(body, ReportEvent):
                    self.reports[entry.id] = position, link.record.stored
                elif isinstance(body, DelegateCommitment):
                    self.offers[entry.id] = position, link.record.stored
                return self.room.apply(Event(position, link.at, name, entry.id, entry.seen_count, body, entry.cost))
        self.room.position = link.record.position
        before = len(self.room.findings)
        self.room.pass_time(link.at)
        self._note(link, name)
        return self.room.findings[before:]

    def _note(self, link: Link, name: str) -> list[Finding]:
        finding = Finding(link.code or "", link.record.position, name, link.why)
        self.room.findings.append(finding)
        return [finding]


def read_opening(stored: Stored, room: str) -> RoomOpen:
    """Return the opening in *stored*; raises `BadEntry` if it does not open *room*."""
    entry = parse_entry(stored.payload)
    if entry.author != stored.author or entry.room != room:
        raise BadEntry("bad_opening", f"the first record is not an opening of {room} by its author")
    if not is_signed(entry):
        raise BadEntry("bad_signature", "the signature under the opening is not its author's")
    try:
        body = parse_body(entry.body)
    except ValueError as error:
        raise BadEntry("bad_opening", brief(str(error), LONGEST_REASON)) from None
    if not isinstance(body, RoomOpen):
        raise BadEntry("bad_opening", f"a room begins with room.open, not with {brief(entry.kind)}")
    if body.plain() != entry.body:
        raise BadEntry("bad_opening", "an opening says every field, as its model writes it: its digest names the room")
    if room_name(body.slug, entry.author, entry.body) != room:
        raise BadEntry("bad_opening", f"the name {room} is not that of this opening")
    if entry.author not in {member.key for member in body.roster}:
        raise BadEntry("bad_opening", "the author of an opening is one of its members")
    for member in body.roster:
        if not is_public_key(member.key):
            raise BadEntry("bad_key", f"roster: the key of {member.name} is {NO_KEY}")
    if entry.n != 1 or entry.prev is not None or entry.seen_count != 0:
        raise BadEntry("bad_opening", "an opening is its author's first entry and has seen nothing")
    skew = abs(stored.stored - entry.sent)
    if skew > body.rules.skew_seconds * SECOND:
        raise BadEntry(
            "clock_disputed",
            f"stored {format_instant(stored.stored)}, but its author's clock said {format_instant(entry.sent)}",
        )
    return body
