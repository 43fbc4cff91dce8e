"""A place for faults: a real nats-server and real peers, which a test may kill, stop, start again and cut off.

Everything lives in one folder, which is the evidence when a test fails: the server's log and store, each peer's
stderr, the ledgers. Every process ends with the test, also where that is killed itself.
"""

import asyncio
import ctypes
import itertools
import json
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from swarm.auditing.auditing import audit
from swarm.auditing.verdict import AuditResult
from swarm.broker.config import server_config
from swarm.broker.server import server_binary
from swarm.ledger.file import write_ledger
from swarm.ledger.fold import Fold
from swarm.log.connection import Connection
from swarm.log.streams import ensure_streams
from swarm.peers.peer import open_room
from swarm.signed.checkpoint import sign_checkpoint
from swarm.signed.entry import parse_entry
from swarm.signed.identity import Identity
from swarm.visit.saying import reading
from tests.support.fault_proxy import Proxy
from tests.support.patience import PATIENCE_S, until

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
SWARM = str(Path(sys.executable).with_name("swarm"))
_LIBC = ctypes.CDLL(None) if sys.platform == "linux" else None


_started: list["Process"] = []


def end_all() -> None:
    """End every process that was started, whatever became of it."""
    while _started:
        _started.pop().kill()


def _die_with_parent() -> None:
    if _LIBC is not None:
        _LIBC.prctl(1, signal.SIGKILL)


class Process:
    """A process that can be killed, stopped and let go on; what it prints is appended to files in its folder."""

    def __init__(self, folder: Path, name: str, command: list[str]) -> None:
        folder.mkdir(exist_ok=True)
        self.out, self.err = folder / f"{name}.out", folder / f"{name}.err"
        with self.out.open("ab") as out, self.err.open("ab") as err:
            self._process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=out, stderr=err, preexec_fn=_die_with_parent, cwd=folder
            )
        self.pid = self._process.pid
        _started.append(self)

    @property
    def code(self) -> int | None:
        """How it ended; None while it runs."""
        return self._process.poll()

    def send(self, number: signal.Signals) -> None:
        if self.code is None:
            self._process.send_signal(number)

    def pause(self) -> None:
        self.send(signal.SIGSTOP)

    def resume(self) -> None:
        self.send(signal.SIGCONT)

    def kill(self) -> int:
        self.send(signal.SIGKILL)
        return self._process.wait(10)

    def end(self, number: signal.Signals = signal.SIGTERM) -> int:
        self.resume()
        self.send(number)
        return self._process.wait(PATIENCE_S)

    def wait(self) -> int:
        return self._process.wait(PATIENCE_S)


