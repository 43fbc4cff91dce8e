"""Section 2: who means what by each term, where readings differ, and what became of the difference."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from itertools import combinations
from typing import Any, Final

from markupsafe import Markup

from protocols.accord.machine import Accord, Divergence
from protocols.accord.steps import SETTLE
from protocols.messages.accord import Bound
from protocols.room.room import Room
from protocols.stage.usage import used_terms, words_of
from swarm.report.drawing import Drawing
from swarm.report.reading import Reading
from swarm.report.sentences import Sentence, blanks, count, say
from swarm.text import visible

MOST_PAIRS: Final = 15
"""Columns of the table of pairs, enough for six members. With more, each term has counts."""
MOST_TERMS: Final = 50
MOST_READINGS: Final = 12
"""How many distinct meanings of one term are shown side by side."""
MOST_CASES: Final = 20
MOST_DIFFERENCES: Final = 12
RELATIONS: Final = {
    "same": ("=", "same"),
    "different": ("≠", "different"),
    "untested": ("?", "never shown to agree or to differ"),
    "missing": ("–", "one of them said nothing"),
}


@dataclass(frozen=True, slots=True)
class Case:
    """One case and each holder's verdict on it."""

    text: str
    verdict: str


@dataclass(frozen=True, slots=True)
class Meaning:
    """One distinct meaning: whose it is, in words, its bounds, its cases, and the position at which it was revealed."""

    held_by: tuple[str, ...]
    text: str
    bounds: tuple[str, ...]
    cases: tuple[Case, ...]
    at: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Difference:
    """Two members' difference: who, the evidence in words, and what became of it."""

    between: tuple[str, str]
    evidence: tuple[Sentence, ...]
    status: str
    moves: tuple[Sentence, ...]


@dataclass(frozen=True, slots=True)
class Term:
    """One term. ``relations`` are those of the pairs, in order; empty if only ``counts`` are shown."""

    name: str
    relations: tuple[str, ...]
    counts: Mapping[str, int]
    status: str
    open: bool
    meanings: tuple[Meaning, ...]
    meanings_left_out: int
    differences: tuple[Difference, ...]
    differences_left_out: int
    axes: tuple[Markup, ...]
    verdicts: tuple[tuple[str, tuple[str, ...]], ...]


@dataclass(frozen=True, slots=True)
class Accorded:
    """The section; ``none`` says why there is nothing."""

    none: Sentence | None
    pairs: tuple[tuple[str, str], ...] = ()
    members: tuple[str, ...] = ()
    terms: tuple[Term, ...] = ()
    uses: tuple[Sentence, ...] = ()
    told: tuple[Sentence, ...] = ()


def meaning(reading: Reading) -> Accorded:
    """Return the section of *reading*."""
    room = reading.room
    if room is None or room.accord is None:
        return Accorded(say("The meaning of terms was not on the agenda, or the room did not come to it."))
    accord, members = room.accord, room.setting.members
    pairs = list(combinations(members, 2))
    relations = _relations(accord)
    verdicts = _verdicts(room, accord)
    decision = reading.summary["decision"]
    offer = {} if decision is None else decision["option"]["offer"]
    terms = [_term(room, accord, relations, verdicts, pairs, term, offer) for term in accord.terms[:MOST_TERMS]]
    total: dict[str, int] = dict.fromkeys(RELATIONS, 0)
    for term in terms:
        for relation, number in term.counts.items():
            total[relation] += number
    told = [
        say(
            f"{count(len(accord.terms), 'term')} and {count(len(pairs), 'pair')} of members: {total['same']:,} "
            f"readings the same, {total['different']:,} different, {total['untested']:,} never tested, "
            f"{total['missing']:,} missing.",
            at=_readings(room, accord),
        )
    ]
    return Accorded(
        none=None,
        pairs=tuple(pairs) if len(pairs) <= MOST_PAIRS else (),
        members=members,
        terms=tuple(terms),
        uses=tuple(_uses(room)),
        told=tuple(told),
    )


