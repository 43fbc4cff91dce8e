"""What depends on what: circles of commitments, parties that wait for each other, promises that exclude each other."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from protocols.commitments.programs import Program
from protocols.commitments.tree import And, Before, By, Condition, LifeCycle, No, Or, Timed, Within, event_of, leaves
from protocols.core.graphs import components


class Trouble(NamedTuple):
    """A problem among commitments: its stable code, the commitments concerned, and a description."""

    code: str
    commitments: tuple[str, ...]
    text: str


def dependencies(programs: Mapping[str, Program]) -> dict[str, list[str]]:
    """Return the graph of commitments: each with the commitments that its conditions name."""
    return {name: sorted(program.named) for name, program in programs.items()}


def ranks(programs: Mapping[str, Program]) -> dict[str, int]:
    """Return a rank for each commitment, above the ranks of those it names; commitments in one circle share a rank."""
    graph = dependencies(programs)
    rank: dict[str, int] = {}
    for part in components(graph):
        named = {other for name in part for other in graph.get(name, ())}.difference(part)
        rank |= dict.fromkeys(part, max((rank[other] + 1 for other in named), default=0))
    return rank


def find_troubles(programs: Mapping[str, Program], debtors: Mapping[str, str]) -> list[Trouble]:
    """Return the circles, deadlocks and conflicts among the commitments in *debtors*, which names current debtors."""
    live = {name: program for name, program in programs.items() if name in debtors}
    return [*_circles(live), *_deadlocks(live, debtors), *_conflicts(live, debtors)]


def _circles(programs: Mapping[str, Program]) -> list[Trouble]:
    knots = _knots(dependencies(programs), programs)
    return [Trouble("circle", names, f"{', '.join(names)} wait for each other in a circle") for names in knots]


def _knots(graph: Mapping[str, Iterable[str]], among: Mapping[str, Program]) -> list[tuple[str, ...]]:
    """Return the circles of several nodes of *graph*, restricted to *among*, in the order of declaration."""
    place = {name: number for number, name in enumerate(among)}
    inner = {name: [other for other in others if other in place] for name, others in graph.items() if name in place}
    knots = [tuple(sorted(part, key=place.__getitem__)) for part in components(inner) if len(part) > 1]
    return sorted(knots, key=lambda names: place[names[0]])


def _deadlocks(programs: Mapping[str, Program], debtors: Mapping[str, str]) -> list[Trouble]:
    """Find groups of parties in which nobody has to act first.

    A commitment binds once its antecedent can come to hold and its clocks can run. An event can come about if nobody
    promised it, or if a commitment that binds promises it. A commitment that never binds under this rule, and waits in
    a circle for what another debtor promised, is in a deadlock.
    """
    promised: dict[str, list[str]] = {}
    for name, program in programs.items():
        for event in _wanted(program.then):
            promised.setdefault(event, []).append(name)
    binding: set[str] = set()
    while True:
        more = {
            name
            for name, program in programs.items()
            if name not in binding
            and (program.if_ is None or _can_come(program.if_, promised, binding))
            and _can_run(program.then, promised, binding)
        }
        if not more:
            break
        binding |= more
    stuck = {name: program for name, program in programs.items() if name not in binding}
    graph: dict[str, list[str]] = {}
    for name, program in stuck.items():
        events = (set() if program.if_ is None else _wanted(program.if_)) | _clock_events(program.then)
        graph[name] = [other for event in events for other in promised.get(event, ())]
    found: list[Trouble] = []
    for names in _knots(graph, stuck):
        waiting = list(dict.fromkeys(debtors[name] for name in names))
        if len(waiting) > 1:
            text = f"{' and '.join(waiting)} wait for each other ({', '.join(names)}): none has to act first"
            found.append(Trouble("deadlock", names, text))
    return found


def _wanted(condition: Condition) -> set[str]:
    """Return the events that *condition* needs to happen, ignoring clocks."""
    if isinstance(condition, And | Or):
        return set().union(*map(_wanted, condition.parts))
    if isinstance(condition, No):
        return set()
    event = event_of(condition.what if isinstance(condition, Timed) else condition)
    return set() if event is None else {event.name}


def _clock_events(condition: Condition) -> set[str]:
    if isinstance(condition, And | Or):
        return set().union(*map(_clock_events, condition.parts))
    if not isinstance(condition, Timed | No):
        return set()
    clocks = [window.of for window in condition.windows if isinstance(window, Within)]
    return {event.name for of in clocks for leaf in leaves(of) if (event := event_of(leaf)) is not None}


def _can_come(condition: Condition, promised: Mapping[str, list[str]], binding: set[str]) -> bool:
    if isinstance(condition, And | Or):
        found = (_can_come(part, promised, binding) for part in condition.parts)
        return all(found) if isinstance(condition, And) else any(found)
    if isinstance(condition, No):
        return True
    what = condition.what if isinstance(condition, Timed) else condition
    if isinstance(what, LifeCycle):
        return True
    event = event_of(what)
    makers = promised.get(event.name, []) if event is not None else []
    return not makers or any(name in binding for name in makers)


def _can_run(condition: Condition, promised: Mapping[str, list[str]], binding: set[str]) -> bool:
    """Return whether the ends of what is promised can be reached, so that the debtor has to act."""
    if isinstance(condition, And | Or):
        found = (_can_run(part, promised, binding) for part in condition.parts)
        return any(found) if isinstance(condition, And) else all(found)
    if not isinstance(condition, Timed | No):
        return True
    clocks = [window.of for window in condition.windows if isinstance(window, Within)]
    fixed = any(isinstance(window, By | Before) for window in condition.windows)
    return fixed or not clocks or any(_can_come(of, promised, binding) for of in clocks)


def _conflicts(programs: Mapping[str, Program], debtors: Mapping[str, str]) -> list[Trouble]:
    found: list[Trouble] = []
    seen: set[frozenset[str]] = set()
    for name, program in programs.items():
        for other in program.excludes:
            pair = frozenset({name, other})
            if other in programs and debtors[name] == debtors[other] and pair not in seen:
                seen.add(pair)
                text = f"{debtors[name]} promises both {name} and {other}, which exclude each other"
                found.append(Trouble("conflict", (name, other), text))
    return found
