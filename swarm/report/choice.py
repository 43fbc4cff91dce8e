"""Section 1: the ladder of options, why this one, and the table of scores."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from markupsafe import Markup

from protocols.concord.machine import Concord
from protocols.concord.selection import HIGHEST
from protocols.concord.steps import QUOTE, RATIFY, ballot
from protocols.room.room import Room
from protocols.stage.table import reveal_of
from swarm.reasons import Reason as Why
from swarm.reasons import reasons, why_not, would_have_changed
from swarm.report.drawing import Drawing, element, is_hollow, outline, wrapped
from swarm.report.headline import lowest_of, standing_of
from swarm.report.reading import Reading
from swarm.report.sentences import Sentence, blanks, count, say
from swarm.text import visible

AGREED: Final = "agreed"
MOST_NAMED: Final = 4
"""How many objectors a cell names."""
MOST_NOT_THESE: Final = 24
"""For how many options the page says why they do not stand."""
MOST_ROWS: Final = 200
"""Options in the table; a room may have more."""
FULL: Final = 930.0
"""Pixels that a few columns share, so that they fill the page."""
WIDEST: Final = 2_600
"""The largest width of the ladder, in pixels; columns that do not fit are left out."""
LETTER: Final = 6.9
"""The width of a letter, in pixels, so that column titles do not overlap."""
HEIGHT, TOP, LEFT, BELOW = 240.0, 34.0, 62.0, 84.0


@dataclass(frozen=True, slots=True)
class Cell:
    """What one member gave one option: text, whether below its reserve, whether the lowest, and the position."""

    text: str
    objects: bool = False
    least: bool = False
    at: int = 0


@dataclass(frozen=True, slots=True)
class Row:
    """One option of the table."""

    number: int
    title: str
    offer: str
    by: str
    at: int
    cells: tuple[Cell, ...]
    lowest: str
    stands: bool
    fate: Sentence


@dataclass(frozen=True, slots=True)
class NotThis:
    """Why one option does not stand."""

    number: int
    title: str
    why: tuple[Why, ...]


@dataclass(frozen=True, slots=True)
class Given:
    """What a member said of an option; ``rejects`` if with it."""

    member: str
    title: str
    text: str
    rejects: bool
    at: int


@dataclass(frozen=True, slots=True)
class Choice:
    """The section; ``ladder`` is None if nothing was scored, and ``none`` then says so."""

    none: Sentence | None
    ladder: Markup | None = None
    ladder_leaves_out: Sentence | None = None
    why: tuple[Why, ...] = ()
    changes: tuple[Why, ...] = ()
    not_these: tuple[NotThis, ...] = ()
    not_these_left_out: int = 0
    members: tuple[str, ...] = ()
    marks: tuple[Markup, ...] = ()
    reserves: tuple[str, ...] = ()
    rows: tuple[Row, ...] = ()
    left_out: int = 0
    given: tuple[Given, ...] = ()
    given_left_out: int = 0
    quotes: tuple[Sentence, ...] = ()


def choice(reading: Reading) -> Choice:
    """Return the section of *reading*."""
    room = reading.room
    if room is None or room.concord is None:
        return Choice(say("No choice between options was on the agenda, or the room did not come to it."))
    considered = reading.summary["considered"]
    if considered is None:
        proposed = count(len(room.concord.candidates), "option was", "options were")
        return Choice(say(f"{proposed} proposed, and nothing was selected: the members' scores were never all there."))
    where = _Where(room, room.concord)
    members = room.setting.members
    standing = standing_of(reading)
    rows = [_row(reading, option, place, where, standing) for place, option in enumerate(considered["options"], 1)]
    shown = _most_telling(rows)
    ladder, left_out = _ladder(considered, rows, members)
    given = _given(room, room.concord, where)
    others = [row for row in shown if not row.stands]
    return Choice(
        none=None,
        ladder=ladder,
        ladder_leaves_out=left_out,
        why=tuple(reasons(room)),
        changes=tuple(would_have_changed(room)),
        not_these=tuple(
            NotThis(row.number, row.title, tuple(why_not(room, considered["options"][row.number - 1]["id"])))
            for row in others[:MOST_NOT_THESE]
        ),
        not_these_left_out=max(0, len(others) - MOST_NOT_THESE),
        members=members,
        marks=tuple(legend_mark(place) for place in range(len(members))),
        reserves=tuple(
            "–" if considered["reserves"].get(m) is None else str(considered["reserves"][m]) for m in members
        ),
        rows=tuple(shown),
        left_out=len(rows) - len(shown),
        given=tuple(given[:MOST_ROWS]),
        given_left_out=max(0, len(given) - MOST_ROWS),
        quotes=tuple(_quotes(room, room.concord)),
    )


class _Where:
    """The positions of scores: called with an option's id and a member."""

    def __init__(self, room: Room, concord: Concord) -> None:
        self._room = room
        self._ballot = {t.option: t.number + 1 for t in concord.tries}
        self._concord = concord

    def __call__(self, option: str, member: str) -> int:
        step = self._room.closed.get(reveal_of(ballot(self._ballot.get(option, 1))))
        return 0 if step is None else step.answers.get(member, 0)

    def proposed(self, option: str) -> int:
        """Return the position at which an option was proposed."""
        return self._concord.candidates[option].position