def _term(
    room: Room,
    accord: Accord,
    found: Mapping[tuple[str, tuple[str, str]], str],
    verdicts: Mapping[str, Mapping[str, Mapping[str, str]]],
    pairs: Sequence[tuple[str, str]],
    term: str,
    offer: Mapping[str, Any],
) -> Term:
    compared = accord.reading.reveal_step in room.closed
    relations = [found.get((term, pair), "same") if compared else "missing" for pair in pairs]
    counts = {relation: relations.count(relation) for relation in RELATIONS}
    differences = [d for d in accord.divergences if d.term == term]
    still_open = [d for d in differences if d.status != "settled"]
    if not compared:
        status = "not compared"
    elif still_open:
        status = "open" if still_open[0].status == "carried" else still_open[0].status
    elif differences:
        status = "settled"
    else:
        status = "no difference shown" if counts["untested"] or counts["missing"] else "the same for all"
    meanings = _meanings(room, accord, term)
    return Term(
        name=term,
        relations=tuple(relations) if len(pairs) <= MOST_PAIRS else (),
        counts=counts,
        status=status,
        open=bool(still_open),
        meanings=tuple(meanings[:MOST_READINGS]),
        meanings_left_out=max(0, len(meanings) - MOST_READINGS),
        differences=tuple(_difference(room, accord, d) for d in differences[:MOST_DIFFERENCES]),
        differences_left_out=max(0, len(differences) - MOST_DIFFERENCES),
        axes=tuple(_axes(accord, term, offer, key=f"axis{accord.terms.index(term)}")),
        verdicts=tuple(
            (case, tuple(by.get(member, "–") for member in room.setting.members))
            for case, by in list(verdicts.get(term, {}).items())[:MOST_CASES]
        ),
    )


def _revealed(room: Room, accord: Accord, member: str) -> int:
    step = room.closed.get(accord.meaning.reveal_step) or room.step
    return 0 if step is None else step.answers.get(member, 0) if step.id == accord.meaning.reveal_step else 0


def _readings(room: Room, accord: Accord) -> list[int]:
    step = room.closed.get(accord.reading.reveal_step)
    return [] if step is None else list(step.answers.values())


def _meanings(room: Room, accord: Accord, term: str) -> list[Meaning]:
    holders: dict[str, list[str]] = {}
    for member in room.setting.members:
        identifier = accord.ids.get(term, {}).get(member)
        if identifier is not None:
            holders.setdefault(identifier, []).append(member)
    found = []
    for members in holders.values():
        said = accord.meaning.contents[members[0]][term]
        found.append(
            Meaning(
                held_by=tuple(members),
                text=said.meaning,
                bounds=tuple(f"{visible(name)} {bound_in_words(bound)}" for name, bound in said.bounds.items()),
                cases=tuple(Case(case.text, "yes" if case.applies else "no") for case in said.cases),
                at=tuple(filter(None, (_revealed(room, accord, member) for member in members))),
            )
        )
    return found


def bound_in_words(bound: Bound) -> str:
    """Return a bound in words, members' texts made visible."""
    unit = f" {visible(bound.unit)}" if bound.unit else ""
    if bound.values is not None:
        more = f" and {len(bound.values) - 10} more" if len(bound.values) > 10 else ""
        return "one of " + ", ".join(visible(value) for value in bound.values[:10]) + more + unit
    if bound.min is not None and bound.max is not None:
        return f"{bound.min}{unit}" if bound.min == bound.max else f"from {bound.min} to {bound.max}{unit}"
    return f"from {bound.min}{unit} up" if bound.min is not None else f"up to {bound.max}{unit}"


