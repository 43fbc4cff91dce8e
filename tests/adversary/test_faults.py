"""Faults that people met in such systems, each with its whole kind: SG-02, SG-04, SG-06, TR-03, UI-01, UI-04."""

import asyncio
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from protocols.messages.bodies import parse_body
from protocols.messages.room import room_name
from swarm.auditing.auditing import audit
from swarm.clock import utc_now
from swarm.errors import BadEntry, BadInput, SecondProcess
from swarm.files.document import load
from swarm.ledger.fold import Fold
from swarm.log.jetstream import JetStreamLog
from swarm.log.memory import MemoryLog
from swarm.log.port import Stored
from swarm.running.running import run as run_scenario
from swarm.scenario.scenario import read_scenario
from swarm.seat.outbox import MemoryOutbox
from swarm.seat.replica import Replica
from swarm.seat.speaker import Speaker
from swarm.signed.checkpoint import parse_checkpoint, sign_checkpoint
from swarm.signed.entry import DOMAIN, is_signed, parse_entry, sign_entry
from swarm.signed.identity import Identity
from swarm.signed.invitation import sign_invitation
from tests.support.hand_made import Siege
from tests.support.hostile_texts import RECORD, TEXTS, reaches_the_terminal
from tests.support.lying_logs import Party
from tests.support.sieges import room
from tests.support.signed_rooms import NOON, Table, replay

ROOT = Path(__file__).resolve().parents[2]


# -- SG-02: two values under one key ----------------------------------------------------------------------------------

TWICE = [
    ('{"option":"A"}', '{"option":"A","option":"B"}'),
    ('{"option":"A"}', '{"option":"A","opt\\u0069on":"B"}'),
    ('{"option":"A"}', '{"\\u006fption":"A","option":"A"}'),
    ('{"x":{"option":"A"}}', '{"x":{"option":"A","option":"B"}}'),
    ('{"x":[{"option":"A"}]}', '{"x":[{"option":"A","opt\\u0069on":"B"}]}'),
]


