"""The clocks of a process, and the time of tests in which nobody waits."""

import asyncio
import threading
import time

from swarm.clock import elapsed_s, utc_now
from swarm.seat.asking import Mind
from swarm.testing.virtual import NOON, SECOND, virtual_time, without_waiting
from tests.support.strange_agents import Willing


def test_a_loop_without_a_date_of_its_own_has_the_machines() -> None:
    """Protects everybody outside of tests: inside a loop and outside of one it is the same day."""

    async def told() -> tuple[int, float]:
        return utc_now(), elapsed_s()

    first, began = utc_now(), elapsed_s()
    date, passed = asyncio.run(told())
    assert first <= date <= utc_now()
    assert began <= passed <= elapsed_s()


def test_the_date_and_the_time_that_passes_are_one_loops() -> None:
    """Protects whoever compares them: a sleep moves both by its own length, and by nothing else."""

    async def sleeps() -> None:
        assert (utc_now(), elapsed_s()) == (NOON, 0.0)
        await asyncio.sleep(86_400)
        assert (utc_now(), elapsed_s()) == (NOON + 86_400 * SECOND, 86_400.0)

    with virtual_time():
        asyncio.run(sleeps())


def test_time_stands_still_while_a_thread_is_at_work() -> None:
    """Protects tests with minds in threads: a mind that computes for a while is not late in the time of its peer."""

    async def asks() -> str:
        async with asyncio.timeout(1):
            done = asyncio.get_running_loop().create_future()

            def work() -> None:
                time.sleep(0.05)
                loop.call_soon_threadsafe(done.set_result, "in time")

            loop = asyncio.get_running_loop()
            threading.Thread(target=work, daemon=True).start()
            return str(await done)

    assert without_waiting(asks()) == "in time"


def test_minds_in_threads_wait_in_the_same_time() -> None:
    """Protects tests with minds in threads: one that waits for an hour keeps nobody, and is an hour late."""

    async def asks() -> float:
        mind = Mind(Willing(tenths=36_000))
        try:
            await mind.ask("score", 7200.0, None)
        except Exception:
            pass
        finally:
            mind.close()
        return elapsed_s()

    with virtual_time():
        assert asyncio.run(asks()) == 3600.0