def _difference(room: Room, accord: Accord, divergence: Divergence) -> Difference:
    a, b = divergence.between
    reveals = [_revealed(room, accord, member) for member in (a, b)]
    readings = room.closed.get(accord.reading.reveal_step)
    judged = [] if readings is None else [readings.answers.get(member, 0) for member in (a, b)]
    evidence = []
    for item in divergence.evidence:
        if item["kind"] == "bounds":
            said = [bound_in_words(Bound.model_validate(bound)) for bound in item["bounds"]]
            form = f"{{}} bounds {{}}: {_literal(said[0])}; {{}}: {_literal(said[1])}."
            evidence.append(say(form, a, item["quantity"], b, at=reveals))
        elif item["kind"] == "case":
            first, second = item["verdicts"]
            evidence.append(say(f"“{{}}”: {{}} says {first}, {{}} says {second}.", item["case"], a, b, at=judged))
        else:
            by = [member for member, said in zip((a, b), item["by"], strict=True) if said]
            verb = "judges" if len(by) == 1 else "judge"
            evidence.append(say(f"{blanks(len(by))} {verb} the other's meaning different.", *by, at=judged))
    return Difference(
        between=divergence.between,
        evidence=tuple(evidence),
        status="open" if divergence.status == "carried" else divergence.status,
        moves=tuple(_moves(room, accord, divergence)),
    )


def _literal(text: str) -> str:
    """Return *text*, which is already visible, escaped for use in a form."""
    return text.replace("{", "{{").replace("}", "}}")


def _moves(room: Room, accord: Accord, divergence: Divergence) -> Iterator[Sentence]:
    step = room.closed.get(SETTLE)
    for member, how in divergence.settled_by.items():
        at = [] if step is None else [step.answers.get(member, 0)]
        ids = accord.ids.get(divergence.term, {})
        because = how.get("because") or ""
        reason = ": “{}”" if because else ", without a reason"
        texts = [because] if because else []
        taken = how.get("adopt") or how.get("rule")
        if taken is not None:
            held = [name for name, identifier in ids.items() if identifier == taken]
            verb = "rules for" if how.get("rule") else "adopts"
            whose = f"the meaning of {blanks(len(held))}" if held else "another meaning"
            yield say(f"{{}} {verb} {whose}{reason}", member, *held, *texts, at=at)
        elif how.get("split"):
            names = list(how["split"])
            yield say(f"{{}} splits the term into {blanks(len(names))}{reason}", member, *names, *texts, at=at)


def _relations(accord: Accord) -> dict[tuple[str, tuple[str, str]], str]:
    """Return how pairs relate on terms, as the fold found it; pairs that are absent mean the same."""
    found = {(d.term, d.between): "different" for d in accord.divergences}
    found |= dict.fromkeys(accord.untested, "untested")
    return found | dict.fromkeys(accord.missing, "missing")


def _verdicts(room: Room, accord: Accord) -> dict[str, dict[str, dict[str, str]]]:
    """Return every verdict on a case: term → case → member → yes, no or unsure."""
    found: dict[str, dict[str, dict[str, str]]] = {}
    for member in room.setting.members:
        read = accord.reading.contents.get(member)
        for place, case in enumerate(accord.cases_for(member)):
            verdict = case.verdict or (read.verdicts[place] if read is not None else None)
            if verdict is not None:
                found.setdefault(case.term, {}).setdefault(case.text, {})[member] = verdict
    return found


def _uses(room: Room) -> Iterator[Sentence]:
    """Yield which open terms the agreement uses, and where."""
    concord, accord = room.concord, room.accord
    if concord is None or accord is None or room.ending is None or room.ending.outcome != "agreed":
        return
    candidate = concord.candidates[concord.standing or ""]
    option = candidate.option
    offer = [f"{issue} {value}" for issue, value in option.offer.items()]
    words = " ".join([option.title, option.rationale or "", *offer, *(words_of(c) for c in option.commitments)])
    open_terms = accord.open_terms()
    used = used_terms(open_terms, words)
    for term in used:
        yield say("The agreement uses “{}”, whose meaning is open.", term, at=[candidate.position])
    intent = used_terms([term for term in open_terms if term not in used], room.setting.opening.intent)
    for term in intent:
        yield say("The intent itself uses “{}”, whose meaning is open; the agreement's words do not.", term, at=[1])
    if not used and not intent and open_terms:
        yield say(f"The agreement uses none of the {count(len(open_terms), 'term')} whose meaning is open.")


