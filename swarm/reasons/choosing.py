"""Why one option stands: how the room ended, which rule put it first, how it came to stand, and why not another."""

from collections.abc import Iterator
from typing import Final

from protocols.concord.machine import Concord, Try
from protocols.concord.selection import order_key
from protocols.concord.steps import OPTION, RATIFY
from protocols.room.closing import CLOSING, WITNESSING
from protocols.room.room import Room
from protocols.stage.table import reveal_of
from swarm.ledger.fold import Fold
from swarm.reasons.counterfactual import Choice
from swarm.reasons.words import (
    MOST_LISTED,
    MOST_NAMED,
    WIDEST_WORDS,
    Reason,
    answers_to,
    ballots_on,
    find_options,
    lacked,
    left_out,
    names_of,
    places,
    rise_told,
    room_of,
    said,
    size_of,
    title_of,
)
from swarm.text import shortened, visible

ENDINGS: Final = {
    "agreed": "The room agreed",
    "no_agreement": "The room ended without agreement",
    "abandoned": "The room was abandoned",
    "open": "The room decided nothing: it has no concord",
}


def reasons(what: Fold | Room) -> list[Reason]:
    """Return how the room ended and why: why this option, by which rule, and how it came to stand."""
    room = room_of(what)
    choice = Choice.of(room.concord)
    found = [_ending(room, choice)]
    if choice is not None:
        found += [*_separated(room, choice), *_accepted(room, choice), *_improved(room, choice), *_also(room, choice)]
    return found


def why_not(what: Fold | Room, name: str) -> list[Reason]:
    """Return why the option with the title or id *name* did not win, or how the member *name* fared.

    For the option that stands, these are the `reasons`. Empty if *name* is neither an option nor a member.
    """
    room = room_of(what)
    concord = room.concord
    choice = Choice.of(concord)
    found: list[Reason] = []
    if concord is not None:
        for option in find_options(concord, name):
            if choice is None:
                found.append(_scores(room, concord, option))
            elif option == choice.standing:
                found += reasons(room)
            else:
                found += _why_not_option(room, choice, option)
    return [*found, *of_member(room, name)]


def of_member(what: Fold | Room, name: str) -> list[Reason]:
    """Return how the member *name* fared: its scores of what stands, whether its ballot decided, why not its own.

    Empty if *name* is not a member, or if there was nothing to choose.
    """
    room = room_of(what)
    if room.concord is None or name not in room.setting.members:
        return []
    return list(_of_member(room, room.concord, Choice.of(room.concord), name))


# -- how it ended ----------------------------------------------------------------------------------------------------


def _ending(room: Room, choice: Choice | None) -> Reason:
    ending, concord = room.ending, room.concord
    if ending is None:
        stands = "" if choice is None else f"; {title_of(choice.concord, choice.standing)} stands so far"
        return Reason(f"The room is not over{stands}.", places([room.position]))
    signed = answers_to(room, RATIFY)
    if choice is None or concord is None:
        reason = f": {shortened(ending.reason, WIDEST_WORDS)}" if ending.reason else ""
        return Reason(f"{ENDINGS[ending.outcome]}{reason}.", places([_ended_by(room)]))
    title = title_of(concord, choice.standing)
    if ending.outcome == "agreed":
        many = len(room.setting.members)
        return Reason(f"{title} was agreed: all {many} members signed it.", places(signed.values()))
    refused = {m: said.because for m, said in concord.ratified.items() if not said.accept}
    if choice.selection.winner is not None:
        whose = [f"{visible(m)} declined it: {said(because or '')}" for m, because in refused.items()]
        why = "; ".join(whose[:MOST_NAMED]) or f"{shortened(ending.reason or '', WIDEST_WORDS)}."
        positions = [signed[m] for m in refused if m in signed] or [_ended_by(room)]
        return Reason(f"{title} was selected, and not signed by all: {why}", places(positions))
    first = f"{ENDINGS[ending.outcome]}: {title} came first"
    if choice.selection.outcome == "no_eligible_option":
        fewest = "no option has fewer objections, and still" if len(choice.options) > 1 else "and"
        against = choice.selection.objections[choice.standing]
        whose = [_objection(concord, member, choice.standing) for member in against]
        return Reason(
            f"{first}; {fewest} {'; '.join(whose[:MOST_NAMED])}. No option is without objection.",
            ballots_on(room, choice.standing, against),
        )
    lowest, who = _lowest(choice, choice.standing)
    return Reason(
        f"{first}, and its lowest score, {lowest} ({names_of(who)}), is below the bar of {choice.rules.bar}.",
        ballots_on(room, choice.standing, who),
    )


def _ended_by(room: Room) -> int:
    """Return the position at which the last step of the agenda closed, 0 if none did."""
    return max((s.closed or 0 for i, s in room.closed.items() if i not in (CLOSING, WITNESSING)), default=0)


def _objection(concord: Concord, member: str, option: str) -> str:
    """Say how *member* objects to *option*."""
    rejected = concord.table.rejects[member].get(option)
    if rejected is not None:
        return f"{visible(member)} rejects it: {said(rejected)}"
    score, reserve = concord.table.scores[member][option], concord.table.reserves.get(member)
    return f"{visible(member)} gives it {score}, below the reserve of {reserve}"


