"""The verb and the function: exit codes, what counts as input, as-of, and independence from NATS."""

import json
import os
import subprocess
import sys
import textwrap

import pytest

from protocols.core.canonical import canonical
from protocols.core.instants import format_instant
from protocols.views.summary import summary_of
from swarm.auditing.auditing import audit, read_roster
from swarm.auditing.promised import NOT_SHOWN
from swarm.errors import BadInput
from swarm.ledger.file import LedgerReader
from swarm.log.port import Stored
from tests.support.signed_rooms import MILLISECOND, OUTSIDER, SECOND, Table, audited, replay


def swarm_audit(*arguments, code: int, capfd) -> str:
    """Run the verb as `main` would, in this process; return what stands on stdout."""
    from swarm.cli.app import main

    with pytest.MonkeyPatch.context() as patch, pytest.raises(SystemExit) as ended:
        patch.setattr(sys, "argv", ["swarm", "audit", *map(str, arguments)])
        main()
    printed = capfd.readouterr()
    assert ended.value.code == code, printed
    assert "Traceback" not in printed.err
    assert printed.err.count("\n") == (printed.err.count("swarm: "))
    return printed.out


@pytest.fixture
def files(real, tmp_path):
    """Files good and bad, and the roster of the good."""
    made = {
        "empty": b"",
        "header": real.lines[0],
        "checkpoint": real.lines[0] + real.lines[-1],
        "altered": b"".join(real.lines).replace(b'"n":2,', b'"n":3,', 1),
        "torn": b"".join(real.lines)[:-10],
        "text": b"members: [a, b]\n",
        "binary": bytes(range(256)) * 9,
        "long": b"x" * 2_000_000,
        "deep": b"[" * 100_000 + b"\n",
        "deep record": real.lines[0] + b"[" * 100_000 + b"\n",
        "torn header": real.lines[0][:-1],
    }
    for name, content in made.items():
        (tmp_path / name).write_bytes(content)
    (tmp_path / "roster").write_text(json.dumps(real.roster))
    (tmp_path / "folder").mkdir()
    return tmp_path


@pytest.mark.parametrize("as_json", [False, True])
@pytest.mark.parametrize(
    ("names", "code"),
    [
        (["good"], 0),
        (["empty"], 2),
        (["missing"], 2),
        (["folder"], 2),
        (["header"], 2),
        (["torn header"], 2),
        (["checkpoint"], 2),
        (["text"], 2),
        (["binary"], 2),
        (["long"], 1),
        (["deep"], 2),
        (["deep record"], 1),
        (["altered"], 1),
        (["torn"], 3),
        (["good", "altered"], 1),
        (["altered", "missing"], 1),
        (["missing", "good", "altered"], 1),
        (["good", "missing"], 2),
        (["good", "empty", "torn"], 2),
        (["good", "torn"], 3),
        (["good", "good"], 0),
    ],
)
def test_exit_codes_agree_with_what_was_checked(names, code, as_json, files, real, capfd):
    """UI-03: 0 only if something was checked and all holds; 1 for any failure; 2 for nothing checked; 3 not shown."""
    paths = [real.path if name == "good" else files / name for name in names]
    out = swarm_audit(*paths, "--roster", files / "roster", *(["--json"] if as_json else []), code=code, capfd=capfd)
    if not as_json:
        assert out.count("entries checked") == sum(
            name in ("good", "altered", "torn", "long", "deep record") for name in names
        )
        return
    plain = json.loads(out)
    results = plain["ledgers"] if len(names) > 1 else [plain]
    verdicts = {
        "good": "verified",
        "altered": "failed",
        "torn": "incomplete",
        "long": "failed",
        "deep record": "failed",
    }
    assert [result["verdict"] for result in results] == [verdicts.get(name) for name in names]
    assert all(
        (result["entries"] > 0) == (name in ("good", "torn") or (name == "altered"))
        for result, name in zip(results, names, strict=True)
    )
    assert all(bool(result.get("error")) == (result["verdict"] is None) for result in results)


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root may read everything")
def test_an_unreadable_file_is_bad_input(files, capfd):
    """UI-03: what may not be read was not checked."""
    (files / "torn").chmod(0)
    swarm_audit(files / "torn", code=2, capfd=capfd)


def test_an_error_while_reading_is_bad_input(real, monkeypatch):
    """UI-03: a disk that fails is no failed ledger, and no traceback either."""
    from pathlib import Path

    def refuse(*_):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "open", refuse)
    with pytest.raises(BadInput, match="cannot be read: Permission denied"):
        audit(real.path)


def test_without_a_roster_nothing_is_verified(real, capfd):
    """SG-04: keys inside the file pin nobody: consistent, exit 3, and it says so."""
    assert "NOT pinned" in swarm_audit(real.path, code=3, capfd=capfd)