# -- bounds on an axis -----------------------------------------------------------------------------------------------

AXIS, ROW, NAMES = 760.0, 28.0, 150.0


def _axes(accord: Accord, term: str, offer: Mapping[str, Any], key: str) -> Iterator[Markup]:
    """Yield a picture for each quantity that several members bound, its members in rows."""
    bounded: dict[tuple[str, str | None], dict[str, Bound]] = {}
    for member, said in accord.meaning.contents.items():
        for quantity, bound in said[term].bounds.items() if term in said else ():
            if bound.values is None:
                bounded.setdefault((quantity, bound.unit), {})[member] = bound
    for place, ((quantity, unit), bounds) in enumerate(sorted(bounded.items(), key=lambda item: str(item[0]))):
        agreed = _decimal(offer.get(quantity))
        differ = len({(bound.min, bound.max) for bound in bounds.values()}) > 1
        if 2 <= len(bounds) <= 16 and place < 3 and (differ or agreed is not None):
            yield _axis(term, quantity, unit, bounds, agreed, f"{key}-{place}")


def _decimal(value: Any) -> Decimal | None:
    try:
        number = Decimal(str(value))
    except InvalidOperation:
        return None
    return number if value is not None and not isinstance(value, bool) and number.is_finite() else None


def _axis(
    term: str, quantity: str, unit: str | None, bounds: Mapping[str, Bound], agreed: Decimal | None, key: str
) -> Markup:
    ends = [Decimal(end) for bound in bounds.values() for end in (bound.min, bound.max) if end is not None]
    ends += [] if agreed is None else [agreed]
    low, high = min(ends), max(ends)
    span = high - low or abs(high) or Decimal(1)
    low, high = low - span / 2, high + span / 2

    def place(value: Decimal) -> float:
        return NAMES + float((value - low) / (high - low)) * AXIS

    told = [f"{visible(member)} {bound_in_words(bound)}" for member, bound in bounds.items()]
    told += [] if agreed is None else [f"agreed is {agreed}"]
    art = Drawing(key, f"What “{visible(term)}” allows for {visible(quantity)}", "; ".join(told) + ".")
    height = 30 + ROW * len(bounds)
    art.text(8, 10, f"{quantity}, {unit}" if unit else quantity, "lane-head", width=28)
    for row, (member, bound) in enumerate(bounds.items()):
        y = 28 + ROW * row
        start = NAMES if bound.min is None else place(Decimal(bound.min))
        end = NAMES + AXIS if bound.max is None else place(Decimal(bound.max))
        art.text(NAMES - 12, y + 4, member, "name", "end", width=17)
        art.line(NAMES, y, NAMES + AXIS, y, "grid")
        if start == end:
            art.mark(3, start, y, 6, "range-end")
        else:
            art.add("rect", x=start, y=y - 5, width=end - start, height=10, rx=3, class_="range")
        for value, at, side in ((bound.min, start, "start"), (bound.max, end, "end")):
            if value is not None and not (start == end and side == "end"):
                art.line(at, y - 8, at, y + 8, "range-end")
                label = f"{value} {visible(unit)}" if unit else value
                art.text(at + (6 if side == "start" else -6), y - 7, label, "axis", side, width=24)
        for at, turn in ((start, -1), (end, 1)):
            if (turn < 0 and bound.min is None) or (turn > 0 and bound.max is None):
                art.add(
                    "path", d=f"M{at:.1f} {y - 8:.1f}L{at + 9 * turn:.1f} {y:.1f}L{at:.1f} {y + 8:.1f}Z", class_="range"
                )
    if agreed is not None:
        x = place(agreed)
        art.line(x, 14, x, height - 4, "agreed-line")
        art.text(x, 10, f"agreed: {agreed}", "agreed-label", "middle")
    return art.done(NAMES + AXIS + 24, height + 4)