def _lowest(choice: Choice, option: str) -> tuple[int, list[str]]:
    """Return the lowest score of *option* as the rule sees it (a rejection counts as the floor), and whose it is."""
    floor = choice.rules.floor
    given = {m: max(floor, ballot.scores.get(option, floor)) for m, ballot in choice.ballots.items()}
    least = min(given.values())
    return least, [m for m in choice.concord.setting.members if given.get(m) == least]


# -- why this one ----------------------------------------------------------------------------------------------------


def _separated(room: Room, choice: Choice) -> Iterator[Reason]:
    """Say what put the standing option before the second."""
    if choice.second is None:
        yield Reason("It was the only option.", places([choice.concord.candidates[choice.standing].position]))
    else:
        yield _compared(room, choice, choice.second, "the next,")


def _compared(room: Room, choice: Choice, other: str, called: str) -> Reason:
    """Say which rule puts the standing option before *other*."""
    concord, standing = choice.concord, choice.standing
    ballots = list(choice.ballots.values())
    first, then = (order_key(option, ballots, choice.rules.floor) for option in (standing, other))
    name = f"{called} {title_of(concord, other)}," if called.endswith(",") else title_of(concord, other)
    if first.objections != then.objections:
        against = choice.selection.objections.get(other, ())
        own = choice.selection.objections.get(standing, ())
        fewer = f"Only {names_of(own)} {'objects' if len(own) == 1 else 'object'}" if own else "Nobody objects"
        do = "does" if len(against) == 1 else "do"
        return Reason(
            f"{fewer} to {title_of(concord, standing)}; to {name} {names_of(against)} {do}. "
            "Fewer objections come first.",
            places([*ballots_on(room, standing), *ballots_on(room, other, against)]),
        )
    if first.vector[0] != then.vector[0]:
        (low, whose), (lower, theirs) = _lowest(choice, standing), _lowest(choice, other)
        told = f"is {low} ({names_of(whose)}), that of {name} {lower} ({names_of(theirs)})"
        return Reason(
            f"The lowest score of {title_of(concord, standing)} {told}. The option whose least satisfied member is "
            "best off comes first.",
            places([*ballots_on(room, standing), *ballots_on(room, other, theirs)]),
        )
    both = places([*ballots_on(room, standing), *ballots_on(room, other)])
    if first.vector != then.vector:
        place = next(i for i, (a, b) in enumerate(zip(first.vector, then.vector, strict=True)) if a != b)
        return Reason(
            f"{title_of(concord, standing)} and {name} have the same lowest score, {first.vector[0]}; the first that "
            f"differs, counted from the lowest, is number {place + 1}: {first.vector[place]} against "
            f"{then.vector[place]}.",
            both,
        )
    same = f"{title_of(concord, standing)} and {name} have the same objections and the same scores from the lowest up"
    if choice.incumbent == standing:
        return Reason(f"{same}; the option that stood already stays.", both)
    nonces = answers_to(room, reveal_of(OPTION)).values()
    return Reason(f"{same}; the lot drawn from everyone's sealed nonces decides.", places([*both, *nonces]))


def _accepted(room: Room, choice: Choice) -> Iterator[Reason]:
    if choice.selection.winner is None:
        return
    low, whose = _lowest(choice, choice.standing)
    lowest = f"its lowest score is {low} ({names_of(whose)}) and the bar is {choice.rules.bar}"
    yield Reason(f"No member rejects it or scores it below its reserve; {lowest}.", ballots_on(room, choice.standing))


def _improved(room: Room, choice: Choice) -> Iterator[Reason]:
    """Say which improvements were adopted, which were not, and why."""
    concord = choice.concord
    if not concord.tries:
        return
    first = concord.first_selection
    standing = first.standing if first is not None else None
    refused: list[Reason] = []
    for each in concord.tries:
        assert standing is not None
        if each.adopted:
            before, after = _brief(choice, standing), _brief(choice, each.option)
            old, new = title_of(concord, standing), title_of(concord, each.option)
            text = f"{visible(each.by)} improved {old} ({before}) to {new} ({after})."
            at = concord.candidates[each.option].position
            yield Reason(text, places([at, *ballots_on(room, standing), *ballots_on(room, each.option)]))
            standing = each.option
        else:
            refused.append(_refused(room, choice, each, standing))
    yield from refused[:MOST_LISTED]
    if len(refused) > MOST_LISTED:
        yield Reason(f"{len(refused) - MOST_LISTED} other improvements were not strictly better either.")


def _brief(choice: Choice, option: str) -> str:
    low, whose = _lowest(choice, option)
    against = choice.selection.objections.get(option, ())
    if against:
        return f"lowest {low}; {names_of(against)} {'objects' if len(against) == 1 else 'object'}"
    return f"lowest {low}, {names_of(whose)}"