class Server:
    """A nats-server on one store, with accounts if it has *keys* to let in; started again it has the same port.

    Started elsewhere it has another one: peers that are to find it there stand behind a proxy.
    """

    def __init__(self, folder: Path, keys: Iterable[str] | None, *, store_bytes: int = 64 * 1024**2) -> None:
        folder.mkdir(exist_ok=True)
        self.folder = folder
        self.setup = None if keys is None else Identity.new()
        self.keys = None if keys is None else list(keys)
        self.store_bytes = store_bytes
        self.port = -1
        self.process: Process | None = None

    @property
    def url(self) -> str:
        return f"nats://127.0.0.1:{self.port}"

    @property
    def running(self) -> bool:
        return self.process is not None and self.process.code is None

    def configure(self) -> None:
        """Write its configuration; a running server reads it at `reload`."""
        text = server_config(
            self.keys,
            store=self.folder / "jetstream",
            setup_key=None if self.setup is None else self.setup.public,
            store_limit_bytes=self.store_bytes,
        )
        (self.folder / "conf").write_text(text, encoding="utf-8")

    def reload(self) -> None:
        """Let it read its configuration."""
        assert self.process is not None
        self.process.send(signal.SIGHUP)

    def start(self, *, elsewhere: bool = False) -> "Server":
        """Start it, and wait until it serves; the first time, or *elsewhere*, on a free port; with streams of ours."""
        first = self.port == -1
        if elsewhere:
            self.port = -1
        self.configure()
        for stale in self.folder.glob("nats-server_*.ports"):
            stale.unlink()
        here = str(self.folder)
        command = [str(server_binary()), "-c", f"{here}/conf", "-a", "127.0.0.1", "-p", str(self.port)]
        command += ["-l", f"{here}/server.log", "--ports_file_dir", here]
        self.process = Process(self.folder, "server", command)
        (self.folder / "pid").write_text(str(self.process.pid))

        def ports() -> Any:
            assert self.process is not None and self.process.code is None, (self.folder / "server.log").read_text()
            path = self.folder / f"nats-server_{self.process.pid}.ports"
            try:
                return json.loads(path.read_text())["nats"][0]
            except (OSError, ValueError):
                return None

        self.port = int(until(ports, "the server is ready").rpartition(":")[2])
        if first:
            self.make_streams()
        return self

    def make_streams(self) -> None:
        invites = min(1024**2, self.store_bytes // 8)
        asyncio.run(ensure_streams(self.url, identity=self.setup, invites_bytes=invites, timeout_s=PATIENCE_S))

    def delete_rooms(self) -> None:
        """Delete the stream of rooms, as its administrator can."""

        async def delete() -> None:
            connection = await Connection.open(self.url, identity=self.setup, timeout_s=PATIENCE_S)
            deadline = asyncio.get_running_loop().time() + PATIENCE_S
            (reply,) = await connection.call("$JS.API.STREAM.DELETE.SWARM", b"", deadline=deadline)
            assert json.loads(reply.data)["success"]
            await connection.close()

        asyncio.run(delete())

    def kill(self) -> None:
        assert self.process is not None
        self.process.kill()


class Peer:
    """A standing peer of one member, started again and again over what it has kept."""

    def __init__(
        self, site: "Site", name: str, place: str, agent: dict[str, Any], url: str | None, options: list[str]
    ) -> None:
        self.site, self.name, self.url = site, name, url
        self.folder = site.folder / place
        self.folder.mkdir(exist_ok=True)
        path = self.folder / "agent.json"
        path.write_text(json.dumps(agent), encoding="utf-8")
        self._command = [sys.executable, str(HERE / "fault_peer.py"), str(site.folder), "peer", str(path)]
        self._command += ["--key", str(site.key_file(name)), "--dir", str(self.folder), "--no-discovery", *options]
        self.starts = 0
        self.tended = True
        self.process: Process = self.start().process

    def start(self) -> "Peer":
        self.starts += 1
        url = self.url or self.site.server.url
        self.process = Process(self.folder, "peer", [*self._command, "--server", url])
        return self

    @property
    def log(self) -> str:
        return self.process.err.read_text("utf-8", errors="replace")

    @property
    def over(self) -> dict[str, str]:
        """The outcome, and the reason where there is one, of each room whose end it told."""
        lines = self.process.out.read_text("utf-8").splitlines()
        return dict(line.split("  ", 1) for line in lines)

    def stands(self) -> "Peer":
        def standing() -> bool:
            assert self.process.code is None, self.log
            return self.log.count(" stands at ") >= self.starts

        until(standing, f"{self.name} stands")
        return self

    def says(self, text: str) -> str:
        """Wait until its log holds *text*; return the line."""
        return str(
            until(lambda: [line for line in self.log.splitlines() if text in line], f"{self.name} says {text!r}")[0]
        )


class Site:
    """A server, the keys of members, and their peers."""

    def __init__(self, folder: Path, names: Iterable[str], *, store_bytes: int = 64 * 1024**2) -> None:
        self.folder = folder
        self.notes = folder / "notes"
        self.identities = {name: Identity.new() for name in names}
        for name, identity in self.identities.items():
            identity.save(self.key_file(name))
        self.server = Server(folder / "server", self.keys.values(), store_bytes=store_bytes).start()
        self.peers: dict[str, Peer] = {}
        self.proxies: list[Proxy] = []
        self._faults = itertools.count()

    @property
    def keys(self) -> dict[str, str]:
        return {name: identity.public for name, identity in self.identities.items()}

    def key_file(self, name: str) -> Path:
        return self.folder / f"{name}.key"

    def stand(
        self,
        name: str,
        script: dict[str, Any],
        *options: str,
        url: str | None = None,
        place: str | None = None,
        pause_s: float = 0,
    ) -> Peer:
        """Start the peer of *name*, whose mind follows *script* and notes what it is asked.

        What it keeps is in the folder *place*, which is also what it is called in ``peers``: *name*, if left out.
        """
        args = {"notes": str(self.notes), "script": script, "pause_s": str(pause_s)}
        accepts = {"openers": list(self.keys.values())}
        agent = {"agent": "tests.support.fault_mind:Noting", "folder": str(ROOT), "args": args, "accepts": accepts}
        place = place or name
        self.peers[place] = Peer(self, name, place, agent, url, list(options))
        return self.peers[place]

    def open_server(self) -> Server:
        """Start another server, which lets everybody in."""
        return Server(self.folder / "open-server", None).start()

    def proxy(self, seed: int = 0) -> Proxy:
        """Put a proxy in front of the server."""
        self.proxies.append(Proxy(lambda: self.server.port, seed))
        return self.proxies[-1]

    def open(self, scenario: dict[str, Any]) -> str:
        """Open the room of *scenario*, whose members are named, as the first of them; return its full name."""
        members = [{"name": each["name"], "key": self.keys[each["name"]]} for each in scenario["members"]]
        opener = self.identities[members[0]["name"]]
        return open_room(scenario | {"members": members}, opener, self.server.url, timeout_s=PATIENCE_S).room

    def strike(self, *, by: str, room: str, kind: str, step: str | None, moment: str, dies: str) -> None:
        """Have *dies* (``peer`` or ``server``) killed at a moment of what *by* says in the room of that slug."""
        fault = {"id": next(self._faults), "by": self.keys[by], "room": room, "kind": kind, "step": step}
        with (self.folder / "faults").open("a", encoding="utf-8") as file:
            file.write(json.dumps(fault | {"moment": moment, "dies": dies}) + "\n")

    def struck(self) -> int:
        """Return how many of the faults have happened."""
        return len(list(self.folder.glob("struck.*")))

    def tend(self) -> None:
        """Start again what was killed: the server, and the peers that a test has not left dead."""
        if not self.server.running:
            self.server.start()
        for peer in self.peers.values():
            if peer.tended and peer.process.code == -signal.SIGKILL:
                peer.start()

    def until_over(self, room: str, *names: str) -> dict[str, str]:
        """Tend the site until the peers *names* (left out: all) have told the end of *room*; return what they did.

        A peer that was killed just after the end finds the room over and tells nothing: it need not.
        """

        def over() -> Any:
            self.tend()
            peers = {name: self.peers[name].over for name in names or self.peers}
            return {n: over[room] for n, over in peers.items()} if all(room in o for o in peers.values()) else None

        found: dict[str, str] = until(over, f"{room} is over", 2 * PATIENCE_S)
        return found

    def fold(self, room: str, by: str) -> Fold:
        """Read *room* as *by*, export it and return its fold."""

        async def export() -> Fold:
            identity = self.identities[by]
            async with reading(room, self.server.url, identity, timeout_s=PATIENCE_S) as replica:
                chain = replica.fold.chain
                checkpoint = sign_checkpoint(identity, room=room, count=chain.position, head=chain.head)
                write_ledger(self.ledger(room), room, replica.fold.records, checkpoint)
                return replica.fold

        return asyncio.run(export())

    def ledger(self, room: str) -> Path:
        return self.folder / f"{room}.jsonl"

    def judged(self, room: str, by: str) -> AuditResult:
        """Export *room* and hold it to what is true whatever happened; return what the auditor finds.

        Everything acknowledged is there, once; no author's numbers have a gap or a double; nobody answers a step twice;
        nothing is held against a member or the broker that no accident may lead to.
        """
        fold = self.fold(room, by)
        found = audit(self.ledger(room), roster={name: self.keys[name] for name in fold.names.values()})
        codes = {finding["code"] for finding in found.findings}
        assert found.verdict in ("verified", "incomplete"), found.findings
        assert not codes & {"equivocation", "chain_gap", "duplicate", "seen_mismatch", "bad_signature", "wrong_room"}
        entries = [parse_entry(record.payload) for record in fold.records]
        numbers: dict[str, list[int]] = {}
        for entry in entries:
            numbers.setdefault(entry.author, []).append(entry.n)
        assert all(ns == list(range(1, len(ns) + 1)) for ns in numbers.values()), numbers
        stored = Counter(f"{entry.id} {room}" for entry in entries)
        assert max(stored.values()) == 1
        path = self.folder / "acknowledged"
        acknowledged = {line for line in path.read_text().splitlines() if line.endswith(f" {room}")}
        assert acknowledged <= stored.keys(), (acknowledged - stored.keys(), "acknowledged and gone")
        answers = Counter((entry.author, entry.body["step"]) for entry in entries if "step" in entry.body)
        assert max(answers.values(), default=1) == 1, answers.most_common(3)
        return found

    def asked(self, room: str) -> Counter[tuple[str, str]]:
        """Return how often each member's mind was asked at each step of *room*."""
        lines = self.notes.read_text("utf-8").splitlines() if self.notes.exists() else []
        words = (line.split() for line in lines)
        return Counter((member, step) for where, step, member, *_ in words if where == room)

    def evidence(self) -> str:
        """Return where the evidence is, and the end of what each process has said."""
        text = [f"evidence: {self.folder}", f"struck: {self.struck()}"]
        for path in sorted([*self.folder.glob("*/*.err"), *self.folder.glob("server/server.log")]):
            lines = path.read_text("utf-8", errors="replace").splitlines()[-12:]
            text += [f"--- {path}", *lines]
        return "\n".join(text)