@pytest.mark.parametrize("roster", ["[]", "{}", "ann: x", "ann: [1]", "ann: U", "ann: 1\nann: 2", "\x00"])
def test_a_roster_that_is_none_is_bad_input(roster, real, files, capfd):
    """A roster is names and public keys; anything else pins nobody and must not look as if it did."""
    (files / "roster").write_text(roster)
    swarm_audit(real.path, "--roster", files / "roster", code=2, capfd=capfd)


def test_receipts_that_are_none_are_bad_input(real, other, files, capfd):
    """A receipt of another room, under a wrong signature or in another form says nothing and is not passed over."""
    mine = json.loads(real.lines[-1])
    forged = canonical({"checkpoint": {**mine["checkpoint"], "by": OUTSIDER.public}})
    for content in (
        b"",
        b"{}",
        b"[" * 100_000,
        other.lines[-1],
        forged,
        real.lines[-1] * 2,
        b" " + real.lines[-1],
        b"\xff",
    ):
        (files / "receipt").write_bytes(content)
        out = swarm_audit(real.path, "--receipt", files / "receipt", "--json", code=2, capfd=capfd)
        assert json.loads(out)["error"]
    swarm_audit(real.path, "--receipt", files / "missing", code=2, capfd=capfd)


def test_each_receipt_is_held_against_the_ledger_of_its_room(real, other, files, capfd):
    """Of several ledgers each gets the receipts of its own room; a receipt of none of them is bad input."""
    (files / "mine").write_bytes(real.lines[-1])
    (files / "theirs").write_bytes(other.lines[-1])
    both = ["--receipt", files / "mine", "--receipt", files / "theirs"]
    swarm_audit(real.path, other.path, *both, code=3, capfd=capfd)
    swarm_audit(real.path, real.path, *both, code=2, capfd=capfd)


def test_a_receipt_covers_what_its_member_signed(tmp_path):
    """A member's receipt over everything leaves nothing uncovered; the exporter's own covers nothing."""
    table = Table().finish()
    table.say("bob")
    path = table.write(tmp_path / "x")
    assert audit(path, roster=table.roster).covered_to == 9
    for name, covered in (("bob", 10), ("cyd", 10), ("ann", 9)):
        (tmp_path / "receipt").write_bytes(canonical(table.receipt(name).plain()) + b"\n")
        result = audit(path, roster=table.roster, receipts=[tmp_path / "receipt"])
        assert result.covered_to == covered
        assert any(finding["code"] == "uncovered" for finding in result.findings) == (covered < 10)


def test_the_exporters_own_words_do_not_cover_its_ledger(tmp_path):
    """Covered is what two members signed: not the exporter's own words, nor a throw-away key it hides behind."""
    table = Table()
    for name in ("ann", "bob", "cyd", "bob", "cyd", "ann"):
        table.act(name)
    assert table.fold.room.step.id == "room.witnessing"
    table.act("ann")
    by_ann = audit(table.write(tmp_path / "x"), roster=table.roster)
    by_other = audit(table.write(tmp_path / "y", exporter=OUTSIDER), roster=table.roster)
    assert (by_ann.verdict, by_ann.covered_to, by_other.verdict, by_other.covered_to) == (
        "incomplete",
        5,
        "incomplete",
        5,
    )
    assert (by_ann.exporter.member, by_other.exporter.member) == ("ann", None)
    assert by_other.exporter.key == OUTSIDER.public


# -- as of --------------------------------------------------------------------------------------------------------


def test_as_of_any_record_shows_what_had_happened_by_then(noisy):
    """For every instant at which something was stored: the promises as in a fold of the records up to it."""
    log = [Stored(c.position, c.stored, c.author, c.payload) for c in LedgerReader(noisy.path)]
    room = noisy.lines[0][20:-3].decode()
    states = set()
    for count in (*range(1, len(log), 3), len(log)):
        at = replay(room, log[:count]).room.at
        prefix = replay(room, [stored for stored in log if stored.stored <= at])
        expected = summary_of(prefix.room)
        expected.pop("findings")
        result = audit(noisy.path, roster=noisy.roster, as_of=format_instant(at))
        assert result.summary == expected and result.verdict == "verified"
        states |= {*result.summary["commitments"].values()}
    assert states >= {"satisfied"}


