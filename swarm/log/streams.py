"""The two streams of the log: made if they are missing, checked if they exist.

A stream with other settings can silently lose or erase what was said, so it is refused, with every difference.
"""

import asyncio
import json
import ssl
from collections.abc import Iterable
from typing import Any

from swarm.errors import BadInput, Unavailable, WireError
from swarm.log import subjects as names
from swarm.log.connection import Connection
from swarm.log.port import AUTHOR_RECORDS, INVITATION_SECONDS, MAX_MESSAGE_BYTES
from swarm.log.reader import Again, until
from swarm.signed.identity import Identity
from swarm.signed.sizes import MAX_INVITATION_BYTES, MAX_PAYLOAD_BYTES

INVITES_BYTES = 16 * 1024 * 1024
"""Invitations are small and expire; this limit keeps a flood of them from filling the store."""
QUIET_S = 2.0
"""How long one request may stay unanswered: a cluster without a leader drops it."""
_SECOND_NS = 1_000_000_000
_NO_STREAM = 10059
_ERASES = {"deny_delete": True, "deny_purge": True, "allow_rollup_hdrs": False, "allow_msg_ttl": False, "sealed": False}


def stream_settings(replicas: int = 1, invites_bytes: int = INVITES_BYTES) -> list[dict[str, Any]]:
    """Return the settings of both streams in JetStream's own terms.

    The rooms keep everything: when full, the stream and each subject refuse new messages. Each subject keeps one
    invitation, for a week.
    """
    rooms: dict[str, Any] = {
        "name": names.ROOMS,
        "subjects": [names.ROOM_SUBJECTS],
        "retention": "limits",
        "storage": "file",
        "num_replicas": replicas,
        "discard": "new",
        "discard_new_per_subject": True,
        "max_msgs_per_subject": AUTHOR_RECORDS,
        "max_msgs": -1,
        "max_bytes": -1,
        "max_age": 0,
        "max_msg_size": MAX_MESSAGE_BYTES,
        "allow_direct": True,
        "republish": {"src": names.ROOM_SUBJECTS, "dest": names.LOG_SUBJECTS, "headers_only": True},
        # Nobody sends message ids, because anybody could use one up first. The window is the shortest possible.
        "duplicate_window": _SECOND_NS // 10,
        **_ERASES,
    }
    invites = rooms | {
        "name": names.INVITES,
        "subjects": [names.INVITE_SUBJECTS],
        "discard": "old",
        "discard_new_per_subject": False,
        "max_msgs_per_subject": 1,
        "max_bytes": invites_bytes,
        "max_msg_size": MAX_INVITATION_BYTES + MAX_MESSAGE_BYTES - MAX_PAYLOAD_BYTES,
        "max_age": INVITATION_SECONDS * _SECOND_NS,
        "republish": {"src": names.INVITE_SUBJECTS, "dest": names.INVITED_SUBJECTS, "headers_only": True},
    }
    return [rooms, invites]


async def ensure_streams(
    servers: str | Iterable[str],
    *,
    identity: Identity | None = None,
    replicas: int = 1,
    invites_bytes: int = INVITES_BYTES,
    tls: ssl.SSLContext | None = None,
    timeout_s: float = 10.0,
) -> None:
    """Make the streams of the log on *servers*, or check existing ones.

    On a server with accounts, *identity* is a user of the account that holds them. *invites_bytes* is reserved for
    invitations, out of what the server may store. Raises `BadInput` with every setting that differs, `Denied`, and
    `Unavailable` if there is no JetStream.
    """
    deadline = asyncio.get_running_loop().time() + timeout_s
    connection = await Connection.open(servers, identity=identity, name="swarm streams", tls=tls, timeout_s=timeout_s)
    try:
        for wanted in stream_settings(replicas, invites_bytes):
            await _ensure(connection, wanted, deadline)
    finally:
        await connection.close()


async def _ensure(connection: Connection, wanted: dict[str, Any], deadline: float) -> None:
    name = wanted["name"]
    answer = await _ask(connection, f"$JS.API.STREAM.INFO.{name}", {}, deadline)
    if answer.get("error", {}).get("err_code") == _NO_STREAM:
        answer = await _ask(connection, f"$JS.API.STREAM.CREATE.{name}", wanted, deadline)
    if "error" in answer:
        raise WireError(f"the stream {name}: {answer['error'].get('description')}")
    differing = differences(wanted, answer["config"])
    if differing:
        raise BadInput(
            f"the stream {name} on this server is not one that keeps what was said: {'; '.join(differing)}. "
            "Change it, or use another server"
        )


def differences(wanted: dict[str, Any], found: dict[str, Any]) -> list[str]:
    """Describe where the settings *found* on a server keep less of what was said than those *wanted*."""
    differing = [
        f"{setting} is {json.dumps(found.get(setting))}, not {json.dumps(value)}"
        for setting, value in wanted.items()
        if not _as_wanted(wanted["name"], setting, found.get(setting), value)
    ]
    return differing + [f"it has {each}" for each in ("mirror", "sources", "subject_transform") if found.get(each)]


def _as_wanted(stream: str, setting: str, found: Any, wanted: Any) -> bool:
    if setting == "num_replicas" or (setting == "max_msgs_per_subject" and stream == names.ROOMS):
        return isinstance(found, int) and found >= wanted
    if setting == "max_bytes":
        return True  # A matter of the server's size; a full stream refuses either way.
    return bool((found or False) == (wanted or False))


async def _ask(connection: Connection, subject: str, body: dict[str, Any], deadline: float) -> dict[str, Any]:
    async def once() -> dict[str, Any]:
        data = json.dumps(body).encode() if body else b""
        try:
            (reply,) = await connection.call(subject, data, deadline=deadline, quiet_s=QUIET_S)
        except Unavailable as error:
            raise Again(str(error)) from None
        if reply.headers[8:12] == b" 503":
            raise Again("the server has no JetStream, or no leader for it")
        answer: dict[str, Any] = json.loads(reply.data)
        if answer.get("error", {}).get("code") == 503:
            raise Again(f"JetStream is not ready: {answer['error'].get('description')}")
        return answer

    return await until(deadline, once)