def _row(
    reading: Reading, option: Mapping[str, Any], place: int, where: _Where, standing: Mapping[str, Any] | None
) -> Row:
    room = reading.room
    assert room is not None
    least, who = lowest_of(option)
    cells = []
    for member in room.setting.members:
        given = option["scores"].get(member, "")
        text = "✕" if given is None else str(given) if given != "" else "–"
        objects = member in option["objections"]
        cells.append(
            Cell(text, objects, given is not None and given == least and member in who, where(option["id"], member))
        )
    stands = standing is not None and option["id"] == standing["id"]
    return Row(
        number=place,
        title=option["title"],
        offer=offer_in_words(option["offer"], room),
        by=", ".join(map(visible, option["by"])) or "status quo",
        at=where.proposed(option["id"]),
        cells=tuple(cells),
        lowest="–" if least is None else str(least),
        stands=stands,
        fate=_fate(reading, option, where, stands=stands),
    )


def _fate(reading: Reading, option: Mapping[str, Any], where: _Where, *, stands: bool) -> Sentence:
    """Return in a few words what became of an option; the sentences below the table say why."""
    at = [where(option["id"], member) for member in option["scores"]]
    if stands:
        return say(AGREED if reading.summary["decision"] is not None else "stands first, and was not agreed", at=at)
    if option["objections"]:
        named = option["objections"][:MOST_NAMED]
        more = len(option["objections"]) - len(named)
        verb = "object" if more or len(named) > 1 else "objects"
        form = f"{blanks(len(named))}{f' and {more} more' if more else ''} {verb}"
        return say(form, *named, at=[where(option["id"], member) for member in option["objections"]])
    words = {"adopted": "stood for a while", "refused": "an improvement that was not better"}
    return say(words.get(option["fate"], "came after it"), at=at)


def offer_in_words(offer: Mapping[str, Any], room: Room) -> str:
    """Return the values of an offer on one line, made visible, with their units."""
    issues = room.setting.opening.issues
    parts = []
    for name, value in offer.items():
        unit = issues[name].unit if name in issues else None
        parts.append(f"{visible(name)} {visible(str(value))}" + (f" {visible(unit)}" if unit else ""))
    return " · ".join(parts)


def _most_telling(rows: Sequence[Row]) -> list[Row]:
    if len(rows) <= MOST_ROWS:
        return list(rows)
    first = sorted(rows, key=lambda row: (not row.stands, -int(row.lowest) if row.lowest != "–" else 1))[:MOST_ROWS]
    return sorted(first, key=lambda row: row.number)


def _given(room: Room, concord: Concord, where: _Where) -> list[Given]:
    titles = {c.id: c.option.title for c in concord.candidates.values()}
    table = concord.table
    found = [
        Given(member, titles[option], text, rejects, where(option, member))
        for rejects, said in ((True, table.rejects), (False, table.reasons))
        for member in room.setting.members
        for option, text in said.get(member, {}).items()
        if option in titles
    ]
    found += [
        Given(member, "", said.because or "", True, room.closed[RATIFY].answers.get(member, 0))
        for member, said in concord.ratified.items()
        if not said.accept and RATIFY in room.closed
    ]
    return found


def _quotes(room: Room, concord: Concord) -> list[Sentence]:
    step = room.closed.get(QUOTE)
    told = []
    for issue, values in concord.quotes.items():
        owner = room.setting.opening.authority.issues[issue]
        at = [] if step is None else [step.answers.get(owner, 0)]
        shown = ", ".join("{}" for _ in values[:20]) + ("" if len(values) <= 20 else ", …")
        told.append(say(f"{{}} alone decides {{}}, and allowed {shown}.", owner, issue, *map(str, values[:20]), at=at))
    return told


# -- the ladder ----------------------------------------------------------------------------------------------------


def legend_mark(place: int) -> Markup:
    """Return the mark of the member at *place* in the roster, alone; the name beside it says the same."""
    path = element("path", d=outline(place, 8, 8, 5), class_=f"dot {'hollow' if is_hollow(place) else 'solid'}")
    return element("svg", path, width=16, height=16, viewBox="0 0 16 16", class_="key", aria_hidden="true")


