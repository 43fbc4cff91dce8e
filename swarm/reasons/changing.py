"""What would have changed the choice: one score, one rejection or one ballot at a time, recomputed."""

from collections.abc import Iterator
from typing import Final

from protocols.room.room import Room
from swarm.ledger.fold import Fold
from swarm.reasons.counterfactual import Choice, Rise
from swarm.reasons.words import (
    MOST_LISTED,
    Reason,
    ballots_on,
    came_to,
    is_same,
    lacked,
    left_out,
    names_of,
    or_less,
    places,
    rise_told,
    room_of,
    size_of,
    title_of,
)
from swarm.text import visible

CAVEAT: Final = (
    "Each of these is recomputed over the same options with that one thing changed; what members would then have "
    "scored or proposed otherwise, nobody knows."
)


def would_have_changed(what: Fold | Room) -> list[Reason]:
    """Return which single change would have made another option win, or an option acceptable; then the caveat.

    These changes are tried: the winner scored lower by one member, another option scored higher by one member, each
    rejection turned into a score, each ballot left out. Empty if there was no selection.
    """
    room = room_of(what)
    choice = Choice.of(room.concord)
    if choice is None:
        return []
    found = [*_falls(room, choice), *_rises(room, choice), *_rejections(room, choice), *_without(room, choice)]
    return [*found, Reason(CAVEAT)]


def _falls(room: Room, choice: Choice) -> Iterator[Reason]:
    """Say which smallest change of one score would have kept the winner from winning."""
    falls = sorted(
        (fall for member in choice.ballots if (fall := choice.fall(member)) is not None),
        key=lambda fall: (fall.score - fall.to, fall.member),
    )
    if falls:
        fall, least = falls[0], "; no smaller fall of one score would have changed it" if len(falls) > 1 else ""
        yield Reason(
            f"Had {visible(fall.member)} scored {title_of(choice.concord, choice.standing)} {or_less(fall.to)} instead "
            f"of {fall.score}, {came_to(choice, choice.after(fall))}{least}.",
            ballots_on(room, choice.standing, [fall.member]),
        )


def _rises(room: Room, choice: Choice) -> Iterator[Reason]:
    """Say for each option the smallest rise of one score with which it would have won, the smallest rise first."""
    losing = [option for option in choice.options if option != choice.selection.winner]
    rises = []
    for option in losing:
        of_it = [rise for rise in choice.rises(option) if rise.score is not None]
        rises += [min(of_it, key=size_of)] if of_it else []
    rises.sort(key=size_of)
    yield from (rise_told(room, choice, rise) for rise in rises[:MOST_LISTED])
    if len(rises) > MOST_LISTED:
        yield Reason(f"{len(rises) - MOST_LISTED} other options would have won by a larger rise of one score.")
    nearest, winnable = choice.second or choice.standing, {rise.option for rise in rises}
    if nearest not in (choice.selection.winner, *winnable):
        yield lacked(room, choice, nearest)
        winnable.add(nearest)
    if len(losing) > len(winnable):
        which = "any other option" if winnable else "any option"
        yield Reason(f"No single score would have made {which} win.")


def _rejections(room: Room, choice: Choice) -> Iterator[Reason]:
    """Say for each rejection whether a score in its place would have changed anything."""
    decisive: list[Rise] = []
    kept: list[tuple[str, str]] = []
    for member, ballot in choice.ballots.items():
        for option in ballot.rejects:
            rise = choice.rise(member, option)
            if rise is None:
                kept.append((member, option))
            else:
                decisive.append(rise)
    yield from (rise_told(room, choice, rise) for rise in sorted(decisive, key=size_of)[:MOST_LISTED])
    if kept:
        which = f"the {len(kept)}" if not decisive else f"the other {len(kept)}"
        text = f"None of {which} rejections decided it: with 100 in place of one, that option would not have won."
        if len(kept) == 1:
            ((member, option),) = kept
            title = title_of(choice.concord, option)
            text = f"That {visible(member)} rejected {title} did not decide it: with 100 it would not have won."
        positions = [position for member, option in kept for position in ballots_on(room, option, [member])]
        yield Reason(text, places(positions))


def _without(room: Room, choice: Choice) -> Iterator[Reason]:
    """Say whose ballot, if it were left out, would have changed the outcome."""
    changed, same = [], []
    for member in choice.concord.setting.members:
        selection = choice.without(member)
        if is_same(choice, selection):
            same.append(member)
        else:
            changed.append((member, selection))
    yield from (left_out(room, choice, member, selection) for member, selection in changed[:MOST_LISTED])
    if len(changed) > MOST_LISTED:
        yield Reason(f"So would leaving out {names_of(m for m, _ in changed[MOST_LISTED:])}.")
    if same:
        whose = f"the ballot of {names_of(same)}" if len(same) == 1 else f"any one ballot of {names_of(same, 'or')}"
        yield Reason(f"Without {whose}, the outcome is the same.", ballots_on(room, choice.standing, same))
