"""Doing: starts, results, and the leases under which both happen."""

from collections.abc import Mapping

from protocols.actions.board import Board
from protocols.actions.plans import Action, ActionState, Plan
from protocols.actions.reading import beyond
from protocols.actions.states import Move, State
from protocols.core.findings import Refused
from protocols.core.instants import later
from protocols.messages.actions import RenewPlan, StartStep, StepResult, WithdrawPlan


def start(board: Board, by: str, body: StartStep) -> None:
    """Let an executor call its tool, or say which of the reasons against it comes first."""
    plan, action = board.action(body.step)
    board.allow(by, by == action.by, action.by)
    _check_repetition(action)
    _check_grant(board, plan)
    if body.token is not None and body.token != plan.token:
        raise Refused("wrong_token", f"the token of {plan.id} is {plan.token}")
    if body.key is not None and body.key != action.key:
        raise Refused("wrong_key", f"the key of {action.id} is {action.key}")
    if plan.state is State.STANDING:
        raise Refused("wrong_state", f"{plan.id} is done; what lasts is undone by a plan, or by order")
    if (action.undoes is not None) is not plan.back:
        raise Refused("wrong_state", f"{plan.id} is {'' if plan.back else 'not '}being undone")
    if action is not plan.next_action():
        raise Refused("out_of_order", f"it is not the turn of {action.id}")
    if plan.until is not None and plan.until < board.at and not plan.back:
        raise Refused("late", f"the time of {plan.id} is over")
    if plan.state is State.GRANTED:
        for other in board.queue.taken_over(plan):
            board.note("preempted", other.id)
            board.release(other, "preempted")
        board.change(plan, Move.BEGIN)
    action.state, action.start = "started", board.position
    action.attempts += 1


def _check_repetition(action: Action) -> None:
    if action.state in ("done", "undone"):
        raise Refused("already_done", f"{action.id} is done")
    if action.state == "started":
        raise Refused("already_started", f"{action.id} was started at {action.start}")
    if action.state == "refused":
        raise Refused("cannot_succeed", f"{action.id} was refused, and would be again")
    if action.state == "unknown" and not action.kind.rule.idempotent:
        raise Refused("in_doubt", f"nobody knows whether {action.id} happened")


def _check_grant(board: Board, plan: Plan) -> None:
    if plan.ended:
        raise Refused("terminal_state", f"{plan.id} has ended")
    if plan.not_begun and (plan.state is not State.GRANTED or plan.token == board.position):
        raise Refused("not_granted", f"{plan.id} is not granted")
    if plan.state is State.IN_QUESTION:
        raise Refused("in_doubt", f"a question about {plan.id} is open")


def result(board: Board, by: str, body: StepResult) -> None:
    """Take what came of a call, if it is of the last start and nobody has settled it."""
    plan, action = board.action(body.step)
    board.allow(by, by == action.by, action.by)
    if action.start is None:
        raise Refused("not_started", f"{action.id} was not started")
    if action.state not in ("started", "unknown"):
        raise Refused("already_settled", f"{action.id} is settled: {action.state}")
    if plan.ended:
        raise Refused("terminal_state", f"{plan.id} has ended")
    if body.start is not None and body.start != action.start:
        raise Refused("superseded", f"the last start of {action.id} is {action.start}")
    check_scope(action, body.versions)
    settle(board, plan, action, body.outcome, body.versions, body.counts)


def check_scope(action: Action | None, versions: Mapping[str, str]) -> None:
    """Refuse versions of anything that *action* does not act on."""
    for name in versions:
        if action is None or name not in action.on:
            raise Refused("out_of_scope", f"{name!r} is not what {action.id if action else 'this'} acts on")


def settle(
    board: Board,
    plan: Plan,
    action: Action,
    outcome: ActionState,
    versions: Mapping[str, str],
    counts: Mapping[str, int] | None = None,
) -> None:
    """Let *outcome* count, with all that follows for its plan and for others."""
    action.state = outcome
    moved = dict(versions)
    if outcome == "done":
        moved = {name: f"@{board.position}" for name in action.on} | moved
        _take_effect(board, plan, action)
    board.move_versions(moved)
    if outcome == "done":
        read, tolerance = action.read or {}, action.kind.rule.tolerance
        if any(beyond(number, read[name], tolerance) for name, number in (counts or {}).items() if name in read):
            board.ask(plan, "beyond_tolerance")
        else:
            board.advance(plan)
    elif outcome == "unknown":
        if action.in_doubt and plan.state is not State.IN_QUESTION:
            board.ask(plan, "in_doubt")
    elif outcome == "refused" or not action.again:
        _fail(board, plan, action, outcome)


