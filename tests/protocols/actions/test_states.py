"""Every cell of a plan's life: in each state each word about it, by whoever may say it, and each move of the table."""

import json
from pathlib import Path
from typing import Any

import pytest

from protocols.actions.plans import Plan
from protocols.actions.states import AS_BEFORE, BEGUN, ENDED, NOT_BEGUN, TABLE, Move, State, picture, target
from protocols.core.instants import Duration
from swarm.history.refereeing import referee

ROOT = Path(__file__).parents[3]
MILL = json.loads((ROOT / "tests/vectors/action_rows.json").read_text())["openings"]["mill"]
PAINT = {"kind": "paint", "on": ["barn"], "args": {"colour": "red", "why": "faded"}, "by": "cy"}
CLOSE = {"kind": "close", "on": ["barn"]}


def does(minute: int, by: str, do: str, **fields: Any) -> dict[str, Any]:
    return {"at": f"2026-03-01T08:{minute:02}:00Z", "by": by, "do": do, **fields}


def proposes(minute: int, by: str, *steps: dict[str, Any], plan: str = "p", seen: str = "1") -> dict[str, Any]:
    return does(minute, by, "propose", plan=plan, seen={"barn": seen, "river": "1"}, steps=list(steps))


PROPOSED = proposes(0, "ada", PAINT, CLOSE)
READ = does(1, "cy", "read", step="p.1")
GRANTED = [PROPOSED, READ, does(2, "ada", "confirm", plan="p")]
BEGUN_ = [*GRANTED, does(3, "cy", "start", step="p.1")]
FIRST = [*BEGUN_, does(4, "cy", "result", step="p.1", outcome="done")]
UNKNOWN = [*BEGUN_, does(4, "cy", "result", step="p.1", outcome="unknown")]
BACK = [*FIRST, does(5, "ada", "withdraw", plan="p")]
LAST = [*FIRST, does(5, "ada", "start", step="p.2"), does(6, "ada", "result", step="p.2", outcome="done")]

REACHED: dict[str, list[dict[str, Any]]] = {
    # where the plan stands by minute 9: what brings it there
    "none": [],
    "reading": [PROPOSED],
    "read": [PROPOSED, READ],
    "waiting": [proposes(0, "bob", CLOSE, plan="q"), does(0, "bob", "start", step="q.1"), *GRANTED],
    "granted": GRANTED,
    "asked": [proposes(0, "bob", CLOSE, plan="q"), *GRANTED],
    "running": FIRST,
    "in flight": BEGUN_,
    "in doubt": UNKNOWN,
    "undoing": BACK,
    "stuck": [
        *BACK,
        does(6, "cy", "start", step="p.1.undo"),
        does(7, "cy", "result", step="p.1.undo", outcome="refused"),
    ],
    "standing": LAST,
    "done": [*LAST, does(7, "ada", "withdraw", plan="p")],
    "dropped": [*GRANTED, does(3, "ada", "withdraw", plan="p")],
    "failed": [*BEGUN_, does(4, "cy", "result", step="p.1", outcome="refused")],
    "stopped": [*FIRST, does(5, "judge", "decide", plan="p", verdict="stop")],
}

