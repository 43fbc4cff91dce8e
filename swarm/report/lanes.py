"""The lanes of section 3: one line over time for each promise, by debtor, with states told apart by shape."""

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from markupsafe import Markup

from protocols.commitments.chronicle import Passage
from protocols.commitments.conditions import parse
from protocols.commitments.tracker import Tracker
from protocols.commitments.tree import And, Before, By, Condition, No, Or, Timed, Within, mentioned
from protocols.core.instants import DAY, SECOND, Duration, Instant, between, later, show_instant
from swarm.auditing.verdict import IN_PART
from swarm.history.timeline import Timeline, base_of
from swarm.report.drawing import Drawing, element
from swarm.report.headline import STATE_WORDS
from swarm.text import visible

SETTLED: Final = ("satisfied", "expired", "violated", "terminated")

# -- windows -------------------------------------------------------------------------------------------------------


def window_of(timeline: Timeline, tracker: Tracker, name: str) -> Instant | None:
    """Return until when the consequent of *name* could hold, as far as its text and the log determine it."""
    if name != base_of(name):
        return None
    try:
        return _until(parse(timeline.terms_of(name).consequent), tracker)
    except ValueError:
        return None


def _until(condition: Condition, tracker: Tracker) -> Instant | None:
    if isinstance(condition, And | Or):
        ends = [_until(part, tracker) for part in condition.parts]
        known = [end for end in ends if end is not None]
        if isinstance(condition, Or):
            return max(known) if known and len(known) == len(ends) else None
        return min(known, default=None)
    if not isinstance(condition, Timed | No):
        return None
    known = []
    for window in condition.windows:
        if isinstance(window, By | Before):
            known.append(window.at)
        elif isinstance(window, Within):
            since = tracker.since(window.of)
            if since is not None:
                known.append(later(since, window.duration))
    return min(known, default=None)


# -- lanes ---------------------------------------------------------------------------------------------------------

NAMES, WIDTH, ROW, TOP = 190.0, 740.0, 34.0, 54.0


