"""The terminal itself: lines, turns, time running out, hostile text, and what is left of it afterwards."""

import asyncio
import contextlib
import os
import pty
import termios
import threading
import time
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import pytest

from agents.human.mind import Human
from protocols.duties.duties import OptionAsked, ScoreDuty
from protocols.messages.concord import Option
from swarm.people.terminal import PlainScreen, TtyTerminal, is_asking
from swarm.running.running import run
from tests.support.pseudo_terminal import Person

HOSTILE = "\x1b[2J\x1b]0;owned\x07nice\r\n  SIGN\u2028yes\u202egnp\u200b\x9b1m {} {0} ✓"
ESCAPED = "\\x1b[2J\\x1b]0;owned\\x07nice\\r\\n  SIGN\\u2028yes\\u202egnp\\u200b\\x9b1m {} {0} \\u2713"


class Tty:
    """A pseudo-terminal in this process."""

    def __init__(self) -> None:
        self.master, self.slave = pty.openpty()
        self.terminal = TtyTerminal(os.ttyname(self.slave))

    def types(self, text: str | bytes) -> None:
        os.write(self.master, text.encode() if isinstance(text, str) else text)

    def shown(self) -> str:
        os.set_blocking(self.master, False)
        read = b""
        try:
            while part := os.read(self.master, 65536):
                read += part
        except BlockingIOError:
            pass
        return read.decode(errors="replace")


@pytest.fixture
def tty() -> Iterator[Tty]:
    made = Tty()
    yield made
    for end in (made.master, made.slave):
        with contextlib.suppress(OSError):
            os.close(end)


def go(work: Awaitable[Any], seconds: float = 20) -> Any:
    async def bounded() -> Any:
        return await asyncio.wait_for(work, seconds)

    return asyncio.run(bounded())


async def line(tty: Tty, wait_s: float | None = None) -> str | None:
    async with tty.terminal.turn() as screen:
        return await screen.line("? ", wait_s=wait_s)


async def until(holds: Callable[[], Any]) -> None:
    while not holds():
        await asyncio.sleep(0.01)


def test_lines_come_whole_and_ctrl_d_is_no_line(tty: Tty) -> None:
    """Protects reading: no half line, no line of two, UTF-8, and the end of input told apart from an empty line."""
    tty.types("grün \n\nnext\n\x04last\n")
    assert [go(line(tty)) for _ in range(5)] == ["grün ", "", "next", None, "last"]


@pytest.mark.parametrize("typed", [b"\x1b[A70\n", b"\xff70\n", "7\u202e0\n".encode(), b"7\x000\n"])
def test_a_line_that_does_not_show_what_it_holds_is_asked_again(tty: Tty, typed: bytes) -> None:
    """Protects what is signed: arrow keys, bidi marks and wrong bytes never become an answer."""
    tty.types(typed + b"70\n")
    assert go(line(tty)) == "70"
    assert "not taken: that line" in tty.shown()


def test_a_question_taken_away_swallows_no_line_and_keeps_no_half_of_one(tty: Tty) -> None:
    """Protects the next question: its answer is the next whole line, and no thread is left behind that reads."""
    threads = threading.active_count()
    before = termios.tcgetattr(tty.slave)

    async def work() -> str | None:
        asking = asyncio.create_task(line(tty))
        await until(lambda: "? " in tty.shown())
        tty.types("half an ans")
        await asyncio.sleep(0.05)
        asking.cancel()
        await asyncio.gather(asking, return_exceptions=True)
        tty.types("the next\n")
        return await line(tty)

    assert go(work()) == "the next"
    assert threading.active_count() == threads
    assert termios.tcgetattr(tty.slave) == before


def test_one_question_at_a_time(tty: Tty) -> None:
    """Protects the person: while one asks, others wait, across threads and event loops as across processes."""
    order: list[str] = []

    async def ask(name: str) -> None:
        async with tty.terminal.turn() as screen:
            order.append(f"{name} asks")
            await asyncio.sleep(0.15)
            order.append(f"{name} hears {await screen.line(name)}")

    with open(tty.terminal.path, "w") as stream:
        assert not is_asking(stream)
        threads = [threading.Thread(target=asyncio.run, args=(ask(name),), daemon=True) for name in "ab"]
        for thread in threads:
            thread.start()
        while not order:
            time.sleep(0.01)
        assert is_asking(stream)
        tty.types("1\n2\n")
        for thread in threads:
            thread.join(20)
        assert not is_asking(stream)
    first = order[0][0]
    second = "b" if first == "a" else "a"
    assert order == [f"{first} asks", f"{first} hears 1", f"{second} asks", f"{second} hears 2"]


def test_waiting_for_a_person_does_not_block(tty: Tty) -> None:
    """Protects the peer's own time: its loop runs on, and a bounded wait ends."""
    beats = 0

    async def work() -> None:
        nonlocal beats
        asking = asyncio.create_task(line(tty, wait_s=0.3))
        while not asking.done():
            beats += 1
            await asyncio.sleep(0.01)
        with pytest.raises(TimeoutError):
            asking.result()

    go(work())
    assert beats > 5


def test_a_terminal_that_is_stopped_or_gone_holds_nobody_up(tty: Tty) -> None:
    """Protects the peer: a screen that takes no more, or a closed window, is waited for without blocking the loop."""

    async def work() -> None:
        async with tty.terminal.turn() as screen:
            filling = asyncio.create_task(screen.say("x" * 1_000_000))
            await asyncio.sleep(0.1)
            assert not filling.done()
            filling.cancel()
            await asyncio.gather(filling, return_exceptions=True)
            tty.terminal.tell("lost")
            asking = asyncio.create_task(screen.line(""))
            os.close(tty.master)
            await asyncio.sleep(0.1)
            assert not asking.done(), "nobody can have answered"
            asking.cancel()
            await asyncio.gather(asking, return_exceptions=True)

    go(work())


