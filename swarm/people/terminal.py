"""The terminal at which a person sits, as questions use it: one at a time, across rooms, threads and processes.

Each question opens the device anew and locks it, so that turns hold across threads and across the processes of a run; a
lock ends with its process. The terminal stays in its own line mode: it edits and echoes lines itself, nothing has to be
restored, and a line is read only once it is complete. No thread waits for input, so nothing takes a line that is meant
for the next question.

A member's process in a run leads a session of its own and has no controlling terminal. It opens its parent's device by
its path, and never makes that terminal its own.
"""

import asyncio
import contextlib
import errno
import fcntl
import os
import select
import sys
import termios
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import IO, TextIO

from swarm.text import is_invisible, visible

TURN_EVERY_S = 0.1
"""How often to check whether the screen is free."""
_READ_BYTES = 65536
_STRONG = "\x1b[1m", "\x1b[0m"


class TtyTerminal:
    """The terminal device at *path*."""

    leaving = False
    """Whether this process is about to end: a question is then not too late, but will be asked again."""

    def __init__(self, path: str) -> None:
        self.path = path

    @asynccontextmanager
    async def turn(self) -> AsyncIterator["TtyScreen"]:
        """Wait for the screen and hold it; if the holder is cancelled, half-typed input is discarded."""
        device = await self._there()
        try:
            while not _locked(device):
                await asyncio.sleep(TURN_EVERY_S)
            yield TtyScreen(device)
        except asyncio.CancelledError:
            with contextlib.suppress(termios.error):
                termios.tcflush(device, termios.TCIFLUSH)
            raise
        finally:
            os.close(device)

    async def heard(self, wait_s: float | None = None) -> str | None:
        """Return the next line typed while no question has the screen; None for Ctrl-D.

        Raises ``TimeoutError`` after *wait_s* seconds without one.
        """
        async with asyncio.timeout(wait_s):
            device = await self._there()
            try:
                while True:
                    await _readable(device)
                    # A question that holds the screen takes the line, which is then gone in a moment.
                    said = _read_now(device) if _locked(device) else None
                    fcntl.flock(device, fcntl.LOCK_UN)
                    if said is not None:
                        return _plain(said)[1] if said else None
                    await asyncio.sleep(TURN_EVERY_S)
            finally:
                os.close(device)

    def tell(self, text: str, *theirs: object) -> None:
        """Show one line, whoever has the screen; what a stopped terminal does not take is lost."""
        with contextlib.suppress(OSError):
            device = self._open()
            try:
                os.write(device, f"\n{_filled(text, theirs)}\n".encode())
            finally:
                os.close(device)

    def too_late(self, text: str, *theirs: object) -> None:
        """Show one line about a question that was taken away; says nothing while the process itself is ending."""
        if not TtyTerminal.leaving:
            self.tell(text, *theirs)

    async def _there(self) -> int:
        """Open the device. If it is gone nobody can be asked, and the step or the process ends instead."""
        try:
            return self._open()
        except OSError:
            await asyncio.Event().wait()
            raise

    def _open(self) -> int:
        return os.open(self.path, os.O_RDWR | os.O_NOCTTY | os.O_NONBLOCK | os.O_CLOEXEC)


class TtyScreen:
    """The terminal during one question's turn."""

    def __init__(self, device: int) -> None:
        self._device = device
        self._colour = not os.environ.get("NO_COLOR") and os.environ.get("TERM", "dumb") not in ("", "dumb")

    async def say(self, text: str = "", *theirs: object, strong: bool = False) -> None:
        """Show one line."""
        line = _filled(text, theirs)
        if strong and self._colour:
            line = line.join(_STRONG)
        await self._write(f"{line}\n".encode())

    async def line(self, prompt: str, *theirs: object, wait_s: float | None = None) -> str | None:
        """Return the next line typed, without its end; None at the end of input (Ctrl-D).

        A line that is not plain text is rejected and asked for again. Raises ``TimeoutError`` after *wait_s* seconds
        without one.
        """
        while True:
            await self._write(_filled(prompt, theirs).encode())
            async with asyncio.timeout(wait_s):
                said = await self._read()
            if said is None:
                await self._write(b"\n")
                return None
            problem, text = _plain(said)
            if problem is None:
                return text
            await self.say(f"  not taken: {problem}")

    async def _read(self) -> bytes | None:
        said = b""
        while not said.endswith(b"\n"):
            await _readable(self._device)
            read = _read_now(self._device)
            if read is not None:
                if not read:
                    return said or None
                said += read
            else:
                await asyncio.sleep(TURN_EVERY_S)
        return said

    async def _write(self, text: bytes) -> None:
        while text:
            try:
                text = text[os.write(self._device, text) :]
            except BlockingIOError:
                loop = asyncio.get_running_loop()
                await _until(self._device, loop.add_writer, loop.remove_writer)
            except OSError as error:
                if error.errno != errno.EIO:
                    raise
                return


