"""Tasks end when they are told to, whatever moment that falls on."""

import ast
import asyncio
import contextlib

import pytest

from swarm.tasks import end
from swarm.testing.weather import Through
from tests.support.small_rooms import ROOT, Sitting, go, room


def test_no_wait_can_lose_a_cancellation() -> None:
    """Protects every ending: before Python 3.12 ``asyncio.wait_for`` swallows one that comes as its wait ends."""
    users = [
        str(path.relative_to(ROOT))
        for package in ("protocols", "agents", "swarm")
        for path in (ROOT / package).rglob("*.py")
        if any(
            isinstance(n, ast.Attribute) and n.attr == "wait_for" for n in ast.walk(ast.parse(path.read_text("utf-8")))
        )
    ]
    assert users == []


def test_a_reading_that_is_cancelled_as_its_wait_ends_is_cancelled() -> None:
    """Protects the end of a replica: told to stop at the very moment an append is done, it stops."""

    async def work() -> bool:
        sitting = Sitting(room(), Through())
        replica = await sitting.open()
        with replica.appending():
            task = asyncio.create_task(replica.follow())
            for _ in range(5):
                await asyncio.sleep(0)
        task.cancel()  # The append is done, and whoever waited for it has not run yet.
        done, _ = await asyncio.wait({task}, timeout=5)
        await end({task})
        return task in done and task.cancelled()

    assert go(work())


def test_what_swallows_a_cancellation_is_told_again() -> None:
    """Protects whoever waits for an end: one lost cancellation delays it, and does not prevent it."""

    async def stubborn() -> None:
        for _ in range(2):
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.Event().wait()

    async def work() -> bool:
        task = asyncio.create_task(stubborn())
        await asyncio.sleep(0)
        await end({task})
        return task.done()

    assert go(work())


def test_what_ended_with_an_error_is_no_complaint_later(capfd: pytest.CaptureFixture[str]) -> None:
    """Protects stderr: what an ended task raised is retrieved."""

    async def failing() -> None:
        raise OSError("gone")

    async def work() -> None:
        task = asyncio.create_task(failing())
        await asyncio.sleep(0)
        await end({task})

    go(work())
    assert "never retrieved" not in capfd.readouterr().err
