"""The wire format is written down as vectors, which a second implementation computes as we do."""

import ast
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from protocols.core.canonical import canonical
from protocols.messages.accord import Interpretation, interpretation_id
from protocols.messages.concord import Option, option_id, reserve_digest
from protocols.messages.room import room_name
from swarm.errors import BadEntry
from swarm.running.running import run
from swarm.signed.checkpoint import parse_checkpoint
from swarm.signed.entry import is_signed, parse_entry, sign_entry
from swarm.signed.identity import Identity, is_public_key, verify
from swarm.signed.invitation import read_invitations
from swarm.signed.sealing import open_box
from tests.support.signed_rooms import SCENARIO, Table
from tests.vectors.wire import make, verifier

HERE = Path(__file__).parent
LEDGERS = HERE.parents[1] / "ledgers"
PARTS = sorted(make.MAKERS)
Change = Callable[[Any], Any]


def vectors(part: str) -> list[dict[str, Any]]:
    read: list[dict[str, Any]] = json.loads((HERE / f"{part}.json").read_text("utf-8"))
    return read


def verified(*arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-I", HERE / "verifier.py", *arguments]
    return subprocess.run([str(part) for part in command], capture_output=True, text=True, check=False)


# -- the vectors ----------------------------------------------------------------------------------------------------


def test_the_verifier_accepts_every_vector_by_itself() -> None:
    """Whoever writes a second implementation from the description arrives at the same bytes: no code of ours runs."""
    done = verified("vectors", HERE)
    assert (done.returncode, done.stderr) == (0, "")
    counts = json.loads(done.stdout)
    assert sorted(counts) == PARTS == sorted(path.stem for path in HERE.glob("*.json")) and sum(counts.values()) > 100


def test_the_verifier_knows_nothing_of_us() -> None:
    """Its independence is its imports: the standard library, and `cryptography` for the primitives."""
    tree = ast.parse((HERE / "verifier.py").read_text("utf-8"))
    imported = {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    imported |= {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    outside = {str(name).split(".")[0] for name in imported} - sys.stdlib_module_names
    assert outside == {"cryptography"}


@pytest.mark.parametrize("part", PARTS)
def test_our_code_makes_every_vector(part: str) -> None:
    """Today's code gives what is on record, and the verifier the same from the same inputs."""
    assert make.agreed(part) == vectors(part)


def leaves(plain: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    if isinstance(plain, dict):
        return [leaf for key, value in plain.items() for leaf in leaves(value, (*path, key))]
    if isinstance(plain, list):
        return [leaf for place, value in enumerate(plain) for leaf in leaves(value, (*path, place))]
    return [path]


def changed(plain: Any, path: tuple[Any, ...], value: Any) -> Any:
    copy = json.loads(json.dumps(plain))
    holder = copy
    for step in path[:-1]:
        holder = holder[step]
    holder[path[-1]] = value
    return copy


@pytest.mark.parametrize("part", PARTS)
def test_every_expected_value_counts(part: str) -> None:
    """The verifier is no rubber stamp: whichever expected value of whichever vector is another, it is refused."""
    for case in vectors(part):
        made = verifier.CASES[part](case["input"])
        for path in leaves(case["expected"]):
            value = case["expected"]
            for step in path:
                value = value[step]
            other = "x" if value is None else value[:-1] + ("0" if value[-1] != "0" else "1")
            assert made != changed(case["expected"], path, other), (case["name"], path)


@pytest.mark.parametrize("part", [part for part in PARTS if part not in ("refused", "canonical", "signatures")])
def test_every_input_counts(part: str) -> None:
    """No input of a vector is idle, or an implementation that ignores it would pass."""
    # What an option's id leaves out, by its definition; the RFC 8785 form of a text needs no vector of its own here.
    idle = {("option", "rationale"), ("option", "title"), ("has_issues",)}
    for case in vectors(part):
        for path in leaves(case["input"]):
            value = case["input"]
            for step in path:
                value = value[step]
            if (part == "options" and path in idle) or value in (None, [], {}):
                continue
            other = not value if isinstance(value, bool) else value - 1 if isinstance(value, int) else value[:-1] + "2"
            other = value[:-1] + "3" if other == value else other
            try:
                made = verifier.CASES[part](changed(case["input"], path, other))
            except (verifier.Refused, ValueError):
                continue
            assert made != case["expected"], (case["name"], path)


def test_the_vectors_stand_on_published_values() -> None:
    """The primitives below both are those of the world: RFC 8032's first key, RFC 8785's sorting, CRC-16/XMODEM."""
    assert verifier.crc16(b"123456789") == 0x31C3
    seed = bytes.fromhex("9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60")
    raw = bytes.fromhex("d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a")
    assert Identity(seed).public == verifier.nkey_of_public(raw)
    signature = Identity(seed)._key.sign(b"").hex()
    assert signature.startswith("e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e06522490155")
    keys = {"\u20ac": "Euro Sign", "\r": "Carriage Return", "\ufb33": "Hebrew Letter Dalet With Dagesh", "1": "One"}
    keys |= {"\U0001f600": "Emoji: Grinning Face", "\u0080": "Control", "\u00f6": "Latin Small Letter O With Diaeresis"}
    order = ["Carriage Return", "One", "Control", "Latin Small Letter O With Diaeresis", "Euro Sign"]
    order += ["Emoji: Grinning Face", "Hebrew Letter Dalet With Dagesh"]
    for data in (canonical(keys), verifier.canonical(keys)):
        assert list(json.loads(data).values()) == order


def test_both_refuse_keys_under_which_anybody_can_sign() -> None:
    """The points of small order, of either sign and also unreduced, are no keys to us nor to the verifier."""
    p = 2**255 - 19
    eighth = int.from_bytes(bytes.fromhex(verifier.SMALL_ORDER), "little")
    for y in (0, 1, p - 1, p, p + 1, eighth, p - eighth):
        for sign in (0, 1):
            key = verifier.nkey_of_public((y | sign << 255).to_bytes(32, "little"))
            assert not is_public_key(key)
            with pytest.raises(verifier.Refused):
                verifier.public_key(key)
    for good in make.KEYS.values():
        last = "A" if good.public[-1] != "A" else "B"
        for text in (
            good.public[:-1] + last,
            good.public.lower(),
            good.public[:-1],
            "S" + good.public[1:],
            good.public + "A",
        ):
            assert not is_public_key(text)
            with pytest.raises(verifier.Refused):
                verifier.public_key(text)


# -- our code reads them --------------------------------------------------------------------------------------------


def test_our_code_reads_what_it_did_not_write() -> None:
    """Entries, checkpoints, invitations and boxes on record parse, verify and open, whoever wrote them."""
    for case in vectors("entries"):
        entry = parse_entry(case["expected"]["payload"].encode())
        assert entry.id == case["expected"]["id"] and is_signed(entry)
        identity = Identity(bytes.fromhex(case["input"]["seed"]))
        fields = {name: getattr(entry, name) for name in ("room", "n", "prev", "sent", "body", "cost")}
        assert sign_entry(identity, seen=(entry.seen_count, entry.seen_head), **fields) == entry
    for case in vectors("checkpoints"):
        assert parse_checkpoint(json.loads(case["expected"]["line"])).is_signed()
    for case in vectors("invitations"):
        author = Identity(bytes.fromhex(case["input"]["seed"])).public
        read = read_invitations(author, case["expected"]["payload"].encode())
        assert [invitation.room for invitation in read] == case["input"]["rooms"]
    for case in vectors("seals"):
        said, expected = case["input"], case["expected"]
        identity = Identity(bytes.fromhex(said["seed"]))
        opened = open_box(identity, said["room"], said["step"], expected["digest"], expected["box"])
        assert (opened.nonce, opened.content, opened.secret) == (said["nonce"], said["content"], said["secret"])


def test_our_code_names_things_as_on_record() -> None:
    """Names and ids follow from the inputs on record, not from whatever made them."""
    for case in vectors("rooms"):
        said = case["input"]
        assert room_name(said["body"]["slug"], said["author"], said["body"]) == case["expected"]["name"]
    for case in vectors("options"):
        option = Option.model_validate(case["input"]["option"])
        assert option_id(option, has_issues=case["input"]["has_issues"]) == case["expected"]["id"]
    for case in vectors("interpretations"):
        said = Interpretation.model_validate(case["input"]["interpretation"])
        assert interpretation_id(case["input"]["term"], said) == case["expected"]["id"]
    for case in vectors("reserves"):
        said = case["input"]
        made = reserve_digest(said["room"], said["author"], said["reserve"], said["nonce"])
        assert made == case["expected"]["digest"]


def test_our_code_refuses_with_the_codes_on_record() -> None:
    """Two implementations agree on the code too: findings are compared across ledgers."""
    for case in vectors("refused"):
        payload = bytes.fromhex(case["input"]["payload"])
        try:
            code = None if is_signed(parse_entry(payload)) else "bad_signature"
        except BadEntry as bad:
            code = bad.code
        assert code == case["expected"]["code"] is not None, case["name"]


def test_a_signature_means_nothing_in_another_domain() -> None:
    """Checkpoint, invitation and entry each sign under a domain of their own."""
    domains = {b"swarm/entry/1", b"swarm/checkpoint/1", b"swarm/invitation/1"}
    line = json.loads(vectors("checkpoints")[0]["expected"]["line"])["checkpoint"]
    sig = verifier.unbase64url(line.pop("sig"))
    held = {domain for domain in domains if verify(line["by"], domain, canonical(line), sig)}
    assert held == {b"swarm/checkpoint/1"}


# -- whole ledgers --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("good", None),
        ("forked", None),
        ("tampered", "record 10: no entry of this room: bad_signature"),
        ("torn", "the last line is torn"),
        ("unpinned", "the roster given has another key"),
    ],
)
def test_the_verifier_checks_whole_ledgers(name: str, why: str | None) -> None:
    """The frozen ledgers hold, or fail where they were changed, without a line of our code."""
    done = verified("ledger", LEDGERS / f"{name}.jsonl", LEDGERS / "roster.yaml")
    if why is not None:
        assert (done.returncode, done.stdout) == (1, "") and done.stderr.strip() == f"refused: {why}"
        return
    assert (done.returncode, done.stderr) == (0, "")
    shown = json.loads(done.stdout)
    assert (shown["covered_to"], shown["evidence"]) == (15, int(name == "forked"))


def test_the_verifier_opens_every_seal_of_a_run(tmp_path: Path) -> None:
    """A ledger written today is read the same from outside, every reveal held against its seal."""
    path = tmp_path / "room.jsonl"
    run(SCENARIO, memory=True, ledger=path)
    data = path.read_bytes()
    assert verifier.check_ledger(data)["reveals"] == data.count(b'"kind":"reveal"') >= 12


def test_the_verifier_reads_a_ledger_with_noise(tmp_path: Path) -> None:
    """Raw bytes, another's words and a second entry of one number are evidence from outside too."""
    table = Table(salt="noise")
    table.store(table.key("bob"), b"\xffnoise")
    table.store(table.key("cyd"), table.sign("ann").payload.replace(b'"n":2', b'"n":3'))
    for each in (table.sign("ann"), table.sign("ann", {"kind": "room.leave", "because": "x"})):
        table.store(table.key("ann"), each.payload)
    path = table.finish().write(tmp_path / "noisy.jsonl")
    shown = verifier.check_ledger(path.read_bytes(), table.roster)
    assert shown["evidence"] == 1 and shown["records"] == table.fold.chain.position


@pytest.mark.parametrize("place", range(21))
def test_the_verifier_refuses_any_line_changed(place: int) -> None:
    """A bit anywhere in a line, the header's and the checkpoint's too, is seen from outside as well."""
    lines = (LEDGERS / "good.jsonl").read_bytes().splitlines(keepends=True)
    roster = verifier.read_roster(LEDGERS / "roster.yaml")
    assert len(lines) == 21
    for at in range(0, len(lines[place]) - 1, 23):
        line = bytearray(lines[place])
        line[at] ^= 1
        with pytest.raises(verifier.Refused):
            verifier.check_ledger(b"".join([*lines[:place], bytes(line), *lines[place + 1 :]]), roster)