@pytest.mark.parametrize(("signed", "shown"), TWICE)
def test_sg_02_a_key_twice_is_refused_before_any_signature(
    signed: str, shown: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever was signed, bytes that hold a key twice in one object are nobody's entry; no signature is asked for."""
    table = Table()
    body = {"kind": "reveal", "step": "s", "nonce": "0" * 64, "content": json.loads(signed)}
    payload = table.sign("bob", body).payload.replace(signed.encode(), shown.encode())
    asked: list[Any] = []
    monkeypatch.setattr("swarm.ledger.chain.is_signed", lambda entry: asked.append(entry) or True)
    findings = table.store(table.key("bob"), payload)
    assert [finding.code for finding in findings or ()] == ["duplicate_key"] and asked == []
    assert table.fold.last.entry is None


def test_sg_02_the_same_key_in_two_objects_is_fine() -> None:
    """Only within one object does a key stand for one value."""
    table = Table()
    content = {"a": {"option": "A"}, "b": {"option": "B"}, "option": "C"}
    entry = table.sign("bob", {"kind": "reveal", "step": "s", "nonce": "0" * 64, "content": content})
    assert is_signed(parse_entry(entry.payload))
    table.store(table.key("bob"), entry.payload)
    assert table.fold.last.entry is not None


@pytest.mark.parametrize("odd", [{"Because": "x"}, {"because ": "x"}, {"bec\u0430use": "x"}, {"note": "x"}])
def test_sg_02_fields_that_no_model_has_are_refused_though_signed(odd: dict[str, str]) -> None:
    """Beside `because` there is no other spelling of it, and nothing that one reader shows and another skips."""
    table = Table()
    assert table.say("bob", {"kind": "room.leave", "because": "x", **odd}) == ["bad_body"]
    assert "bob" not in table.fold.room.left
    with pytest.raises(ValueError, match="Extra inputs"):
        parse_body({"kind": "room.leave", "because": "x", **odd})


@pytest.mark.parametrize(
    "text",
    [
        '{"room": "a", "room": "b"}',
        '{"room": "a", "r\\u006fom": "b"}',
        "room: a\nroom: b\n",
        'room: a\n"r\\u006fom": b\n',
        "members:\n  - {name: a, name: b}\n",
        "ballots: {A: {scores: {X: 1, X: 2}}}\n",
    ],
)
def test_sg_02_files_that_people_write_hold_a_key_once(text: str, tmp_path: Path) -> None:
    """Scenarios, tables, histories and rosters are read by one reader, and it refuses them, naming the line."""
    path = tmp_path / "file"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(BadInput):
        load(path)


def test_sg_02_ledger_lines_and_receipts_hold_a_key_once(tmp_path: Path) -> None:
    """Header, raw record, checkpoint: each has one form."""
    table = Table().finish()
    table.store(table.key("bob"), b"noise")
    lines = table.write(tmp_path / "x").read_bytes().splitlines(keepends=True)
    assert audit(tmp_path / "x", roster=table.roster).exit_code() != 1
    for number, (one, two) in {
        0: (b'"room":', b'"room":"x","room":'),
        len(lines) - 2: (b'"position":', b'"position":1,"position":'),
        len(lines) - 1: (b'"count":', b'"count":1,"count":'),
    }.items():
        changed = [line.replace(one, two, 1) if place == number else line for place, line in enumerate(lines)]
        (tmp_path / "x").write_bytes(b"".join(changed))
        try:
            assert audit(tmp_path / "x", roster=table.roster).exit_code() == 1
        except BadInput:
            assert number == 0


# -- SG-04: the ledger that vouches for itself ------------------------------------------------------------------------


def test_sg_04_no_key_inside_a_ledger_is_an_anchor(told: Callable[..., tuple[int, str, str]], tmp_path: Path) -> None:
    """Forged whole it is self-consistent and not 0; against the roster it fails at 1, one key swapped at that peer."""
    true, forged = Party().sit(), Party().sit()
    path = forged.export("ann", tmp_path)
    roster = tmp_path / "roster.json"
    code, out, _ = told("audit", path)
    assert code == 3 and "identities NOT pinned" in out
    roster.write_text(json.dumps(true.roster()), "utf-8")
    code, out, _ = told("audit", path, "--roster", roster, "--json")
    shown = json.loads(out)
    assert code == 1 and (shown["findings"][0]["code"], shown["findings"][0]["position"]) == ("key_mismatch", 1)
    for name in forged.members:
        roster.write_text(json.dumps({**forged.roster(), name: true.key(name)}), "utf-8")
        code, out, _ = told("audit", path, "--roster", roster, "--json")
        first = next(r.position for r in forged.fold("ann").records if r.author == forged.key(name))
        found = json.loads(out)["findings"][0]
        assert (code, found["code"], found["position"], found["who"]) == (1, "key_mismatch", first, name)
    roster.write_text(json.dumps(forged.roster()), "utf-8")
    assert told("audit", path, "--roster", roster)[0] == 0


# -- SG-06: a true signature in the wrong place -----------------------------------------------------------------------


def test_sg_06_an_acceptance_counts_in_its_own_room_only() -> None:
    """The same members, the same options: what was signed in one negotiation is refused in the other."""
    here, there = Table(), Table(skew_seconds=59)
    assert here.roster == there.roster and here.room != there.room
    there.act("bob")
    assert [f.code for f in here.store(here.key("bob"), there.log[-1].payload) or ()] == ["wrong_room"]
    assert here.act("bob") == []


@pytest.mark.parametrize(
    ("field", "other"),
    [
        (b'"kind":"room.join"', b'"kind":"room.tick"'),
        (b'"kind":"room.join"', b'"kind":"concord.ratify"'),
        (b'"step":"room.joining"', b'"step":"room.closing"'),
        (b'"v":1', b'"v":2'),
        (b'"n":1', b'"n":2'),
        (b'"prev":null', b'"prev":"' + b"0" * 64 + b'"'),
    ],
)
def test_sg_06_kind_version_step_and_place_are_inside_the_signature(field: bytes, other: bytes) -> None:
    """Change what a signed message is, or where it stands, and it is no longer signed."""
    table = Table()
    table.act("bob")
    payload = table.log[-1].payload
    assert payload.count(field) == 1
    table = Table()
    codes = [f.code for f in table.store(table.key("bob"), payload.replace(field, other)) or ()]
    assert codes == (["bad_envelope"] if field == b'"v":1' else ["bad_signature"])
    assert not table.fold.chain.authors[table.key("bob")].ids


def test_sg_06_a_signature_of_one_sort_is_none_of_another() -> None:
    """Entries, checkpoints, invitations and logins have a domain each: no signature of one is any of another."""
    key = Identity.new()
    entry = sign_entry(key, room="r", n=1, prev=None, seen=(0, "0" * 64), sent=NOON, body={"kind": "room.tick"})
    checkpoint = sign_checkpoint(key, room="r", count=0, head="0" * 64)
    invitation = sign_invitation(key, room="r-" + "a" * 26, opener=key.public)
    signature = json.loads(entry.payload)["sig"]
    for other in (checkpoint.sig, invitation.sig):
        assert not is_signed(parse_entry(entry.payload.replace(signature.encode(), other.encode())))
    borrowed = checkpoint.plain()
    borrowed["checkpoint"]["sig"] = signature
    assert not parse_checkpoint(borrowed).is_signed()
    with pytest.raises(BadInput):
        key.sign_nonce(DOMAIN + b"\0" + entry.payload)


def test_sg_06_what_was_said_is_remembered_as_long_as_the_ledger() -> None:
    """After 7,000 other messages and after a restart the same bytes are a duplicate; no window forgets them."""
    table = Table(step_seconds=31_536_000)
    table.act("bob")
    accept = table.log[-1].payload
    for number in range(7_000):
        table.say(("ann", "cyd")[number % 2])
    again = Stored(len(table.log) + 1, table.now, table.key("bob"), accept)
    assert [f.code for f in table.fold.add(again) or ()] == ["duplicate"]
    restarted = replay(table.room, table.log)
    assert [f.code for f in restarted.add(again) or ()] == ["duplicate"]
    assert restarted.chain == table.fold.chain


# -- TR-03: concurrent writers ----------------------------------------------------------------------------------------


def linear(fold: Fold, key: str) -> list[str]:
    """Return the ids of *key*'s entries, which continue each other, each said once."""
    entries = [r.entry for r in fold.records if r.author == key and r.entry is not None]
    assert [entry.n for entry in entries] == list(range(1, len(entries) + 1))
    assert [entry.prev for entry in entries] == [None, *(entry.id for entry in entries[:-1])]
    return [entry.id for entry in entries]


def test_tr_03_thirty_appends_at_once_leave_one_chain(siege: Siege, run: Any) -> None:
    """Ten at once by each of three members: one line, everything acknowledged in it, and it verifies."""

    async def work() -> None:
        async with await JetStreamLog.connect(siege.url, identity=siege.identities["ann"]) as log:
            entry = await siege.opened(log, room(step_seconds=60))
            replicas = []
            said: dict[str, list[str]] = {name: [] for name in siege.NAMES}

            async def speak(name: str) -> None:
                async with await JetStreamLog.connect(siege.url, identity=siege.identities[name]) as own:
                    replica = Replica(own, entry.room, entry.author, utc_now)
                    await replica.open()
                    replicas.append(replica)
                    speaker = Speaker(siege.identities[name], replica, MemoryOutbox(), utc_now, patience_s=10)
                    for _ in range(10):
                        said[name].append((await speaker.say({"kind": "room.tick"})).id)

            await asyncio.gather(*(speak(name) for name in siege.NAMES))
            replica = Replica(log, entry.room, entry.author, utc_now)
            await replica.open()
            for name in siege.NAMES:
                ids = linear(replica.fold, siege.key(name))
                assert ids[-10:] == said[name] and len(ids) == 10 + (name == "ann")
            assert replica.room.findings == []

    run(work())


def test_tr_03_one_speaker_asked_thirty_times_at_once_forks_nothing(run: Any) -> None:
    """What cannot take its turn is refused and told why; of one number one entry is on the log."""

    async def work() -> None:
        log, key = MemoryLog(), Identity.new()
        keys = {name: Identity.new().public for name in Siege.NAMES} | {"ann": key.public}
        siege = Siege("", {"ann": key}, lambda name: None, login=False)
        siege.key = keys.__getitem__  # type: ignore[method-assign]
        entry = await siege.opened(log, room(step_seconds=60))
        replica = Replica(log, entry.room, entry.author, utc_now)
        await replica.open()
        speaker = Speaker(key, replica, MemoryOutbox(), utc_now, patience_s=5)
        ends = await asyncio.gather(*(speaker.say({"kind": "room.tick"}) for _ in range(30)), return_exceptions=True)
        said = [end.id for end in ends if not isinstance(end, BaseException)]
        refused = [end for end in ends if isinstance(end, BaseException)]
        await replica.refresh()
        assert set(said) == set(linear(replica.fold, key.public)[1:])
        assert said and all(isinstance(end, SecondProcess) for end in refused)
        assert replica.room.findings == []

    run(work())


@pytest.mark.parametrize("same", [True, False])
def test_tr_03_two_processes_take_turns_or_are_refused(same: bool, siege: Siege, run: Any, tmp_path: Path) -> None:
    """Twenty-five appends each: two members take turns; of two processes with one key one is told that it is second."""

    async def opened() -> Any:
        async with await JetStreamLog.connect(siege.url, identity=siege.identities["ann"]) as log:
            return await siege.opened(log, room(step_seconds=60))

    entry = run(opened())
    names = ("bob", "bob" if same else "cyd")
    command = [
        sys.executable,
        str(ROOT / "tests" / "support" / "two_speakers.py"),
        siege.url,
        entry.room,
        entry.author,
        "25",
    ]
    processes = [
        subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=ROOT,
        )
        for _ in names
    ]
    try:
        for process, name in zip(processes, names, strict=True):
            assert process.stdin is not None
            process.stdin.write(siege.identities[name]._seed.hex() + "\n")
            process.stdin.flush()
        ends = [process.communicate(timeout=40) for process in processes]
    finally:
        for process in processes:
            process.kill()
            process.wait()
    assert [err for _, err in ends] == ["", ""]
    told = [out.splitlines()[0] for out, _ in ends]
    acknowledged = [set(out.splitlines()[1].split()) if len(out.splitlines()) > 1 else set() for out, _ in ends]

    async def read() -> Fold:
        async with await JetStreamLog.connect(siege.url, identity=siege.identities["ann"]) as log:
            replica = Replica(log, entry.room, entry.author, utc_now)
            await replica.open()
            return replica.fold

    fold = run(read())
    on_the_log = {each for name in set(names) for each in linear(fold, siege.key(name))}
    assert acknowledged[0] | acknowledged[1] <= on_the_log and not acknowledged[0] & acknowledged[1]
    assert fold.room.findings == []
    if same:
        assert all(end == "done" or ("SecondProcess" in end and "another process" in end) for end in told)
    else:
        assert told == ["done", "done"] and len(on_the_log) == 50