WORDS: dict[str, dict[str, Any]] = {
    "read": does(9, "cy", "read", step="p.1"),
    "confirm": does(9, "ada", "confirm", plan="p"),
    "dispute": does(9, "ada", "dispute", plan="p"),
    "start": does(9, "cy", "start", step="p.1"),
    "next": does(9, "ada", "start", step="p.2"),
    "back": does(9, "cy", "start", step="p.1.undo"),
    "result": does(9, "cy", "result", step="p.1", outcome="done"),
    "renew": does(9, "ada", "renew", plan="p"),
    "withdraw": does(9, "ada", "withdraw", plan="p"),
    "go": does(9, "judge", "decide", plan="p", verdict="go"),
    "done": does(9, "judge", "decide", plan="p", verdict="done"),
    "failed": does(9, "judge", "decide", plan="p", verdict="failed"),
    "undo": does(9, "judge", "decide", plan="p", verdict="undo"),
    "stop": does(9, "judge", "decide", plan="p", verdict="stop"),
    "verify": does(9, "eye", "verify", plan="p", holds=True),
}
CELLS: dict[str, str] = {
    # in the order of WORDS: the state to which each leads, or the code with which it is refused
    "none": (
        "unknown_action unknown_action unknown_action unknown_action unknown_action unknown_action "
        "unknown_action unknown_action unknown_action unknown_action unknown_action unknown_action "
        "unknown_action unknown_action unknown_action"
    ),
    "reading": (
        "reading not_read_back dropped not_granted not_granted not_granted not_started wrong_state dropped "
        "wrong_state wrong_state wrong_state wrong_state dropped wrong_state"
    ),
    "read": (
        "wrong_state granted dropped not_granted not_granted not_granted not_started wrong_state dropped "
        "wrong_state wrong_state wrong_state wrong_state dropped wrong_state"
    ),
    "waiting": (
        "wrong_state wrong_state dropped not_granted not_granted not_granted not_started wrong_state dropped "
        "wrong_state wrong_state wrong_state wrong_state dropped wrong_state"
    ),
    "granted": (
        "wrong_state wrong_state dropped running out_of_order wrong_state not_started wrong_state dropped "
        "wrong_state wrong_state wrong_state wrong_state dropped wrong_state"
    ),
    "asked": (
        "wrong_state wrong_state dropped not_granted not_granted not_granted not_started wrong_state dropped "
        "granted wrong_state wrong_state wrong_state dropped wrong_state"
    ),
    "running": (
        "wrong_state wrong_state wrong_state already_done running wrong_state already_settled running undoing "
        "wrong_state wrong_state wrong_state undoing stopped wrong_state"
    ),
    "in flight": (
        "wrong_state wrong_state wrong_state already_started out_of_order wrong_state running running "
        "in_doubt wrong_state wrong_state wrong_state asked asked wrong_state"
    ),
    "in doubt": (
        "wrong_state wrong_state wrong_state in_doubt in_doubt in_doubt asked in_doubt wrong_state in_doubt "
        "running failed in_doubt stopped wrong_state"
    ),
    "undoing": (
        "wrong_state wrong_state wrong_state already_done wrong_state undoing already_settled undoing "
        "wrong_state wrong_state wrong_state wrong_state wrong_state stopped wrong_state"
    ),
    "stuck": (
        "wrong_state wrong_state wrong_state already_done in_doubt cannot_succeed already_settled wrong_state "
        "wrong_state undoing failed wrong_state wrong_state stopped wrong_state"
    ),
    "standing": (
        "wrong_state wrong_state wrong_state already_done already_done wrong_state already_settled standing "
        "done wrong_state wrong_state wrong_state undoing stopped standing"
    ),
    "done": (
        "terminal_state terminal_state terminal_state already_done already_done terminal_state "
        "already_settled terminal_state terminal_state terminal_state terminal_state terminal_state "
        "terminal_state terminal_state done"
    ),
    "dropped": (
        "terminal_state terminal_state terminal_state terminal_state terminal_state terminal_state "
        "not_started terminal_state terminal_state terminal_state terminal_state terminal_state "
        "terminal_state terminal_state wrong_state"
    ),
    "failed": (
        "terminal_state terminal_state terminal_state cannot_succeed terminal_state terminal_state "
        "already_settled terminal_state terminal_state terminal_state terminal_state terminal_state "
        "terminal_state terminal_state wrong_state"
    ),
    "stopped": (
        "terminal_state terminal_state terminal_state already_done terminal_state terminal_state "
        "already_settled terminal_state terminal_state terminal_state terminal_state terminal_state "
        "terminal_state terminal_state wrong_state"
    ),
}


def came_to(name: str, word: str) -> str:
    """Return the code with which *word* is refused where the plan stands so, or the state to which it leads."""
    history = [*REACHED[name], WORDS[word]]
    result = referee({**MILL, "history": history})
    refused = [each.code for each in result.refused if each.item == len(history)]
    return refused[0] if refused else result.plans["p"].state


@pytest.mark.parametrize("name", REACHED)
def test_each_word_in_each_state(name: str) -> None:
    """Protects every cell: what a word leads to, or why it changes nothing."""
    assert {word: came_to(name, word) for word in WORDS} == dict(zip(WORDS, CELLS[name].split(), strict=True))


@pytest.mark.parametrize("state", list(State))
@pytest.mark.parametrize("move", list(Move))
def test_each_move_in_each_state(state: State, move: Move) -> None:
    """A move of the table leads where it says; any other is a fault of ours, and changes nothing."""
    plan = Plan("p", "ada", 1, 0, (), {}, Duration(1), None, False, state=state)
    if move not in TABLE[state]:
        with pytest.raises(KeyError):
            plan.move(move)
        assert plan.state is state
        return
    plan.move(move)
    to = TABLE[state][move]
    assert plan.state is (State.RUNNING if to is AS_BEFORE else to)
    if to is AS_BEFORE:
        assert target(state, move, back=True) is State.UNDOING


def test_each_state_is_on_one_side_of_the_start() -> None:
    """Protects the rules that ask only whether a plan has begun: no state is forgotten, and none is both."""
    sides = [{State.NONE}, NOT_BEGUN, BEGUN, ENDED]
    assert sorted(state for side in sides for state in side) == sorted(State)
    assert {state.shown for state in State if state.shown == "asked"} == {"asked"}
    assert {to for state in NOT_BEGUN for to in TABLE[state].values()} & (ENDED - {State.DROPPED}) == set()
    assert State.DROPPED not in {to for state in BEGUN for to in TABLE[state].values()}


def test_the_picture_is_that_of_the_table() -> None:
    """Protects the page: an arrow for each move, and nothing else. Write what the failure shows into the page."""
    assert picture() in (ROOT / "docs/actions.md").read_text("utf-8")
    arrows = [line for line in picture().splitlines() if "-->" in line and "--> [*]" not in line]
    assert len(arrows) == sum(1 if to else 2 for row in TABLE.values() for to in row.values())
