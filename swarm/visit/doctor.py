"""Whether a peer can work from here: key, server, streams, permissions, storage, clock; and what to do if it cannot.

Nothing is changed on the server. What a member may not see is reported as unknown, with the person to ask.
"""

import asyncio
import json
import re
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from protocols.core.instants import SECOND, Instant
from swarm.clock import utc_now
from swarm.errors import BadInput, Denied, LogFull, SwarmError, Unavailable, WrongLast
from swarm.log import subjects as names
from swarm.log.connection import Connection
from swarm.log.jetstream import JetStreamLog
from swarm.log.port import MAX_MESSAGE_BYTES
from swarm.log.servers import split_servers
from swarm.log.streams import differences, stream_settings
from swarm.log.tls import trusted
from swarm.signed.identity import Identity

Level = Literal["ok", "warning", "problem", "unknown"]
OLDEST_SERVER = (2, 11)
"""The first nats-server with batched direct gets of last records, with which rooms are read."""
LOW_STORAGE = 10
"""Per cent of the store: less than this left deserves a warning."""
LOW_DISK_BYTES = 512 * 1024 * 1024
CONNECT_S = 5.0
EACH_SERVER_S = 3.0
"""How long each of several servers may take to greet."""
NO_LEADER = "more than half of the cluster's servers must be there: start the others, or wait for them to agree"
PROBED_ROOM = "swarm-doctor"
"""No room has this name."""
CLOCK_S = 5
"""A difference of clocks beyond this deserves a warning: rooms dispute entries beyond their skew, usually 60 s."""


@dataclass(frozen=True, slots=True)
class Check:
    """One check: what was examined, its level, a text, and what to do about it."""

    name: str
    level: Level
    text: str
    advice: str = ""

    def plain(self) -> dict[str, str]:
        """Return the check as JSON."""
        return {"check": self.name, "level": self.level, "text": self.text, "advice": self.advice}


async def examine(
    server: str,
    key: Path | None = None,
    directory: Path | None = None,
    *,
    tls_ca: Path | None = None,
    timeout_s: float = 5.0,
    clock: Callable[[], Instant] = utc_now,
) -> list[Check]:
    """Check everything in turn and return what was found; an unreachable server ends it early with a problem."""
    checks, identity = _key(key)
    if directory is not None:
        checks.append(_directory(directory))
    try:
        tls = trusted(tls_ca)
        patience_s = min(timeout_s, CONNECT_S)
        connection = await Connection.open(
            server, identity=identity, name="swarm-doctor", tls=tls, timeout_s=patience_s
        )
    except SwarmError as error:
        advice = "start the server, or check the URL and the network between"
        if isinstance(error, Denied):
            advice = "let this key in: swarm broker --secure --member KEY, or give --key the key that the server knows"
        return [*checks, Check("server", "problem", str(error), advice)]
    try:
        checks += await _servers(split_servers(server), identity, tls, timeout_s)
        checks += _server(connection.server_info, identity)
        checks += await _streams(connection, timeout_s)
        checks += await _storage(connection, timeout_s)
    finally:
        await connection.close()
    checks += await _reading(server, identity, tls, timeout_s, clock)
    return checks


def _key(path: Path | None) -> tuple[list[Check], Identity | None]:
    if path is None:
        return [Check("key", "unknown", "no key was given", "give --key to look with the eyes of a member")], None
    try:
        identity = Identity.load(path)
    except BadInput as error:
        return [Check("key", "problem", str(error), "swarm keys new FILE makes one; chmod 600 keeps it yours")], None
    return [Check("key", "ok", f"{path} holds {identity.public}, readable by its owner only")], identity


def _directory(directory: Path) -> Check:
    """Check the folder in which a peer keeps what it signs before it is sent."""
    name = "directory"
    if not directory.is_dir():
        return Check(name, "problem", f"{directory} is no folder", f"mkdir -p {directory}")
    probe = directory / ".swarm-doctor"
    try:
        probe.write_bytes(b"x")
        probe.unlink()
    except OSError as error:
        text = f"nothing can be written in {directory}: {error.strerror}"
        return Check(name, "problem", text, "give the peer's user write access")
    free = shutil.disk_usage(directory).free
    if free < LOW_DISK_BYTES:
        return Check(name, "warning", f"{free // 2**20} MiB are left on the disk of {directory}", "make room")
    return Check(name, "ok", f"{directory} can be written, {free // 2**20} MiB are left")