def test_tr_03_a_fork_and_an_alteration_are_told_apart(tmp_path: Path) -> None:
    """Two signed successors of one entry are a fork; a changed one is no entry; it excuses no fork beside it."""
    table = Table()
    table.act("bob")
    one, two = table.sign("bob"), table.sign("bob", {"kind": "room.leave", "because": "no"})
    assert (one.n, one.prev) == (two.n, two.prev)
    altered = two.payload.replace(b'"no"', b'"on"')
    stores = [one.payload, altered, two.payload, altered]
    codes = [[f.code for f in table.store(table.key("bob"), payload) or ()] for payload in stores]
    assert codes == [[], ["bad_signature"], ["equivocation"], ["bad_signature"]]
    table.finish()
    result = audit(table.write(tmp_path / "x"), roster=table.roster)
    assert result.verdict == "verified"
    assert [f["who"] for f in result.findings if f["code"] == "equivocation"] == ["bob"]
    # Altered in the file the ledger fails, and the fork in it is still told.
    lines = (tmp_path / "x").read_bytes().splitlines(keepends=True)
    for position in (2, 3):
        changed = [*lines[:position], lines[position].replace(b'"n":', b'"n":1', 1), *lines[position + 1 :]]
        (tmp_path / "y").write_bytes(b"".join(changed))
        result = audit(tmp_path / "y", roster=table.roster)
        found = {(f["code"], f["who"]) for f in result.findings}
        assert result.exit_code() == 1 and ("altered", "") in found
        if position == 2:
            assert ("equivocation", "bob") in found


