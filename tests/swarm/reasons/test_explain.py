"""`swarm explain`: every word of ours has a meaning, and in a file it says which items made a thing so."""

import json
from pathlib import Path

import pytest

from protocols.commitments.lifecycle import State
from protocols.core.findings import CODES
from swarm.cli.explain import told_apart
from swarm.errors import BadInput
from swarm.reasons.explain import STATES, Explanation, explain
from swarm.running.running import run
from tests.support.hostile_history import TEXTS, history, named

LEDGERS = Path(__file__).resolve().parents[2] / "ledgers"
GOOD = LEDGERS / "good.jsonl"


def one(name: str, *where: object) -> Explanation:
    (found,) = explain(name, *where)  # type: ignore[arg-type]
    return found


@pytest.mark.parametrize("code", CODES)
def test_every_code_of_a_finding_is_explained(code: str) -> None:
    """Protects the promise of the verb: no finding that an audit prints is without its meaning."""
    assert any(found.kind == "finding" and found.meaning == CODES[code][1] for found in explain(code))


@pytest.mark.parametrize("state", State)
def test_every_state_is_explained(state: State) -> None:
    """Protects the promise of the verb: no state that a table shows is without its meaning."""
    assert any(found.kind == "state" and found.meaning == STATES[state] for found in explain(state.value))


@pytest.mark.parametrize(
    "word", ["due", "remedied", "late_performance", "never_expires", "never_violated", "waived", "duplicate",
             "verified", "incomplete", "failed"],
)  # fmt: skip
def test_notes_remedies_and_verdicts_are_explained(word: str) -> None:
    """Protects the reader of a table: what stands in its other columns is explained too."""
    assert explain(word)[0].meaning


def test_a_broken_promise_names_the_records_that_made_it_so() -> None:
    """Protects the evidence: state, since and because, its life, and what could still be said."""
    found = one("paper", GOOD)
    assert found.status is not None and found.status.state == "violated"
    assert [item.number for item in found.because] == [10, 12]
    assert [item.by for item in found.because] == ["printer", "mill"]
    assert [(move.before, move.after) for move in found.life] == [
        ("none", "conditional"), ("conditional", "detached"), ("detached", "violated"),
    ]  # fmt: skip
    assert found.ahead is None
    assert found.could == ("release, by printer", "waive, by printer")


def test_an_open_promise_says_what_is_due_next_and_who_can_change_it() -> None:
    """Protects planning: the deadline to come, what counts as keeping it and who may report that."""
    found = one("stock", GOOD)
    assert found.ahead is not None and found.ahead.after == "violated" and found.ahead.by_time
    assert found.could[0] == "stocked, reported by mill"
    assert "cancel, by mill" in found.could and "release, by printer" in found.could


def test_a_disputed_promise_says_whose_answer_is_missing() -> None:
    """Protects whoever waits: the report and its confirmer are named."""
    assert one("sample", GOOD).could[:1] == ("confirm the report at 11, by printer",)


def test_a_member_a_record_and_a_code_are_explained_in_the_file() -> None:
    """Protects the other questions: who stands where, what a record led to, where a finding was made."""
    member = one("mill", GOOD)
    assert dict((name, s.state) for name, s in member.commitments)["refund"] == "satisfied"
    record = one("12", GOOD)
    assert record.because[0].said == "confirms report 10"
    assert ("paper", "detached") in {(move.commitment, move.after) for move in record.life}
    assert [f.position for f in one("altered", LEDGERS / "tampered.jsonl").findings] == [10]
    assert [f.position for f in one("equivocation", LEDGERS / "forked.jsonl").findings] == [20]


def test_as_of_an_instant_only_what_had_happened_explains() -> None:
    """Protects --as-of: before the deadline the promise was owed, and its breach was ahead."""
    (found,) = explain("paper", GOOD, as_of="2027-01-20T00:00:00Z")
    assert found.status is not None and found.status.state == "detached"
    assert found.ahead is not None and found.ahead.after == "violated"


def test_a_name_of_several_things_is_explained_as_all_of_them() -> None:
    """Protects against a silent choice: a commitment called like a code is shown, and so is the code."""
    source = {
        "parties": ["late", "bob"],
        "commitments": [{"id": "late", "debtor": "late", "creditor": "bob", "then": "done"}],
        "history": [],
    }
    assert [found.kind for found in explain("late", source)] == ["commitment", "member", "finding"]


def test_an_unknown_name_is_refused_with_what_is_near() -> None:
    """Protects typing errors: the message names what was probably meant."""
    with pytest.raises(BadInput, match="equivocation"):
        explain("equivocaton")
    with pytest.raises(BadInput, match="refund"):
        explain("refnd", GOOD)


@pytest.mark.parametrize("text", TEXTS)
def test_what_members_wrote_is_on_one_line_and_exact_in_json(text: str) -> None:
    """Protects the terminal (UI-01): no escape, no line end and no mark of ours comes out of a member's text."""
    source = history(text)
    for name in (named(text), "amends", "1", "2", "not_allowed"):
        for found in explain(name, source):
            for line in found.lines():
                assert line.isprintable() and "\u202e" not in line and "\u200b" not in line
            json.dumps(found.plain())
    item = one("1", source).because[0]
    assert item.acts[0].attributes["note"] == text
    assert item.plain()["acts"][0]["attributes"]["note"] == text  # type: ignore[index, call-overload]