async def _servers(urls: list[str], identity: Identity | None, tls: Any, timeout_s: float) -> list[Check]:
    """Check whether each of several servers is there; one that is away is not a problem, because another may answer."""

    async def why_not(url: str) -> str | None:
        try:
            patience_s = min(timeout_s, EACH_SERVER_S)
            await (await Connection.open(url, identity=identity, tls=tls, timeout_s=patience_s)).close()
        except SwarmError as error:
            return str(error)
        return None

    if len(urls) == 1:
        return []
    away = [why for why in await asyncio.gather(*(why_not(url) for url in urls)) if why is not None]
    if not away:
        return [Check("servers", "ok", f"all {len(urls)} servers answer")]
    text = f"{len(urls) - len(away)} of {len(urls)} servers answer; {'; '.join(away)}"
    return [Check("servers", "warning", text, "start the others again: more than half of a cluster must be there")]


def _server(info: dict[str, Any], identity: Identity | None) -> list[Check]:
    version = str(info.get("version", ""))
    found = re.match(r"(\d+)\.(\d+)", version)
    usable = found is not None and (int(found[1]), int(found[2])) >= OLDEST_SERVER
    oldest = ".".join(str(part) for part in OLDEST_SERVER)
    checks = [
        Check("version", "ok", f"nats-server {version}")
        if usable
        else Check("version", "problem", f"nats-server {version} is too old", f"use {oldest} or newer")
    ]
    most = info.get("max_payload", 0)
    if isinstance(most, int) and most < MAX_MESSAGE_BYTES:
        text = f"the server takes messages of at most {most:,} bytes; an entry may need {MAX_MESSAGE_BYTES:,}"
        checks.append(Check("max_payload", "problem", text, "raise max_payload in its configuration"))
    if not info.get("auth_required"):
        text = "the server asks nobody for a key: whoever reaches it may write noise on any member's subject"
        checks.append(Check("login", "warning", text, "swarm broker --secure, or swarm broker --print-config"))
    elif identity is not None:
        checks.append(Check("login", "ok", "the server knows this key"))
    if not info.get("tls_required"):
        host = str(info.get("host", ""))
        level: Level = "ok" if host.startswith(("127.", "::1", "localhost")) else "warning"
        text = "what is said travels in the clear" + (" on this machine" if level == "ok" else "")
        checks.append(Check("tls", level, text, "" if level == "ok" else "swarm broker --tls-cert FILE --tls-key FILE"))
    else:
        checks.append(Check("tls", "ok", "the connection is encrypted"))
    return checks


async def _streams(connection: Connection, timeout_s: float) -> list[Check]:
    """Check the two streams; a member of a secured server may not see them, and that is as it should be."""
    checks, clustered = [], bool(connection.server_info.get("cluster"))
    for wanted in stream_settings():
        name = wanted["name"]
        try:
            answer = await _ask(connection, f"$JS.API.STREAM.INFO.{name}", timeout_s)
        except Denied:
            text = "this key may not manage streams, which is as it should be; their settings cannot be seen from here"
            return [Check("permissions", "ok", text)]
        except Unavailable as error:
            text = f"no JetStream answers: {error}"
            if clustered:
                return [Check("jetstream", "problem", text, NO_LEADER)]
            return [
                Check("jetstream", "problem", text, "start the server with JetStream: swarm broker, or nats-server -js")
            ]
        if answer.get("error", {}).get("code") == 503:
            return [Check("jetstream", "problem", f"{answer['error'].get('description')}", NO_LEADER)]
        if "error" in answer:
            text = f"the stream {name}: {answer['error'].get('description')}"
            checks.append(
                Check(name, "problem", text, "swarm broker makes it; elsewhere the first swarm run --server does")
            )
            continue
        differing = differences(wanted, answer["config"])
        if differing:
            text = f"the stream {name} does not keep what was said: {'; '.join(differing)}"
            checks.append(Check(name, "problem", text, "change it, or use another server"))
        else:
            checks.append(_replicas(name, answer, clustered))
    if any(check.level != "problem" for check in checks):
        text = "this key may manage streams; on a server with strangers a member should not"
        checks.append(Check("permissions", "warning", text, "swarm broker --secure, or swarm broker --print-config"))
    return checks


