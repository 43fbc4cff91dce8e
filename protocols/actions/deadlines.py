"""What time brings about: at the first record after a deadline, and of one plan one thing a record."""

import heapq

from protocols.actions.board import Board
from protocols.actions.plans import Plan
from protocols.actions.states import GOOD_TOKEN, State
from protocols.core.instants import Instant, later


def pass_deadlines(board: Board) -> None:
    """Let all deadlines before the record's time take effect, in the order of the plans."""
    passed: set[tuple[int, str]] = set()
    while board.due and board.due[0][0] < board.at:
        passed.add(heapq.heappop(board.due)[1:])
    for _, name in sorted(passed):
        if name in board.open:
            _pass_one(board, board.open[name])
            board.redated[name] = board.plans[name]
    while board.to_verify and board.to_verify[0][0] < board.at:
        plan = board.plans[heapq.heappop(board.to_verify)[2]]
        if plan.verified is None and plan.state in (State.DONE, State.STANDING):
            board.note("unverified", plan.id)


def keep_dates(board: Board) -> None:
    """Keep the next deadline of each plan of which one may have moved; what moved away is found out when it is due."""
    for plan in board.redated.values():
        dates = [date for date in _dates(board, plan) if date is not None]
        if dates:
            heapq.heappush(board.due, (min(dates), plan.position, plan.id))
    board.redated.clear()


def _dates(board: Board, plan: Plan) -> tuple[Instant | None, Instant | None, Instant | None]:
    """Return the ends of *plan*'s lease, of the time in which it may begin, and of the time for an answer."""
    lease = plan.lease_end if plan.state in GOOD_TOKEN else None
    until = plan.until if plan.not_begun else None
    within = board.rules.decide_within
    if plan.asked_at is None or within is None or plan.undecided:
        return lease, until, None
    return lease, until, later(plan.asked_at, within)


def _pass_one(board: Board, plan: Plan) -> None:
    lease, until, answer = _dates(board, plan)
    if lease is not None and lease < board.at:
        _end_lease(board, plan)
    elif until is not None and until < board.at:
        board.note("late", plan.id)
        board.drop(plan, "late")
    elif answer is not None and answer < board.at:
        plan.undecided = True
        board.note("undecided", plan.id)
        if plan.not_begun:
            board.drop(plan, "undecided")


def _end_lease(board: Board, plan: Plan) -> None:
    if plan.state is State.GRANTED:
        board.note("lapsed", plan.id)
        board.drop(plan, "lapsed")
    elif plan.state is State.STANDING:
        board.note("hold_lapsed", plan.id)
        board.release(plan, "hold_lapsed")
    else:
        board.ask(plan, "in_doubt")
