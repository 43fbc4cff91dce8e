"""The configuration of a nats-server that serves the log: accounts, permissions, limits."""

import json
import re
from collections.abc import Iterable
from pathlib import Path

from swarm.errors import BadInput
from swarm.log import subjects as names
from swarm.log.tls import ServerTls
from swarm.signed.identity import NO_KEY, is_public_key

DEFAULT_STORE_BYTES = 1024**3
LEAST_STORE_BYTES = 1024**2
_MEMORY_STORE_BYTES = 64 * 1024**2
_LOG_FILE_BYTES = 10 * 1024**2
_SYNC = re.compile(r"always|[1-9][0-9]{0,5}(ms|s|m)")


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

    With *members* (public keys), each may publish on ``swarm.room.*.<key>``, ``swarm.invite.*.<key>`` and the direct
    gets, and subscribe to ``_INBOX_<key>.>`` and to what the streams republish; nothing else, so neither consumers nor
    purges. *setup_key* is the user that makes the streams, with `swarm.log.streams.ensure_streams`. Without *members*,
    there are no accounts. *store* is JetStream's directory and *store_limit_bytes* the most that it may hold; *sync* is
    ``always``, or the interval at which writes reach the disk (default ``2m``, the server's own). With *tls*, the
    server accepts no plain-text connection.

    Raises `BadInput` for an invalid key, size or interval.
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
    """Return the configuration of `server_config` for somebody else's nats-server, with instructions.

    It contains no path of this machine. Raises `BadInput` for an invalid key.
    """
    setup = "" if setup_key else ", which is not there yet: users: [{nkey: U…}]"
    return _FOR_OTHERS.format(setup=setup) + server_config(members, store=Path("swarm-store"), setup_key=setup_key)


def _accounts(members: list[str], setup_key: str | None) -> list[str]:
    for key in [*members, *([setup_key] if setup_key else [])]:
        if not is_public_key(key):
            raise BadInput(f"{key!r} is {NO_KEY}")
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
        # Without a threshold, the server keeps every answered request of a streamed service for ever.
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
