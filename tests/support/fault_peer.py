"""`swarm peer`, in which a test can have one exact moment of one saying kill: ``fault_peer.py FOLDER`` and its options.

FOLDER holds ``faults``, one JSON object a line: the author's key, room slug, kind and step of what is said, the moment
(``before`` it is kept, ``kept`` and not sent, ``sent`` and stored, ``read`` back), and whose process dies with -9, this
one or the server (its id is in ``server/pid``). Each happens once. FOLDER also gets ``acknowledged``: id and room of
every entry that the log has acknowledged. In all else it is the plain command.
"""

import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

from swarm.cli import main
from swarm.log.jetstream import JetStreamLog
from swarm.seat import speaker
from swarm.signed.entry import Entry, parse_entry

FOLDER = Path(sys.argv.pop(1))


def _strike(author: str, room: str, kind: str, step: str | None, moment: str) -> None:
    path = FOLDER / "faults"
    for line in path.read_text("utf-8").splitlines() if path.exists() else []:
        fault = json.loads(line)
        due = fault["by"] == author and room.startswith(fault["room"] + "-") and fault["moment"] == moment
        if not due or fault["kind"] != kind or fault["step"] != step:
            continue
        try:
            os.close(os.open(FOLDER / f"struck.{fault['id']}", os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            continue
        server = fault["dies"] == "server"
        os.kill(int((FOLDER / "server" / "pid").read_text()) if server else os.getpid(), signal.SIGKILL)


class _Speaker(speaker.Speaker):
    async def say(self, body: dict[str, Any], cost: dict[str, Any] | None = None) -> Entry:
        _strike(self.identity.public, self._replica.name, body["kind"], body.get("step"), "before")
        return await super().say(body, cost)

    async def _publish(self, entry: Entry) -> None:
        _strike(entry.author, entry.room, entry.kind, entry.body.get("step"), "kept")
        await super()._publish(entry)
        _strike(entry.author, entry.room, entry.kind, entry.body.get("step"), "read")


_append = JetStreamLog.append


async def _appended(self: JetStreamLog, room: str, author: str, payload: bytes, **more: Any) -> int:
    sequence = await _append(self, room, author, payload, **more)
    entry = parse_entry(payload)
    handle = os.open(FOLDER / "acknowledged", os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    os.write(handle, f"{entry.id} {room}\n".encode())
    os.close(handle)
    _strike(author, room, entry.kind, entry.body.get("step"), "sent")
    return sequence


JetStreamLog.append = _appended  # type: ignore[method-assign]
for _module in ("swarm.seat.seat", "swarm.peers.standing"):
    __import__(_module)
    sys.modules[_module].Speaker = _Speaker  # type: ignore[attr-defined]
sys.argv[0] = "swarm"
main()