def _replicas(name: str, answer: dict[str, Any], clustered: bool) -> Check:
    """Check how many servers hold a stream with the right settings, and whether all of them are there."""
    replicas, held = answer["config"].get("num_replicas", 1), answer.get("cluster", {})
    kept = f"the stream {name} keeps what was said, {replicas} replica(s)"
    if clustered and replicas == 1:
        advice = "before the first room: swarm broker --make-streams URL --replicas 3; later nats stream edit"
        return Check(name, "warning", f"{kept}: with the one server that holds it, everything is gone", advice)
    behind = [str(each.get("name")) for each in held.get("replicas", ()) if each.get("offline") or not each["current"]]
    if behind:
        return Check(name, "warning", f"{kept}, of which {', '.join(behind)} is away or behind", "look at that server")
    return Check(name, "ok", kept)


async def _storage(connection: Connection, timeout_s: float) -> list[Check]:
    sync = Check(
        "sync",
        "unknown",
        "how often the server syncs to disk cannot be seen from a client",
        "see sync_interval in its configuration; docs/operations.md says what each setting survives",
    )
    try:
        info = await _ask(connection, "$JS.API.INFO", timeout_s)
    except (Denied, Unavailable):
        text = "the room left in the store cannot be seen by this key"
        return [Check("storage", "unknown", text, "ask who runs the server"), sync]
    limits, used = info.get("limits", {}), info.get("storage", 0)
    most = limits.get("max_storage", -1)
    if most <= 0:
        text = f"{used:,} bytes are used; how much this server may store cannot be seen from a client"
        return [Check("storage", "unknown", text, "max_file_store in its configuration: a full store refuses"), sync]
    left = max(0, 100 - used * 100 // most)
    text = f"{used:,} of {most:,} bytes are used, {left} % left"
    if left < LOW_STORAGE:
        return [
            Check("storage", "warning", text, "enlarge the store, or move old rooms away: a full one refuses"),
            sync,
        ]
    return [Check("storage", "ok", text), sync]


async def _reading(
    server: str, identity: Identity | None, tls: Any, timeout_s: float, clock: Callable[[], Instant]
) -> list[Check]:
    """Read and write as a peer does, and compare clocks by this key's latest record, if it is recent."""
    author = identity.public if identity is not None else "nobody"
    try:
        async with await JetStreamLog.connect(
            server, identity=identity, name="swarm-doctor", tls=tls, timeout_s=timeout_s
        ) as log:
            rooms = await log.rooms(author, timeout_s=timeout_s)
            writing = await _writing(log, author, timeout_s)
    except SwarmError as error:
        advice = "the server must let this key read by direct get on " + names.direct_get(names.ROOMS)
        return [Check("reading", "problem", str(error), advice)]
    checks = [Check("reading", "ok", f"rooms can be read; this key has spoken in {len(rooms)}"), writing]
    newest = max((stored.stored for stored in rooms.values()), default=None)
    if newest is not None and newest > clock() + CLOCK_S * SECOND:
        ahead = (newest - clock()) // SECOND
        text = f"the server's clock is at least {ahead} s ahead of this machine's"
        return [*checks, Check("clock", "warning", text, "set both by NTP: rooms dispute entries that differ too much")]
    text = (
        "this machine's clock is not behind the server's latest record" if newest else "no record to compare clocks by"
    )
    level: Level = "ok" if newest else "unknown"
    return [*checks, Check("clock", level, text, "" if newest else "swarm status ROOM shows each member's clock")]


async def _writing(log: JetStreamLog, author: str, timeout_s: float) -> Check:
    """Offer the log a record that it must refuse, because it follows nothing; any other reply is informative."""
    try:
        await log.append(PROBED_ROOM, author, b"{}", expected_last=2**53 - 1, timeout_s=timeout_s)
    except WrongLast:
        return Check("writing", "ok", "the log takes what this key says, if there is room for it")
    except LogFull as error:
        return Check("writing", "problem", str(error), "enlarge the store: max_file_store")
    except SwarmError as error:
        return Check("writing", "problem", str(error), "the server must let this key publish on its own subjects")
    return Check("writing", "problem", "the log takes what does not follow on what is there", "use another server")


async def _ask(connection: Connection, subject: str, timeout_s: float) -> dict[str, Any]:
    deadline = asyncio.get_running_loop().time() + timeout_s
    (reply,) = await connection.call(subject, b"", deadline=deadline, quiet_s=min(2.0, timeout_s))
    if reply.headers[8:12] == b" 503":
        raise Unavailable("nobody answers there")
    answer: dict[str, Any] = json.loads(reply.data)
    return answer
