"""A room keeps the moves of its promises where it is opened so, and is otherwise the same room."""

from pathlib import Path

import pytest

from protocols.commitments.acts import Act, act_of
from protocols.commitments.chronicle import Chronicle, Passage
from protocols.commitments.tracker import Tracker
from protocols.core.instants import HOUR, parse_instant
from protocols.core.message import Message
from protocols.messages.commitments import CommitmentTerms
from protocols.messages.room import Leave, Tick
from swarm.ledger.file import LedgerReader
from swarm.ledger.fold import Fold
from swarm.log.port import Stored

LEDGERS = sorted((Path(__file__).resolve().parents[2] / "ledgers").rglob("*.jsonl"))
NOON = parse_instant("2030-01-01T12:00:00Z")
SOLD = CommitmentTerms.read(
    {"id": "goods", "debtor": "ann", "creditor": "bob", "if": "paid", "then": "sent within 1 hour of paid"}
)


def folded(ledger: Path, *, keeps_moves: bool) -> Fold:
    reader = LedgerReader(ledger)
    stored = [Stored(r.position, r.stored, r.author, r.payload) for r in reader]
    fold = Fold.open(stored[0], reader.room, keep=False, keeps_moves=keeps_moves)
    for record in stored[1:]:
        fold.add(record)
    return fold


@pytest.mark.parametrize("ledger", LEDGERS, ids=lambda path: path.stem)
def test_to_keep_moves_changes_nothing_else(ledger: Path) -> None:
    """Protects the verdict: a view that asks what happened in between folds the very room that everybody folds."""
    plain, kept = folded(ledger, keeps_moves=False).room, folded(ledger, keeps_moves=True).room
    assert plain.result == kept.result and plain.over == kept.over and plain.closed == kept.closed
    if plain.promises is None or kept.promises is None:
        assert plain.promises is kept.promises
        return
    assert plain.promises.chronicle is None and kept.promises.chronicle is not None
    assert plain.promises.tracker.statuses() == kept.promises.tracker.statuses()
    last = {move.commitment: move.after for move in kept.promises.chronicle.moves}
    assert last == {n: s.state for n, s in kept.promises.tracker.statuses().items() if n in last}
    assert last.keys() == {n for n, s in kept.promises.tracker.statuses().items() if s.state != "none"}


def test_ledgers_with_promises_are_among_them() -> None:
    """The test above is no empty one."""
    assert sum(folded(ledger, keeps_moves=True).room.promises is not None for ledger in LEDGERS) >= 2


def test_a_move_is_known_at_its_own_deadline_and_noted_by_what_found_it() -> None:
    """Nobody says anything for a day: the breach shows from the microsecond after the window, found a day later."""
    chronicle = Chronicle(("ann", "bob"), {})
    chronicle.declare(SOLD, assumed=False)
    assert chronicle.terms == {"goods": SOLD}
    chronicle.apply(Act(NOON, 1, "ann", "create", commitment="goods"))
    chronicle.apply(Act(NOON, 2, "bob", "report", event="paid"))
    chronicle.advance(NOON + 24 * HOUR, 7)
    assert [(m.after, m.known, m.noted, m.by_time) for m in chronicle.moves] == [
        ("conditional", NOON, 1, False),
        ("detached", NOON, 2, False),
        ("violated", NOON + HOUR + 1, 7, True),
    ]


def test_what_hands_a_promise_over_is_kept_too() -> None:
    """The state stays, the creditor does not: a history that leaves that out tells half of it."""
    chronicle = Chronicle(("ann", "bob", "cyd"), {})
    chronicle.declare(SOLD, assumed=True)
    chronicle.apply(Act(NOON, 1, "bob", "assign", commitment="goods", to="cyd"))
    assert [(m.before, m.after, m.text) for m in chronicle.moves] == [
        ("conditional", "conditional", "creditor is cyd, was bob")
    ]


def test_what_hands_nothing_over_is_no_move() -> None:
    """A waiver of a promise that nobody knows, or that was never broken, changes neither state nor parties."""
    chronicle = Chronicle(("ann", "bob"), {})
    chronicle.declare(SOLD, assumed=True)
    for name in ("lamp", "goods"):
        assert chronicle.apply(Act(NOON, 1, "bob", "waive", commitment=name)).refusals
    assert chronicle.apply(Act(NOON, 2, "bob", "assign", commitment="goods", to="bob")).refusals == ()
    assert chronicle.moves == []


def test_a_move_has_its_form_as_json() -> None:
    """What a view prints: instants as text, the start of everything as null."""
    assert Passage("goods", "none", "conditional", None, NOON, (1,), noted=1).plain() == {
        "commitment": "goods",
        "before": "none",
        "after": "conditional",
        "since": None,
        "known": "2030-01-01T12:00:00Z",
        "because": [1],
        "by_time": False,
        "noted": 1,
        "text": "",
    }


@pytest.mark.parametrize("body", [Tick(), Leave(because="must go")], ids=["tick", "leave"])
def test_what_is_not_about_promises_is_no_act(body: Message) -> None:
    """Who hands the tracker something else is told so."""
    with pytest.raises(TypeError, match="no body about commitments"):
        act_of(body, at=NOON, item=1, by="ann", entry_id="0" * 64)


def test_looking_ahead_leaves_what_was_kept() -> None:
    """What would come if nobody said anything more is no part of the past."""
    chronicle = Chronicle(("ann", "bob"), {})
    chronicle.declare(SOLD, assumed=True)
    chronicle.apply(Act(NOON, 1, "bob", "report", event="paid"))
    kept = list(chronicle.moves)
    ahead = chronicle.run_out(["goods"])
    assert ahead["goods"].after == "violated" and chronicle.moves == kept


def test_a_plain_tracker_keeps_no_move() -> None:
    """Protects the flat memory of long histories: what has been told is not held."""
    tracker = Tracker(("ann", "bob"), {}, keeps_past=False)
    tracker.declare(SOLD, assumed=True)
    assert tracker.apply(Act(NOON, 1, "bob", "report", event="paid")).transitions
    assert not hasattr(tracker, "moves") and tracker.advance(NOON) == []
