"""Real processes over the real server: however a run ends, all of it ends, what was said stays, and it can go on."""

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from swarm.auditing.auditing import audit
from swarm.broker.server import server_binary
from swarm.errors import BadInput
from swarm.log.jetstream import JetStreamLog
from swarm.running.kept import Kept
from swarm.running.running import run
from tests.support.patience import until
from tests.support.small_rooms import (
    alive,
    custom,
    descendants,
    environment,
    ledger,
    member,
    room,
    start,
    swarm,
    until_step,
    written,
)

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks at processes through /proc")


class Cut:
    """A run of a slow pair that a test cuts off, and what it leaves behind."""

    def __init__(self, folder: Path, *, keep: bool = True, seconds: int = 8) -> None:
        self.folder = folder
        self.temporary = folder / "tmp"
        self.env = environment(self.temporary)
        self.ledger, self.roster = folder / "ledger.jsonl", folder / "roster.yaml"
        slow = custom("ann", "Willing", tenths=3)
        self.scenario = written(folder, room(slow, custom("cat", "Willing"), seconds=seconds))
        kept = ["--dir", str(folder / "kept")] if keep else []
        self.arguments = ["run", self.scenario, "--ledger", str(self.ledger), "--roster", str(self.roster), *kept]
        self.process: subprocess.Popen[str] | None = None
        self.started: dict[int, str] = {}

    def until(self, step: str) -> "subprocess.Popen[str]":
        """Start the run and wait until *step* is open and everybody sits."""
        self.process = start(*self.arguments, env=self.env)
        until_step(self.process, step)
        self.started = descendants(self.process.pid)
        return self.process

    def pid_of(self, what: str, place: int = 0) -> int:
        """Return the process, among those started, whose command line begins with or names *what*."""
        return [pid for pid, command in sorted(self.started.items()) if what in command][place]

    def end(self) -> int:
        """Wait for the run to end; return its exit code."""
        assert self.process is not None
        self.process.communicate(timeout=40)
        return self.process.returncode

    def nothing_is_left(self) -> None:
        until(lambda: not [pid for pid in self.started if alive(pid)], "every process ends")
        until(lambda: not list(self.temporary.iterdir()), "every temporary directory goes")

    def goes_on_to_agree(self) -> None:
        """Run the same command again: it ends agreed, with nothing said twice, and the ledger verifies."""
        again = swarm(*self.arguments, env=self.env)
        assert again.returncode == 0, again.stderr
        records = ledger(self.ledger)
        entries = [record["entry"] for record in records]
        assert Counter((e["author"], e["n"]) for e in entries).most_common(1)[0][1] == 1
        answers = Counter((e["author"], e["body"]["step"]) for e in entries if "step" in e["body"])
        assert answers.most_common(1)[0][1] == 1
        shown = audit(self.ledger, roster=self.roster)
        assert (shown.verdict, shown.summary["outcome"]) == ("verified", "agreed")
        assert not [f for f in shown.findings if f["code"] in ("silent", "excused", "equivocation", "late")]


@pytest.mark.parametrize(
    ("step", "number"),
    [
        ("concord.ballot.1.seal", signal.SIGINT),
        pytest.param("room.joining", signal.SIGINT, marks=pytest.mark.long),
        pytest.param("concord.option.seal", signal.SIGTERM, marks=pytest.mark.long),
        pytest.param("concord.ratify", signal.SIGHUP, marks=pytest.mark.long),
    ],
)
def test_a_run_told_to_end_ends_in_order_and_can_go_on(tmp_path: Path, step: str, number: signal.Signals) -> None:
    """Protects what was said: Ctrl-C ends all processes, writes the ledger, and the same command takes the run up."""
    cut = Cut(tmp_path)
    cut.until(step).send_signal(number)
    assert cut.end() == 3
    cut.nothing_is_left()
    shown = audit(cut.ledger, roster=cut.roster)
    assert (shown.verdict, shown.pinned, shown.complete) == ("incomplete", True, False)
    cut.goes_on_to_agree()


def test_a_run_told_to_end_before_the_room_is_open_says_so(tmp_path: Path) -> None:
    """Protects impatient users: ended while it starts, a run leaves nothing behind and shows no traceback."""
    cut = Cut(tmp_path, keep=False)
    cut.process = start(*cut.arguments, env=cut.env)
    process = cut.process
    until(lambda: list(cut.temporary.glob("swarm-broker-*")), "the server starts")
    cut.started = descendants(process.pid)
    process.send_signal(signal.SIGINT)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=40)
    assert process.returncode == 3
    assert "Traceback" not in err
    cut.nothing_is_left()


