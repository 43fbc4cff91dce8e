"""A person in rooms: real processes over a real server, and somebody at a pseudo-terminal who types."""

import json
import os
import signal
from pathlib import Path
from typing import Any

import pytest

from swarm.auditing.auditing import audit
from tests.support.pseudo_terminal import ROOT, Person
from tests.support.standing_site import Site, scenario, script


def members(**rest: Any) -> list[dict[str, Any]]:
    """A scripted member, and a person."""
    return [{"name": "ann", **script()}, {"name": "you", "agent": "human", "role": "decides"} | rest]


def written(folder: Path, *, seconds: int = 60, **more: Any) -> str:
    """Write a small scenario with a person in it, and return its path."""
    what = scenario("small", {}, seconds=seconds) | {"members": members()} | more
    path = folder / "scenario.json"
    path.write_text(json.dumps(what), encoding="utf-8")
    return str(path)


def bodies(ledger: Path, author: str | None = None) -> list[dict[str, Any]]:
    lines = [json.loads(line) for line in ledger.read_text("utf-8").splitlines()]
    entries = [line["entry"] for line in lines if "position" in line]
    return [entry["body"] for entry in entries if author in (None, entry["author"])]


def test_a_person_sees_a_room_through(person: Person) -> None:
    """Protects the whole: the example is settled by somebody who errs, rejects and confirms; anyone recomputes it."""
    ledger, roster = person.folder / "l.jsonl", person.folder / "r.yaml"
    process = person.start("run", "examples/ask-me.yaml", "--json", "--ledger", str(ledger), "--roster", str(roster))
    person.answers(("“task” means [", "one place"), ("bounds of", "walk = 10"))
    person.sees("not taken: “walk = 10” is no bound")
    person.answers(("bounds of", "walk <= 10 min"), ("case 1", ""), ("“quiet” means [", ""), ("Send it?", "yes"))
    person.answers(("does “quiet” apply to “A piano", "n"), *[("the same as yours? [", "unsure")] * 3)
    person.answers(("Send it?", "yes"))
    proposing = person.sees("title of your option [")
    for told in ("Settle where we meet", "bo: comes from work", "bo means: Nobody shouts.", "place: 1 the harbour"):
        assert told in proposing, told
    person.types("The harbour early")
    person.answers(("hour [", "21"), ("not taken: one of: 18 · 19 · 20", ""), ("hour [", "18"), ("place [", "1"))
    person.answers(("why [", "we can talk there"), ("your reserve", "30"), ("Send it?", "yes"))
    scoring = person.sees("option 1, The mill at seven [")
    for told in (
        "at least 50 from everybody",
        "Rejections left to you: 1",
        "because They keep a table",
        "promise table",
    ):
        assert told in scoring, told
    person.types("eighty")
    person.sees("not taken: a whole number from 0 to 100")
    scores = {"mill": "80 good", "harbour": "reject I have thought again", "Here at": "55"}
    person.answers(("option 1, The mill at seven [", scores["mill"]))
    for place in (2, 3):
        asked = person.sees(" [0–100").rpartition(f"option {place}, ")[2]
        person.types(next(answer for title, answer in scores.items() if title in asked))
    person.answers(("Send it?", "yes"), ("pass, or improve [", "pass"), ("Send it?", "yes"))
    signing = person.sees("Do you sign this outcome?")
    assert "scores 70, 80, 90, the bar 50" in signing
    assert "your own  reserve 30" in signing
    person.answers((" [yes", "yes"), ("Send it?", "yes"))
    person.answers(("ann reports: booked (table 4)", ""), ("not taken: yes confirms it", "yes"), ("Send it?", "yes"))
    assert person.ends(process) == 0, person.err
    result = json.loads(person.out)
    assert result["decision"]["scores"] == {"ann": 90, "you": 80, "bo": 70}
    assert result["considered"]["rejections"] == {"you": {"The harbour early": "I have thought again"}}
    assert result["commitments"] == {"table": "satisfied"}
    shown = audit(ledger, roster=roster)
    assert shown.verdict == "verified"
    assert not {f["code"] for f in shown.findings} & {"silent", "excused", "late", "wrong_state"}