def test_as_of_an_instant_between_records_lets_deadlines_pass(tmp_path, real):
    """Time moves to the instant asked for, not only to the last record before it."""
    log = [Stored(c.position, c.stored, c.author, c.payload) for c in LedgerReader(real.path)]
    room = real.lines[0][20:-3].decode()
    created = next(
        n
        for n in range(1, len(log))
        if summary_of(replay(room, log[:n]).room)["commitments"].get("table") == "detached"
    )
    cut = audited(tmp_path / "x", real.lines[: created + 1], as_of=format_instant(log[created - 1].stored))
    assert cut.summary["commitments"] == {"table": "detached"}
    later = audited(
        tmp_path / "x", real.lines[: created + 1], as_of=format_instant(log[created - 1].stored + 10 * SECOND)
    )
    assert later.summary["commitments"]["table"] == NOT_SHOWN
    assert later.uncovered == ["table"] and later.unmet == []


def test_a_disputed_clock_does_not_end_history(tmp_path):
    """A record dated a day ahead moves no log time, so what follows it has happened before that day."""
    table = Table()
    table.say("bob", at=table.now + 86_400 * SECOND)
    table.finish()
    as_of = format_instant(table.now + MILLISECOND)
    result = audit(table.write(tmp_path / "x"), roster=table.roster, as_of=as_of)
    assert (result.verdict, result.summary["outcome"]) == ("verified", "open")


def test_as_of_before_everything_shows_the_opening_alone(real):
    """The verdict is of the whole ledger all the same."""
    result = audit(real.path, roster=real.roster, as_of="2001-01-01T00:00:00Z")
    assert (result.verdict, result.summary["outcome"], result.summary["decision"]) == ("verified", "unfinished", None)
    assert result.entries == len(real.records)


@pytest.mark.parametrize(
    "as_of", ["2026-11-30", "T12345678", "12:34:56.Z", "2026-11-30T12:00:00", "2026-06-30T23:59:60Z", ""]
)
def test_a_time_out_of_form_is_bad_input(as_of, real, capfd):
    """CM-06: what is no instant is refused with what would be valid."""
    assert swarm_audit(real.path, "--as-of", as_of, code=2, capfd=capfd) == ""


# -- on its own ---------------------------------------------------------------------------------------------------


def isolated(script: str, *arguments) -> str:
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script), *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_an_audit_loads_no_nats_and_needs_none(noisy, tmp_path):
    """The same output, byte for byte, where NATS is not installed; and where it is, it is not loaded."""
    (tmp_path / "roster").write_text(json.dumps(noisy.roster))
    script = """
        import json, sys
        {before}
        from swarm.auditing import audit
        result = audit(sys.argv[1], roster=sys.argv[2])
        assert not [name for name in sys.modules if name.split(".")[0] in {watched}], "NATS was loaded"
        print(json.dumps(result.plain()))
    """
    plainly = isolated(
        script.format(before="", watched=("nats", "asyncio", "nats_server")), noisy.path, tmp_path / "roster"
    )
    blocked = 'sys.modules["nats"] = sys.modules["nats_server"] = None'
    without = isolated(script.format(before=blocked, watched=()), noisy.path, tmp_path / "roster")
    assert plainly == without == json.dumps(audit(noisy.path, roster=noisy.roster).plain()) + "\n"


def test_the_verb_works_where_nats_cannot_be_imported(real, tmp_path):
    """An auditor's environment has no broker and no client; the command line starts all the same."""
    (tmp_path / "roster").write_text(json.dumps(real.roster))
    script = """
        import sys
        sys.modules["nats"] = None
        sys.argv = ["swarm", "audit", sys.argv[1], "--roster", sys.argv[2], "--json"]
        from swarm.cli.app import main
        main()
    """
    assert json.loads(isolated(script, real.path, tmp_path / "roster"))["verdict"] == "verified"


def test_the_written_roster_is_the_one_read(real):
    """Names and keys come back as the run wrote them."""
    assert read_roster(real.path.parent / "roster.yaml") == real.roster


def test_the_memory_of_an_audit_does_not_hold_the_records(tmp_path):
    """Ten times the records with 20 KB each do not take ten times the memory: none is kept."""
    import tracemalloc

    def peak(records: int) -> int:
        table = Table("ann", "bob")
        path = tmp_path / f"{records}.jsonl"
        for number in range(records):
            table.store(table.key("bob"), b"\xff%d" % number + b"x" * 20_000)
        table.write(path)
        tracemalloc.start()
        audit(path)
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        return most

    peak(3)
    assert peak(300) - peak(30) < 1_000_000


def test_a_failed_ledger_whose_opening_does_not_hold_has_all_fields(real, tmp_path):
    """Whoever reads the JSON finds the fields of the contract whatever the verdict."""
    plain = audited(tmp_path / "x", [real.lines[0], *real.lines[2:]]).plain()
    assert plain["verdict"] == "failed" and plain["decision"] is None
    assert {"divergences", "commitments", "members", "covered_to", "pinned", "complete", "findings"} <= plain.keys()