# -- UI-01: text that drives the terminal, or fakes a record ----------------------------------------------------------

NAME = f"x'. {RECORD}"


def test_ui_01_what_a_peer_says_is_one_line_of_data(told: Callable[..., tuple[int, str, str]], tmp_path: Path) -> None:
    """Visible escapes, one record a line, JSON exact; a search for what was kept finds what was kept."""
    text = "".join(TEXTS.values())[:500] + f"\r\n{RECORD} kept ✓"
    members = [
        {"name": name, "scores": {"otherwise": 60}, "proposes": {"title": title, "offer": {"day": "mon"}}}
        for name, title in ((NAME, "mon"), ("bob", "mon"))
    ]
    members[0]["performs"] = [{"event": "done", "when": "agreed"}]
    scenario = {
        "room": "ui",
        "intent": text,
        "agenda": ["concord", "commitments"],
        "issues": {"day": ["mon", "tue"]},
        "events": {"done": {"by": NAME}},
        "promises": [
            {"id": name, "debtor": NAME, "creditor": "bob", "then": f"{event} within 1 seconds of agreed"}
            for name, event in (("true", "done"), ("false", "never"))
        ],
        "rules": {"improvements": 0, "step_seconds": 5, "watch_seconds": 2},
        "members": members,
    }
    scenario["events"]["never"] = {"by": NAME}
    path = tmp_path / "room.jsonl"
    result = run_scenario(scenario, memory=True, ledger=path)
    assert result.commitments == {"true": "satisfied", "false": "violated"}
    code, out, err = told("audit", path, "--commitments")
    assert code == 3 and reaches_the_terminal(out + err) == set()
    promises = [line.partition(", by ")[0] for line in out.splitlines() if line.startswith("  promise ")]
    assert promises == ["  promise  false: violated", "  promise  true: satisfied"]
    assert [line for line in out.splitlines() if line.strip().startswith(RECORD)] == []
    assert "✓" not in out and "\\u2713" in out
    # The stored bytes are what was said.
    assert json.loads(path.read_bytes().splitlines()[1])["entry"]["body"]["intent"] == text
    assert json.loads(told("audit", path, "--json")[1])["intent"] == text


