"""The roster that an auditor pins: whose key is whose, until when, and which key took the place of which.

A name stands for a key, or for ``{key, until}``: what that member said later is not pinned. In ``{key, replaces}`` the
key took the place of another, which is known and pinned no more: a ledger under it is an old one, not a forged one.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from protocols.core.instants import Instant, parse_instant
from swarm.errors import BadInput
from swarm.signed.identity import NO_KEY, is_public_key

PathLike = str | os.PathLike[str]
_FORM = "a public key, or an object of key and until, or of key and replaces"


@dataclass(frozen=True, slots=True)
class Pin:
    """The key of one member; it holds up to and including ``until``, and took the place of ``replaces``."""

    key: str
    until: Instant | None = None
    replaces: str | None = None


Roster = Mapping[str, str | Mapping[str, str] | Pin]
"""Member name → key, ``{key, until}``, ``{key, replaces}``, or a `Pin`."""


def read_roster(path: PathLike) -> dict[str, Any]:
    """Return the roster in a YAML or JSON file as it stands there, checked."""
    from swarm.files.document import read_document

    document = read_document(path)
    roster = document.data
    if not isinstance(roster, dict) or not roster:
        raise document.error((), "a roster maps each member's name to its public key")
    for name, said in roster.items():
        try:
            _pin(said)
        except ValueError as error:
            raise document.error((name,), str(error)) from None
    return {str(name): said for name, said in roster.items()}


def pins_of(roster: Roster) -> dict[str, Pin]:
    """Return the pins that *roster* stands for; raises `BadInput`."""
    found = {}
    for name, said in roster.items():
        try:
            found[name] = said if isinstance(said, Pin) else _pin(said)
        except ValueError as error:
            raise BadInput(f"roster: {name}: {error}") from None
    return found


def _pin(said: Any) -> Pin:
    if not isinstance(said, Mapping):
        return Pin(_key(said))
    if said.keys() not in ({"key"}, {"key", "until"}, {"key", "replaces"}):
        raise ValueError(f"not {_FORM}")
    until, replaces = said.get("until"), said.get("replaces")
    if "until" in said and not isinstance(until, str):
        raise ValueError("until: not a time such as 2027-01-31T18:00:00Z")
    key = _key(said["key"])
    if "replaces" in said and _key(replaces) == key:
        raise ValueError("replaces: a key cannot take its own place")
    try:
        return Pin(key, None if until is None else parse_instant(until), replaces)
    except ValueError as error:
        raise ValueError(f"until: {error}") from None


def _key(said: Any) -> str:
    if not isinstance(said, str) or not is_public_key(said):
        raise ValueError(NO_KEY)
    return said
