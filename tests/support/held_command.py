"""A command as a mind that can be held in the middle: it scores nothing before the file *go* is there.

Arguments: a file for its process and the act of each question, and *go*. It agrees to whatever is asked.
"""

import json
import os
import sys
import time
from pathlib import Path
from typing import Any


def answer(duty: dict[str, Any], go: Path) -> dict[str, Any]:
    """Return the answer to one duty."""
    if duty["act"] == "propose":
        return {"option": {"title": "what it wants", "offer": {"day": "tue"}}}
    if duty["act"] == "ratify":
        return {"accept": True}
    while not go.exists():
        time.sleep(0.02)
    return {"scores": {asked["id"]: 70 for asked in duty["options"]}}


def main() -> None:
    """Answer line by line."""
    asked, go = Path(sys.argv[1]), Path(sys.argv[2])
    for line in sys.stdin:
        duty = json.loads(line)
        if duty["act"] in ("manifest", "nominate", "join"):
            reply: dict[str, Any] = {"excuse": "nothing to say"}
        else:
            with asked.open("a", encoding="utf-8") as file:
                file.write(f"{os.getpid()} {duty['act']}\n")
            reply = {"answer": answer(duty, go), "cost": {"calls": 1}}
        print(json.dumps({"id": duty["id"], **reply}), flush=True)


main()
