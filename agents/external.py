"""A mind that is a command: a program in any language, asked over its standard input and output.

The command is started for the first question, in its folder and with an environment of its own, and is kept running. It
is asked one thing at a time; `agents.wire` defines the lines. Its stderr is passed on under the member's name, or kept
in a file.

There are two kinds of failure. A command that *exits* is started again, at growing intervals, and asked the same
question while there is time. Anything else (no answer in time, a line that is not an answer, a line that is too long)
gives no answer, with the reason. The process is then ended, so that nothing it still says is taken for an answer to the
next question. An excuse is not a failure: nothing is retried, and the process goes on. The same holds for an answer
that breaks its model.

Command and peer share nothing: the command gets neither the peer's environment nor any of its files, and no key.
"""

import asyncio
import contextlib
import os
import shutil
import signal
import sys
from collections.abc import Callable, Coroutine, Generator
from pathlib import Path
from typing import IO, Annotated, Any

from pydantic import Field, StringConstraints

from agents.agent import Agent, BadAnswer, CannotAnswer, NoAnswer, Watch
from agents.wire import BadLine, ManifestDuty, NominateDuty, Reply, duty_json, parse_answer
from protocols.core.message import Message
from protocols.duties.duties import (
    Duty,
    ImproveDuty,
    InterpretDuty,
    PerformDuty,
    ProposeDuty,
    QuoteDuty,
    RatifyDuty,
    ReadDuty,
    ScoreDuty,
    SettleDuty,
)
from protocols.messages.room import Manifest

LONGEST_LINE = 2**20
"""Bytes of one line of the command, and of everything it may say before it is asked; no answer is nearly that long."""
MOST_STARTS = 4
"""How often a command is started for one question before the question has no answer."""
FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.1, 2.0
"""How long after its first exit a command is started again; doubled with every further exit without an answer in
between.
"""
GRACE_S = 0.5
"""How long a process that has closed its output may take to exit by itself, so that its code and last words are known.
"""
LONGEST_COMPLAINT = 4_000
"""Bytes of a stderr line that are passed on; a log file gets the whole line."""
LONGEST_WORDS = 200
"""Characters of the last stderr line that a reason contains."""
KEPT_BACK = 1.5
"""How many times the peer's safety margin this mind leaves unused: it then names the reason itself, because it has
stderr.
"""
PASSED_ON = ("PATH", "HOME", "USER", "LANG", "LC_ALL", "LC_CTYPE", "TMPDIR", "TZ")
"""The variables of the peer's environment that every command gets."""
LEASH = str(Path(__file__).with_name("leash.py"))

