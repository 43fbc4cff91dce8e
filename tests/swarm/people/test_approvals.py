"""Approval: nothing that binds is signed before a person has said yes, whatever the mind answers."""

import asyncio
import json
import stat
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from agents import Agent
from agents.agent import Performed, Watch
from protocols.duties.duties import PerformDuty
from protocols.messages.commitments import AcceptCommitment, ConfirmReport, CreateCommitment, DelegateCommitment
from swarm.auditing.auditing import audit
from swarm.cli import main
from swarm.errors import BadInput
from swarm.ledger.fold import Fold
from swarm.people.approving import (
    EitherApprover,
    FolderApprover,
    TerminalApprover,
    answer_to,
    give_answer,
    people_for,
    requests_in,
    show_request,
)
from swarm.people.terminal import PlainScreen
from swarm.seat.approval import Approval, ApprovalRequest
from swarm.seat.mandate import Mandate
from swarm.seat.mandated import Mandated
from swarm.seat.outbox import MemoryOutbox
from swarm.seat.seat import Seat
from tests.support.patience import until
from tests.support.pseudo_terminal import SWARM, Person
from tests.support.small_rooms import Sitting, go
from tests.support.standing_site import scenario, script
from tests.support.typed_person import Typed

YES, NO = Approval(approved=True), Approval(approved=False, because="too dear for us")


class Asked:
    """Answers every request with *answer*; None never answers."""

    def __init__(self, answer: Approval | None) -> None:
        self.answer = answer
        self.requests: list[ApprovalRequest] = []

    async def approve(self, request: ApprovalRequest) -> Approval:
        self.requests.append(request)
        if self.answer is None:
            await asyncio.Event().wait()
        assert self.answer is not None
        return self.answer


def play(what: dict[str, Any], approve: list[str], approver: Any, mind: Agent | None = None, who: str = "ann") -> Fold:
    """Run the scenario with *approver* for the member *who*."""

    async def work() -> Fold:
        sitting = Sitting(what)
        replica = await sitting.open()
        mandate = Mandate.model_validate({"approve": approve})
        sitting.agents[who] = Mandated(mind or sitting.agents[who], mandate, approver)
        seats = [
            Seat(identity, sitting.agents[name], replica, MemoryOutbox(), replica.clock).run()
            for name, identity in sitting.identities.items()
        ]
        following = asyncio.create_task(replica.follow())
        await asyncio.gather(*seats)
        following.cancel()
        return replica.fold

    fold: Fold = go(work())
    return fold


def said(fold: Fold, who: str = "ann", kind: str | None = None) -> list[dict[str, Any]]:
    bodies = [r.entry.body for r in fold.records if r.entry is not None and fold.names.get(r.entry.author) == who]
    return [body for body in bodies if kind in (None, body["kind"])]


def choosing(*, seconds: int = 20, promises: tuple[str, ...] = (), **more: Any) -> dict[str, Any]:
    """A room that picks a day; the option that wins has a promise of each of *promises* to the other."""
    other = {"ann": "bob", "bob": "ann"}
    made = [
        {"id": f"of-{d}", "debtor": d, "creditor": other[d], "then": "paid within 1 second of agreed"} for d in promises
    ]
    monday = {"title": "Monday", "offer": {"day": "mon"}, "commitments": made}
    members = [{"name": name, **script(proposes=monday)} for name in ("bob", "ann")]
    agenda = ["concord", *(["commitments"] if promises else [])]
    rules = {"step_seconds": seconds, "improvements": 0, "watch_seconds": 1}
    what = scenario("deal", {}) | {"members": members, "agenda": agenda, "rules": rules}
    return what | ({"events": {"paid": {}}} if promises else {}) | more


def promising(**more: Any) -> dict[str, Any]:
    """A room in which ann promises something in the opening."""
    terms = {"id": "tea", "debtor": "ann", "creditor": "bob", "then": "made within 1 second of agreed"}
    return {
        "room": "tea",
        "intent": "Tea.",
        "agenda": ["commitments"],
        "events": {"made": {"by": "ann"}},
        "promises": [terms],
        "rules": {"step_seconds": 20, "watch_seconds": 1},
        "members": [{"name": "bob"}, {"name": "ann"}],
    } | more


# -- what is asked, and what becomes of the answer ---------------------------------------------------------------------


