"""The embedded broker: one per directory, kept or cleared up, gone with whoever started it, however that ends."""

import asyncio
import contextlib
import os
import re
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

from swarm.broker.config import server_config
from swarm.broker.server import Broker
from swarm.clock import utc_now
from swarm.errors import BadInput, Denied, Unavailable, WrongLast
from swarm.log.jetstream import JetStreamLog
from swarm.signed.identity import Identity


def alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, 0)
            return not Path("/proc").is_dir()
        return False
    return state != "Z"


def eventually(holds) -> bool:
    """Wait for what must come about by itself; the deadline only ends a test that fails."""
    deadline = time.monotonic() + 20
    while not holds():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


def test_a_temporary_broker_leaves_neither_process_nor_directory(run):
    async def scenario():
        async with Broker() as broker:
            assert alive(broker.pid) and broker.directory.is_dir()
            assert broker.url.startswith("nats://127.0.0.1:")
            assert broker.directory.stat().st_mode & 0o077 == 0
            return broker.pid, broker.directory

    pid, directory = run(scenario())
    assert not alive(pid)
    assert not directory.exists()


def test_it_is_cleared_up_after_an_error_and_after_a_cancellation(run):
    seen = []

    async def fails():
        async with Broker() as broker:
            seen.append((broker.pid, broker.directory))
            raise RuntimeError("in the middle")

    async def cancelled():
        task = asyncio.create_task(waits())
        while len(seen) < 2:
            await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    async def waits():
        async with Broker() as broker:
            seen.append((broker.pid, broker.directory))
            await asyncio.sleep(60)

    with pytest.raises(RuntimeError):
        run(fails())
    run(cancelled())
    for pid, directory in seen:
        assert not alive(pid)
        assert not directory.exists()


def test_a_broker_cancelled_while_it_starts_leaves_nothing(run, tmp_path):
    async def scenario(after_s: float):
        broker = Broker(tmp_path / "kept")
        task = asyncio.create_task(broker.__aenter__())
        await asyncio.sleep(after_s)
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task
            await broker.__aexit__(None, None, None)
        # Whatever had been started let go of the directory.
        async with Broker(tmp_path / "kept"):
            pass

    for after_s in (0, 0.01, 0.03):
        run(scenario(after_s))


def test_a_kept_directory_holds_its_records_for_the_next_broker(run, tmp_path):
    async def scenario():
        async with Broker(tmp_path) as broker, await JetStreamLog.connect(broker.url) as log:
            one = await log.append("room", "A", b"kept", expected_last=0)
            first = await log.first("room", "A")
        async with Broker(tmp_path) as broker, await JetStreamLog.connect(broker.url) as log:
            assert await log.first("room", "A") == first
            assert await log.append("room", "A", b"next", expected_last=one) > one
        assert tmp_path.is_dir()

    run(scenario())


def test_a_second_broker_on_a_directory_is_refused_and_disturbs_nothing(run, tmp_path, monkeypatch):
    monkeypatch.setattr("swarm.broker.server.LOCK_SECONDS", 0.1)

    async def scenario():
        async with Broker(tmp_path) as broker, await JetStreamLog.connect(broker.url) as log:
            with pytest.raises(BadInput, match="another broker"):
                async with Broker(tmp_path):
                    pass
            await log.append("room", "A", b"undisturbed", expected_last=0)
            assert alive(broker.pid)

    run(scenario())


def test_a_port_in_use_is_said_plainly(run, tmp_path):
    async def scenario():
        async with Broker() as broker:
            port = int(broker.url.rpartition(":")[2])
            with pytest.raises(BadInput, match="in use"):
                async with Broker(tmp_path, port=port):
                    pass

    run(scenario())


PARENT = """
    import asyncio, sys
    from pathlib import Path
    from swarm.broker import Broker

    async def main():
        async with Broker(Path(sys.argv[1]) if len(sys.argv) > 1 else None) as broker:
            print(broker.pid, broker._guard.pid, broker.directory, flush=True)
            await asyncio.sleep(60)

    asyncio.run(main())
"""


