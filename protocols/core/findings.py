"""Stable codes for everything noteworthy, each with its severity and its meaning.

A finding is a recorded fact with a name and a place in the log; it is never a verdict on a member's motives.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Any


class Severity(StrEnum):
    """How a reader should weigh a finding."""

    NOTE = "note"
    WARNING = "warning"
    FAULT = "fault"


@dataclass(frozen=True, slots=True)
class Finding:
    """One noteworthy fact: what (``code``), where on the log (``position``), about whom (``who``), and a text.

    ``position`` is 0 if no record caused it; ``who`` is empty if no member did. ``refused`` means that the rules
    refused the body at that position, so that it changed nothing.
    """

    code: str
    position: int
    who: str
    text: str
    refused: bool = False

    @property
    def severity(self) -> Severity:
        """The severity that the table gives the code."""
        return CODES[self.code][0]

    def plain(self) -> dict[str, Any]:
        """Return the finding as JSON."""
        return {"code": self.code, "position": self.position, "who": self.who, "text": self.text}


class Refused(Exception):
    """An event that the rules refuse: a stable ``code``, and ``why`` in words that say what is valid."""

    def __init__(self, code: str, why: str) -> None:
        self.code = code
        self.why = why
        super().__init__(f"{code}: {why}")


NOTE, WARNING, FAULT = Severity.NOTE, Severity.WARNING, Severity.FAULT

CODES: dict[str, tuple[Severity, str]] = {
    # records that are no valid entry of the room; kept as raw bytes
    "too_large": (FAULT, "The bytes are more than an entry may have."),
    "too_deep": (FAULT, "The JSON nests deeper than any message."),
    "not_json": (FAULT, "The bytes are not strict JSON in UTF-8."),
    "duplicate_key": (FAULT, "One object holds a key twice, so that readers could see different values."),
    "not_canonical": (FAULT, "The bytes are not the canonical form (RFC 8785) of what they say."),
    "bad_envelope": (FAULT, "The entry lacks a field, has an unknown one, or one of the wrong form."),
    "bad_key": (FAULT, "What stands for a public key is none: its form, or a point that no key may be."),
    "wrong_room": (FAULT, "The entry was signed for another room."),
    "bad_signature": (FAULT, "The signature is not the author's."),
    # entries that do not continue their author's chain
    "duplicate": (NOTE, "The same bytes were stored again; without effect."),
    "equivocation": (FAULT, "Two different entries of one author with one number: the first stands, both are proof."),
    "chain_gap": (FAULT, "The entry does not follow its author's last one."),
    # entries that continue the chain and count for nothing
    "clock_disputed": (WARNING, "Store time and the author's clock differ by more than the room allows; said again."),
    "seen_stale": (WARNING, "The author had not seen what it answers, or says it has seen less than before."),
    "seen_mismatch": (FAULT, "The head its author signs is not this log's: the author or the broker changed the log."),
    "bad_body": (WARNING, "The body does not fit its model."),
    # the room
    "not_opened": (FAULT, "The first record is not an opening."),
    "bad_opening": (FAULT, "The opening is out of bounds."),
    "already_open": (WARNING, "A room is opened once."),
    "wrong_opening": (WARNING, "A member joined another opening than this room's."),
    "not_a_member": (WARNING, "The speaker is not on the roster."),
    "declined": (NOTE, "A member declines the opening or the outcome, with its reason."),
    "lookalike": (NOTE, "A nominated term looks like another one of the room; nobody is asked about it."),
    "too_many_terms": (NOTE, "A nominated term finds no place among the room's terms; nobody is asked about it."),
    "left": (NOTE, "A member leaves, with its reason."),
    "excused": (NOTE, "A member excuses itself from a step, with its reason."),
    "already_excused": (WARNING, "The member excused itself from this step before."),
    "silent": (WARNING, "A member did not answer a step by its deadline."),
    "late": (NOTE, "An answer or deed came after its time; kept, counts for nothing. Or a plan's time passed."),
    "not_open": (WARNING, "An answer to a step that is not open."),
    "not_expected": (WARNING, "An answer by a member of whom none was expected."),
    "already_answered": (WARNING, "A second answer to one step; the first stands."),
    "wrong_kind": (WARNING, "An answer of a kind that the step does not take."),
    "over_budget": (WARNING, "More than a member's budget, or the room's; or more open plans than a room bears."),
    "loop": (WARNING, "The same acts in the same order came a third time and changed nothing; refused."),
    "abandoned": (WARNING, "The room ended before its agenda did."),
    "room_over": (
        WARNING,
        "An act on promises came after the end of the room, or of its watch; without effect.",
    ),
    "still_owed": (WARNING, "The watch ended while a promise was owed: it is neither kept nor broken."),
    "close_mismatch": (FAULT, "A member signed another result than the log gives."),
    # sealing
    "reveal_mismatch": (FAULT, "A reveal does not match its seal; the true one may follow."),
    "box_unreadable": (WARNING, "The box beside a seal does not open with its author's own key."),
    "seal_not_opened": (WARNING, "A sealed answer was never opened: an absence, never a value."),
    # Accord
    "void_interpretation": (WARNING, "An interpretation breaks its model."),
    "void_reading": (WARNING, "A reading of the others breaks its model, or contradicts the member's own cases."),
    "divergence": (NOTE, "Two members mean different things by one term."),
    "divergence_open": (WARNING, "A difference of meaning stays open and is carried or blocks."),
    "unknown_interpretation": (WARNING, "A settlement names an interpretation that nobody revealed."),
    "incomplete_settlement": (WARNING, "A settlement leaves a term out."),
    "uses_open_term": (WARNING, "An option or promise uses a term whose meaning is open."),
    # Concord
    "incomplete_quote": (WARNING, "A quote must name values for exactly the quoter's issues."),
    "void_option": (WARNING, "An option breaks its model."),
    "incomplete_option": (WARNING, "An option has no value for an issue."),
    "unknown_value": (WARNING, "An option or quote uses a value that the opening does not list."),
    "not_yours_to_decide": (WARNING, "A value or ruling that is another member's to give."),
    "unrequested": (WARNING, "An option offers something that is no issue of the room."),
    "bad_commitment": (WARNING, "A commitment that cannot be: unknown party, event or commitment, or a bad condition."),
    "repeated_option": (NOTE, "An improvement repeats an option; it counts as a pass."),
    "wrong_standing": (WARNING, "A pass names an option that is not the standing one."),
    "void_ballot": (WARNING, "A ballot breaks its model."),
    "unknown_option": (WARNING, "A ballot names an option that is not asked about."),
    "scored_and_rejected": (WARNING, "A ballot scores and rejects one option."),
    "score_not_integer": (WARNING, "A score is not an integer."),
    "score_out_of_range": (WARNING, "A score is not within 0–100."),
    "too_many_rejections": (WARNING, "A ballot rejects more options than its budget allows."),
    "rejection_without_reason": (WARNING, "A rejection has no reason."),
    "incomplete_ballot": (WARNING, "A ballot leaves an option out."),
    "reserve_mismatch": (FAULT, "The reserve opened is not the one committed to."),
    "wrong_outcome": (WARNING, "A ratification signs another outcome than the log gives."),
    # evidence
    "unknown_claim": (WARNING, "A claim or citation names a claim that did not stand; it counts for nothing."),
    "later_claim": (WARNING, "A claim rests on one that comes after it; it counts for nothing."),
    "claim_circle": (WARNING, "A claim rests on itself, by a circle of claims; it counts for nothing."),
    "repeated_label": (WARNING, "A claim has the label of another one of its author's; it counts for nothing."),
    "unverified_claim": (NOTE, "A score not below the bar, or a signature, cites what nobody claims to have observed."),
    "one_source": (NOTE, "Several members say or stand up for one thing, and all have it from one source."),
    # how members scored and moved: numbers, each with honest explanations, and never a verdict
    "sole_minimum": (NOTE, "A member alone scored every option of the others' lower than all others did."),
    "all_or_nothing": (NOTE, "A member used both ends of the scale and nothing between."),
    "drift_without_evidence": (NOTE, "A member signed nothing of what it first proposed, and gave no reason for it."),
    "adopted_without_reason": (NOTE, "A member took over another's meaning, and gave no reason for it."),
    # commitments
    "not_on_agenda": (WARNING, "The room's agenda has no commitments."),
    "wrong_promise": (WARNING, "A debtor's promises are not those that the opening lists."),
    "not_allowed": (WARNING, "This member may not do that."),
    "terminal_state": (NOTE, "The commitment or plan has ended; kept as evidence."),
    "wrong_state": (WARNING, "The life cycle has no such move from here."),
    "offer_changed": (WARNING, "The delegation that is accepted is not the one that stands, or not as it was made."),
    "unknown_commitment": (WARNING, "No commitment has this id."),
    "unknown_report": (WARNING, "No report has this id."),
    "unknown_party": (WARNING, "No party has this name."),
    "conflicting_report": (WARNING, "A second report under one id says something else."),
    "violated": (WARNING, "A promise is broken: since its window closed, or since its debtor withdrew."),
    "unconfirmed": (WARNING, "A promise hangs: what would keep it was reported in time, and nobody has confirmed it."),
    "disputed": (WARNING, "A promise hangs: what would keep it was reported in time, and disputed. Or a plan is."),
    "circle": (WARNING, "Commitments wait for each other in a circle."),
    "deadlock": (WARNING, "Parties wait for each other: none has to act first."),
    "conflict": (WARNING, "Two promises of one debtor exclude each other."),
    # deeds: refused
    "unknown_action": (WARNING, "No plan, or no step of one, has this id."),
    "repeated_id": (WARNING, "A plan with this id was proposed before."),
    "unknown_kind": (WARNING, "The opening lists no such kind of action."),
    "unknown_resource": (WARNING, "The opening lists no such resource."),
    "out_of_scope": (WARNING, "A kind is not for this resource, or a version is of something not acted on."),
    "bad_arguments": (WARNING, "Arguments, expected counts or steps are not what the kind allows."),
    "irreversible": (WARNING, "A step that cannot be undone does not say so itself."),
    "unseen": (WARNING, "A plan does not say which version of something it rests on was seen."),
    "stale": (WARNING, "A plan rests on versions that are not those that stand."),
    "lease_bound": (WARNING, "A lease would last longer than the opening allows, or a renewal gains nothing."),
    "higher_waits": (WARNING, "No more time: a plan of a higher class waits."),
    "misread": (WARNING, "A read-back says something else than was proposed."),
    "not_read_back": (WARNING, "A confirmation before everything was read back, or of something else."),
    "already_done": (NOTE, "A step that is done, or was undone, is not started again."),
    "already_started": (NOTE, "A step that is under way is not started again."),
    "cannot_succeed": (WARNING, "A step that the tool refused is not started again."),
    "not_granted": (WARNING, "A start without a grant; no call may follow."),
    "wrong_token": (WARNING, "A start under a grant that is over."),
    "wrong_key": (WARNING, "A start with the key of another action."),
    "out_of_order": (WARNING, "A start of a step whose turn it is not."),
    "not_started": (WARNING, "A result of a step that was not started."),
    "already_settled": (NOTE, "A result of a step that is settled; kept as evidence."),
    "superseded": (NOTE, "A result of an earlier start than the last; kept as evidence."),
    "past_pivot": (WARNING, "Nothing is undone after the point of no return."),
    # deeds: findings
    "in_doubt": (WARNING, "Nobody knows whether a step happened, or who goes on; people or a late result settle it."),
    "stuck": (WARNING, "A plan can go neither on nor back by itself."),
    "failed": (WARNING, "A step failed for good; what was done before it is undone."),
    "equal": (NOTE, "Two plans of equals exclude each other; a person chooses."),
    "preempted": (NOTE, "A grant or a hold went to a higher class."),
    "flapping": (WARNING, "A plan would reverse what others did once too often; a person is asked."),
    "tainted": (WARNING, "A mind that was shown what nobody vouches for proposes something privileged."),
    "lapsed": (NOTE, "A plan was granted and not begun in time."),
    "hold_lapsed": (WARNING, "An effect lasts, and nobody holds it any more."),
    "beyond_tolerance": (WARNING, "Counts differ from what was expected, or read back, by more than is tolerated."),
    "undecided": (WARNING, "People were asked about a plan, and nobody answered in time."),
    "moved_under": (NOTE, "A resource was changed from outside while a plan held it."),
    "pins_changed": (WARNING, "A member's model or tools are others than it said."),
    "unverified": (WARNING, "Nobody checked in time whether what was done serves the intent."),
    "not_as_meant": (WARNING, "A verifier says that what was done does not serve the intent."),
    # the ledger
    "altered": (FAULT, "A record is not what its author signed, or not where it was signed to be."),
    "reordered": (FAULT, "Records are not in the order in which they were signed."),
    "missing": (FAULT, "A record is not there that was signed, or that the positions leave room for."),
    "added": (FAULT, "A record stands among others whose signers had not seen it there."),
    "redated": (FAULT, "Records are whole and in order, but were signed with other times (or another among them)."),
    "rolled_back": (FAULT, "The ledger ends before what a member has signed to have seen."),
    "fork": (FAULT, "Ledgers of one room hold different logs: they were shown, or made into, different ones."),
    "two_histories": (FAULT, "A member's signatures stand under two logs of one room that exclude each other."),
    "checkpoint_mismatch": (
        FAULT,
        "A checkpoint (closing, or a receipt) is over other records, or not its signer's.",
    ),
    "torn_tail": (WARNING, "The file does not end in a newline: its last line was cut off."),
    "key_mismatch": (FAULT, "A member's key is not the one that the roster pins."),
    "not_pinned": (WARNING, "No roster pins a key, or not at that time: who it belongs to is not shown."),
    "not_in_room": (NOTE, "The roster pins a name that is not in this room."),
    "not_complete": (WARNING, "Not every member has signed the end, or not every signature is covered by another."),
    "uncovered": (NOTE, "Records that no other member has signed to have seen."),
    "dated_ahead": (NOTE, "Records are dated after the clock of whoever audits."),
}