@pytest.mark.parametrize("keep", [False, True])
def test_a_run_that_is_killed_leaves_nothing_running(tmp_path: Path, keep: bool) -> None:
    """Protects the machine: kill -9 of the parent ends members, server and directory; what was kept can go on."""
    cut = Cut(tmp_path, keep=keep)
    cut.until("concord.option.seal").kill()
    cut.end()
    cut.nothing_is_left()
    if keep:
        cut.goes_on_to_agree()


@pytest.mark.long
def test_a_killed_member_is_silent_and_a_rerun_tells_the_same(tmp_path: Path) -> None:
    """Protects the others: they go on without a member that died to a recorded ending, which stays what it is."""
    cut = Cut(tmp_path, seconds=2)
    cut.until("concord.option.seal")
    os.kill(cut.pid_of("swarm.running.member", 1), signal.SIGKILL)
    assert cut.end() == 1
    cut.nothing_is_left()
    first = audit(cut.ledger, roster=cut.roster)
    assert {(f["code"], f["who"]) for f in first.findings} >= {("silent", "cat")}
    again = swarm(*cut.arguments, "--json", env=cut.env)
    assert again.returncode == 1
    result = json.loads(again.stdout)
    assert (result["outcome"], result["ledger"]["entries"]) == ("no_agreement", first.entries)


@pytest.mark.long
def test_a_killed_member_sits_down_again_with_the_next_run(tmp_path: Path) -> None:
    """Protects recovery: a member that died in mid-run takes up where the log says it was."""
    cut = Cut(tmp_path)
    process = cut.until("concord.option.seal")
    os.kill(cut.pid_of("swarm.running.member", 0), signal.SIGKILL)
    process.send_signal(signal.SIGINT)
    assert cut.end() == 3
    cut.nothing_is_left()
    cut.goes_on_to_agree()


@pytest.mark.parametrize("resumed", [False, pytest.param(True, marks=pytest.mark.long)])
def test_a_killed_server_ends_the_run_with_what_was_read(tmp_path: Path, resumed: bool) -> None:
    """Protects against waiting for a server that is gone: the run is abandoned, its ledger written, and can go on."""
    cut = Cut(tmp_path)
    cut.arguments.append("--json")
    process = cut.until("concord.ballot.1.seal")
    os.kill(cut.pid_of("nats-server -c"), signal.SIGKILL)
    out, _ = process.communicate(timeout=40)
    assert (process.returncode, json.loads(out)["reason"]) == (3, "broker lost")
    cut.nothing_is_left()
    assert len(ledger(cut.ledger)) >= 6
    shown = audit(cut.ledger, roster=cut.roster)
    assert (shown.verdict, shown.complete) == ("incomplete", False)
    if resumed:
        cut.goes_on_to_agree()


def test_when_every_member_has_died_the_run_says_how(tmp_path: Path) -> None:
    """Protects against hanging: with nobody left to speak the run is over, with the reason."""
    cut = Cut(tmp_path, keep=False)
    cut.arguments.append("--json")
    process = cut.until("concord.option.seal")
    for place in (0, 1):
        os.kill(cut.pid_of("swarm.running.member", place), signal.SIGKILL)
    out, _ = process.communicate(timeout=40)
    result = json.loads(out)
    assert (process.returncode, result["outcome"]) == (3, "abandoned")
    assert result["reason"] == "all members stopped: killed by SIGKILL"
    cut.nothing_is_left()


def test_a_mind_that_hangs_ends_with_the_run_and_so_do_its_children(tmp_path: Path) -> None:
    """Protects the machine: neither a blocked thread nor a program that a mind has started outlives the run."""
    pids = tmp_path / "pids"
    scenario = room(member("ann"), custom("cat", "Printing", pids=str(pids)), seconds=2)
    ended = swarm("run", written(tmp_path, scenario), "--json")
    result = json.loads(ended.stdout)
    assert (ended.returncode, result["outcome"]) == (1, "no_agreement")
    assert {(f["code"], f["who"]) for f in result["findings"]} == {("excused", "cat")}
    assert "printed while it scores" in ended.stderr
    children = [int(line) for line in pids.read_text().split()]
    assert children
    until(lambda: not [pid for pid in children if alive(pid)], "what the mind started ends")