def parent(*arguments):
    process = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(PARENT), *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
        text=True,
    )
    server, guard, directory = process.stdout.readline().split()
    return process, int(server), int(guard), Path(directory)


@pytest.mark.parametrize("ending", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_neither_server_nor_directory_outlives_the_parent(ending):
    process, server, guard, directory = parent()
    try:
        # To the whole group, as the terminal does with Ctrl-C: server and guard are not in it.
        os.killpg(process.pid, ending)
        process.wait(20)
        assert eventually(lambda: not alive(server) and not alive(guard))
        assert eventually(lambda: not directory.exists())
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def test_a_directory_is_free_again_soon_after_its_owner_was_killed(run, tmp_path):
    process, _, _, _ = parent(tmp_path)
    process.kill()
    process.wait()
    process.stdout.close()

    async def scenario():
        async with Broker(tmp_path) as broker:
            assert alive(broker.pid)

    run(scenario())


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux ends a process with its parent")
def test_a_killed_guard_takes_the_server_with_it(run):
    async def scenario():
        async with Broker() as broker:
            os.kill(broker._guard.pid, signal.SIGKILL)
            assert await asyncio.to_thread(eventually, lambda: not alive(broker.pid))
            return broker.directory

    assert not run(scenario()).exists()


def test_the_servers_own_end_is_noticed(run):
    async def scenario():
        async with Broker() as broker:
            os.kill(broker.pid, signal.SIGKILL)
            await broker.wait()
            assert not broker.running

    run(scenario())


def test_clients_survive_a_restart_and_lose_nothing(run, tmp_path):
    """A client stays usable while its server is killed and comes back on the same port: with every record, woken."""

    async def scenario():
        async with Broker(tmp_path) as broker:
            port = int(broker.url.rpartition(":")[2])
            log = await JetStreamLog.connect(broker.url)
            sequence = 0
            for number in range(20):
                sequence = await log.append("room", "A", b"%d" % number, expected_last=sequence)
            os.kill(broker.pid, signal.SIGKILL)
            await broker.wait()
            with pytest.raises(Unavailable):
                await log.append("room", "A", b"nobody there", expected_last=sequence, timeout_s=0.2)
        async with Broker(tmp_path, port=port):
            cut = await log.read("room", ["A"], {}, timeout_s=20)
            assert [each.payload for each in cut.records] == [b"%d" % number for number in range(20)]
            await log.append("room", "A", b"again", expected_last=sequence)
            await log.close()

    run(scenario())


def test_a_reconnection_wakes_whoever_follows(run, tmp_path):
    async def scenario():
        async with contextlib.AsyncExitStack() as stack:
            async with Broker(tmp_path) as broker:
                port = int(broker.url.rpartition(":")[2])
                log = await stack.enter_async_context(await JetStreamLog.connect(broker.url))
                wakeups = await stack.enter_async_context(log.wakeups("room"))
            await stack.enter_async_context(Broker(tmp_path, port=port))
            async with await JetStreamLog.connect(broker.url) as other:
                sequence = await other.append("room", "A", b"while away", expected_last=0)
            assert await wakeups.wait(20)
            assert (await log.read("room", ["A"], {}, timeout_s=20)).records[0].sequence == sequence
            # And the subscription is there again.
            while await wakeups.wait(0.3):
                pass
            await log.append("room", "A", b"afterwards", expected_last=sequence)
            assert await wakeups.wait(20)

    run(scenario())


def _stopped(pid: int) -> bool:
    """Tell whether every thread of the process stands still: the signal reaches them one after another."""
    states = [path.read_text().rpartition(")")[2].split()[0] for path in Path(f"/proc/{pid}/task").glob("*/stat")]
    return set(states) == {"T"}


def test_a_paused_server_is_in_doubt_and_the_same_call_settles_it(run, tmp_path):
    async def scenario():
        async with Broker() as broker, await JetStreamLog.connect(broker.url) as log:
            one = await log.append("room", "A", b"1", expected_last=0)
            os.kill(broker.pid, signal.SIGSTOP)
            try:
                while not _stopped(broker.pid):
                    await asyncio.sleep(0.01)
                with pytest.raises(Unavailable):
                    await log.append("room", "A", b"2", expected_last=one, timeout_s=0.3)
                with pytest.raises(Unavailable):
                    await log.read("room", ["A"], {}, timeout_s=0.3)
            finally:
                os.kill(broker.pid, signal.SIGCONT)
            with contextlib.suppress(WrongLast):
                await log.append("room", "A", b"2", expected_last=one, timeout_s=20)
            payloads = [each.payload for each in (await log.read("room", ["A"], {}, timeout_s=20)).records]
            assert payloads == [b"1", b"2"], "stored once, whether the first call or the second did it"

    run(scenario())


def test_members_are_added_without_disconnecting_the_others(run):
    first, second, third = (Identity.new() for _ in range(3))

    async def scenario():
        async with (
            Broker(members=[first.public]) as broker,
            await JetStreamLog.connect(broker.url, identity=first) as log,
        ):
            doubts = []
            connection = log._connection
            connection.on_doubt = lambda: doubts.append(1)
            with pytest.raises(Denied):
                await JetStreamLog.connect(broker.url, identity=second)
            await broker.members_added([second.public])
            await broker.members_added([third.public, first.public])
            for identity in (second, third):
                async with await JetStreamLog.connect(broker.url, identity=identity) as other:
                    await other.append("room", identity.public, b"in", expected_last=0)
            await log.append("room", first.public, b"still", expected_last=0)
            assert doubts == []
            with pytest.raises(BadInput, match="no public key"):
                await broker.members_added(["UXYZ"])
            async with await JetStreamLog.connect(broker.url, identity=second):
                pass

    run(scenario())


def test_an_open_broker_has_no_members_to_add(run):
    async def scenario():
        async with Broker() as broker:
            with pytest.raises(BadInput, match="no accounts"):
                await broker.members_added([Identity.new().public])

    run(scenario())


def test_writes_can_be_made_to_reach_the_disk_first(run):
    async def scenario():
        async with Broker(sync="always") as broker, await JetStreamLog.connect(broker.url) as log:
            assert await log.append("room", "A", b"x", expected_last=0) == 1

    run(scenario())


@pytest.mark.parametrize(
    "settings",
    [
        {"members": ["nobody"]},
        {"members": ['U"}]\n authorization {}']},
        {"store_limit_bytes": 0},
        {"sync": "never"},
        {"sync": "1s\nport: 1"},
    ],
)
def test_settings_that_are_none_are_refused(run, settings):
    async def scenario():
        async with Broker(**settings):
            pass

    with pytest.raises(BadInput):
        run(scenario())


def test_the_configuration_gives_a_member_its_own_subjects_only():
    identity, setup = Identity.new(), Identity.new()
    text = server_config([identity.public], store=Path("/store"), setup_key=setup.public)
    member = text[text.index("  MEM {") :]
    assert f'publish: {{allow: ["swarm.room.*.{identity.public}", "swarm.invite.*.{identity.public}"' in member
    assert setup.public not in member
    assert "$JS.API.DIRECT.GET.SWARM" in member
    assert "CONSUMER" not in text
    assert re.search("SU[A-Z2-7]{56}", text) is None, "a seed"
    assert server_config([], store=Path("/store")).count("nkey") == 0


def test_clocks_agree_on_one_machine(run):
    """The log's time is the broker's; on one machine it is the members' own to well within the room's skew."""

    async def scenario():
        async with Broker() as broker, await JetStreamLog.connect(broker.url) as log:
            before = utc_now()
            await log.append("room", "A", b"x", expected_last=0)
            assert before - 1 <= (await log.last("room", "A")).stored <= utc_now()

    run(scenario())