def test_a_value_cannot_pass_for_what_somebody_else_said() -> None:
    """Protects the record (UI-01): what a member wrote stands inside quotes that it cannot close."""
    source = history('1) bob confirms the report 1, because "so')
    (found,) = (e for e in explain("1", source) if e.kind == "item")
    said = found.because[0].said
    assert said.count('note = "1) bob confirms the report 1, because \\"so"') == 1


# -- a ledger as a whole, an option, a member ------------------------------------------------------------------------


@pytest.fixture(scope="module")
def deal(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The ledger of a room that chose: two members, three options, one improvement."""
    ledger = tmp_path_factory.mktemp("explain") / "deal.jsonl"
    run(Path(__file__).resolve().parents[3] / "examples" / "printer.yaml", memory=True, ledger=ledger)
    return ledger


def test_a_ledger_alone_says_why_and_what_would_have_changed_it(deal: Path) -> None:
    """Protects `swarm explain LEDGER`: reasons and changes of the room itself, with places that are in the ledger."""
    (found,) = explain(None, deal)
    assert found.kind == "room" and found.name.startswith("printer-")
    assert "“A laser with one year of service” was agreed: all 2 members signed it." in found.reasons[0].text
    assert any("Had buyer scored “A laser without service” 70 or more" in change.text for change in found.changes)
    many = len(deal.read_text("utf-8").splitlines()) - 2
    assert all(0 < p <= many for reason in (*found.reasons, *found.changes) for p in reason.positions)
    assert any(line.startswith("  why  ") and line.endswith("]") for line in found.lines())
    plain = found.plain()
    assert plain["reasons"] == [reason.plain() for reason in found.reasons]
    assert {"delivery", "payment"} <= {name for name, _ in found.commitments}


def test_an_option_and_a_member_are_explained_with_why_not(deal: Path) -> None:
    """Protects "why not mine": the option by its title, and beside a member's promises what became of its options."""
    option = one("Keep the old printer", deal)
    assert option.kind == "option" and any("Nobody objects to" in reason.text for reason in option.reasons)
    chosen = one("A laser with one year of service", deal)
    assert chosen.changes and chosen.reasons == explain(None, deal)[0].reasons
    member = one("buyer", deal)
    assert any("Without the ballot of buyer" in reason.text for reason in member.reasons)
    with pytest.raises(BadInput, match="near it: Keep the old printer"):
        explain("Keep the old printr", deal)


def test_as_of_an_instant_the_room_is_explained_as_it_stood() -> None:
    """Protects --as-of for the whole too: what became of a promise later has not happened."""
    found = explain(None, GOOD, as_of="2027-01-20T00:00:00Z")[0]
    assert dict((name, s.state) for name, s in found.commitments)["paper"] == "detached"
    # After the deadline and before anybody spoke: the reasons know what the state knows.
    (paper,) = explain("paper", GOOD, as_of="2027-02-01T12:00:00Z")
    assert paper.status is not None and paper.status.state == "violated"
    assert any(reason.text.startswith("It was broken.") for reason in paper.reasons)
    assert dict((name, s.state) for name, s in explain(None, GOOD)[0].commitments)["paper"] == "violated"


def test_a_ledger_that_failed_says_so_beside_its_reasons() -> None:
    """Protects against leaning on a forged ledger: how far it was read stands in words."""
    (found,) = explain(None, LEDGERS / "tampered.jsonl")
    assert any("FAILED" in told for told in found.record)
    assert not any("FAILED" in told for told in explain(None, GOOD)[0].record)


def test_a_history_alone_lists_what_can_be_explained() -> None:
    """Protects the other file: a history has no choice to explain, and says what it has."""
    (found,) = explain(None, history("x"))
    assert found.kind == "file" and found.commitments and not found.reasons


def test_file_and_name_are_told_apart_by_what_exists(deal: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Protects both spellings: LEDGER NAME and NAME FILE, even where a file is called like the thing."""
    monkeypatch.chdir(deal.parent)
    ledger = Path("deal.jsonl")
    assert told_apart("deal.jsonl", None) == (None, ledger)
    assert told_apart("deadlock", None) == ("deadlock", None)
    assert told_apart("deal.jsonl", "buyer") == ("buyer", ledger)
    assert told_apart("buyer", "deal.jsonl") == ("buyer", ledger)
    Path("buyer").write_text("parties: []\n", "utf-8")
    Path("deadlock").write_text("parties: []\n", "utf-8")
    assert told_apart("deal.jsonl", "buyer") == ("buyer", ledger)
    assert told_apart("buyer", "deal.jsonl") == ("buyer", ledger)
    assert told_apart("deadlock", None) == ("deadlock", None)
    # Neither is a file: the last is named in the complaint.
    assert told_apart("water", "gone.yaml") == ("water", Path("gone.yaml"))