def test_ui_01_a_name_that_closes_its_quotation_makes_no_second_record(
    told: Callable[..., tuple[int, str, str]], tmp_path: Path
) -> None:
    """In a table of promises each stands on one line, under aligned columns, whatever its parties are called."""
    name, then = NAME.replace("[", "(").replace("]", ")"), "paid by 2026-01-09T00:00:00Z"
    history = {
        "parties": [name, "bob"],
        "commitments": [{"id": f"c{number}", "debtor": "bob", "creditor": name, "then": then} for number in (1, 2)],
        "history": [{"at": "2026-01-10T00:00:00Z", "event": "paid", "by": "bob"}],
    }
    path = tmp_path / "history.json"
    path.write_text(json.dumps(history), encoding="utf-8")
    _, out, _ = told("track", path)
    rows = [line for line in out.splitlines() if line.startswith("  c")]
    assert len(rows) == 2 and len({row.index("violated") for row in rows}) == 1
    assert not any(line.strip().startswith("FULFILLED") for line in out.splitlines())


# -- UI-04: names that look alike -------------------------------------------------------------------------------------

DECEIVING = [
    ("alice", "\u0430lice"),
    ("alice", "ali\u200bce"),
    ("alice", "Alice "),
    ("alice", "Alice"),
    ("\ufb01nance", "finance"),
    ("alice", "alice"),
    ("alice", "\u0430l\u0456\u0441\u0435"),
    ("alice", "al\u0131ce"),
    ("alice", "ali\u0307ce"),
    ("alice", "al\u0131\u0307ce"),
    ("jo", "\u0237\u0307o"),
    ("paypal", "\u0440\u0430\u0443\u0440\u0430l"),
    ("bob", "b0b"),
    ("modern", "modem"),
    ("bob", "b\u2060ob"),
    ("bob", "\u202ebob"),
]


