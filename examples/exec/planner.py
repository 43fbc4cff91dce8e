"""A mind that is a program: one duty per line on its input, one answer per line on its output. Nothing to install."""

import json
import sys

POINTS = {"thursday": 30, "friday": 45, "lodge": 35, "museum": 50}


def score(duty):
    offers = {asked["id"]: asked["option"]["offer"] for asked in duty["options"]}
    return {"scores": {option: sum(POINTS[value] for value in offer.values()) for option, offer in offers.items()}}


def propose(duty):
    best = {name: max(issue["values"], key=POINTS.__getitem__) for name, issue in duty["issues"].items()}
    return {"option": {"title": " ".join(best.values()), "offer": best}, "reserve": 60}


def perform(duty):
    owed = duty["promises"].get("booking") == "detached" and not duty["done"]
    return {"acts": [{"kind": "event.report", "event": "booked", "attributes": {"seats": "12"}}] if owed else []}


ANSWERS = {
    "score": score,
    "propose": propose,
    "perform": perform,
    "improve": lambda duty: {"pass": True},
    "ratify": lambda duty: {"accept": True},
}

for line in sys.stdin:
    duty = json.loads(line)
    answer = ANSWERS.get(duty["act"])
    said = {"answer": answer(duty)} if answer else {"excuse": f"a planner knows no {duty['act']}"}
    print(json.dumps({"id": duty["id"], **said}), flush=True)
