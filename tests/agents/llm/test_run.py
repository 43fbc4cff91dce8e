"""Four models at one table: examples/renewal-llm.yaml, in real processes, over real HTTP and the real broker."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from swarm import Identity, audit, run
from swarm.running.running import RunResult
from swarm.scenario.scenario import read_scenario
from tests.support.llm_server import ROOT, Server, Story, closed_port, serving

SWARM = str(Path(sys.executable).with_name("swarm"))
EXAMPLE = ROOT / "examples" / "renewal-llm.yaml"
OLLAMA = "http://127.0.0.1:11434/v1"
SECRET = "sk-not-to-be-seen-1234567890"
FAULTS = [
    ("not_json", "sales", "interpret"),
    ("slow:0.5", "legal", "interpret"),
    ("wrong_schema", "finance", "read"),
    ("refuse:I do not judge colleagues.", "legal", "read"),
    ("drop", "legal", "settle"),
    ("excuse:I leave that word alone.", "finance", "settle"),
    ("long", "sales", "propose"),
    ("status:429,1", "success", "propose"),
    ("status:500", "finance", "propose"),
    ("text_numbers", "legal", "score"),
    ("failed", "success", "score"),
    ("prose", "sales", "score"),
    ("slow:30", "finance", "improve"),
    ("html", "legal", "ratify"),
    ("twice", "success", "ratify"),
    ("status:503,0", "finance", "perform"),
]


def at(address: str, folder: Path, **more: str) -> Path:
    """Write the example with its models at *address*, and with *more* lines for each of its members."""
    text = EXAMPLE.read_text("utf-8")
    assert text.count(OLLAMA) == 1
    assert text.count("    agent: llm\n") == 4
    lines = "".join(f"    {name}: {value}\n" for name, value in more.items())
    path = folder / "renewal-llm.yaml"
    path.write_text(text.replace(OLLAMA, address).replace("    agent: llm\n", "    agent: llm\n" + lines), "utf-8")
    return path


def swarm(*arguments: str, **env: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [SWARM, *arguments], capture_output=True, text=True, timeout=60, check=False, env={**os.environ, **env}
    )


def ledger_costs(result: RunResult) -> dict[str, int]:
    """Return what the entries of the ledger declare, added up here."""
    assert result.fold is not None
    costs = [record.entry.cost for record in result.fold.records if record.entry is not None and record.entry.cost]
    return {name: sum(cost.get(name, 0) for cost in costs) for name in ("tokens_in", "tokens_out", "calls")}


def test_four_models_agree_whatever_their_server_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """Protects the whole: faults cost requests and an excuse each, and neither the agreement nor the books."""
    monkeypatch.setenv("KESTREL_KEY", SECRET)
    ledger, roster = tmp_path / "ledger.jsonl", tmp_path / "roster.yaml"
    with serving(Story()) as server:
        for fault, who, act in FAULTS:
            server.order(fault, who=who, act=act)
        scenario = at(server.url, tmp_path, api_key_env="KESTREL_KEY", timeout_seconds="2")
        result = run(scenario, ledger=ledger, roster=roster)
    assert server.unmet == []
    assert result.outcome == "agreed", result.reason
    assert result.decision is not None
    assert result.decision.option.title == "12% for two years"
    assert result.decision.vector == (72, 74, 75, 80)
    kept = {name: "satisfied" for name in ("approval", "paper", "order", "bonus", "plan")}
    assert {name: state for name, state in result.commitments.items() if name != "amends"} == kept

    assert {name: result.cost.plain()[name] for name in server.counted} == server.counted == ledger_costs(result)
    audited = audit(ledger, roster=roster)
    assert audited.verdict == "verified"
    assert excuses(result) == {
        ("accord.reading.seal", "refused: its model refuses to answer"): {"calls": 1, "model": "qwen3:8b"},
        ("accord.settle", "I leave that word alone."): {"calls": 1, "model": "qwen3:8b"},
    }
    assert_seals_hold(server, result)
    assert_private_parts_stay(server)
    assert {asked.headers["authorization"] for asked in server.asked} == {f"Bearer {SECRET}"}
    said = capfd.readouterr()
    for text in (ledger.read_text(), roster.read_text(), said.out, said.err, json.dumps(result.plain())):
        assert SECRET not in text
    assert "I do not judge colleagues" not in ledger.read_text()  # A refusal may quote what was asked or thought.


def excuses(result: RunResult) -> dict[tuple[str, str], dict[str, Any]]:
    """Return what was excused, and why, with the calls and the model that this took."""
    assert result.fold is not None
    found = {}
    for record in result.fold.records:
        if record.entry is not None and record.entry.body["kind"] == "room.excuse":
            cost = record.entry.cost or {}
            assert cost["tokens_in"] > 0
            assert float(cost["seconds"]) > 0
            key = (record.entry.body["step"], record.entry.body["because"])
            found[key] = {name: cost[name] for name in ("calls", "model")}
    return found


def assert_seals_hold(server: Server, result: RunResult) -> None:
    """Check that no request for a sealed answer holds a text of what another member seals in that step."""
    assert result.fold is not None
    sealed: dict[str, dict[str, set[str]]] = {}
    for record in result.fold.records:
        if record.entry is not None and record.entry.body["kind"] == "reveal":
            author = result.fold.names[record.entry.author]
            texts = set(long_texts(record.entry.body["content"]))
            sealed.setdefault(record.entry.body["step"], {})[author] = texts
    for step, act in (("accord.meaning", "interpret"), ("concord.option", "propose"), ("concord.ballot.1", "score")):
        by_member = sealed[f"{step}.reveal"]
        assert all(by_member.values()) or act == "score"
        first = {member: server.of(act, member)[: attempts(server, act, member)] for member in by_member}
        for member, requests in first.items():
            assert requests
            for other, texts in by_member.items():
                hidden = texts - by_member[member]
                if other != member:
                    assert not [text for asked in requests for text in hidden if text in asked.text], (
                        step,
                        member,
                        other,
                    )
        shown = " ".join(asked.text for asked in server.asked)
        assert all(text in shown for texts in by_member.values() for text in texts), "the check sees what it looks for"


def assert_private_parts_stay(server: Server) -> None:
    """Check that a member's facts are in the instructions of its own requests, and in no other and no data."""
    for text, owner in (("87 per cent of list", "finance"), ("The insurer pays nothing above", "legal")):
        assert {each.who for each in server.asked if text in each.text} == {owner}
        assert all(text in each.instructions and text not in each.words for each in server.asked if each.who == owner)


