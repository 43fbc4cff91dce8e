"""A secured broker, keys that it lets in, and peers that stand there as processes of their own."""

import json
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

from swarm.auditing.auditing import audit
from swarm.signed.identity import Identity
from tests.support.patience import until

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
SWARM = str(Path(sys.executable).with_name("swarm"))


def scenario(room: str, members: dict[str, str], *, seconds: int = 20, **more: Any) -> dict[str, Any]:
    """A room that picks a day, for peers elsewhere: *members* gives each name its key."""
    return {
        "room": room,
        "intent": "Pick a day.",
        "agenda": ["concord"],
        "issues": {"day": ["mon", "tue"]},
        "rules": {"step_seconds": seconds, "improvements": 0},
        "members": [{"name": name, "key": key} for name, key in members.items()],
    } | more


def script(**more: Any) -> dict[str, Any]:
    """An agent file whose mind answers at once."""
    proposes = {"title": "Monday", "offer": {"day": "mon"}}
    return {"agent": "scripted", "proposes": proposes, "scores": {"otherwise": 70}} | more


class Standing:
    """A `swarm peer` process; what it prints is in files."""

    def __init__(self, folder: Path, arguments: list[str]) -> None:
        self.out, self.err = folder / "out", folder / "err"
        with self.out.open("ab") as out, self.err.open("ab") as err:
            self.process = subprocess.Popen([SWARM, "peer", *arguments], stdout=out, stderr=err)

    @property
    def log(self) -> list[str]:
        return self.err.read_text("utf-8").splitlines()

    @property
    def over(self) -> dict[str, str]:
        """What it printed: the outcome of each room that is over."""
        lines = (line.split("  ", 1) for line in self.out.read_text("utf-8").splitlines())
        return {room: outcome for room, outcome in lines}

    def stands(self) -> "Standing":
        until(lambda: any("stands at" in line for line in self.log) or self.process.poll() is not None, "it stands")
        assert self.process.poll() is None, self.log
        return self

    def says(self, text: str) -> list[str]:
        """Wait until its log holds *text*; return the lines with it."""
        return until(lambda: [line for line in self.log if text in line], f"{text!r} in the log")

    def end(self, number: signal.Signals = signal.SIGTERM) -> int:
        self.process.send_signal(number)
        return self.process.wait(30)


class Site:
    """The broker, and what a test needs to open rooms there and stand by."""

    def __init__(self, url: str, keys: list[Identity], folder: Path) -> None:
        self.url = url
        self.folder = folder
        self._keys = keys
        self.identities: dict[str, Identity] = {}
        self._standing: list[Standing] = []

    def key(self, name: str) -> str:
        """Return the public key of *name*: one that the broker lets in and nobody has used."""
        if name not in self.identities:
            self.identities[name] = self._keys.pop()
            self.identities[name].save(self.folder / f"{name}.key")
        return self.identities[name].public

    def stand(self, name: str, agent: dict[str, Any], *options: str, kept: bool = True) -> Standing:
        """Start the peer of *name* with this agent file; with *kept* it comes back to what it has said."""
        folder = self.folder / name
        folder.mkdir(exist_ok=True)
        path = folder / "agent.json"
        path.write_text(json.dumps(agent), encoding="utf-8")
        return self.stand_by(name, path, *(["--dir", str(folder)] if kept else []), *options)

    def stand_by(self, name: str, path: Path, *options: str) -> Standing:
        """Start the peer of *name* with the agent file at *path*."""
        self.key(name)
        folder = self.folder / name
        folder.mkdir(exist_ok=True)
        at = ["--key", str(self.folder / f"{name}.key"), "--server", self.url]
        self._standing.append(Standing(folder, [str(path), *at, *options]))
        return self._standing[-1]

    def held(self, opener: str) -> dict[str, Any]:
        """Return an agent file, for rooms of *opener*, whose mind scores nothing before `let_go`."""
        args = {"asked": str(self.folder / "asked"), "go": str(self.folder / "go")}
        return {
            "agent": "tests.support.held_mind:Held",
            "folder": str(ROOT),
            "args": args,
            "accepts": {"openers": [opener]},
        }

    def let_go(self) -> None:
        """Let the minds that are held go on."""
        (self.folder / "go").touch()

    def asked(self, of: Standing) -> Counter[str]:
        """Return how often each act was asked of the held mind in the process *of*."""
        path = self.folder / "asked"
        lines = path.read_text("utf-8").splitlines() if path.exists() else []
        return Counter(act for process, act in (line.split() for line in lines) if process == str(of.process.pid))

    def swarm(self, *arguments: str) -> "subprocess.CompletedProcess[str]":
        return subprocess.run([SWARM, *arguments], capture_output=True, text=True, timeout=60, check=False)

    def open(self, opener: str, what: dict[str, Any]) -> str:
        """Open the room and return its name."""
        path = self.folder / f"{what['room']}.json"
        path.write_text(json.dumps(what), encoding="utf-8")
        key = str(self.folder / f"{opener}.key")
        done = self.swarm("open", str(path), "--key", key, "--server", self.url, "--json")
        assert done.returncode == 0, done.stderr
        return str(json.loads(done.stdout)["room"])

    def outboxes(self, name: str) -> list[Path]:
        return list((self.folder / name / self.key(name)).glob("*.outbox"))

    def entries(self, room: str, by: str, *members: str) -> list[dict[str, Any]]:
        """Export *room*, hold it against the rules, and return its entries: nothing in it is said twice."""
        ledger = self.folder / f"{room}.jsonl"
        key = str(self.folder / f"{by}.key")
        done = self.swarm("export", room, "--key", key, "--server", self.url, "-o", str(ledger))
        assert done.returncode == 0, done.stderr
        shown = audit(ledger, roster=self._roster(members))
        assert shown.verdict in ("verified", "incomplete"), shown.findings
        codes = {finding["code"] for finding in shown.findings}
        assert not codes & {"silent", "excused", "equivocation", "late", "duplicate", "clock_disputed"}
        lines = [json.loads(line) for line in ledger.read_text("utf-8").splitlines()]
        entries = [line["entry"] for line in lines if "position" in line]
        answers = Counter((e["author"], e["body"]["step"]) for e in entries if "step" in e["body"])
        assert set(answers.values()) <= {1}
        return entries

    def _roster(self, members: tuple[str, ...]) -> Path:
        path = self.folder / "roster.json"
        path.write_text(json.dumps({name: self.key(name) for name in members}), encoding="utf-8")
        return path

    def close(self) -> None:
        """End the peers that a test has left."""
        for standing in self._standing:
            if standing.process.poll() is None:
                standing.process.kill()
                standing.process.wait(10)