def draw_lanes(timeline: Timeline, names: Sequence[str], windows: Mapping[str, Instant]) -> Markup:
    """Draw one lane for each promise, by debtor: when it was made, bound and ended, and could last be kept."""
    now = timeline.as_of
    assert now is not None
    moves = {name: [m for m in timeline.moves if m.commitment == name] for name in names}
    ahead = timeline.ahead()
    times = [now, *(m.since for each in moves.values() for m in each if m.since is not None), *windows.values()]
    times += [ahead[name].since or now for name in names if name in ahead]
    low, high = min(times), max(times)
    # One promise with a distant end must not press all others into a corner.
    if high - low > 40 * max(now - low, SECOND):
        high = Instant(low + 40 * max(now - low, SECOND))
    pad = max((high - low) // 24, 1)
    low, high = Instant(low - pad), Instant(high + pad)

    def place(at: Instant) -> float:
        return NAMES + (min(max(at, low), high) - low) / (high - low) * WIDTH

    groups: dict[str, list[str]] = {}
    for name in sorted(names, key=lambda name: _first(moves[name])):
        groups.setdefault(timeline.statuses[name].debtor, []).append(name)
    height = TOP + sum(24 + ROW * len(group) for group in groups.values()) + 26
    art = Drawing("lanes", "Promises over time, by debtor", _told_lanes(timeline, groups))
    for at in _ticks(low, high):
        art.line(place(at), TOP - 12, place(at), height - 22, "grid")
        art.text(place(at), height - 8, _tick(at, between(low, high)), "axis", "middle")
        if len(names) > 15:
            art.text(place(at), TOP - 18, _tick(at, between(low, high)), "axis", "middle")
    where: dict[str, tuple[float, float]] = {}
    y = TOP
    for debtor, group in groups.items():
        art.text(8, y + 4, debtor, "lane-head", width=26)
        art.line(8, y + 12, NAMES + WIDTH + 20, y + 12, "rule")
        y += 24
        for name in group:
            end = _lane(art, timeline, name, moves[name], windows.get(name), ahead.get(name), y, place, now)
            where[name] = (end, y)
            y += ROW
    for name in where:
        remedied = _remedied_by(timeline, name)
        for other in remedied:
            if other in where:
                broken = timeline.statuses[other].since or 0
                met = next((m.since for m in moves[name] if m.since is not None and m.since >= broken), None)
                _arrow(art, where[other], (place(_first(moves[name]) if met is None else met), where[name][1]))
    art.line(place(now), TOP - 32, place(now), height - 22, "now")
    art.text(
        place(now), TOP - 38, "now" if timeline.verdict not in IN_PART else "as far as it holds", "now-label", "middle"
    )
    return art.done(NAMES + WIDTH + 40, height)


def _first(moves: Sequence[Passage]) -> Instant:
    return next((m.since for m in moves if m.since is not None), Instant(0))


def _lane(
    art: Drawing,
    timeline: Timeline,
    name: str,
    moves: Sequence[Passage],
    window: Instant | None,
    ahead: Passage | None,
    y: float,
    place: Callable[[Instant], float],
    now: Instant,
) -> float:
    """Draw one lane; return where its last mark stands."""
    status = timeline.statuses[name]
    art.text(20, y + 4, name, "name", width=24)
    changes = [m for m in moves if m.before != m.after and m.since is not None]
    due = window if window is not None else ahead.since if ahead is not None else None
    bound = next((m.since for m in changes if m.after == "detached"), None)
    begin = bound if bound is not None else changes[0].since if changes else now
    if due is not None and begin is not None and due > begin:
        art.add("rect", x=place(begin), y=y - 8, width=place(due) - place(begin), height=16, rx=4, class_="window")
        art.line(place(due), y - 10, place(due), y + 10, "window-end")
    for move, following in zip(changes, [*changes[1:], None], strict=False):
        if move.after in SETTLED or move.since is None:
            continue
        until = now if following is None or following.since is None else following.since
        kind = "span conditional" if move.after == "conditional" else "span held" if move.after == "pending" else "span"
        art.add("line", x1=place(move.since), y1=y, x2=max(place(until), place(move.since) + 1), y2=y, class_=kind)
    events = {item.number: item for move in moves for item in timeline.because(move.because)}
    for item in list(events.values())[:40]:
        art.add("path", element("title", f"{visible(item.by)} {visible(item.said)[:120]} ({item.number})"),
                d=f"M{place(item.at):.1f} {y - 6:.1f}v12", class_="event")  # fmt: skip
    last = place(changes[-1].since or now) if changes else place(now)
    at = last if status.state in SETTLED else place(now)
    art.put(_icon_at(status.state, at, y, 8.0, f"{STATE_WORDS[status.state]}"))
    room_right = NAMES + WIDTH - at > 120
    label = STATE_WORDS[status.state]
    art.text(at + (13 if room_right else -13), y + 4, label, f"state {status.state}", "start" if room_right else "end")
    return at


def _remedied_by(timeline: Timeline, name: str) -> list[str]:
    """Return the broken promises for whose breach *name* was promised."""
    antecedent = timeline.terms_of(name).antecedent
    if antecedent is None:
        return []
    return [
        life.commitment
        for life in mentioned(parse(antecedent))
        if life.state == "violated" and timeline.statuses[life.commitment].state == "violated"
    ]


def _arrow(art: Drawing, tail: tuple[float, float], head: tuple[float, float]) -> None:
    (x1, y1), (x2, y2) = tail, head
    down = 1 if y2 > y1 else -1
    y1, y2 = y1 + 10 * down, y2 - 10 * down
    middle = (y1 + y2) / 2
    art.add(
        "path", d=f"M{x1:.1f} {y1:.1f}C{x1:.1f} {middle:.1f} {x2:.1f} {middle:.1f} {x2:.1f} {y2:.1f}", class_="remedy"
    )
    art.add(
        "path",
        d=f"M{x2 - 4:.1f} {y2 - 6 * down:.1f}L{x2:.1f} {y2:.1f}L{x2 + 4:.1f} {y2 - 6 * down:.1f}",
        class_="remedy",
    )


def _told_lanes(timeline: Timeline, groups: Mapping[str, Sequence[str]]) -> str:
    told = []
    for debtor, group in list(groups.items())[:12]:
        states = [f"{visible(name)} {STATE_WORDS[timeline.statuses[name].state]}" for name in group[:12]]
        told.append(f"{visible(debtor)}: {', '.join(states)}.")
    return " ".join(told)


_STEPS: Final = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 21600, 43200]
_DAYS: Final = [1, 2, 7, 14, 28, 56, 91, 182, 364, 728, 3640]