def test_an_outcome_is_signed_after_a_yes_and_asked_for_in_full() -> None:
    """Protects the signature: the request holds the very body that is then on the log, and what it stands for."""
    approver = Asked(YES)
    fold = play(choosing(promises=("ann", "bob")), ["ratify"], approver)
    (request,) = approver.requests
    assert [request.body] == said(fold, kind="concord.ratify")
    assert request.body["accept"] is True
    assert (request.act, request.member, request.room) == ("ratify", "ann", fold.chain.room)
    assert request.option is not None and request.option.title == "Monday"
    assert request.vector == [70, 70]
    assert [terms.id for terms in request.promises or ()] == ["of-ann"], "its own, not the other's"
    assert request.until is not None
    assert fold.room.ending is not None and fold.room.ending.outcome == "agreed"


@pytest.mark.parametrize(
    ("approver", "because"),
    [(Asked(NO), "not approved: too dear for us"), (None, "not approved: there is nobody to ask")],
)
def test_without_a_yes_an_outcome_is_declined_with_the_persons_reason(approver: Any, because: str) -> None:
    """Protects the person: a refusal, and nobody there, sign nothing; the reason is on the record."""
    fold = play(choosing(), ["ratify"], approver)
    assert [(b["accept"], b["because"]) for b in said(fold, kind="concord.ratify")] == [(False, because)]
    assert fold.room.ending is not None and fold.room.ending.outcome == "no_agreement"


def test_no_answer_in_time_declines_within_the_step() -> None:
    """Protects the others: they are not left waiting for a person who is away, and learn why."""
    fold = play(choosing(seconds=2), ["ratify"], Asked(None))
    assert [b["because"] for b in said(fold, kind="concord.ratify")] == ["not approved in time"]
    assert not [f for f in fold.room.findings if f.code in ("silent", "late")]


def test_an_outcome_with_a_promise_of_ones_own_is_a_promise() -> None:
    """Protects debtors: approve: [promise] covers ratifying what makes one a debtor, and nothing else."""
    approver = Asked(NO)
    fold = play(choosing(promises=("ann",)), ["promise"], approver)
    assert [b["accept"] for b in said(fold, kind="concord.ratify")] == [False]
    approver = Asked(NO)
    fold = play(choosing(promises=("bob",)), ["promise"], approver)
    assert [b["accept"] for b in said(fold, kind="concord.ratify")] == [True]
    assert approver.requests == []


def test_a_refusal_of_the_minds_own_needs_no_approval() -> None:
    """Protects the right to say no: only what binds is asked for."""
    what = choosing()
    what["members"][1]["ratifies"] = "not for me"
    approver = Asked(None)
    fold = play(what, ["ratify", "promise"], approver)
    assert [b["because"] for b in said(fold, kind="concord.ratify")] == ["not for me"]
    assert approver.requests == []


@pytest.mark.parametrize(("answer", "kinds"), [(YES, ["commitment.create"]), (NO, ["room.excuse"])])
def test_promises_of_the_opening_wait_for_a_yes(answer: Approval, kinds: list[str]) -> None:
    """Protects debtors: what the peer would sign by itself is asked for too; a no excuses it from the step."""
    approver = Asked(answer)
    fold = play(promising(), ["promise"], approver)
    made = [b for b in said(fold) if b["kind"] in ("commitment.create", "room.excuse")]
    assert [b["kind"] for b in made] == kinds
    if answer is NO:
        assert made[0]["because"] == "not approved: too dear for us"
    else:
        assert approver.requests[0].body == made[0]
        assert [terms.id for terms in approver.requests[0].promises or ()] == ["tea"]


class Acts(Agent):
    """Takes over what is offered to it, makes a promise, and confirms whatever is reported, again and again."""

    async def perform(self, duty: PerformDuty, watch: Watch) -> Performed:
        made = {"id": "more", "debtor": "ann", "creditor": "bob", "then": "made within 1 second of agreed"}
        acts: list[Any] = [ConfirmReport(report=report.id) for report in duty.awaiting]
        acts += [AcceptCommitment(commitment=offer.commitment, offer=offer.id) for offer in duty.offers]
        if "more" not in duty.promises:
            acts.append(CreateCommitment.model_validate({"commitments": [made]}))
        return Performed(acts)


class Delegates(Agent):
    """Offers its promise to ann, and reports."""

    async def perform(self, duty: PerformDuty, watch: Watch) -> Performed:
        if duty.operations or "tea" not in duty.promises:
            return Performed()
        return Performed([DelegateCommitment(commitment="tea", to="ann")])


