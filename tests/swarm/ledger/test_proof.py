"""Proofs of equivocation: small files that anybody verifies, with what they prove and what they do not."""

import base64
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from swarm.auditing.auditing import audit
from swarm.errors import BadInput
from swarm.ledger.equivocation import find_proofs, read_proof, write_proofs
from swarm.signed.checkpoint import sign_checkpoint
from tests.support.forked_rooms import room, shown, words, written
from tests.support.signed_rooms import Table
from tests.support.typed import Done

Swarm = Callable[..., Done]
LEDGERS = Path(__file__).resolve().parents[2] / "ledgers"
VERIFIER = LEDGERS / "proof_verifier.py"


def independently(path: Path) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-I", str(VERIFIER), str(path)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def doubled() -> Table:
    """A room in which bob signs two different entries with one number, the second over another history."""
    table = room()
    first = table.sign("bob")
    table.say("cyd")
    second = table.sign("bob", {"kind": "room.leave", "because": "something else"})
    table.store(first.author, first.payload)
    table.store(second.author, second.payload)
    return table


def test_a_proof_is_written_and_verified_with_nothing_but_the_file(swarm: Swarm, tmp_path: Path) -> None:
    """Protects whoever was lied to: one small file convinces a stranger, by our code and by other code."""
    (path,) = written(tmp_path, ann=doubled())
    proof = tmp_path / "proof.json"
    done = swarm("audit", path, "--proof", str(proof), "--json")
    (told,) = json.loads(done.out)["proofs"]
    key = room().key("bob")
    assert (told["path"], told["signer"], told["n"]) == (str(proof), key, 2)
    assert "not" not in told["proves"][0] and len(told["says_not"]) == 3
    Path(path).unlink()
    checked = swarm("check", str(proof))
    assert checked.code == 0 and "a valid proof" in checked.out and key in checked.out
    assert "who holds the key" in checked.out
    other = independently(proof)
    assert (other.returncode, other.stdout.splitlines()) == (0, [f"{key} number 2"]), other.stderr
    assert proof.stat().st_size < 2000


def test_two_heads_at_one_count_are_a_proof_too(swarm: Swarm, tmp_path: Path) -> None:
    """Protects from a member that signs two histories: its words in one log and its receipt of another."""
    (bob, cyd) = words(room(), "bob", "cyd")
    one, other = shown(bob, then=("ann",)), shown(cyd)
    (path,) = written(tmp_path, cyd=one)
    receipt = tmp_path / "receipt"
    receipt.write_text(json.dumps(other.receipt("ann").plain(), separators=(",", ":"), sort_keys=True))
    done = swarm("audit", path, "--receipt", str(receipt), "--proof", str(tmp_path / "p.json"))
    assert done.code == 3 and "two different histories of the first 3 records" in done.out
    verified = independently(tmp_path / "p.json")
    assert verified.stdout.split() == [one.key("ann"), "count", "3"], verified.stderr
    assert (read_proof(tmp_path / "p.json").n, read_proof(tmp_path / "p.json").count) == (None, 3)


def test_entries_of_two_ledgers_prove_it_together(tmp_path: Path) -> None:
    """Protects from a fork with a member's help: each ledger holds by itself, and both hold the proof."""
    (bob, cyd) = words(room(), "bob", "cyd")
    paths = written(tmp_path, ann=shown(bob, then=("cyd",)), bob=shown(cyd))
    assert [find_proofs([Path(path)]) for path in paths] == [[], []]
    (found,) = find_proofs([Path(path) for path in paths])
    assert (found.proof.signer, found.proof.n) == (room().key("cyd"), 1)


def test_each_equivocation_has_a_file_and_honesty_has_none(swarm: Swarm, tmp_path: Path) -> None:
    """Protects from lumping together, and from an empty file that looks like a proof."""
    table = doubled()
    first, second = table.sign("cyd"), table.sign("cyd", {"kind": "room.leave", "because": "no"})
    for entry in (first, second):
        table.store(entry.author, entry.payload)
    (path,) = written(tmp_path, ann=table)
    swarm("audit", path, "--proof", str(tmp_path / "p.json"))
    signers = {read_proof(tmp_path / name).signer for name in ("p.json", "p-2.json")}
    assert signers == {table.key("bob"), table.key("cyd")} and not (tmp_path / "p-3.json").exists()
    done = swarm("audit", str(LEDGERS / "good.jsonl"), "--proof", str(tmp_path / "none.json"))
    assert "no proof to write" in done.out and not (tmp_path / "none.json").exists()


def test_a_proof_is_never_written_over_what_is_read(swarm: Swarm, tmp_path: Path) -> None:
    """Protects the evidence from a slip of the finger."""
    (path,) = written(tmp_path, ann=doubled())
    before = Path(path).read_bytes()
    done = swarm("audit", path, "--proof", path)
    assert done.code == 2 and "not written over" in done.err and Path(path).read_bytes() == before


def changed(proof: Path, **fields: Any) -> Path:
    path = proof.with_name("changed.json")
    path.write_text(json.dumps({**json.loads(proof.read_text()), **fields}), encoding="utf-8")
    return path


