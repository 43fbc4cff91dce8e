"""Section 4: who said what when, so that one can see that all seals precede all reveals."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from markupsafe import Markup

from protocols.accord.steps import MEANING, READING, SETTLE
from protocols.concord.steps import BALLOT, IMPROVE, OPTION, QUOTE, RATIFY
from protocols.room.closing import CLOSING, WITNESSING
from protocols.room.joining import JOINING, PROMISING
from protocols.room.room import Room
from protocols.stage.steps import Step
from protocols.stage.table import name_of, number_of, reveal_of, seal_of, sealed_round
from swarm.report.drawing import Drawing
from swarm.report.reading import Reading, Said
from swarm.report.sentences import Sentence, blanks, count, say
from swarm.text import visible

MOST_DRAWN: Final = 420
"""Records in the picture; for a longer room, it shows only the first ones."""
MOST_STEPS: Final = 150


@dataclass(frozen=True, slots=True)
class StepRow:
    """One step: what it asked, its first and last record, who answered, and who did not and why."""

    id: str
    words: str
    opened: int
    closed: int
    answered: int
    expected: int
    missing: tuple[Sentence, ...]
    late: tuple[int, ...]
    answers: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Speech:
    """The section."""

    none: Sentence | None
    told: tuple[Sentence, ...] = ()
    picture: Markup | None = None
    picture_leaves_out: int = 0
    steps: tuple[StepRow, ...] = ()
    steps_left_out: int = 0


def speech(reading: Reading) -> Speech:
    """Return the section of *reading*."""
    room = reading.room
    if room is None:
        return Speech(say("No record holds."))
    late = _late(reading)
    steps = _steps(room)
    rows = [_row(room, step, late) for step in steps]
    return Speech(
        none=None,
        told=tuple(_told(room, steps, rows)),
        picture=_picture(reading, room, steps, late),
        picture_leaves_out=max(0, len(reading.said) - MOST_DRAWN),
        steps=tuple(rows[:MOST_STEPS]),
        steps_left_out=max(0, len(rows) - MOST_STEPS),
    )


def _steps(room: Room) -> list[Step]:
    return [*room.closed.values(), *([] if room.step is None else [room.step])]


def _late(reading: Reading) -> dict[str, list[Said]]:
    """Return, by step, the records that came after the step had closed."""
    positions = {f["position"] for f in reading.audit.findings if f["code"] == "late"}
    found: dict[str, list[Said]] = {}
    for said in reading.said:
        if said.position in positions:
            found.setdefault(said.step, []).append(said)
    return found


def _row(room: Room, step: Step, late: Mapping[str, Sequence[Said]]) -> StepRow:
    missing = []
    after = {said.by: said.position for said in late.get(step.id, ())}
    for member in step.expected:
        if member in step.answers:
            continue
        if member in step.excused:
            missing.append(say("{} excused itself: “{}”", member, step.excused[member]))
        elif member in after:
            missing.append(say("{} came late", member, at=[after[member]]))
        elif step.closed is None:
            missing.append(say("{} is yet to answer", member))
        elif member in room.left:
            missing.append(say("{} had left", member))
        else:
            missing.append(say("{} was silent", member, at=[step.closed]))
    return StepRow(
        id=step.id,
        words=step_in_words(step.id),
        opened=step.opened,
        closed=step.closed or 0,
        answered=len(step.answers),
        expected=len(step.expected),
        missing=tuple(missing[:12]),
        late=tuple(said.position for said in late.get(step.id, ())),
        answers=tuple(sorted(step.answers.values())[:12]),
    )


_WORDS: Final = {
    JOINING: "join the room",
    PROMISING: "make the promises of the opening",
    seal_of(MEANING): "seal what the terms mean",
    reveal_of(MEANING): "reveal what the terms mean",
    seal_of(READING): "seal how they read the others",
    reveal_of(READING): "reveal how they read the others",
    SETTLE: "settle differences of meaning",
    QUOTE: "quote what they alone decide",
    seal_of(OPTION): "seal an option",
    reveal_of(OPTION): "reveal an option",
    seal_of(BALLOT): "seal the scores, round N",
    reveal_of(BALLOT): "reveal the scores, round N",
    IMPROVE: "improve, or pass (N)",
    RATIFY: "sign the outcome",
    CLOSING: "sign the end",
    WITNESSING: "witness the signatures",
}


def step_in_words(step: str) -> str:
    """Return in words what a step asks of its members; for an unknown step, its id."""
    words = _WORDS.get(name_of(step))
    return step if words is None else words.replace("N", str(number_of(step)))


def _told(room: Room, steps: Sequence[Step], rows: Sequence[StepRow]) -> Iterator[Sentence]:
    rounds = list(_rounds(steps))
    broken = [(seal, reveal) for seal, reveal in rounds if not _precedes(seal, reveal)]
    if rounds and not broken:
        last = [max(seal.answers.values()) for seal, reveal in rounds if seal.answers and reveal.answers]
        first = [min(reveal.answers.values()) for seal, reveal in rounds if seal.answers and reveal.answers]
        many = "the sealed round" if len(rounds) == 1 else f"each of {len(rounds)} sealed rounds"
        yield say(f"In {many} the last seal stands before the first reveal: nobody saw another's answer before sealing "
                  "its own.", at=[*last[:3], *first[:3]])  # fmt: skip
    for seal, reveal in broken:
        yield say("In {} a reveal stands before a seal.", seal.id, at=[*reveal.answers.values()])
    silent = sorted({s.texts[0] for row in rows for s in row.missing if s.form.endswith("silent")})
    late = sum(len(row.late) for row in rows)
    if silent:
        verb = "was" if len(silent) == 1 else "were"
        yield say(
            f"{blanks(len(silent[:8]))}{' and others' if len(silent) > 8 else ''} {verb} silent at a step.", *silent[:8]
        )
    if late:
        yield say(
            f"{count(late, 'answer')} came late, and counted for nothing.",
            at=[position for row in rows for position in row.late],
        )
    if not silent and not late and rows:
        yield say("Every answer that was asked for came in time, or its author excused itself.")
    for member, because in room.left.items():
        yield say("{} left: “{}”", member, because)


def _rounds(steps: Sequence[Step]) -> Iterator[tuple[Step, Step]]:
    by_id = {step.id: step for step in steps}
    for step in steps:
        prefix = sealed_round(step.id)
        if prefix is not None and step.id == seal_of(prefix) and reveal_of(prefix) in by_id:
            yield step, by_id[reveal_of(prefix)]


def _precedes(seal: Step, reveal: Step) -> bool:
    if not seal.answers or not reveal.answers:
        return True
    return max(seal.answers.values()) < min(reveal.answers.values())


# -- the picture ---------------------------------------------------------------------------------------------------

NAMES, UNIT, ROW, TOP = 130.0, 15.0, 26.0, 92.0


def _picture(reading: Reading, room: Room, steps: Sequence[Step], late: Mapping[str, Sequence[Said]]) -> Markup:
    """Draw a lane for each member and a column for each record: a seal is a solid square, a reveal an open one."""
    shown = reading.said[:MOST_DRAWN]
    last = len(shown)
    members = room.setting.members
    width, height = NAMES + UNIT * last + 24, TOP + ROW * len(members) + 12
    told = f"{count(last, 'record')} of {count(len(members), 'member')} in {count(len(steps), 'step')}."
    art = Drawing("speech", "Who said what when, a place a record", told)
    seat = {member: TOP + ROW * (place + 0.5) for place, member in enumerate(members)}
    late_at = {said.position for each in late.values() for said in each}

    def place(position: float) -> float:
        return NAMES + UNIT * (position - 0.5)

    for step in (step for step in steps if step.opened <= last):
        start, end = place(step.opened + 0.5), place(min(step.closed or last, last) + 0.5)
        if end <= start:
            continue
        prefix = sealed_round(step.id)
        kind = "other" if prefix is None else step.id.removeprefix(f"{prefix}.")
        art.add("rect", x=start, y=TOP - 6, width=end - start, height=ROW * len(members) + 12, class_=f"step {kind}")
        art.line(start, TOP - 12, start, height - 6, "rule")
        x, y = start + 4, TOP - 14
        # The labels of a single record would overlap.
        if end - start >= UNIT * 2:
            art.add(
                "text",
                visible(_brief(step.id)),
                x=x,
                y=y,
                class_="axis small",
                transform=f"rotate(-35 {x:.1f} {y:.1f})",
            )
    for member in members:
        art.text(NAMES - 12, seat[member] + 4, member, "name", "end", width=17)
        art.line(NAMES, seat[member], width - 12, seat[member], "grid")
    for said in shown:
        _record(art, said, place(said.position), seat[said.by], late=said.position in late_at)
    for step in steps:
        if step.closed is None or step.closed > last:
            continue
        for member in step.expected:
            if member not in step.answers:
                excused = member in step.excused
                art.text(place(step.closed + 0.36), seat[member] - 6, "e" if excused else "∅", "silent", "middle")
    return art.done(width, height)


def _brief(step: str) -> str:
    return step.partition(".")[2]


def _record(art: Drawing, said: Said, x: float, y: float, *, late: bool) -> None:
    title = f"{said.position}: {visible(said.by)} {visible(said.kind)}" + (
        f", {visible(said.step)}" if said.step else ""
    )
    if late:
        art.mark(2, x, y, 5, "late", title)
    elif said.kind == "seal":
        art.add(
            "rect", Markup("<title>{}</title>").format(title), x=x - 5, y=y - 5, width=10, height=10, class_="seal-mark"
        )
    elif said.kind == "reveal":
        art.add(
            "rect",
            Markup("<title>{}</title>").format(title),
            x=x - 5,
            y=y - 5,
            width=10,
            height=10,
            class_="reveal-mark",
        )
    elif said.kind == "room.tick":
        art.add("circle", cx=x, cy=y, r=1.5, class_="tick-mark")
    elif not said.entry:
        art.cross(x, y, 4, "objection", title)
    else:
        art.mark(0, x, y, 4, "said", title)