async def _until(
    device: int, watch: Callable[[int, Callable[[], None]], object], unwatch: Callable[[int], object]
) -> None:
    ready = asyncio.Event()
    watch(device, ready.set)
    try:
        await ready.wait()
    finally:
        unwatch(device)


async def _readable(device: int) -> None:
    """Wait until a line is there. If the terminal is gone nobody types, and the step or the process ends instead."""
    loop = asyncio.get_running_loop()
    await _until(device, loop.add_reader, loop.remove_reader)
    if _hung_up(device):
        await asyncio.Event().wait()


def _read_now(device: int) -> bytes | None:
    """Return the waiting line with its end, empty for Ctrl-D; None if somebody else has taken it."""
    try:
        return os.read(device, _READ_BYTES)
    except BlockingIOError:
        return None
    except OSError as error:
        if error.errno != errno.EIO:
            raise
        return None


def _locked(device: int) -> bool:
    try:
        fcntl.flock(device, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _hung_up(device: int) -> bool:
    poll = select.poll()
    poll.register(device, select.POLLIN)
    return any(event & select.POLLHUP for _, event in poll.poll(0))


def _filled(text: str, theirs: tuple[object, ...]) -> str:
    """Put *theirs* into the places of *text*, in such a way that they cannot imitate our own words."""
    return (
        text.format(*(visible(str(each)) for each in theirs)) if theirs else text.replace("{{", "{").replace("}}", "}")
    )


def _plain(said: bytes) -> tuple[str | None, str]:
    """Return the reason why a typed line cannot be used, if any, and its text."""
    try:
        text = said.decode().removesuffix("\n")
    except UnicodeDecodeError:
        return "that line is no UTF-8 text", ""
    text = text.replace("\t", " ")
    if any(is_invisible(character) and character not in " \u3000" for character in text):
        return "that line holds characters that do not show (an arrow key?); type it anew", ""
    return None, text


def own_terminal() -> str | None:
    """Return the path of the terminal at which this process was started; None if it has none, or not its turn.

    That is the terminal of its input, output or errors, otherwise the one that controls it. A background process has
    none: what is typed is for the shell.
    """
    for stream in (sys.__stdin__, sys.__stdout__, sys.__stderr__):
        with contextlib.suppress(OSError, ValueError, AttributeError):
            number = stream.fileno()  # type: ignore[union-attr]
            if os.isatty(number):
                return os.ttyname(number) if _in_front(number) else None
    return _controlling()


def is_asking(stream: IO[str]) -> bool:
    """Tell whether a question has the terminal behind *stream*; nothing may overwrite its line then."""
    try:
        device = os.open(os.ttyname(stream.fileno()), os.O_RDONLY | os.O_NOCTTY | os.O_NONBLOCK | os.O_CLOEXEC)
    except (OSError, ValueError):
        return False
    try:
        return not _locked(device)
    finally:
        os.close(device)


def _in_front(device: int) -> bool:
    try:
        return os.tcgetpgrp(device) == os.getpgrp()
    except OSError:
        return True  # It does not control this process, so there is no background.


def _controlling() -> str | None:
    """Return the path of the controlling terminal by its own name, because ``/dev/tty`` differs for every process."""
    try:
        device = os.open("/dev/tty", os.O_RDWR | os.O_NOCTTY)
    except OSError:
        return None
    try:
        if not _in_front(device):
            return None
        number = int(Path("/proc/self/stat").read_text().rpartition(")")[2].split()[4])
        for path in Path("/dev/pts").iterdir():
            if path.stat().st_rdev == number:
                return str(path)
    except (OSError, ValueError):
        pass
    finally:
        os.close(device)
    return "/dev/tty"


class PlainScreen:
    """A stream that is only written to, as plain text."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    async def say(self, text: str = "", *theirs: object, strong: bool = False) -> None:
        """Show one line."""
        self._stream.write(f"{_filled(text, theirs)}\n")

    async def line(self, prompt: str, *theirs: object, wait_s: float | None = None) -> str | None:
        """Nothing is ever typed here."""
        return None