def test_what_proves_nothing_is_refused(tmp_path: Path) -> None:
    """Protects whoever is accused: a changed, repeated, foreign or merely repeated signature convicts nobody."""
    table = doubled()
    (path,) = written(tmp_path, ann=table)
    proof = write_proofs(tmp_path / "p.json", [find_proofs([Path(path)])[0].proof])[0]
    one, two = json.loads(proof.read_text())["signed"]
    third = table.sign("bob")
    again = base64.urlsafe_b64encode(bytes(64)).decode().rstrip("=")
    foreign = Table(salt="elsewhere").sign("bob").payload.decode()
    receipt = sign_checkpoint(table.identities["bob"], room=table.room, count=2, head="1" * 64)
    bent = json.dumps({"checkpoint": {**receipt.plain()["checkpoint"], "count": 1}}, separators=(",", ":"))
    for signed, complaint in (
        ([one, one], "do not exclude"),
        ([one, third.payload.decode()], "do not exclude"),
        ([one, foreign], "two signers, or two rooms"),
        ([one, table.sign("cyd").payload.decode()], "two signers, or two rooms"),
        ([one, two.replace("something else", "something elsf")], "signature"),
        ([one, two[: two.index('"sig":"') + 7] + again + two[-8:]], "signature"),
        ([one, two.replace(",", ", ", 1)], "canonical"),
        ([one, bent], "signature"),
        ([one], "not a proof"),
        ([one, two, two], "not a proof"),
        ([one, 7], "not a proof"),
        ("ab", "proves nothing"),
        ([one, "\ud800"], "not a proof"),
    ):
        with pytest.raises(BadInput, match=complaint):
            read_proof(changed(proof, signed=signed))
        assert independently(changed(proof, signed=signed)).returncode != 0 or complaint == "canonical"
    with pytest.raises(BadInput, match="not a proof"):
        read_proof(changed(proof, more=1))
    for content in (b"", b"[]", b"{", b"\xff", b"[" * 100_000):
        proof.write_bytes(content)
        with pytest.raises(BadInput, match="not a proof"):
            read_proof(proof)


# -- TR-03: a fork is a fork, altered is altered, and the one does not excuse the other -------------------------------


def codes(path: Path) -> list[tuple[str, int]]:
    return [(f["code"], f["position"]) for f in audit(path).findings if f["code"] in ("equivocation", "altered")]


def test_a_fork_and_an_altered_record_are_told_apart(tmp_path: Path) -> None:
    """TR-03: two intact entries with one predecessor are a fork, changed bytes are not, and neither hides the other."""
    (path,) = written(tmp_path, ann=doubled())
    lines = Path(path).read_bytes().splitlines(keepends=True)
    assert codes(Path(path)) == [("equivocation", 5)]

    def with_changed(number: int) -> list[tuple[str, int]]:
        place = tmp_path / "changed.jsonl"
        line = lines[number].replace(b'"kind":"room.', b'"kind":"rOom.')
        place.write_bytes(b"".join([*lines[:number], line, *lines[number + 1 :]]))
        return codes(place)

    # Before the fork: the replay stops there, and the fork is found all the same.
    assert with_changed(2) == [("altered", 2), ("equivocation", 5)]
    # One of the two itself: what is left proves nothing any more, and only the change is said.
    assert with_changed(5) == [("altered", 5)]


def test_a_fork_in_a_ledger_whose_opening_does_not_hold_is_found(tmp_path: Path) -> None:
    """TR-03: even where nothing can be replayed, two signatures under one number stay two signatures."""
    (path,) = written(tmp_path, ann=doubled())
    content = Path(path).read_bytes()
    Path(path).write_bytes(content.replace(b"Sit together.", b"Sit apart. .."))
    (altered, fork) = audit(path).findings
    assert (altered["code"], altered["position"]) == ("altered", 1)
    assert (fork["code"], fork["position"], fork["who"]) == ("equivocation", 5, room().key("bob"))


# -- what a verdict does not say --------------------------------------------------------------------------------------


def test_every_verdict_says_what_it_does_not_say(swarm: Swarm) -> None:
    """Protects readers from taking a verdict for more than it is: the same list in text and JSON, by what was shown."""
    roster = ["--roster", str(LEDGERS / "roster.yaml")]
    for name, options, verdict, expected in (
        ("good", roster, "verified", ["everybody this log", "after record 15", "who your roster says", "true"]),
        ("good", [], "incomplete", ["everybody this log", "after record 15", "who holds these keys", "true"]),
        ("torn", roster, "incomplete", ["everybody this log", "the whole room", "who your roster says", "true"]),
        ("tampered", roster, "failed", ["who changed it", "what the room came to", "everybody this log", "whole room"]),
    ):
        path = str(LEDGERS / f"{name}.jsonl")
        plain = json.loads(swarm("audit", path, *options, "--json").out)
        assert plain["verdict"] == verdict
        assert all(part in each for part, each in zip(expected, plain["says_not"], strict=False))
        text = swarm("audit", path, *options).out
        assert "\n  It does not say\n" in text and all(f"    {each}\n" in text for each in plain["says_not"])


def test_members_are_named_with_their_keys_fingerprints(swarm: Swarm) -> None:
    """Protects from a namesake: text names each member once with the ends of its key, JSON with all of it."""
    path = str(LEDGERS / "good.jsonl")
    keys = json.loads(swarm("audit", path, "--json").out)["members"]
    listed = ", ".join(f"{name} ({key[:4]}…{key[-4:]})" for name, key in keys.items())
    assert f"  members  {listed}\n" in swarm("audit", path).out
    assert keys["mill"][-4:] in swarm("explain", "mill", path).out
    assert json.loads(swarm("explain", "mill", path, "--json").out)["explanations"][0]["key"] == keys["mill"]
