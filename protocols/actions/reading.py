"""Before the queue: proposals, read-backs and their confirmation, and what a person must let in first."""

from protocols.actions.board import Board
from protocols.actions.plans import Action, Plan
from protocols.actions.proposing import make_plan, reads_digest
from protocols.actions.states import Move, State
from protocols.core.findings import Refused
from protocols.messages.actions import ConfirmPlan, DisputePlan, ProposePlan, ReadBack


def propose(board: Board, by: str, proposal: ProposePlan) -> None:
    """Take a plan in: read-backs that are owed come first, then the queue."""
    board.allow(by, True, "a member")
    plan = make_plan(
        proposal,
        by,
        board.position,
        board.at,
        board.rules,
        board.room,
        board.present,
        board.versions,
        board.plans,
        len(board.open),
    )
    if proposal.tainted:
        board.tainted.add(by)
    plan.tainted = by in board.tainted
    board.enter(plan)
    if plan.unconfirmed():
        board.change(plan, Move.OWE)
    else:
        _let_in(board, plan, Move.PROPOSE)


def _let_in(board: Board, plan: Plan, move: Move) -> None:
    """Queue *plan*, unless a person must let it in."""
    flaps = not plan.cleared and board.reversals.too_many(plan, board.at, board.open.values())
    privileged = any(step.kind.rule.privileged for step in plan.steps)
    tainted = not plan.cleared and plan.tainted and privileged
    if flaps:
        board.ask(plan, "flapping")
        if tainted:
            board.note("tainted", plan.id)
    elif tainted:
        board.ask(plan, "tainted")
    else:
        board.change(plan, move)


def read(board: Board, by: str, body: ReadBack) -> None:
    """Take a read-back: the same step in the executor's words, with the numbers of its tool."""
    plan, step = board.action(body.step)
    board.allow(by, by == step.by, step.by)
    _check_open(plan)
    if plan.state is not State.READING or step.confirmers is None or step.read is not None:
        raise Refused("wrong_state", f"{step.id} owes no read-back")
    _check_echo(step, body)
    step.read = dict(body.counts)
    if any(beyond(number, step.expects[count], step.kind.rule.tolerance) for count, number in body.counts.items()):
        board.note("beyond_tolerance", plan.id)
        board.drop(plan, "beyond_tolerance")
    else:
        _go_on(board, plan)


def _check_echo(step: Action, body: ReadBack) -> None:
    echo = body.echo
    for name, said, meant in (
        ("kind", echo.kind, step.kind.name),
        ("on", None if echo.on is None else set(echo.on), set(step.on)),
        ("args", echo.args, step.args),
    ):
        if said is not None and not _same(said, meant):
            raise Refused("misread", f"{step.id} was proposed with another {name}")
    if body.counts.keys() != set(step.kind.rule.counts):
        raise Refused("misread", f"{step.kind.name} counts {', '.join(step.kind.rule.counts) or 'nothing'}")


def _same(said: object, meant: object) -> bool:
    """Compare so that ``1`` and ``true`` differ."""
    if isinstance(said, dict) and isinstance(meant, dict):
        return said.keys() == meant.keys() and all(_same(said[key], meant[key]) for key in said)
    return type(said) is type(meant) and said == meant


def beyond(number: int, base: int, tolerance: int) -> bool:
    """Return whether *number* differs from *base* by more than *tolerance* per cent; of less than one, of one."""
    return abs(number - base) * 100 > tolerance * max(base, 1)


def _go_on(board: Board, plan: Plan) -> None:
    if not plan.unconfirmed():
        _let_in(board, plan, Move.QUEUE)


def confirm(board: Board, by: str, body: ConfirmPlan) -> None:
    """Take a confirmation of all of the plan's read-backs that are this member's to confirm."""
    plan = _to_confirm(board, by, body.plan)
    if plan.state is not State.READING or by in plan.confirmed:
        raise Refused("wrong_state", f"{plan.id} waits for no confirmation of {by}")
    if plan.unread():
        raise Refused("not_read_back", f"a step of {plan.id} is not read back yet")
    if body.reads is not None and body.reads != reads_digest(plan):
        raise Refused("not_read_back", f"that is not the digest of what was read back of {plan.id}")
    plan.confirmed.add(by)
    _go_on(board, plan)


def dispute(board: Board, by: str, body: DisputePlan) -> None:
    """Drop a plan that is not what is meant; a no needs no numbers."""
    plan = _to_confirm(board, by, body.plan)
    if not plan.not_begun:
        raise Refused("wrong_state", f"{plan.id} has begun")
    board.note("disputed", plan.id)
    board.drop(plan, "disputed")


def _to_confirm(board: Board, by: str, name: str) -> Plan:
    plan = board.plan(name)
    confirmers = {who for step in plan.steps for who in step.confirmers or ()}
    board.allow(by, by in confirmers, " or ".join(sorted(confirmers)) or "nobody")
    _check_open(plan)
    return plan


def _check_open(plan: Plan) -> None:
    if plan.ended:
        raise Refused("terminal_state", f"{plan.id} has ended")


def repin(board: Board, by: str) -> None:
    """Void what a member read back before its model or its tools changed."""
    board.allow(by, True, "a member")
    board.note("pins_changed", by)
    for plan in list(board.open.values()):
        mine = [step for step in plan.steps if step.by == by and step.read is not None]
        if not plan.not_begun or not mine:
            continue
        for step in mine:
            step.read = None
        plan.confirmed.clear()
        plan.cleared = plan.favoured = False
        plan.token = None
        board.change(plan, Move.REREAD)