def test_a_question_is_not_called_late_by_a_process_that_ends(tty: Tty, monkeypatch: pytest.MonkeyPatch) -> None:
    """Protects truth: after Ctrl-C the question is not over, it is asked again by the next process."""
    tty.terminal.too_late("late for {}", "ann")
    assert tty.shown() == "\r\nlate for ann\r\n"
    monkeypatch.setattr(TtyTerminal, "leaving", True)
    tty.terminal.too_late("late")
    assert tty.shown() == ""


def test_a_terminal_that_does_not_exist_is_nobody_to_ask() -> None:
    """Protects the record: no path of this machine gets into a reason, and nobody answers."""
    gone = TtyTerminal("/dev/pts/none")
    gone.tell("lost")

    async def ask() -> None:
        async with gone.turn():
            raise AssertionError("nobody is there")

    with pytest.raises(TimeoutError):
        go(ask(), seconds=0.2)
    with pytest.raises(TimeoutError):
        go(gone.heard(0.1))


def test_a_line_without_a_question_is_heard_once_nobody_asks(tty: Tty) -> None:
    """Protects Enter for what was left: a question that has the screen gets its line, what listens the next."""

    async def work() -> tuple[str | None, str | None]:
        listening = asyncio.create_task(tty.terminal.heard())
        await asyncio.sleep(0.05)
        async with tty.terminal.turn() as screen:
            tty.types("for the question\n")
            answered = await screen.line("")
            await asyncio.sleep(0.2)
        assert not listening.done()
        tty.types("for what listens\n")
        return answered, await listening

    assert go(work()) == ("for the question", "for what listens")


def test_a_run_in_memory_asks_too(tty: Tty, monkeypatch: pytest.MonkeyPatch) -> None:
    """Protects Python users: without processes a person is asked in the same way, typing ahead included."""
    monkeypatch.setattr("swarm.people.terminal.own_terminal", lambda: tty.terminal.path)
    monday = {"title": "Monday", "offer": {"day": "mon"}}
    ann = {"name": "ann", "proposes": monday, "scores": {"otherwise": 70}}
    what = {
        "room": "memory",
        "intent": "Pick a day.",
        "agenda": ["concord"],
        "issues": {"day": ["mon", "tue"]},
        "rules": {"step_seconds": 30, "improvements": 0},
        "members": [ann, {"name": "you", "agent": "human"}],
    }
    tty.types("Tuesday\n2\n\n\nyes\n60\n61\nyes\nyes\nyes\n")
    result = run(what, memory=True)
    assert result.outcome == "agreed"
    assert result.decision is not None
    assert sorted(result.decision.scores.values()) in ([60, 70], [61, 70])


def test_words_of_others_are_shown_escaped(tty: Tty, monkeypatch: pytest.MonkeyPatch) -> None:
    """Protects the person: no text of a member moves the cursor, breaks a line or passes for ours."""
    monkeypatch.setenv("TERM", "xterm")
    asked = OptionAsked(id="a" * 64, option=Option(title=HOSTILE, rationale=HOSTILE), proposers=[HOSTILE])
    duty = ScoreDuty(member="ann", options=[asked], rejects_left=1, bar=50, opens_reserve=False)
    tty.types("reject because {} it is\nyes\n")
    scored = go(Human(tty.terminal).score(duty))
    assert scored.rejects == {"a" * 64: "because {} it is"}
    shown = tty.shown()
    assert shown.count(ESCAPED) >= 4
    for raw in ("\x1b[2J", "\x1b]", "\x07", "\u2028", "\u202e", "\u200b", "\x9b"):
        assert raw not in shown, repr(raw)
    assert "\x1b[1m" in shown


@pytest.mark.parametrize(("name", "value"), [("NO_COLOR", "1"), ("TERM", "dumb")])
def test_colour_only_where_it_is_wanted(tty: Tty, monkeypatch: pytest.MonkeyPatch, name: str, value: str) -> None:
    """Protects plain terminals: not one escape sequence."""
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv(name, value)

    async def work() -> None:
        async with tty.terminal.turn() as screen:
            await screen.say("loud", strong=True)

    go(work())
    assert tty.shown() == "loud\r\n"


def test_a_stream_shows_the_same_without_a_terminal() -> None:
    """Protects lists for files and pipes: same escapes, and nobody is waited for."""
    import io

    stream = io.StringIO()
    screen = PlainScreen(stream)
    asyncio.run(screen.say("{}", HOSTILE, strong=True))
    assert stream.getvalue() == ESCAPED + "\n"
    assert asyncio.run(screen.line("? ")) is None


def test_where_no_terminal_is_none_is_found(person: Person) -> None:
    """Protects the check before a room opens: a process with closed input, in a session of its own, has no terminal."""
    import subprocess
    import sys

    code = "from swarm.people.terminal import own_terminal; print(own_terminal())"
    alone = {"stdin": subprocess.DEVNULL, "capture_output": True, "text": True, "start_new_session": True}
    done = subprocess.run([sys.executable, "-c", code], **alone, timeout=30, check=True)
    assert done.stdout == "None\n"
    at = subprocess.run([sys.executable, "-c", code], **(alone | {"stdin": person._slave}), timeout=30, check=True)
    assert at.stdout == f"{person.path}\n"
