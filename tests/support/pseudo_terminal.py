"""A person at a pseudo-terminal: a command is started at it, what it shows is read, and lines are typed."""

import contextlib
import os
import pty
import re
import select
import signal
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SWARM = str(Path(sys.executable).with_name("swarm"))
PLAIN = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


class Person:
    """One pseudo-terminal; commands are started at it one after the other."""

    def __init__(self, folder: Path, **env: str) -> None:
        self.folder = folder
        self.master, self._slave = pty.openpty()
        self.path = os.ttyname(self._slave)
        self.env = {**os.environ, "TERM": "dumb", **env}
        self.raw = b""
        self._from = 0
        self.processes: list[subprocess.Popen[str]] = []

    def start(self, *arguments: str, apart: bool = False, on_screen: bool = False) -> "subprocess.Popen[str]":
        """Start swarm at this terminal; what it prints itself is in files, or with *on_screen* there too.

        *apart* from the terminal, its input is closed instead.
        """
        with (self.folder / "out").open("w") as out, (self.folder / "err").open("w") as err:
            process = subprocess.Popen(
                [SWARM, *arguments],
                stdin=subprocess.DEVNULL if apart else self._slave,
                stdout=self._slave if on_screen else out,
                stderr=self._slave if on_screen else err,
                text=True,
                cwd=ROOT,
                env=self.env,
                start_new_session=True,
            )
        self.processes.append(process)
        return process

    @property
    def out(self) -> str:
        return (self.folder / "out").read_text("utf-8")

    @property
    def err(self) -> str:
        return (self.folder / "err").read_text("utf-8")

    @property
    def shown(self) -> str:
        """All that the terminal has shown so far, without colours."""
        return PLAIN.sub("", self.raw.decode("utf-8", "replace")).replace("\r\n", "\n")

    def _read(self, seconds: float) -> bool:
        if not select.select([self.master], [], [], seconds)[0]:
            return False
        self.raw += os.read(self.master, 65536)
        return True

    def sees(self, text: str, seconds: float = 60) -> str:
        """Wait until the terminal shows *text* after what was seen before; return what came until then."""
        deadline = time.monotonic() + seconds
        while (at := self.shown.find(text, self._from)) < 0:
            if time.monotonic() > deadline:
                raise AssertionError(f"never shown: {text!r}, but:\n{self.shown[self._from :]}\n--\n{self.err}")
            self._read(0.2)
        seen = self.shown[self._from : at + len(text)]
        self._from = at + len(text)
        return seen

    def types(self, line: str) -> None:
        """Type *line* and Enter."""
        os.write(self.master, line.encode() + b"\n")

    def answers(self, *pairs: tuple[str, str]) -> None:
        """Wait for each prompt and type its answer."""
        for prompt, line in pairs:
            self.sees(prompt)
            self.types(line)

    def quiet(self) -> None:
        """Take in what is still shown."""
        while self._read(0.3):
            pass

    def ends(self, process: "subprocess.Popen[str]", seconds: float = 60) -> int:
        """Wait for the end of *process*, while its terminal is read."""
        deadline = time.monotonic() + seconds
        while process.poll() is None:
            assert time.monotonic() < deadline, self.shown[self._from :]
            self._read(0.05)
        self.quiet()
        return process.returncode

    def close(self) -> None:
        """End what is left at this terminal."""
        for process in self.processes:
            if process.poll() is None:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                process.wait(10)
        os.close(self.master)
        os.close(self._slave)