@pytest.mark.parametrize(
    ("answer", "signed"), [(YES, {"commitment.accept", "commitment.create"}), (NO, set()), (None, set())]
)
def test_an_act_that_makes_one_a_debtor_waits_and_the_others_do_not(answer: Approval | None, signed: set[str]) -> None:
    """Protects debtors: taking over and making promises wait for a yes, once each; confirming goes on meanwhile."""
    what = promising(members=[{"name": "bob"}, {"name": "ann"}, {"name": "cy", "performs": [{"event": "poured"}]}])
    what["promises"] = [what["promises"][0] | {"debtor": "bob", "creditor": "cy"}]
    what["events"] = {"made": {"by": "ann"}, "poured": {"by": "cy", "confirmed_by": "ann"}}
    approver = Asked(answer)

    async def work() -> Fold:
        sitting = Sitting(what)
        replica = await sitting.open()
        mandate = Mandate.model_validate({"approve": ["promise"]})
        sitting.agents |= {"ann": Mandated(Acts(), mandate, approver), "bob": Delegates()}
        seats = [
            Seat(i, sitting.agents[n], replica, MemoryOutbox(), replica.clock).run()
            for n, i in sitting.identities.items()
        ]
        following = asyncio.create_task(replica.follow())
        await asyncio.gather(*seats)
        following.cancel()
        return replica.fold

    fold = go(work())
    kinds = [b["kind"] for b in said(fold)]
    assert {kind for kind in kinds if kind.startswith("commitment.")} == signed
    assert kinds.count("event.confirm") == 1
    assert sorted(request.body["kind"] for request in approver.requests) == ["commitment.accept", "commitment.create"]
    taken = next(request for request in approver.requests if request.body["kind"] == "commitment.accept")
    assert [(terms.id, terms.debtor) for terms in taken.promises or ()] == [("tea", "ann")]


# -- who is asked -----------------------------------------------------------------------------------------------------


def request(**more: Any) -> ApprovalRequest:
    plain: dict[str, Any] = {
        "id": "ab" * 32, "room": "deal-x", "intent": "Pick a day.", "member": "ann", "act": "ratify",
        "body": {"kind": "concord.ratify", "accept": True},
    }  # fmt: skip
    asked = ApprovalRequest.model_validate(plain | more)
    return asked.model_copy(update={"id": asked.whole})


def test_a_folder_keeps_request_and_answer_over_a_restart(tmp_path: Path) -> None:
    """Protects resuming: requests are private, an answer given while nobody ran is found, and the first one stands."""
    folder = tmp_path / "approvals"
    approver = FolderApprover(folder)

    async def killed() -> None:
        asking = asyncio.create_task(approver.approve(request()))
        while not list(folder.glob("*.json")):
            await asyncio.sleep(0.01)
        (found,) = requests_in(tmp_path)
        assert found[1] == request()
        give_answer(found[0], NO)
        asking.cancel()

    asyncio.run(killed())
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert go(FolderApprover(folder).approve(request())) == NO
    path = folder / f"{request().id}.json"
    with pytest.raises(BadInput, match="answered already"):
        give_answer(path, YES)
    assert answer_to(path) == NO
    assert sorted(p.name for p in folder.iterdir()) == [f"{request().id}.answer.json", f"{request().id}.json"]


def test_a_request_that_somebody_changed_is_not_shown(tmp_path: Path) -> None:
    """Protects the yes: the id is the digest of what is shown, so that a file with other terms under it is none."""
    honest = request(promises=[{"id": "p", "debtor": "ann", "creditor": "bob", "then": "paid", "state": "none"}])
    path = tmp_path / f"{honest.id}.json"
    path.write_text(json.dumps(honest.plain()), "utf-8")
    assert [found for _, found in requests_in(tmp_path)] == [honest]
    for change in ({"intent": "Pick nothing."}, {"promises": None}, {"body": {"kind": "concord.ratify"}}):
        path.write_text(json.dumps(honest.model_copy(update=change).plain()), "utf-8")
        assert requests_in(tmp_path) == []