def test_a_person_is_killed_off_and_finds_only_what_is_still_owed(person: Person, site: Site) -> None:
    """Protects being left and resumed: in the process by Enter, and after a kill by the log."""
    opener = site.key("ann")
    site.stand("ann", script()).stands()
    folder = site.folder / "you"
    folder.mkdir()
    (folder / "you.json").write_text(json.dumps({"agent": "human", "accepts": {"openers": [opener]}}), "utf-8")
    you = site.key("you")
    peer = ["peer", str(folder / "you.json"), "--key", str(site.folder / "you.key"), "--server", site.url]
    peer += ["--dir", str(folder), "--once"]
    first = person.start(*peer)
    room = site.open("ann", scenario("left", {"ann": opener, "you": you}, seconds=120))
    person.answers(("title of your option [", "Tuesday"), ("day [", "2"), ("why [", "later"))
    person.sees(f"Left: propose in {room}. Press Enter to come back")
    person.types("")
    coming_back = person.sees("why [")
    assert f"── {room} ──" in coming_back
    assert "title of your option [" not in coming_back, "what was entered is not asked again"
    person.answers((" left): ", "it suits me"), ("your reserve", ""), ("Send it?", "yes"))
    person.answers(("option 1, ", "80"))
    first.send_signal(signal.SIGKILL)
    first.wait(10)
    again = person.start(*peer)
    resumed = person.sees("option 1, ")
    assert "PROPOSE" not in resumed
    assert f"── {room} ──" in resumed
    person.answers((" [0–100", "80"), ("option 2, ", "60"), ("Send it?", "yes"))
    person.answers(("sign this outcome?", "no I will not come"), ("Send it?", "yes"))
    assert person.ends(again) == 0, person.err
    assert person.out.startswith(f"{room}  no_agreement")
    entries = site.entries(room, "ann", "ann", "you")
    mine = [entry["body"] for entry in entries if entry["author"] == you]
    assert [b["because"] for b in mine if b["kind"] == "concord.ratify"] == ["I will not come"]
    reveals = [b["content"] for b in mine if b["kind"] == "reveal"]
    assert [c["option"]["title"] for c in reveals if "option" in c] == ["Tuesday"]


def test_too_late_is_said_and_the_next_line_is_the_next_answer(person: Person) -> None:
    """Protects the step's deadline: it passes over whoever does not answer, and nothing typed for it counts later."""
    ledger = person.folder / "l.jsonl"
    path = written(person.folder, seconds=6)
    process = person.start("run", path, "--ledger", str(ledger), on_screen=True)
    person.sees("title of your option [")
    os.write(person.master, b"half a ti")
    person.quiet()
    assert person.shown.endswith("left): half a ti"), "nothing else may be shown into the line"
    person.sees("too late: the step has closed (propose in small-")
    person.answers(("option 1, ", "55"), ("Send it?", "yes"), ("sign this outcome?", "yes"), ("Send it?", "yes"))
    assert person.ends(process) == 0, person.err
    said = bodies(ledger)
    excuses = [b["because"] for b in said if b["kind"] == "room.excuse"]
    assert excuses[0] == "late: it gave no answer in time"
    ballots = [b["content"]["scores"] for b in said if b["kind"] == "reveal" and "scores" in b["content"]]
    assert [55] in [list(scores.values()) for scores in ballots]
    assert "half a ti" not in ledger.read_text("utf-8")
    assert "CHOICE" in person.shown
    assert "AGREED" in person.shown