@pytest.mark.long
def test_a_directory_keeps_one_run_of_one_scenario(tmp_path: Path) -> None:
    """Protects a kept run: neither another scenario nor a second run at once, nor another server, spoils it."""
    cut, kept = Cut(tmp_path), tmp_path / "kept"
    cut.until("concord.option.seal").send_signal(signal.SIGINT)
    cut.end()
    with Kept.at(kept, ["ann", "cat"]), pytest.raises(BadInput, match="another run is going on"):
        run(cut.scenario, directory=kept)
    with pytest.raises(BadInput, match="another scenario"):
        run(room(member("ann"), member("bob")), directory=kept)
    (kept / "broker").rename(tmp_path / "elsewhere")
    with pytest.raises(BadInput, match="not on this server"):
        run(cut.scenario, directory=kept)
    cut.nothing_is_left()


# -- other servers ----------------------------------------------------------------------------------------------------

Told = Callable[..., tuple[int, str, str]]


def test_two_runs_on_one_server_do_not_disturb_each_other(tmp_path: Path) -> None:
    """Protects a shared server: two runs of one scenario at once are two rooms, and the server stays."""
    broker = start("broker")
    try:
        assert broker.stdout is not None
        url = broker.stdout.readline().strip()
        assert url, broker.communicate()
        scenario = written(tmp_path, room(member("ann"), member("bob")))
        runs = [
            start("run", scenario, "--server", url, "--json", "--ledger", str(tmp_path / f"{place}.jsonl"))
            for place in range(2)
        ]
        results = []
        for each in runs:
            out, err = each.communicate(timeout=40)
            assert each.returncode == 0, err
            results.append(json.loads(out))
        assert results[0]["room"] != results[1]["room"]
        assert [result["findings"] for result in results] == [[], []]
        assert [result["ledger"]["entries"] for result in results] == [
            len(ledger(tmp_path / f"{place}.jsonl")) for place in range(2)
        ]

        async def last() -> Any:
            async with await JetStreamLog.connect(url) as log:
                return await log.last(results[0]["room"], "U" + "A" * 55)

        assert asyncio.run(last()) is None
        assert broker.poll() is None
    finally:
        broker.send_signal(signal.SIGINT)
        broker.communicate(timeout=20)
    assert broker.returncode == 0


@pytest.mark.parametrize("url", ["nonsense", "127.0.0.1:4222", "nats://", "http://127.0.0.1:1", "nats://h:port", ""])
def test_a_server_that_is_no_url_is_bad_input(tmp_path: Path, url: str, told: "Told") -> None:
    """Protects the user: what cannot be a server is refused at once, in one line that says what can."""
    code, out, err = told("run", written(tmp_path, room()), "--server", url)
    assert (code, out) == (2, "")
    assert err.startswith("swarm: --server: ")
    assert "nats://HOST:PORT" in err
    assert err.count("\n") == 1


def test_a_server_that_is_not_there_is_said(tmp_path: Path, told: "Told") -> None:
    """Protects against waiting for ever: nobody at the address is one message, and exit code 3."""
    code, out, err = told("run", written(tmp_path, room()), "--server", "nats://127.0.0.1:9", "--json")
    assert code == 3
    assert "127.0.0.1:9" in json.loads(out)["error"]
    assert err.count("\n") == 1


@pytest.mark.parametrize("with_streams", [False, True])
def test_a_server_that_cannot_hold_a_room_is_said(tmp_path: Path, with_streams: bool, told: "Told") -> None:
    """Protects what is said: no JetStream, or a stream that would lose entries, ends the run before it begins."""
    js = ["-js", "-sd", str(tmp_path / "js")] if with_streams else []
    arguments = [str(server_binary()), "-a", "127.0.0.1", "-p", "-1", "--ports_file_dir", str(tmp_path), *js]
    server = subprocess.Popen(arguments, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        ports = until(lambda: list(tmp_path.glob("*.ports")), "the server is ready")[0]
        url = json.loads(ports.read_text())["nats"][0]
        if with_streams:
            asyncio.run(_other_stream(url))
        code, _, err = told("run", written(tmp_path, room()), "--server", url)
    finally:
        server.terminate()
        server.wait(10)
    expected, why = (2, "the stream SWARM") if with_streams else (3, "no JetStream")
    assert (code, why in err) == (expected, True)
    assert err.count("\n") == 1


async def _other_stream(url: str) -> None:
    import nats

    client = await nats.connect(url)
    await client.jetstream().add_stream(name="SWARM", subjects=["swarm.room.>"], max_msgs=10)
    await client.close()
