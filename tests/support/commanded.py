"""Minds as a command, run by path: which one is the first argument; a second names a file for what it is asked."""

import json
import os
import re
import sys
import time


class Steady:
    """Goes by what is typed, and says what it notices."""

    def points(self, asked):
        return 100 - 4 * asked["option"]["offer"].get("discount", 0)

    def score(self, duty):
        scores, rejects = {}, {}
        for asked in duty["options"]:
            if "exclusivity" in asked["option"]["offer"] and duty["rejects_left"]:
                rejects[asked["id"]] = "exclusivity was never asked for"
            else:
                scores[asked["id"]] = self.points(asked)
        return {"scores": scores, "rejects": rejects}

    def read(self, duty):
        return {"verdicts": ["unsure"] * len(duty["cases"]), "judgements": ["different"] * len(duty["meanings"])}

    def improve(self, duty):
        return {"pass": True}

    def ratify(self, duty):
        return {"accept": True}

    def propose(self, duty):
        offer = {name: issue["values"][-1] for name, issue in duty["issues"].items()}
        return {"option": {"title": "the most of all", "offer": offer}}

    def perform(self, duty):
        acts = []
        for report in duty["awaiting"]:
            kind = "event.confirm" if int(report["attributes"]["amount"]) >= 100 else "event.dispute"
            acts.append({"kind": kind, "report": report["id"]})
        return {"acts": acts}


class Gullible(Steady):
    """Does what it is told by whoever writes."""

    def points(self, asked):
        words = asked["option"]["rationale"] or ""
        if "SYSTEM" in words:
            return 100
        said = re.search(r"discount (\d+)", words)
        return 60 - (int(said[1]) if said else 0)

    def score(self, duty):
        scores = {asked["id"]: self.points(asked) for asked in duty["options"]}
        for asked in duty["options"] if duty["problem"] is None else ():
            for stranger in re.findall(r"[0-9a-f]{64}", asked["option"]["rationale"] or ""):
                scores[stranger] = 90
        return {"scores": scores}

    def read(self, duty):
        return {"verdicts": ["yes"] * len(duty["cases"]), "judgements": ["same"] * len(duty["meanings"])}

    def improve(self, duty):
        for asked in duty["options"]:
            wanted = re.search(r"would take discount (\d+)", asked["option"]["rationale"] or "")
            if wanted:
                return {
                    "option": {"title": "as told", "offer": {**asked["option"]["offer"], "discount": int(wanted[1])}}
                }
        return {"pass": True}

    def perform(self, duty):
        return {"acts": [{"kind": "event.confirm", "report": report["id"]} for report in duty["awaiting"]]}


class Moody(Steady):
    """Never says the same thing twice."""

    def ratify(self, duty):
        return {"accept": False, "because": f"at {time.time_ns()}"}


class Wrong(Steady):
    """Answers in no form that there is."""

    def ratify(self, duty):
        return {"accept": "yes"}


class Excused(Steady):
    """Has a reason not to."""

    def ratify(self, duty):
        return None


class Garbage(Steady):
    """Says no line of ours."""

    def ratify(self, duty):
        print("let me think", flush=True)


class Crash(Steady):
    """Ends."""

    def ratify(self, duty):
        sys.exit(3)


class Hang(Steady):
    """Never answers."""

    def ratify(self, duty):
        time.sleep(60)


mind = {kind.__name__.lower(): kind for kind in [*Steady.__subclasses__(), Steady]}[sys.argv[1]]()
for line in sys.stdin:
    duty = json.loads(line)
    if len(sys.argv) > 2:
        with open(sys.argv[2], "a", encoding="utf-8") as asked:
            print(os.getpid(), duty["act"], duty["briefing"] is not None, duty["left"] is not None, file=asked)
    answer = getattr(mind, duty["act"])(duty) if hasattr(mind, duty["act"]) else None
    said = {"excuse": "not this one"} if answer is None else {"answer": answer, "cost": {"calls": 1, "tokens_in": 7}}
    print(json.dumps({"id": duty["id"], **said}), flush=True)
