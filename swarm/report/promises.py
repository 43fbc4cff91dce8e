"""Section 3: what was promised, what became of it and why, and what is due next."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from markupsafe import Markup

from protocols.core.findings import CODES
from protocols.core.instants import SECOND, Instant, show_instant
from protocols.room.room import Room
from swarm.history.graph import picture_of
from swarm.history.items import Item
from swarm.history.svg import draw_svg
from swarm.history.tables import due_table
from swarm.history.timeline import Timeline
from swarm.reasons import Reason, of_commitment
from swarm.reasons.explain import STATES
from swarm.report.headline import STATE_WORDS
from swarm.report.lanes import draw_lanes, icon, window_of
from swarm.report.reading import Reading
from swarm.report.sentences import Sentence, count, say

MOST_ROWS: Final = 200
MOST_LANES: Final = 60
MOST_NODES: Final = 40
MOST_BECAUSE: Final = 4
MOST_TOLD: Final = 500
"""How many commitments are described in sentences; for more, only the entries are shown."""
NOBODY: Final = ": nobody owed"


@dataclass(frozen=True, slots=True)
class Promise:
    """One row: who owes what to whom, how it stands, since when and why, and what comes if nobody speaks."""

    name: str
    debtor: str
    creditor: str
    condition: str
    state: str
    word: str
    meaning: str
    due: str
    becomes: str
    remedy: str
    notes: tuple[str, ...]
    because: tuple[Sentence | Reason, ...]
    at: tuple[int, ...]
    icon: Markup


@dataclass(frozen=True, slots=True)
class Promised:
    """The section; ``none`` says why there is nothing."""

    none: Sentence | None
    now: str = ""
    rows: tuple[Promise, ...] = ()
    left_out: int = 0
    lanes: Markup | None = None
    lanes_left_out: int = 0
    graph: Markup | None = None
    graph_left_out: int = 0
    troubles: tuple[Sentence, ...] = ()
    told: tuple[Sentence, ...] = ()
    key: tuple[tuple[Markup, str], ...] = ()


def promises(reading: Reading) -> Promised:
    """Return the section of *reading*."""
    timeline, room = reading.timeline, reading.room
    if timeline is None or room is None or room.tracker is None:
        return Promised(say("Promises were not on the agenda."))
    if not timeline.statuses:
        return Promised(say("Nothing was promised."))
    names = [name for name in timeline.statuses if not timeline.is_template(name)]
    order = _in_order(timeline, names)
    rows = [_row(timeline, room, name) for name in order[:MOST_ROWS]]
    windows = {name: window for name in order[:MOST_LANES] if (window := window_of(timeline, room.tracker, name))}
    lanes = draw_lanes(timeline, order[:MOST_LANES], windows) if timeline.as_of is not None else None
    states = list(dict.fromkeys(timeline.statuses[name].state for name in order))
    drawn = len(timeline.terms) <= MOST_NODES
    return Promised(
        none=None,
        now="" if timeline.as_of is None else show_instant(timeline.as_of),
        rows=tuple(rows),
        left_out=len(order) - len(rows),
        lanes=lanes,
        lanes_left_out=max(0, len(order) - MOST_LANES),
        graph=_graph(timeline) if drawn and len(timeline.terms) > 1 else None,
        graph_left_out=0 if drawn else len(timeline.terms),
        troubles=tuple(
            say(f"{CODES[code][1]} {{}}: {{}}.", ", ".join(names), text) for code, names, text in timeline.troubles
        ),
        told=tuple(_told(timeline, order)),
        key=tuple(
            (icon(state), f"{STATE_WORDS[state]} ({state}{NOBODY if state == 'expired' else ''})") for state in states
        ),
    )


def _in_order(timeline: Timeline, names: Sequence[str]) -> list[str]:
    """Return *names*: first those due next, then open ones without an end, then ended ones in order of their end."""
    due = [row.commitment for row in due_table([timeline])]
    dated = set(due)
    rest = [name for name in names if name not in dated]
    rest.sort(key=lambda name: (timeline.statuses[name].state == "none", timeline.statuses[name].since or 0))
    return [*due, *rest]


def _row(timeline: Timeline, room: Room, name: str) -> Promise:
    status, terms = timeline.statuses[name], timeline.terms_of(name)
    move = timeline.ahead().get(name)
    told, at = list[Sentence | Reason](), tuple[int, ...]()
    if len(timeline.statuses) <= MOST_TOLD:
        # The first sentence says what was promised; the row shows that already.
        reasons = of_commitment(room, name)
        told += reasons[1:]
        at = reasons[0].positions if reasons else ()
    because = timeline.because(status.because)
    spoken = [item for item in because if item.acts]
    told += [_item(item) for item in spoken[:MOST_BECAUSE]]
    if len(spoken) > MOST_BECAUSE:
        more = [item.number for item in spoken[MOST_BECAUSE:]]
        told.append(say(f"and {count(len(more), 'more record')}", at=more))
    if name in timeline.caveats:
        told.append(say("this is shown {}", timeline.caveats[name]))
    if_ = "" if terms.antecedent is None else f"if {terms.antecedent}, "
    return Promise(
        name=name,
        debtor=status.debtor,
        creditor=status.creditor,
        condition=f"{if_}then {terms.consequent}",
        state=status.state,
        word=STATE_WORDS[status.state],
        meaning=STATES[status.state],
        due="" if move is None or move.since is None else _short(move.since),
        becomes="" if move is None else STATE_WORDS[move.after],
        remedy=status.remedy if status.remedy != "none" else "",
        notes=status.notes,
        because=tuple(told),
        at=at,
        icon=icon(status.state),
    )


def _item(item: Item) -> Sentence:
    return say("{} {}", item.by, item.said, at=[item.number])


def _short(instant: Instant) -> str:
    """Return an instant to the second, with its zone."""
    text = show_instant(Instant(instant - instant % SECOND))
    return f"{text[:10]} {text[11:19]} Z"


def _told(timeline: Timeline, order: Sequence[str]) -> Iterator[Sentence]:
    tally: dict[str, int] = {}
    for name in order:
        word = STATE_WORDS[timeline.statuses[name].state]
        tally[word] = tally.get(word, 0) + 1
    states = ", ".join(f"{number:,} {word}" for word, number in tally.items())
    because = [item for name in order[:MOST_ROWS] for item in timeline.statuses[name].because]
    yield say(f"{count(len(order), 'promise')}: {states}.", at=because)
    nxt = next(iter(due_table([timeline])), None)
    if nxt is not None and nxt.due is not None:
        form = f"Next due is {{}}, of {{}}: by {_short(nxt.due)}, or it is {STATE_WORDS[nxt.becomes or 'none']}."
        yield say(form, nxt.commitment, nxt.debtor)


def _graph(timeline: Timeline) -> Markup:
    """Return the picture of dependencies; its colours follow the page's style sheet."""
    drawn = draw_svg(picture_of([timeline]))
    return Markup(drawn.strip())