def _ladder(
    considered: Mapping[str, Any], rows: Sequence[Row], members: Sequence[str]
) -> tuple[Markup, Sentence | None]:
    slot = 16.0 if len(members) <= 6 else 12.0 if len(members) <= 10 else 9.0 if len(members) <= 20 else 7.0
    column = max(104.0, slot * len(members) + 28, min(190.0, FULL / max(1, len(rows))))
    shown = _columns(considered, rows, max(6, int(WIDEST // column)))
    options = considered["options"]
    bar = considered["table"]["rules"]["bar"]
    width = LEFT + column * len(shown) + 16
    height = TOP + HEIGHT + BELOW

    def level(score: float) -> float:
        return TOP + HEIGHT * (1 - score / HIGHEST)

    art = Drawing("ladder", "The options and what each member gave them", _told(considered, rows, shown))
    for row in shown:
        if row.stands:
            x = LEFT + column * shown.index(row)
            art.add("rect", x=x + 3, y=TOP - 26, width=column - 6, height=HEIGHT + BELOW + 22, rx=8, class_="chosen")
            agreed = row.fate.form == AGREED
            art.text(x + column / 2, TOP - 11, "agreed" if agreed else "stands first", "chosen-label", "middle")
    for score in range(0, HIGHEST + 1, 20):
        art.line(LEFT, level(score), width - 10, level(score), "grid")
        art.text(LEFT - 8, level(score) + 4, str(score), "axis", "end")
    art.line(LEFT, level(bar), width - 10, level(bar), "bar")
    art.text(LEFT - 8, level(bar) + (-6 if bar % 20 == 0 else 4), f"bar {bar}", "bar-label", "end")
    path = []
    for place, row in enumerate(shown):
        x = LEFT + column * place
        option = options[row.number - 1]
        least, who = lowest_of(option)
        start = x + (column - slot * len(members)) / 2
        for seat, member in enumerate(members):
            at, given = start + slot * (seat + 0.5), option["scores"].get(member, "")
            reserve = considered["reserves"].get(member)
            if reserve is not None:
                art.line(at - slot * 0.42, level(reserve), at + slot * 0.42, level(reserve), "reserve")
            if isinstance(given, int):
                kind = "dot least" if given == least and member in who else "dot"
                title = f"{visible(member)}: {given}"
                art.mark(seat, at, level(given), min(5.0, slot * 0.36), kind, title)
            if member in option["objections"]:
                what = "rejects it" if given is None else f"gave {given}, below its reserve"
                art.cross(at, TOP + HEIGHT + 14, min(4.0, slot * 0.3), "objection", f"{visible(member)} {what}")
        if least is not None and (option["fate"] == "adopted" or option["title"] == considered["first"] or row.stands):
            path.append((x + column / 2, level(least), least))
        for line, words in enumerate(wrapped(f"{row.number}. {row.title}", int(column / LETTER), 3)):
            art.text(
                x + column / 2,
                TOP + HEIGHT + 38 + 14 * line,
                words,
                "option" + (" strong" if row.stands else ""),
                "middle",
            )
    art.text(LEFT - 8, TOP + HEIGHT + 18, "objects", "axis small", "end")
    if len(path) > 1:
        d = "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y, _ in path)
        art.add("path", d=d, class_="rise")
    for x, y, least in path:
        art.add("rect", x=x - 15, y=y + 8, width=30, height=17, rx=8.5, class_="pill")
        art.text(x, y + 20.5, str(least), "pill-text", "middle")
    missing = len(rows) - len(shown)
    note = None
    if missing:
        note = say(f"The picture leaves out {count(missing, 'option')} of {len(rows)}; the table below has them.")
    return art.done(width, height), note


def _columns(considered: Mapping[str, Any], rows: Sequence[Row], most: int) -> list[Row]:
    """Return the rows to draw, in the order of proposal: those that ever stood first, then the best, then the rest."""
    if len(rows) <= most:
        return list(rows)
    options = considered["options"]

    def telling(row: Row) -> tuple[int, int, int]:
        option = options[row.number - 1]
        ever = row.stands or option["fate"] == "adopted" or option["title"] == considered["first"]
        return (0 if ever else 1, len(option["objections"]), -(lowest_of(option)[0] or 0))

    return sorted(sorted(rows, key=telling)[:most], key=lambda row: row.number)


def _told(considered: Mapping[str, Any], rows: Sequence[Row], shown: Sequence[Row]) -> str:
    told = [f"{len(shown)} of {len(rows)} options; the bar is {considered['table']['rules']['bar']}."]
    for row in shown[:12]:
        objections = considered["options"][row.number - 1]["objections"]
        against = f", {count(len(objections), 'objection')}" if objections else ""
        told.append(
            f"{row.number}, {visible(row.title)}: lowest {row.lowest}{against}{', stands' if row.stands else ''}."
        )
    return " ".join(told)
