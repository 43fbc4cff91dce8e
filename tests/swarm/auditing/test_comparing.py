"""Members' ledgers of one room beside each other: where a broker showed them different logs, and who signed which."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from swarm.auditing.auditing import audit
from swarm.auditing.comparing import Comparison, compare
from tests.support.forked_rooms import NAMES, room, shown, words, written
from tests.support.signed_rooms import SECOND, Table
from tests.support.typed import Done

Swarm = Callable[..., Done]
LEDGERS = Path(__file__).resolve().parents[2] / "ledgers"


def compared(folder: Path, **tables: Table) -> Comparison:
    (found,) = compare([audit(path, roster=room().roster) for path in written(folder, **tables)])
    return found


def test_one_log_is_one_log_and_one_behind_contradicts_nothing(tmp_path: Path) -> None:
    """Protects honest members: whoever exported earlier is behind, by so many records, and no fork."""
    (one,) = words(room(), "cyd")
    found = compared(tmp_path, ann=shown(one, then=("ann", "bob")), bob=shown(one, then=("ann", "bob")), cyd=shown(one))
    assert found.forks == [] and found.findings == []
    assert [found.behind[str(tmp_path / f"{name}.jsonl")] for name in NAMES] == [0, 0, 2]


def sides() -> dict[str, tuple[Table, Table]]:
    """Two logs a kind of difference; ann speaks in the first, cyd (who is honest) in the second."""
    bob, cyd = words(room(), "bob", "cyd")
    return {
        "times": (shown(bob, then=("ann",)), shown((bob, 500), then=("cyd",))),
        "order": (shown(bob, cyd, then=("ann",)), shown(cyd, bob, then=("cyd",))),
        "missing": (shown(bob, cyd, then=("ann",)), shown(cyd, then=("cyd",))),
        "entries": (shown(bob, then=("ann",)), shown(cyd, then=("cyd",))),
    }


@pytest.mark.parametrize("kind", ["times", "order", "missing", "entries"])
def test_a_fork_is_found_where_it_begins_with_its_kind_and_its_signers(kind: str, tmp_path: Path) -> None:
    """Protects members under a lying broker: what differs, from which record on, and whose words stand under which."""
    one, other = sides()[kind]
    found = compared(tmp_path, ann=one, cyd=other)
    (fork,) = found.forks
    assert (fork.position, fork.kind, fork.both) == (3, kind, ())
    # Each is exported by its own member, and that is a signature too.
    assert [version.signed for version in fork.versions] == [{"ann": len(one.log)}, {"cyd": len(other.log)}]
    assert [version.exporters for version in fork.versions] == [(one.key("ann"),), (one.key("cyd"),)]
    assert [finding.code for finding in found.findings] == ["fork"]


def test_who_signed_both_is_named(tmp_path: Path) -> None:
    """Protects from a member in league with the broker: its signatures under both logs are found together."""
    bob, cyd = words(room(), "bob", "cyd")
    (fork,) = compared(tmp_path, ann=shown(bob, then=("ann", "cyd")), bob=shown(cyd, then=("bob", "ann", "cyd"))).forks
    assert fork.both == ("ann", "cyd")


def test_an_entry_that_signs_the_other_log_speaks_for_that_one(tmp_path: Path) -> None:
    """Protects what a log holds against itself: cyd's words in ann's ledger were said over what bob's ledger has."""
    bob, late = words(room(), "bob", "bob")
    other = shown((bob, 700))
    cyd = other.sign("cyd")
    found = compared(tmp_path, ann=shown(late, cyd, then=("ann", "bob", "ann")), bob=other)
    assert found.forks[0].versions[1].signed == {"bob": 3, "cyd": 3}


def test_forks_within_one_side_are_found_as_well(tmp_path: Path) -> None:
    """Protects rooms of many: of three logs that part twice, both places are told."""
    bob, cyd = words(room(), "bob", "cyd")
    found = compared(
        tmp_path, ann=shown(bob, then=("ann",)), bob=shown(cyd, then=("bob",)), cyd=shown(cyd, then=("cyd",))
    )
    assert [(fork.position, len(fork.versions)) for fork in found.forks] == [(3, 2), (4, 2)]