def _refused(room: Room, choice: Choice, each: Try, standing: str) -> Reason:
    concord = choice.concord
    at = concord.candidates[each.option].position
    text = f"{visible(each.by)} proposed {title_of(concord, each.option)} instead of {title_of(concord, standing)}"
    if not concord.candidates[each.option].scored:
        return Reason(f"{text}; it was not scored by all: {shortened(each.because, WIDEST_WORDS)}.", places([at]))
    scored = ballots_on(room, each.option)
    return Reason(f"{text}; it is not strictly better: {_brief(choice, each.option)}.", places([at, *scored]))


def _also(room: Room, choice: Choice) -> Iterator[Reason]:
    """Say what the sum and the median would have chosen, at the end and, before improvements, at first."""
    concord = choice.concord
    told = set[str]()
    for selection, when in ((choice.selection, ""), (concord.first_selection, "At first, ")):
        if selection is None or selection.also is None:
            continue
        ways: dict[str, list[str]] = {}
        for way, option in (("adding up the scores", selection.also.sum), ("the median", selection.also.median)):
            if option != selection.standing or selection.objections.get(option):
                ways.setdefault(option, []).append(way)
        for option, how in ways.items():
            against = selection.objections.get(option, ())
            over = f", over the objection of {names_of(against)}" if against else ""
            text = f"{' and '.join(how)} would have taken {title_of(concord, option)}{over}."
            if text not in told:
                told.add(text)
                text = when + text if when else text[0].upper() + text[1:]
                yield Reason(text, ballots_on(room, option))


# -- why not that one ------------------------------------------------------------------------------------------------


def _scores(room: Room, concord: Concord, option: str) -> Reason:
    candidate, reserves = concord.candidates[option], concord.table.reserves
    cells = []
    given = concord.table.of(option)
    for member in (m for m in room.setting.members if m in given):
        score, reserve = given[member], reserves.get(member)
        below = f", below the reserve of {reserve}" if score is not None and reserve and score < reserve else ""
        cells.append(f"{visible(member)} {'rejects it' if score is None else score}{below}")
    more = len(cells) - 2 * MOST_NAMED
    shown = "; ".join(cells[: 2 * MOST_NAMED]) + (f"; and {more} others" if more > 0 else "") or "not scored"
    by = f", proposed by {names_of(candidate.proposers)}" if candidate.proposers else ", the status quo"
    return Reason(f"{title_of(concord, option)}{by}: {shown}.", places([candidate.position, *ballots_on(room, option)]))


def _why_not_option(room: Room, choice: Choice, option: str) -> Iterator[Reason]:
    concord = choice.concord
    yield _scores(room, concord, option)
    for each in concord.tries:
        if each.option == option and not each.adopted and not concord.candidates[option].scored:
            yield Reason(
                f"It was not scored by all, so it could not stand: {shortened(each.because, WIDEST_WORDS)}.",
                places([concord.candidates[option].position]),
            )
    if not concord.candidates[option].scored:
        return
    for member, words in _reasons_given(concord, option):
        yield Reason(f"{visible(member)} on it: {said(words)}", ballots_on(room, option, [member]))
    yield _compared(room, choice, option, "this")
    rises = sorted(choice.rises(option), key=size_of)
    yield rise_told(room, choice, rises[0]) if rises else lacked(room, choice, option)


def _reasons_given(concord: Concord, option: str) -> Iterator[tuple[str, str]]:
    for member in concord.setting.members:
        said = concord.table.rejects.get(member, {}).get(option) or concord.table.reasons.get(member, {}).get(option)
        if said:
            yield member, said


def _of_member(room: Room, concord: Concord, choice: Choice | None, member: str) -> Iterator[Reason]:
    own = [c.id for c in concord.candidates.values() if member in c.proposers]
    if choice is None or member not in choice.ballots:
        yield from (_scores(room, concord, option) for option in own)
        return
    ballot, standing = choice.ballots[member], choice.standing
    given, best = ballot.scores.get(standing), max(ballot.scores, key=lambda o: ballot.scores[o], default=None)
    word = "rejects" if given is None else f"gave {given} to"
    reserve = "has no reserve" if ballot.reserve is None else f"has a reserve of {ballot.reserve}"
    top = f"; its best is {title_of(concord, best)} with {ballot.scores[best]}" if best not in (None, standing) else ""
    yield Reason(
        f"{visible(member)} {word} {title_of(concord, standing)} and {reserve}{top}.",
        places([*ballots_on(room, standing, [member]), *(ballots_on(room, best, [member]) if best else ())]),
    )
    if choice.selection.least_satisfied == member:
        yield Reason(
            f"{visible(member)} is the one whom {title_of(concord, standing)} satisfies least.",
            ballots_on(room, standing),
        )
    yield left_out(room, choice, member, choice.without(member))
    for option in own[:MOST_LISTED]:
        if option == standing:
            yield Reason(
                f"{title_of(concord, option)} was proposed by {visible(member)}.",
                places([concord.candidates[option].position]),
            )
        elif concord.candidates[option].scored:
            yield _scores(room, concord, option)
            yield _compared(room, choice, option, "this")
        else:
            yield from _why_not_option(room, choice, option)