@pytest.mark.parametrize("names", DECEIVING, ids=ascii)
def test_ui_04_lookalikes_get_no_seat(names: tuple[str, str], tmp_path: Path) -> None:
    """Neither in the fold of an opening that somebody signed, nor in a file that somebody wrote, in either order."""
    for one, two in (names, names[::-1]):
        table = Table("xaver", "yvonne", "zoe")
        body = table.opened.body | {
            "roster": [
                {"name": one, "key": table.key("xaver")},
                {"name": two, "key": table.key("yvonne")},
            ]
        }
        entry = sign_entry(
            table.identities["xaver"],
            room=room_name("table", table.key("xaver"), body),
            n=1, prev=None, seen=(0, "0" * 64), sent=NOON, body=body,
        )  # fmt: skip
        with pytest.raises(BadEntry) as refused:
            Fold.open(Stored(1, NOON, entry.author, entry.payload), entry.room)
        assert refused.value.code == "bad_opening"
        members = [{"name": name, "scores": {"otherwise": 60}} for name in (one, two)]
        with pytest.raises(BadInput) as bad:
            read_scenario(room() | {"members": members})
        assert str(bad.value).isprintable()


def test_ui_04_identity_is_the_key_and_shown_with_every_name(
    told: Callable[..., tuple[int, str, str]], tmp_path: Path
) -> None:
    """The same name under another key is another peer: the views tell them apart, and a roster pins the key."""
    one, two = Party().sit(), Party().sit()
    for party in (one, two):
        _, out, _ = told("audit", party.export("ann", tmp_path))
        for name in party.members:
            key = party.key(name)
            assert f"{name} ({key[:4]}…{key[-4:]})" in out
    assert audit(two.export("ann", tmp_path), roster=one.roster()).verdict == "failed"


def test_ui_04_peers_text_changes_no_score_roster_or_promise() -> None:
    """Orders in a text are a text: what decides is in typed, signed fields."""
    orders = TEXTS["fence"] + '\n{"kind":"concord.ratify","accept":true} X: 100'
    plain, ordered = (
        [
            {
                "name": who,
                "proposes": {"title": day, "offer": {"day": day}, "rationale": text},
                "scores": {day: 80, "otherwise": 40},
                "reasons": {day: text},
            }
            for who, day in (("ann", "mon"), ("bob", "tue"))
        ]
        for text in ("because", orders)
    )
    base = {"room": "r", "intent": "x", "agenda": ["concord"], "issues": {"day": ["mon", "tue"]}}
    rules = {"rules": {"improvements": 0, "step_seconds": 5, "bar": 40}}
    decided = [
        run_scenario(base | rules | {"members": members}, memory=True).plain()["considered"]["table"]["ballots"]
        for members in (plain, ordered)
    ]
    assert decided[0] == decided[1]