def test_what_an_audit_did_not_pass_is_no_evidence_against_others(tmp_path: Path) -> None:
    """Protects from a forger of one's own ledger: an altered record is that ledger's fault, not a fork of the room."""
    good = shown(*words(room(), "bob"), then=("ann", "cyd"))
    (path,) = written(tmp_path, ann=good)
    lines = Path(path).read_bytes().splitlines(keepends=True)
    changed = tmp_path / "changed.jsonl"
    changed.write_bytes(b"".join([*lines[:3], lines[3].replace(b'"n":2', b'"n":3'), *lines[4:]]))
    results = [audit(each, roster=good.roster) for each in (path, changed)]
    (found,) = compare(results)
    assert [result.verdict for result in results] == ["incomplete", "failed"]
    assert found.forks == [] and found.behind[str(changed)] == 3


def test_the_verb_tells_a_fork_and_exits_1(swarm: Swarm, tmp_path: Path) -> None:
    """Protects people and scripts: both ledgers hold by themselves, and together they fail, in text and in JSON."""
    paths = written(tmp_path, **dict(zip(("ann", "cyd"), sides()["times"], strict=True)))
    assert [swarm("audit", path).code for path in paths] == [3, 3]
    done = swarm("audit", *paths)
    assert done.code == 1 and "the ledgers CONTRADICT each other" in done.out
    assert "fork at record 3: the same record at another time" in done.out and "signed by cyd up to 4" in done.out
    plain: dict[str, Any] = json.loads(swarm("audit", *paths, "--json").out)
    (comparison,) = plain["comparison"]
    assert comparison["agree"] is False and comparison["forks"][0]["kind"] == "times"
    assert [finding["code"] for finding in comparison["findings"]] == ["fork"]
    assert len(comparison["says_not"]) == 2


def test_ledgers_of_different_rooms_are_not_compared(swarm: Swarm) -> None:
    """Protects whoever audits a folder: other rooms contradict nobody."""
    names = ("good.jsonl", "unpinned.jsonl", "torn.jsonl")
    plain = json.loads(swarm("audit", *(str(LEDGERS / name) for name in names), "--json").out)
    (comparison,) = plain["comparison"]
    assert sorted(Path(path).name for path in comparison["ledgers"]) == ["good.jsonl", "torn.jsonl"]
    assert comparison["agree"] is True


# -- told apart by one ledger alone -----------------------------------------------------------------------------------


def test_what_became_of_a_log_is_told_apart_by_code(tmp_path: Path) -> None:
    """Protects the reader of a failed audit: lost, swapped, put in, re-dated and cut are different faults."""
    honest = room()
    for name in ("cyd", "bob", "ann", "cyd", "bob", "ann", "cyd", "bob", "ann"):
        honest.say(name)
    log = honest.log

    def found(*places: tuple[int, int]) -> str:
        """The first fault of a ledger that holds the records of the honest log at these places, so much later."""
        table = room()
        for place, later in places:
            if place > 2:
                stored = log[place - 1]
                table.store(stored.author, stored.payload, at=stored.stored + later)
        result = audit(table.write(tmp_path / "x.jsonl"), roster=table.roster)
        return str(result.findings[0]["code"])

    whole = [(place, 0) for place in range(1, len(log) + 1)]
    assert audit(honest.write(tmp_path / "x.jsonl"), roster=honest.roster).verdict == "incomplete"
    assert found(*whole[:4], *whole[5:]) == "missing"
    assert found(*whole[:4], whole[5], whole[4], *whole[6:]) == "reordered"
    assert found(*whole[:5], whole[4], *whole[5:]) == "added"
    assert found(*whole[:4], (5, SECOND), *whole[5:]) == "redated"
    receipt = tmp_path / "receipt"
    receipt.write_text(json.dumps(honest.receipt("cyd").plain(), separators=(",", ":"), sort_keys=True))
    short = shown()
    cut = audit(short.write(tmp_path / "x.jsonl"), roster=short.roster, receipts=[receipt])
    assert (cut.findings[0]["code"], cut.findings[0]["position"]) == ("rolled_back", 3)


def test_positions_in_the_file_tell_a_hole_from_a_swap(tmp_path: Path) -> None:
    """Protects the plainest cases: a line that is gone, and two lines that changed places."""
    lines = Path(LEDGERS / "good.jsonl").read_bytes().splitlines(keepends=True)
    for changed, code in (
        ([*lines[:5], *lines[6:]], "missing"),
        ([*lines[:5], lines[6], lines[5], *lines[7:]], "reordered"),
    ):
        path = tmp_path / "changed.jsonl"
        path.write_bytes(b"".join(changed))
        (first, *_) = audit(path).findings
        assert (first["code"], first["position"]) == (code, 5)