def _ticks(low: Instant, high: Instant) -> list[Instant]:
    """Return at most eight round instants between *low* and *high*."""
    steps = [SECOND * step for step in _STEPS] + [DAY * step for step in _DAYS]
    step = next((step for step in steps if (high - low) // step <= 7), (high - low) // 6 or 1)
    first = -(-low // step) * step
    return [Instant(at) for at in range(first, high + 1, step)]


def _tick(at: Instant, span: Duration) -> str:
    text = show_instant(at)
    return text[11:19] if span < 2 * DAY else text[:10]


# -- states by shape -------------------------------------------------------------------------------------------------


def icon(state: str) -> Markup:
    """Return the mark of a state, alone; the word is beside it."""
    inner = _icon_at(state, 9, 9, 7.0, "")
    return element("svg", inner, width=18, height=18, viewBox="0 0 18 18", class_="key", aria_hidden="true")


def _icon_at(state: str, x: float, y: float, r: float, title: str) -> Markup:
    """Return the mark of a state: a disc with a tick, a cross or a sign, so that no colour is needed to read it."""
    t = r * 0.45
    signs = {
        "satisfied": f"M{x - t:.1f} {y:.1f}L{x - t / 4:.1f} {y + t * 0.8:.1f}L{x + t:.1f} {y - t * 0.8:.1f}",
        "violated": f"M{x - t:.1f} {y - t:.1f}L{x + t:.1f} {y + t:.1f}M{x - t:.1f} {y + t:.1f}L{x + t:.1f} {y - t:.1f}",
        "expired": f"M{x - t:.1f} {y:.1f}h{2 * t:.1f}",
        "terminated": f"M{x - t:.1f} {y + t:.1f}L{x + t:.1f} {y - t:.1f}",
        "pending": f"M{x - t * 0.6:.1f} {y - t:.1f}v{2 * t:.1f}M{x + t * 0.6:.1f} {y - t:.1f}v{2 * t:.1f}",
        "unconfirmed": f"M{x:.1f} {y - t * 1.1:.1f}v{t * 1.3:.1f}M{x:.1f} {y + t:.1f}v0.2",
        "disputed": f"M{x - t:.1f} {y - t * 0.5:.1f}h{2 * t:.1f}M{x - t:.1f} {y + t * 0.5:.1f}h{2 * t:.1f}",
        "detached": f"M{x:.1f} {y - t:.1f}v{t:.1f}h{t * 0.9:.1f}",
    }
    shape = element("circle", cx=x, cy=y, r=r, class_="disc")
    if state in ("violated", "disputed"):
        corner = r * 1.05
        points = [(x, y - corner), (x + corner, y), (x, y + corner), (x - corner, y)]
        shape = element("polygon", points=" ".join(f"{px:.1f},{py:.1f}" for px, py in points), class_="disc")
    elif state in ("expired", "terminated", "none"):
        shape = element("rect", x=x - r * 0.85, y=y - r * 0.85, width=r * 1.7, height=r * 1.7, rx=2, class_="disc")
    parts = [element("title", title)] if title else []
    parts.append(shape)
    if state in signs:
        parts.append(element("path", d=signs[state], class_="sign"))
    return element("g", Markup("").join(parts), class_=f"icon {state}")