def _take_effect(board: Board, plan: Plan, action: Action) -> None:
    """Count a done action: as a report, as a reversal, and as the end or the beginning of an effect that lasts."""
    board.reversals.done(plan, action, board.at, board.open.values())
    if action.kind.rule.reports is not None:
        board.report(action.kind.rule.reports, action.by)
    if action.kind.name in board.rules.undoing:
        for other in list(board.open.values()):
            if other.lead == plan.lead:
                _end_effects(board, other, action)
    if action.undoes is not None:
        action.undoes.state = "undone"
        action.undoes.lasting.clear()
    elif action.kind.rule.holds:
        action.lasting = set(action.on)


def _end_effects(board: Board, plan: Plan, undo: Action) -> None:
    ended = [step for step in plan.steps if step.lasting and step.kind.undo == undo.kind.name]
    for step in ended:
        step.lasting -= set(undo.on)
    if ended and plan.state is State.STANDING:
        if any(step.lasting for step in plan.steps):
            board.weigh(plan)
        else:
            board.release(plan, "restored")


def _fail(board: Board, plan: Plan, action: Action, outcome: str) -> None:
    """Turn back where that is possible; a plan in question stays so, unless nothing of it is left to undo."""
    if action.undoes is not None or plan.past_pivot():
        board.ask(plan, "stuck")
        return
    board.note("failed", plan.id)
    if plan.state is not State.IN_QUESTION:
        board.turn_back(plan, outcome)
        return
    to_undo = any(step.state == "done" and step.kind.undo is not None for step in plan.steps)
    if to_undo or plan.halted:
        plan.setback = outcome
    else:
        board.turn_back(plan, outcome)


def renew(board: Board, by: str, body: RenewPlan) -> None:
    """Give a plan more time: under the same token, or, where it was in doubt and no longer is, under a new one."""
    plan = board.plan(body.plan)
    board.allow(by, by in plan.parties, " or ".join(sorted(plan.parties)))
    if plan.ended:
        raise Refused("terminal_state", f"{plan.id} has ended")
    if not plan.begun:
        raise Refused("wrong_state", f"{plan.id} has not begun")
    in_question = plan.state is State.IN_QUESTION
    if any(action.in_doubt for action in plan.actions()):
        raise Refused("in_doubt", f"{plan.id} has a step of which nobody knows whether it happened")
    if in_question and (plan.why != "in_doubt" or plan.halted):
        raise Refused("wrong_state", f"{plan.id} waits for a person, not for time")
    undoing = plan.back or plan.setback is not None
    if not undoing and board.queue.higher_waits(plan):
        raise Refused("higher_waits", f"a plan of a higher class waits for {plan.id}: finish, or withdraw")
    end = min(later(board.at, plan.lease), later(plan.granted_at, board.rules.longest))
    if end <= max(plan.lease_end, board.at):
        raise Refused("lease_bound", f"{plan.id} has had the longest lease")
    if not in_question:
        plan.lease_end = end
        board.redated[plan.id] = plan
        return
    board.resume(plan)
    if plan.setback is not None:
        board.turn_back(plan, plan.setback)
    board.grant(plan, end)


def withdraw(board: Board, by: str, body: WithdrawPlan) -> None:
    """Drop, release or undo a plan: whatever its lead can still give up."""
    plan = board.plan(body.plan)
    board.allow(by, by == plan.lead, plan.lead)
    if plan.ended:
        raise Refused("terminal_state", f"{plan.id} has ended")
    if plan.not_begun:
        board.drop(plan, "withdrawn")
    elif plan.state is State.STANDING:
        board.release(plan, "released")
    elif plan.state is not State.RUNNING:
        raise Refused("wrong_state", f"{plan.id} is {plan.state.value}")
    elif any(step.state in ("started", "unknown") for step in plan.steps):
        raise Refused("in_doubt", f"a step of {plan.id} has no result")
    elif plan.past_pivot():
        raise Refused("past_pivot", f"the point of no return of {plan.id} lies behind it")
    else:
        board.turn_back(plan, "withdrawn")