Argument = Annotated[str, StringConstraints(pattern=r"^[^\x00]*$")]
Variable = Annotated[str, StringConstraints(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")]
NotEmpty = Annotated[str, StringConstraints(min_length=1, pattern=r"^[^\x00]+$")]


class Exec(Message):
    """What a file says for a member whose mind is a command.

    ``env`` is added to a minimal environment; ``pass_env`` names further variables of the peer's environment to pass on
    (an API key, for example, which must not be in a file). ``log`` is a file for its stderr.
    """

    command: Annotated[list[Argument], Field(min_length=1)]
    folder: NotEmpty | None = None
    env: dict[Variable, Argument] = Field(default_factory=dict)
    pass_env: list[Variable] = Field(default_factory=list)
    timeout_seconds: Annotated[int, Field(ge=1, le=31_536_000)] | None = None
    log: NotEmpty | None = None

    def place(self) -> Path:
        """Return the folder that the command runs in."""
        return Path(self.folder or ".").absolute()

    def environment(self) -> dict[str, str]:
        """Return the complete environment of the command."""
        handed_on = {name: os.environ[name] for name in (*PASSED_ON, *self.pass_env) if name in os.environ}
        return handed_on | self.env

    def problem(self) -> tuple[str, str] | None:
        """Return the field that prevents the command from starting, and why, as far as that can be known in advance."""
        place, environment = self.place(), self.environment()
        if not place.is_dir():
            return "folder", f"no folder {place}"
        for name in self.pass_env:
            if name not in os.environ:
                return "pass_env", f"{name} is not set"
        program = self.command[0]
        sought = str(place / program) if "/" in program else program
        if shutil.which(sought, path=environment.get("PATH", os.defpath)) is None:
            return "command", f"no program {program!r} that can be run" + ("" if "/" in program else " on the PATH")
        if self.log is not None and not (place / self.log).parent.is_dir():
            return "log", f"no folder for {self.log}"
        return None


class _Ended(Exception):
    """The process exited, or closed its output, instead of answering; the text says how."""


class _Process(asyncio.SubprocessProtocol):
    """One process of the command, on its leash."""

    def __init__(self, name: str, log: IO[bytes] | None) -> None:
        self._name = name
        self._log = log
        self._said = bytearray()
        self._overflowed = False
        self._words = bytearray()
        self._changed = asyncio.Event()
        self._closed = False
        self._over = asyncio.Event()
        self._gone = asyncio.Event()
        self._leash = -1
        self._transport: asyncio.SubprocessTransport | None = None
        self._keeper: asyncio.Task[None] | None = None
        self.last_words = ""

    @classmethod
    async def start(cls, config: Exec, name: str) -> "_Process":
        """Start the command; raise ``OSError`` if that fails."""
        place = config.place()
        log = open(place / config.log, "ab", buffering=0) if config.log else None  # noqa: ASYNC230, SIM115
        process = cls(name, log)
        held, process._leash = os.pipe()
        try:
            await asyncio.get_running_loop().subprocess_exec(
                lambda: process,
                *(sys.executable, "-I", "-S", LEASH, str(held), *config.command),
                cwd=place,
                env=config.environment(),
                pass_fds=(held,),
                start_new_session=True,
            )
        except BaseException:
            process._let_go()
            raise
        finally:
            os.close(held)
        process._keeper = asyncio.create_task(process._keep())
        process._keeper.add_done_callback(process._kept)
        return process

    @property
    def running(self) -> bool:
        """Whether the process can be asked."""
        return not self._closed and not self._overflowed

    async def ask(self, line: str) -> bytes:
        """Send *line* and return the next line of the process; raise `_Ended` or `BadLine`."""
        assert self._transport is not None
        stdin = self._transport.get_pipe_transport(0)
        assert isinstance(stdin, asyncio.WriteTransport)
        self.last_words = ""
        stdin.write(line.encode() + b"\n")
        while (said := self._next_line()) is None and not self._closed:
            self._changed.clear()
            await self._changed.wait()
        if said is None:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(GRACE_S):
                    await self._gone.wait()
            said = self._next_line()
        if said is None:
            raise _Ended(_how(self._transport.get_returncode()))
        return said

    def _next_line(self) -> bytes | None:
        if self._overflowed:
            raise BadLine(f"more than {LONGEST_LINE} bytes and no end of the line")
        line, end, rest = self._said.partition(b"\n")
        if not end:
            return None
        self._said = rest
        return bytes(line)

    def end(self) -> None:
        """Kill the process with everything that it has started; the second call does nothing."""
        self._closed = True
        self._over.set()
        self._let_go()

    def _let_go(self) -> None:
        if self._leash >= 0:
            os.close(self._leash)
            self._leash = -1
        if self._log is not None:
            self._log.close()
            self._log = None

    async def _keep(self) -> None:
        """Wait until the process is over or its event loop ends, then end the process."""
        with contextlib.suppress(asyncio.CancelledError):
            await self._over.wait()
        self.end()
        # The loop may end during this wait. The wait must go on, because the leash still has work to do.
        for _ in range(2):
            with contextlib.suppress(asyncio.CancelledError, TimeoutError):
                async with asyncio.timeout(GRACE_S):
                    await self._gone.wait()

    def _kept(self, _: "asyncio.Task[None]") -> None:
        self.end()  # A task that is cancelled before it starts has done nothing.
        assert self._transport is not None
        self._transport.close()

    # -- what it says ---------------------------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the transport of the process."""
        assert isinstance(transport, asyncio.SubprocessTransport)
        self._transport = transport

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        """Keep what the process says, and pass on its stderr."""
        if fd == 2:
            self._complained(data)
            return
        if not self._overflowed:
            self._said += data
            self._overflowed = len(self._said) > LONGEST_LINE
        if self._overflowed:
            self._said.clear()
        self._changed.set()

    def _complained(self, data: bytes) -> None:
        if self._log is not None:
            with contextlib.suppress(OSError):
                self._log.write(data)
        *lines, rest = (bytes(self._words) + data).split(b"\n")
        self._words[:] = rest[:LONGEST_COMPLAINT]
        for line in lines:
            self._complain(line)

    def _complain(self, line: bytes) -> None:
        text = _shown(line)
        if text.strip():
            self.last_words = text[:LONGEST_WORDS]
        if self._log is None:
            with contextlib.suppress(OSError, ValueError):
                print(f"{_shown(self._name.encode())}: {text}", file=sys.stderr, flush=True)

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:
        """Note that one of its pipes is closed."""
        if fd == 2:
            if self._words:
                self._complain(bytes(self._words))
                self._words.clear()
            return
        self._closed = True
        self._changed.set()

    def process_exited(self) -> None:
        """Note that the process has exited, even if one of its children still holds its output open."""
        self._closed = True
        self._changed.set()

    def connection_lost(self, exc: Exception | None) -> None:
        """Note that the process is gone and that all its output has been read."""
        self._closed = True
        self._changed.set()
        self._over.set()
        self._gone.set()


def _how(code: int | None) -> str:
    if code is None:
        return "it closed its input or output"
    if code > 128 or code < 0:
        with contextlib.suppress(ValueError):
            return f"it was killed by {signal.Signals(-code if code < 0 else code - 128).name}"
    return f"it ended with code {code}"


def _shown(line: bytes) -> str:
    """Return a line in a form that is safe on a terminal and in an entry: one line, without invisible characters."""
    text = line.rstrip(b"\r")[:LONGEST_COMPLAINT].decode("utf-8", "backslashreplace")
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


class _Asked:
    """A pending answer. The question is asked when this is awaited: a cancelled call never asks."""

    def __init__(self, ask: Callable[..., Coroutine[Any, Any, Any]], *arguments: Any) -> None:
        self._ask = ask
        self._arguments = arguments

    def __await__(self) -> Generator[Any, Any, Any]:
        """Ask, and wait for the answer."""
        return self._ask(*self._arguments).__await__()


class ExternalMind(Agent):
    """Asks the command described by *config*, on behalf of the member *name*."""

    kind = "exec"

    def __init__(self, config: Exec, name: str = "member") -> None:
        self._config = config
        self._name = name
        self._number = 0
        self._process: _Process | None = None
        self._ends = 0
        self._how_ended = ""
        self._busy_with = ""
        self._home: asyncio.AbstractEventLoop | None = None
        self._turn = asyncio.Lock()

    def close(self) -> None:
        """End the command and everything that it has started. It also ends together with its event loop."""
        if self._process is not None:
            self._process.end()
            self._process = None

    def manifest(self) -> Any:
        """Ask what the command is; if it excuses itself, the manifest says only ``exec``."""
        return _Asked(self._answer, ManifestDuty(member=self._name), Manifest(agent=self.kind))

    def nominate(self) -> Any:
        """Ask for terms to add; none if the command excuses itself."""
        return _Asked(self._answer, NominateDuty(member=self._name), [])

    def interpret(self, duty: InterpretDuty) -> Any:
        """Ask what the terms mean."""
        return _Asked(self._answer, duty)

    def read(self, duty: ReadDuty) -> Any:
        """Ask for a judgement of others' cases and meanings."""
        return _Asked(self._answer, duty)

    def settle(self, duty: SettleDuty) -> Any:
        """Ask how to settle the terms."""
        return _Asked(self._answer, duty)

    def quote(self, duty: QuoteDuty) -> Any:
        """Ask which values are allowed."""
        return _Asked(self._answer, duty)

    def propose(self, duty: ProposeDuty) -> Any:
        """Ask for an option."""
        return _Asked(self._answer, duty)

    def score(self, duty: ScoreDuty) -> Any:
        """Ask for a ballot."""
        return _Asked(self._answer, duty)

    def improve(self, duty: ImproveDuty) -> Any:
        """Ask for a better option, or a pass."""
        return _Asked(self._answer, duty)

    def ratify(self, duty: RatifyDuty) -> Any:
        """Ask whether to sign the outcome."""
        return _Asked(self._answer, duty)

    def perform(self, duty: PerformDuty, watch: Watch) -> Any:
        """Ask what to say about promises."""
        return _Asked(self._answer, duty)

    async def _answer(self, duty: Duty, otherwise: Any = None) -> Any:
        """Return the answer to *duty*, with its cost; raise `NoAnswer` for an excuse.

        With *otherwise*, this is a question before the first duty: an excuse returns *otherwise*, and no entry carries
        the cost.
        """
        reply = await self._ask(duty)
        if reply.excuse is None:
            return reply.answer() if otherwise is None else reply.given
        if otherwise is None:
            raise NoAnswer(reply.excuse, None if reply.cost is None else reply.cost.plain())
        return otherwise

    async def _ask(self, duty: Duty) -> Reply:
        """Return the command's reply to *duty*; raise `NoAnswer` saying what the command did instead."""
        loop = asyncio.get_running_loop()
        if self._home is not loop:  # Whatever belonged to another loop ended with that loop.
            self._home, self._turn, self._process = loop, asyncio.Lock(), None
        limit_s = self._limit_s(duty)
        asked = False
        try:
            async with asyncio.timeout(limit_s), self._turn:
                asked, self._busy_with, self._how_ended = True, duty.act, ""
                return await self._exchange(duty)
        except TimeoutError:
            late = f"no answer to {duty.act} within {limit_s:.1f} s"
            why = self._how_ended if asked else f"it was still at work on {self._busy_with}"
            raise CannotAnswer(self._with_words(f"{late}: {why}" if why else late), "late") from None

    async def _exchange(self, duty: Duty) -> Reply:
        self._number += 1
        line = duty_json(duty, self._number)
        for _ in range(MOST_STARTS):
            try:
                raw = await self._said(line)
                reply = parse_answer(duty.act, raw, self._number)
            except _Ended as ended:
                self._ends += 1
                self._how_ended = str(ended)
                continue
            except BadLine as bad:
                self._give_up()
                raise CannotAnswer(self._with_words(f"its line is no answer to {duty.act}: {bad}"), "invalid") from None
            except BadAnswer as bad:
                raise BadAnswer(self._with_words(str(bad)), bad.cost) from None
            except BaseException:  # Time is up, or nobody waits for the answer any more.
                self._give_up()
                raise
            self._ends = 0
            return reply
        why = f"no answer to {duty.act} in {MOST_STARTS} starts: {self._how_ended}"
        raise CannotAnswer(self._with_words(why), "failed")

    async def _said(self, line: str) -> bytes:
        if self._process is None or not self._process.running:
            self._give_up()
            if self._ends:
                await asyncio.sleep(min(FIRST_PAUSE_S * 2 ** min(self._ends - 1, 10), LONGEST_PAUSE_S))
            try:
                self._process = await _Process.start(self._config, self._name)
            except OSError as error:
                raise _Ended(f"it cannot be started: {error.strerror or error}") from None
        return await self._process.ask(line)

    def _give_up(self) -> None:
        """End the process, but remember its last words."""
        if self._process is not None:
            self._process.end()

    def _limit_s(self, duty: Duty) -> float | None:
        """Return how long *duty* may take: the file's limit, or slightly less than the peer waits."""
        limits = [] if self._config.timeout_seconds is None else [float(self._config.timeout_seconds)]
        left_s = 0.0 if duty.left is None or duty.left.seconds is None else float(duty.left.seconds)
        if left_s > 0:
            limits.append(left_s - KEPT_BACK * min(1.0, left_s / 4))
        return min(limits, default=None)

    def _with_words(self, why: str) -> str:
        words = "" if self._process is None else self._process.last_words
        return f"{why}; last on stderr: {words}" if words else why
