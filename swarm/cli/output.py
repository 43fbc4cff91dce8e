"""What the verbs share: one JSON object on stdout, or text for people."""

import json
import shlex
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from swarm.text import visible

if TYPE_CHECKING:
    from rich.console import Console


def print_json(plain: Any) -> None:
    """Print exactly one JSON object on stdout; control characters are escaped, the text is exact."""
    json.dump(plain, sys.stdout, ensure_ascii=True, indent=None, separators=(", ", ": "))
    sys.stdout.write("\n")
    sys.stdout.flush()


def console(*, stderr: bool = False) -> "Console":
    """Return a console that colours only a terminal and never interprets what it prints."""
    from rich.console import Console

    return Console(stderr=stderr, highlight=False, markup=False, emoji=False, soft_wrap=True)


def offer_lines(offer: Mapping[str, Any]) -> list[str]:
    """Return a delegation (`protocols.duties.duties.OfferAsked` as JSON) in full, for people: nothing is left out."""
    promise = offer["promise"]
    terms = f"if {promise['if']} then {promise['then']}" if "if" in promise else promise["then"]
    lines = [
        f"{offer['debtor']} offers {offer['commitment']}, owed to {offer['creditor']}, {promise['state']}: {terms}"
    ]
    if offer.get("because"):
        lines.append(f"because {offer['because']}")
    if promise.get("each"):
        lines.append(f"one for each {promise['each']}, those to come included; so far: {_states(promise['instances'])}")
    for part, text in (("answerable", "answerable still"), ("excludes", "cannot be kept together with")):
        if promise.get(part):
            lines.append(f"{text}: {', '.join(promise[part])}")
    lines.append(f"to accept it: swarm say ROOM accept {shlex.quote(offer['commitment'])} {offer['id']}")
    return [visible(line) for line in lines]


def _states(instances: Mapping[str, str]) -> str:
    return ", ".join(f"{name} {state}" for name, state in instances.items()) or "none"