def test_a_delegation_is_shown_whole(capsys: pytest.CaptureFixture[str]) -> None:
    """Protects the person: debtor, creditor, terms, reason, instances and what is bound up with it are shown."""
    terms = {"debtor": "ann", "creditor": "cy", "then": "paid(amount >= 1000000) within 1 hour of ordered"}
    taken = {"id": "call", **terms, "each": "order", "state": "conditional", "answerable": ["bob"],
             "instances": {"call[17]": "detached"}, "excludes": ["rest"]}  # fmt: skip
    fine = {
        "id": "fine",
        "debtor": "ann",
        "creditor": "cy",
        "if": "violated(call)",
        "then": "paid",
        "state": "conditional",
    }
    asked = request(act="promise", body={"kind": "commitment.accept", "commitment": "call", "offer": "ab"}, by="bob",
                    because="a courtesy", promises=[taken], bound_up=[fine])  # fmt: skip
    go(show_request(PlainScreen(sys.stdout), asked))
    shown = capsys.readouterr().out
    for text in ("bob offers it, because a courtesy", "call, ann to cy: then paid(amount >= 1000000) within 1 hour",
                 "for each order that comes; so far: call[17] detached", "answerable for it, too: bob",
                 "cannot be kept together with rest", "fine, ann to cy: if violated(call) then paid"):  # fmt: skip
        assert text in shown


@pytest.mark.parametrize("garbage", [b"", b"{", b"[]", b'{"approved":"yes"}', b'{"approved":true,"more":1}', b"\xff"])
def test_only_a_whole_answer_is_one(tmp_path: Path, garbage: bytes) -> None:
    """Protects the yes: what cannot be read as an answer is none."""
    path = tmp_path / f"{request().id}.json"
    path.with_name(f"{request().id}.answer.json").write_bytes(garbage)
    assert answer_to(path) is None


def test_at_a_terminal_the_first_answer_counts_and_the_folder_learns_it(tmp_path: Path) -> None:
    """Protects two ways at once: nobody is asked in the folder for what was answered at the terminal."""
    both = EitherApprover(TerminalApprover(Typed("maybe", "later", "", "no", "no too dear")), FolderApprover(tmp_path))
    assert go(both.approve(request())) == Approval(approved=False, because="too dear")
    assert [answer_to(path) for path, _ in requests_in(tmp_path)] == [Approval(approved=False, because="too dear")]


class Bound:
    agent = "scripted"
    name = "ann"
    mandate = Mandate.model_validate({"approve": ["ratify"]})


