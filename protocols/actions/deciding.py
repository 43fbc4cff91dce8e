"""People's words: a verdict on a plan, what a resource is seen to be, and whether what was done serves the intent."""

from collections.abc import Callable, Mapping
from typing import Final

from protocols.actions.board import Board
from protocols.actions.doing import check_scope, settle
from protocols.actions.plans import Action, Plan
from protocols.actions.states import Move, State
from protocols.core.findings import Refused
from protocols.messages.actions import DecidePlan, ObserveResource, VerifyPlan


def decide(board: Board, by: str, body: DecidePlan) -> None:
    """Take a verdict: about a plan before it begins, about an action nobody can settle, or to stop or undo."""
    plan = board.plan(body.plan)
    deciders = board.rules.opening.decided_by
    board.allow(by, by in deciders, " or ".join(deciders))
    if plan.ended:
        raise Refused("terminal_state", f"{plan.id} has ended")
    if plan.not_begun:
        _decide_before(board, plan, body)
        return
    action = plan.in_question()
    _CHECKS[body.verdict](plan, action)
    if body.verdict in ("go", "undo"):
        check_scope(None, body.versions)
    check_scope(action, body.versions)
    if body.verdict in ("undo", "stop") and plan.in_flight() is not None:
        board.ask(plan, "in_doubt")
        plan.halted = True
        return
    _VERDICTS[body.verdict](board, plan, action, body.versions)
    if plan.begun and plan.state is not State.IN_QUESTION:
        board.grant(plan)


def _decide_before(board: Board, plan: Plan, body: DecidePlan) -> None:
    if body.verdict not in ("stop", "go") or (body.verdict == "go" and plan.state is not State.ASKED):
        raise Refused("wrong_state", f"{plan.id} has not begun, and is {plan.state.shown}")
    check_scope(None, body.versions)
    if body.verdict == "stop":
        board.drop(plan, "stopped")
        return
    if plan.why == "equal":
        plan.favoured = True
    else:
        plan.cleared = True
    board.change(plan, Move.GO_ON)


def _check_asked(plan: Plan) -> None:
    if plan.state is not State.IN_QUESTION:
        raise Refused("wrong_state", f"nobody was asked about {plan.id}")


def _may_go(plan: Plan, action: Action | None) -> None:
    _check_asked(plan)
    if action is not None and action.state == "unknown" and not action.kind.rule.idempotent:
        raise Refused("in_doubt", f"nobody knows whether {action.id} happened: say done or failed first")


def _may_be_done(plan: Plan, action: Action | None) -> None:
    _check_asked(plan)
    if action is None:
        raise Refused("wrong_state", f"no step of {plan.id} is in question")


def _may_have_failed(plan: Plan, action: Action | None) -> None:
    _check_asked(plan)
    if action is None or action.state != "unknown":
        raise Refused("wrong_state", f"no step of {plan.id} is unknown")


def _may_be_undone(plan: Plan, action: Action | None) -> None:
    if action is not None and action.state == "unknown":
        raise Refused("in_doubt", f"nobody knows whether {action.id} happened: say done or failed first")
    if plan.back:
        raise Refused("wrong_state", f"{plan.id} is being undone already")
    if plan.past_pivot():
        raise Refused("past_pivot", f"the point of no return of {plan.id} lies behind it")


_CHECKS: Final[Mapping[str, Callable[[Plan, Action | None], None]]] = {
    "go": _may_go,
    "done": _may_be_done,
    "failed": _may_have_failed,
    "undo": _may_be_undone,
    "stop": lambda plan, action: None,
}


def _go(board: Board, plan: Plan, action: Action | None, versions: Mapping[str, str]) -> None:
    board.resume(plan)
    plan.setback = None
    if action is not None:
        action.attempts = 0
        if action.state != "unknown":
            action.state = "planned"
    board.advance(plan)


def _happened(board: Board, plan: Plan, action: Action | None, versions: Mapping[str, str]) -> None:
    assert action is not None
    board.resume(plan)
    plan.setback = None
    settle(board, plan, action, "done", versions)


def _did_not(board: Board, plan: Plan, action: Action | None, versions: Mapping[str, str]) -> None:
    assert action is not None
    board.resume(plan)
    settle(board, plan, action, "failed", versions)


def _undo(board: Board, plan: Plan, action: Action | None, versions: Mapping[str, str]) -> None:
    if plan.state is State.IN_QUESTION:
        board.resume(plan)
    board.turn_back(plan, "undone")


def _stop(board: Board, plan: Plan, action: Action | None, versions: Mapping[str, str]) -> None:
    left: dict[str, str | None] = dict(versions)
    if action is not None and action.state == "unknown":
        left = {name: versions.get(name) for name in action.on}
    board.change(plan, Move.STOP, "decided")
    board.move_versions(left)


_VERDICTS: Final[Mapping[str, Callable[[Board, Plan, Action | None, Mapping[str, str]], None]]] = {
    "go": _go,
    "done": _happened,
    "failed": _did_not,
    "undo": _undo,
    "stop": _stop,
}


def observe(board: Board, by: str, body: ObserveResource) -> None:
    """Take the version in which whoever looks after a resource has seen it."""
    resource = board.rules.opening.resources.get(body.resource)
    if resource is None:
        raise Refused("unknown_resource", f"{body.resource!r} is not a resource of the room")
    looks_after = [resource.owner] if resource.owner is not None else board.rules.opening.decided_by
    board.allow(by, by in looks_after, " or ".join(looks_after))
    if board.versions[body.resource] != body.version:
        for plan in board.open.values():
            if plan.begun and body.resource in plan.holds:
                board.note("moved_under", plan.id)
    board.move_versions({body.resource: body.version})


def verify(board: Board, by: str, body: VerifyPlan) -> None:
    """Take a verifier's word, once, whether what was done serves the intent."""
    plan = board.plan(body.plan)
    rule = board.rules.opening.verify
    verifiers = [each for each in (rule.by if rule else ()) if each not in plan.parties]
    board.allow(by, by in verifiers, " or ".join(verifiers) or "nobody")
    if plan.state not in (State.DONE, State.STANDING) or plan.verified is not None:
        raise Refused("wrong_state", f"{plan.id} is {plan.state.shown}, or was verified before")
    plan.verified = body.holds
    if not body.holds:
        board.note("not_as_meant", plan.id)