def test_two_people_at_one_terminal_take_turns(person: Person) -> None:
    """Protects shared terminals: one question at a time, whichever process asks, and each is told who it is for."""
    two = {"members": [{"name": name, "agent": "human"} for name in ("ida", "kai")]}
    process = person.start("run", written(person.folder, **two), "--json", "--ledger", str(person.folder / "l.jsonl"))
    first = person.sees("title of your option [")
    person.quiet()
    assert person.shown.count("title of your option [") == 1
    person.types("excuse I only watch")
    person.answers(("Excuse yourself", "yes"))
    second = person.sees("title of your option [")
    assert {name for name in ("ida", "kai") if f"{name} (you)" in first} != {
        name for name in ("ida", "kai") if f"{name} (you)" in second
    }
    person.types("excuse so do I")
    person.answers(("Excuse yourself", "yes"))
    assert person.ends(process) == 1, person.err
    said = bodies(person.folder / "l.jsonl")
    assert sorted(b["because"] for b in said if b["kind"] == "room.excuse") == ["I only watch", "so do I"]


def test_ctrl_c_ends_a_peer_in_order(person: Person, site: Site) -> None:
    """Protects leaving: the question goes, nothing is signed for it, and nothing is called too late."""
    opener, you = site.key("ann"), site.key("you")
    site.stand("ann", script()).stands()
    path = site.folder / "you.json"
    path.write_text(json.dumps({"agent": "human", "accepts": {"openers": [opener]}}), "utf-8")
    process = person.start("peer", str(path), "--key", str(site.folder / "you.key"), "--server", site.url)
    site.open("ann", scenario("stopped", {"ann": opener, "you": you}, seconds=120))
    person.sees("title of your option [")
    process.send_signal(signal.SIGINT)
    assert person.ends(process) == 0
    assert "too late" not in person.shown


def test_an_event_is_reported_when_the_person_wants_to(person: Person) -> None:
    """Protects standing duties: what can be done is listed once, and the person says when."""
    terms = {"id": "tea", "debtor": "you", "creditor": "ann", "then": "made within 60 seconds of agreed"}
    what = {
        "agenda": ["commitments"],
        "events": {"made": {"by": "you", "confirmed_by": "ann"}},
        "promises": [terms],
        "rules": {"step_seconds": 60, "watch_seconds": 60},
        "members": [{"name": "ann"}, {"name": "you", "agent": "human"}],
    }
    path = person.folder / "tea.json"
    path.write_text(json.dumps({"room": "tea", "intent": "Tea.", **what}), "utf-8")
    process = person.start("run", str(path), "--json", "--ledger", str(person.folder / "l.jsonl"))
    joining = person.sees("Do you join, and promise this?")
    assert "promise tea, you to ann: then made within" in joining
    person.answers((" [yes", "yes"), ("Send it?", "yes"), ("report EVENT", "brew made"))
    person.sees("not taken: report EVENT")
    person.types("report made cups=2")
    person.answers(("report that made happened (cups 2). Send it?", "yes"))
    assert person.ends(process) == 0, person.err
    assert json.loads(person.out)["commitments"] == {"tea": "satisfied"}
    assert person.shown.count("what you can do, whenever you like") == 1
    reports = [b for b in bodies(person.folder / "l.jsonl") if b["kind"] == "event.report"]
    assert [(b["event"], b["attributes"]) for b in reports] == [("made", {"cups": "2"})]


@pytest.mark.parametrize("kind", ["run", "peer"])
def test_without_a_terminal_nothing_begins(person: Person, kind: str) -> None:
    """Protects the others: no room opens, no seat is taken, where nobody can be asked."""
    if kind == "run":
        arguments = ["run", str(ROOT / "examples" / "ask-me.yaml"), "--dir", str(person.folder / "kept")]
    else:
        (person.folder / "you.json").write_text('{"agent": "human", "accepts": {}}', "utf-8")
        from swarm.signed.identity import Identity

        Identity.new().save(person.folder / "k.key")
        arguments = ["peer", str(person.folder / "you.json"), "--key", str(person.folder / "k.key")]
        arguments += ["--server", "nats://127.0.0.1:1"]
    process = person.start(*arguments, apart=True)
    assert person.ends(process) == 2
    assert "needs a terminal" in person.err
    assert "Traceback" not in person.err
    assert not (person.folder / "kept").exists()
