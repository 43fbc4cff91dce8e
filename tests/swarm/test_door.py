"""What users import, and what it does from a program: names, results, errors, and calls inside a running event loop."""

import asyncio
import doctest
import inspect
import warnings
from dataclasses import is_dataclass
from pathlib import Path

import pytest

import agents
import swarm
from protocols.core.message import Message

ROOT = Path(__file__).parents[2]
SCENARIO = {
    "room": "lunch",
    "intent": "Where do we have lunch?",
    "agenda": ["concord"],
    "members": [
        {"name": "ann", "proposes": {"title": "soup"}, "scores": {"soup": 90, "bread": 20}, "ratifies": True},
        {"name": "ben", "proposes": {"title": "bread"}, "scores": {"soup": 60, "bread": 80}, "ratifies": True},
    ],
}


@pytest.mark.parametrize("package", [swarm, agents])
def test_every_name_that_is_promised_is_there_once_and_documented(package: object) -> None:
    """Protects who writes ``from swarm import …``: the list is what there is, and each name says what it is."""
    names = package.__all__  # type: ignore[attr-defined]
    assert len(names) == len(set(names))
    assert set(names) <= set(dir(package))
    for name in names:
        assert inspect.getdoc(getattr(package, name)), name


def test_the_names_of_the_contract_are_there() -> None:
    """Protects programs that are written by the contract."""
    assert {"run", "audit", "decide", "track", "open_room", "Peer", "Identity"} <= set(swarm.__all__)
    assert {"arun", "aopen_room", "compare", "explain", "RunResult", "AuditResult", "TrackResult"} <= set(swarm.__all__)


def test_all_errors_are_one_tree_and_exported() -> None:
    """Protects ``except``: every public error is `SwarmError`, and none is left out of the package."""
    import swarm.errors

    errors = {name for name, thing in vars(swarm.errors).items() if isinstance(thing, type) and name[0] != "_"}
    assert errors <= set(swarm.__all__)
    assert all(issubclass(getattr(swarm, name), swarm.SwarmError) for name in errors)


def test_a_call_inside_a_running_loop_names_its_twin_and_begins_nothing() -> None:
    """Protects notebooks and web services: no half-made coroutine, no warning, one sentence that says what to do."""

    async def inside() -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            with pytest.raises(RuntimeError, match=r"await swarm\.arun"):
                swarm.run(SCENARIO, memory=True)
            with pytest.raises(RuntimeError, match=r"await swarm\.aopen_room"):
                swarm.open_room(SCENARIO, swarm.Identity.new(), "nats://127.0.0.1:1")

    asyncio.run(inside())


def test_the_twin_runs_inside_a_loop_and_comes_to_the_same() -> None:
    """Protects the async door: same result as the plain call, and signals stay the caller's."""

    async def inside() -> swarm.RunResult:
        return await swarm.arun(SCENARIO, memory=True)

    one, two = asyncio.run(inside()), swarm.run(SCENARIO, memory=True)
    assert one.outcome == two.outcome == "agreed"
    assert one.decision is not None and two.decision is not None
    assert one.decision.option == two.decision.option
    assert one.decision.vector == (60, 90)


def test_a_result_is_typed_and_its_json_says_the_same(tmp_path: Path) -> None:
    """Protects who annotates and who reads JSON: fields and `plain` cannot differ."""
    ledger = tmp_path / "lunch.jsonl"
    result = swarm.run(SCENARIO, memory=True, ledger=ledger)
    plain = result.plain()
    assert result.decision is not None and plain["decision"] == result.decision.plain()
    assert plain["findings"] == [finding.plain() for finding in result.findings]
    assert plain["commitments"] == result.commitments
    assert plain["cost"] == result.cost.plain()
    assert plain["ledger"] == {"path": str(ledger), "entries": result.ledger.entries, "head": result.ledger.head}
    audited = swarm.audit(ledger)
    assert (audited.outcome, audited.decision) == ("agreed", result.decision)
    for name in ("RunResult", "AuditResult", "Comparison", "Selection", "TrackResult", "Decision", "Cost", "Finding"):
        assert is_dataclass(getattr(swarm, name)), name


def test_an_authors_imports_are_enough_for_an_agent() -> None:
    """Protects agents' authors: one import gives all that a whole agent answers with."""

    class Terse(agents.Agent):
        def propose(self, duty: agents.ProposeDuty) -> agents.Proposed:
            return agents.Proposed(agents.Option(title="soup"))

        def score(self, duty: agents.ScoreDuty) -> agents.Scored:
            return agents.Scored({option.id: 50 for option in duty.options})

    assert issubclass(agents.Option, Message)
    assert Terse().kind


def test_examples_in_docstrings_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """Protects who copies an example from the help of a function."""
    monkeypatch.chdir(ROOT)
    tried = 0
    for name in swarm.__all__:
        for test in doctest.DocTestFinder(recurse=False).find(getattr(swarm, name), name, globs={}):
            runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
            runner.run(test)
            assert runner.failures == 0, name
            tried += runner.tries
    assert tried >= 6