def attempts(server: Server, act: str, member: str) -> int:
    """Return how many requests the first answer to *act* took: those about the same things as the first."""
    requests = server.of(act, member)
    return sum(asked.data["asked"] == requests[0].data["asked"] for asked in requests)


def long_texts(content: Any) -> list[str]:
    """Return the texts in *content* that are long enough to be nobody else's by chance; no ids."""
    if isinstance(content, dict):
        return [text for item in content.values() for text in long_texts(item)]
    if isinstance(content, list):
        return [text for item in content for text in long_texts(item)]
    is_text = isinstance(content, str) and len(content) > 20 and re.fullmatch("[0-9a-f]{64}", content) is None
    return [content] if is_text else []


def test_without_a_server_no_room_opens(tmp_path: Path) -> None:
    """Protects whoever forgot to start it: one line that says who and where, exit 2, and nothing is left behind."""
    address = f"http://127.0.0.1:{closed_port()}/v1"
    ledger = tmp_path / "ledger.jsonl"
    scenario = at(address, tmp_path)
    ran = swarm("run", str(scenario), "--ledger", str(ledger), "--dir", str(tmp_path / "kept"))
    assert ran.returncode == 2
    assert ran.stdout == ""
    assert ran.stderr.splitlines() == [f"swarm: agent llm of sales: base_url: no server answers at {address}"]
    assert not ledger.exists()
    assert not (tmp_path / "kept").exists()
    assert read_scenario(scenario).names == ["sales", "finance", "success", "legal"]  # What `swarm check` does.


def test_without_a_key_no_room_opens(tmp_path: Path) -> None:
    """Protects whoever forgot to set it: the variable is named."""
    ran = swarm("run", str(at("http://127.0.0.1:1/v1", tmp_path, api_key_env="NO_SUCH_KEY")))
    assert ran.returncode == 2
    assert ran.stderr.splitlines() == ["swarm: agent llm of sales: api_key_env: NO_SUCH_KEY is not set"]


def test_a_standing_peer_looks_for_its_model_first(tmp_path: Path) -> None:
    """Protects the others in its rooms: a peer whose mind cannot be asked joins none."""
    agent, key = tmp_path / "ann.yaml", tmp_path / "ann.key"
    agent.write_text(f"agent: llm\nmodel: scripted\nbase_url: http://127.0.0.1:{closed_port()}/v1\n")
    Identity.new().save(key)
    ran = swarm("peer", str(agent), "--key", str(key), "--server", f"nats://127.0.0.1:{closed_port()}")
    assert ran.returncode == 2
    assert "base_url: no server answers at" in ran.stderr
    assert len(ran.stderr.splitlines()) == 1


def test_without_the_library_the_extra_is_named_and_others_need_it_not(tmp_path: Path) -> None:
    """Protects the plain installation: only who seats a model needs pydantic-ai, and is told how to get it."""
    blocked = tmp_path / "blocked" / "pydantic_ai"
    blocked.mkdir(parents=True)
    (blocked / "__init__.py").write_text("raise ImportError('not installed here')\n")
    env = {"PYTHONPATH": str(blocked.parent)}
    ran = swarm("run", str(at("http://127.0.0.1:1/v1", tmp_path)), **env)
    assert ran.returncode == 2
    assert ran.stderr.splitlines() == [
        "swarm: agent llm of sales: agent: llm needs pydantic-ai: pip install 'swarm-peers[llm]'"
    ]
    code = "import sys, swarm.running.member, swarm.running.running; sys.exit('pydantic_ai' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False, cwd=ROOT).returncode == 0
