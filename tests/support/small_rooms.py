"""Small, quick rooms, and what a test needs to sit in one by hand."""

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from swarm.clock import utc_now
from swarm.log.memory import MemoryLog
from swarm.scenario.members import agent_config
from swarm.scenario.minds import make_agent
from swarm.scenario.scenario import read_scenario
from swarm.seat.opening import publish_opening, sign_opening
from swarm.seat.replica import Replica
from swarm.signed.identity import Identity
from tests.support import strange_agents

ROOT = Path(__file__).resolve().parents[2]
SWARM = [str(Path(sys.executable).with_name("swarm"))]
SECOND = 1_000_000


def member(name: str, **more: Any) -> dict[str, Any]:
    """A scripted member that agrees with everybody."""
    scores = {"otherwise": 70}
    return {"name": name, "proposes": {"title": f"{name}'s", "offer": {"day": "mon"}}, "scores": scores} | more


def custom(name: str, kind: str, **args: Any) -> dict[str, Any]:
    return {"name": name, "agent": f"tests.support.strange_agents:{kind}", "args": args, "folder": str(ROOT)}


def room(*members: dict[str, Any], seconds: int = 3, **more: Any) -> dict[str, Any]:
    rules = {"step_seconds": seconds, "improvements": 1} | more.pop("rules", {})
    return {
        "room": "small",
        "intent": "Pick a day.",
        "agenda": ["concord"],
        "issues": {"day": ["mon", "tue"]},
        "rules": rules,
        "members": list(members) or [member("ann"), member("bob")],
    } | more


def written(folder: Path, scenario: dict[str, Any], name: str = "scenario.json") -> str:
    path = folder / name
    path.write_text(json.dumps(scenario), encoding="utf-8")
    return str(path)


class Sitting:
    """A room on a log in memory, with the identities and replica that a test drives by hand."""

    def __init__(self, scenario: dict[str, Any], log: Any = None, clock: Callable[[], int] = utc_now) -> None:
        self.scenario = read_scenario(scenario)
        self.log = MemoryLog() if log is None else log
        self.clock = clock
        self.identities = {name: Identity.new() for name in self.scenario.names}
        self.agents = {m.name: make_agent(agent_config(m)) for m in self.scenario.members}
        self.opener = self.identities[self.scenario.names[0]]
        self.room = ""

    async def open(self) -> Replica:
        keys = {name: identity.public for name, identity in self.identities.items()}
        entry = sign_opening(self.opener, self.scenario.opening(keys), utc_now())
        self.room = entry.room
        await publish_opening(self.log, entry)
        return await self.replica()

    async def replica(self, log: Any = None, clock: Callable[[], int] | None = None) -> Replica:
        made = Replica(log or self.log, self.room, self.opener.public, clock or self.clock)
        await made.open()
        return made


def go(work: Any, seconds: float = 60) -> Any:
    """Run *work* with a deadline that only a hang reaches."""

    async def bounded() -> Any:
        return await asyncio.wait_for(work, seconds)

    try:
        return asyncio.run(bounded())
    finally:
        strange_agents.RELEASED.set()
        strange_agents.RELEASED.clear()


# -- real processes ---------------------------------------------------------------------------------------------------


def environment(temporary: Path) -> dict[str, str]:
    """Return an environment whose temporary folder is *temporary*: what a run leaves there can be seen."""
    temporary.mkdir(exist_ok=True)
    return {**os.environ, "TMPDIR": str(temporary)}


_started: list["subprocess.Popen[str]"] = []


def start(*arguments: str, env: dict[str, str] | None = None) -> "subprocess.Popen[str]":
    """Start a command; what a failed test leaves of it is ended after that."""
    process = subprocess.Popen(
        [*SWARM, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=ROOT, env=env
    )
    _started.append(process)
    return process


def end_all() -> None:
    """End what was started and not waited for."""
    while _started:
        process = _started.pop()
        if process.poll() is None:
            process.kill()
        process.communicate()


def swarm(*arguments: str, env: dict[str, str] | None = None) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [*SWARM, *arguments], capture_output=True, text=True, timeout=60, cwd=ROOT, env=env, check=False
    )


def descendants(pid: int) -> dict[int, str]:
    """Return the command lines of all processes that *pid* has started, directly or not, sessions notwithstanding."""
    children: dict[int, list[int]] = {}
    commands: dict[int, str] = {}
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            stat = (entry / "stat").read_text()
            commands[int(entry.name)] = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode()
        except OSError:
            continue
        children.setdefault(int(stat.rpartition(")")[2].split()[1]), []).append(int(entry.name))
    found: dict[int, str] = {}
    waiting = [pid]
    while waiting:
        for child in children.get(waiting.pop(), []):
            found[child] = commands.get(child, "")
            waiting.append(child)
    return found


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def until_step(process: "subprocess.Popen[str]", step: str) -> None:
    """Read the run's progress until *step* is open."""
    assert process.stderr is not None
    for line in process.stderr:
        if f"… {step}" in line:
            return
    raise AssertionError(f"the run ended before {step}: {process.communicate()}")


def ledger(path: Path) -> list[dict[str, Any]]:
    """Return the records of a ledger file."""
    lines = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    return [line for line in lines if "position" in line]