def test_where_nobody_can_be_asked_nothing_begins(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Protects from rooms that can only end in “not approved”: no terminal and no --dir is bad input."""
    monkeypatch.setattr("swarm.people.terminal.own_terminal", lambda: None)
    with pytest.raises(BadInput, match=r"approve of ann: needs a terminal .*--dir"):
        people_for([Bound], None)
    assert people_for([Bound], tmp_path)["person"] == {"terminal": None, "approvals": str(tmp_path / "approvals")}


# -- as people use it -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Done:
    returncode: int
    stdout: str
    stderr: str


@pytest.fixture
def swarm(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., Done]:
    """Run the command line in this process, away from any terminal."""

    def tell(*arguments: str) -> Done:
        monkeypatch.setattr(sys, "argv", ["swarm", *arguments])
        with pytest.raises(SystemExit) as leave:
            main()
        told = capsys.readouterr()
        assert isinstance(leave.value.code, int)
        return Done(leave.value.code, told.out, told.err)

    return tell


def bound(folder: Path, **more: Any) -> str:
    """Write a room whose member ann may sign nothing without a person's yes."""
    what = choosing(seconds=60, promises=("ann",), **more)
    what["members"][1]["mandate"] = {"approve": ["ratify"]}
    path = folder / "deal.json"
    path.write_text(json.dumps(what), "utf-8")
    return str(path)


@pytest.mark.parametrize(
    ("option", "code", "because"), [("--yes", 0, None), ("--no", 1, "not approved: \u202etoo dear")]
)
def test_approval_by_folder_through_the_command_line(
    person: Person, swarm: Callable[..., Done], option: str, code: int, because: str | None
) -> None:
    """Protects the whole way: listed in full and escaped, answered once, picked up by the peer, told on the record."""
    kept, ledger, roster = person.folder / "kept", person.folder / "l.jsonl", person.folder / "r.yaml"
    path = bound(person.folder, intent="Pick\x1b[2J a \u202eday.")
    arguments = ["--dir", str(kept), "--json", "--ledger", str(ledger), "--roster", str(roster)]
    process = person.start("run", path, *arguments, apart=True)

    def pending() -> list[dict[str, Any]]:
        return list(json.loads(swarm("approve", str(kept), "--json").stdout)["pending"]) if kept.exists() else []

    (one,) = until(pending, "a request")
    listed = swarm("approve", str(kept))
    for told in (
        "APPROVAL for ann",
        "Pick\\x1b[2J a \\u202eday.",
        "Monday",
        "promise of-ann, ann to bob",
        one["id"][:12],
    ):
        assert told in listed.stdout, listed.stdout
    assert "\x1b" not in listed.stdout and "\u202e" not in listed.stdout
    assert swarm("approve", str(kept), "00000000", "--yes").returncode == 2
    assert swarm("approve", str(kept), "--yes").returncode == 2
    answer = [option] if option == "--yes" else [option, "\u202etoo dear"]
    done = swarm("approve", str(kept), one["id"][:8], *answer)
    assert done.returncode == 0, done.stderr
    assert person.ends(process) == code, person.err
    again = swarm("approve", str(kept), one["id"][:8], "--yes")
    assert (again.returncode, "answered already" in again.stderr) == (2, True)
    assert pending() == []
    lines = [json.loads(line) for line in ledger.read_text("utf-8").splitlines()]
    signed = [line["entry"]["body"] for line in lines if "position" in line]
    ratified = {b["outcome"]: b for b in signed if b["kind"] == "concord.ratify" and b.get("because") == because}
    assert ratified
    assert audit(ledger, roster=roster).verdict == "verified"


def test_an_approval_refused_at_the_terminal(person: Person) -> None:
    """Protects the person at the terminal: all of it is shown, a slip signs nothing, and the no has its reason."""
    ledger = person.folder / "l.jsonl"
    process = person.start("run", bound(person.folder), "--json", "--ledger", str(ledger))
    asked = person.sees("Approve? [")
    for told in ("APPROVAL for ann: its signature under the outcome", "day mon", "promise of-ann", "concord.ratify"):
        assert told in asked, asked
    person.answers(("]: ", "y es"), ("not taken: yes, or no with its reason", ""), ("Approve? [", "no"))
    person.answers(("not taken", ""), ("Approve? [", "no ask me again in May"))
    assert person.ends(process) == 1, person.err
    said = [json.loads(line) for line in ledger.read_text("utf-8").splitlines()]
    bodies = [line["entry"]["body"] for line in said if "position" in line]
    reasons = {b.get("because") for b in bodies if b["kind"] == "concord.ratify"}
    assert "not approved: ask me again in May" in reasons


def test_a_folder_is_answered_at_a_terminal_too(person: Person, tmp_path: Path) -> None:
    """Protects `swarm approve DIR` for people: each request is asked for, and what is left stays."""
    folder = tmp_path / "kept" / "approvals"
    folder.mkdir(parents=True)
    # They come in the order of their ids.
    first, second = sorted([request(intent="Pick a day."), request(intent="Pick another.")], key=lambda one: one.id)
    for one in (first, second):
        (folder / f"{one.id}.json").write_text(json.dumps(one.plain()), "utf-8")
    code = "import pty, sys; sys.exit(pty.spawn(sys.argv[1:]) >> 8)"
    process = subprocess.Popen(
        [sys.executable, "-c", code, SWARM, "approve", str(tmp_path / "kept")],
        stdin=person._slave, stdout=person._slave, stderr=person._slave, start_new_session=True, env=person.env,
    )  # fmt: skip
    person.processes.append(process)  # type: ignore[arg-type]
    person.answers(("Approve? [", "later"), ("Approve? [", "yes"))
    assert person.ends(process) == 0  # type: ignore[arg-type]
    assert [answer_to(path) for path, _ in requests_in(tmp_path / "kept")] == [None, YES]


def test_nowhere_to_ask_is_said_before_the_room_opens(person: Person) -> None:
    """Protects the others: exit 2, one line, no room."""
    process = person.start("run", bound(person.folder), "--json", "--ledger", str(person.folder / "l"), apart=True)
    assert person.ends(process) == 2
    assert "mandate.approve of ann: needs a terminal to ask at, or --dir DIR" in person.err
    assert not (person.folder / "l").exists()


def test_approve_names_what_is_wrong(tmp_path: Path, swarm: Callable[..., Done]) -> None:
    """Protects whoever answers: one line and exit 2."""
    told: list[tuple[list[str], str]] = [
        ([str(tmp_path / "nowhere")], "no such folder"),
        ([str(tmp_path), "abcd", "--yes", "--no", "x"], "not both"),
        ([str(tmp_path), "abcd", "--no", " "], "a refusal has a reason"),
        ([str(tmp_path), "abcd", "--yes"], "is none that waits for an answer; valid: none waits"),
    ]
    for arguments, words in told:
        done = swarm("approve", *arguments)
        assert (done.returncode, words in done.stderr) == (2, True), done.stderr
    assert swarm("approve", str(tmp_path)).stdout == "nothing waits for approval here\n"
