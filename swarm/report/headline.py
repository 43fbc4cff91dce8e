"""The first screen: the result in one sentence, and how far that sentence can be trusted."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from protocols.concord.selection import HIGHEST
from protocols.concord.steps import RATIFY, ballot
from protocols.core.findings import CODES, Severity
from protocols.core.instants import format_duration, parse_duration
from protocols.room.closing import CLOSING
from protocols.stage.table import reveal_of
from swarm.auditing.verdict import IN_PART
from swarm.report.reading import Reading
from swarm.report.sentences import Sentence, blanks, count, say

SEVERITIES: Final = (Severity.FAULT, Severity.WARNING, Severity.NOTE)
MARKS: Final = {"verified": "check", "incomplete": "open", "contested": "cross", "failed": "cross"}
MOST_STATES_NAMED: Final = 6


@dataclass(frozen=True, slots=True)
class Band:
    """A warning across the page; ``kind`` is failed, open or rehearsal."""

    kind: str
    title: str
    sentence: Sentence


@dataclass(frozen=True, slots=True)
class Fact:
    """One tile: its label, its value, whether all is well with it (``check``, ``open``, ``cross``), and a remark."""

    label: str
    value: str
    mark: str = ""
    remark: str = ""


@dataclass(frozen=True, slots=True)
class Headline:
    """Section 0.

    ``verb`` is the outcome in one word, ``sentence`` the result, ``lowest`` how the worst-off member fares.
    """

    verb: str
    tone: str
    sentence: Sentence
    lowest: Sentence | None
    intent: str
    room: str
    facts: tuple[Fact, ...]
    bands: tuple[Band, ...]


def headline(reading: Reading) -> Headline:
    """Return the first screen of *reading*."""
    summary = reading.summary
    verb, tone, sentence, lowest = _outcome(reading)
    if reading.audit.verdict in IN_PART and reading.room is not None:
        first = count(reading.audit.stands, "entry", "entries")
        lowest = say(f"Its first {first} say: {verb.lower()}, {sentence.form}.", *sentence.texts, at=sentence.at)
        came_to = "failed its audit" if reading.audit.verdict == "failed" else "is contested"
        verb, tone, sentence = "Not verified", "bad", say(f"this ledger {came_to}")
    return Headline(
        verb=verb,
        tone=tone,
        sentence=sentence,
        lowest=lowest,
        intent=summary.get("intent", ""),
        room=summary.get("room", ""),
        facts=tuple(_facts(reading)),
        bands=tuple(_bands(reading)),
    )


def _outcome(reading: Reading) -> tuple[str, str, Sentence, Sentence | None]:
    summary, room = reading.summary, reading.room
    if room is None:
        return "Unreadable", "bad", say("the very opening of this ledger does not hold"), None
    decision, outcome = summary["decision"], summary["outcome"]
    end = _end(reading)
    if decision is not None:
        who, title = decision["least_satisfied"], decision["option"]["title"]
        bar = room.setting.opening.rules.bar
        sentence = say("{}", title, at=end)
        if who is None:
            return "Agreed", "good", sentence, say(f"All gave it {HIGHEST} of {HIGHEST}.", at=_scored(reading))
        text = f"Lowest score {decision['scores'][who]} of {HIGHEST}, that of {{}}; the bar was {bar}."
        return "Agreed", "good", sentence, say(text, who, at=_scored(reading))
    if outcome == "no_agreement":
        chosen = standing_of(reading)
        reason = summary["reason"]
        form, texts = reason_in_words(reason)
        told = say(form, *texts, at=end)
        if chosen is None:
            return "No agreement", "bad", told, None
        least, who = lowest_of(chosen)
        best = say("The best option, “{}”, was rejected by " + blanks(len(who)) + ".", chosen["title"], *who)
        if least is not None:
            best = say(f"The best option, “{{}}”, had {least} as its lowest score, that of {blanks(len(who))}.",
                       chosen["title"], *who)  # fmt: skip
        return "No agreement", "bad", told, best
    if outcome == "abandoned":
        form, texts = reason_in_words(summary["reason"])
        return "Abandoned", "bad", say(form, *texts, at=end), None
    if outcome == "open":
        told = say("its agenda is done", at=end)
        kept = [state == "satisfied" for state in summary["commitments"].values()]
        if kept:
            told = say(f"{sum(kept):,} of {count(len(kept), 'promise')} kept", at=end)
        return "Ended", "plain", told, say("No choice between options was on the agenda.")
    step = "" if room.step is None else room.step.id
    return "Unfinished", "plain", say("the ledger stops while {} is still open", step or "the room"), None


def _end(reading: Reading) -> list[int]:
    """Return the positions of the signatures under the outcome, otherwise that of the record that ended the room."""
    room = reading.room
    if room is None or room.ending is None:
        return []
    ratified = room.closed.get(RATIFY)
    if ratified is not None:
        return list(ratified.answers.values())
    closed = [step.closed for step in room.closed.values() if step.closed and step.id != CLOSING]
    return [max(closed)] if closed else []


def _scored(reading: Reading) -> list[int]:
    """Return the positions of the scores of the agreed option."""
    room, decision = reading.room, reading.summary["decision"]
    assert room is not None and room.concord is not None
    number = next((t.number + 1 for t in room.concord.tries if t.option == decision["id"]), 1)
    step = room.closed.get(reveal_of(ballot(number)))
    return [] if step is None else list(step.answers.values())


def _facts(reading: Reading) -> Iterator[Fact]:
    audit = reading.audit
    words = {
        "verified": "Signatures, order and outcome hold",
        "incomplete": "Nothing contradicts, but not all is shown",
        "contested": "A member signed another log",
        "failed": "It contradicts itself or the roster",
    }
    yield Fact("Ledger", audit.verdict, MARKS[audit.verdict], words[audit.verdict])
    pinned = f"Keys held to {reading.roster}" if reading.roster is not None else "No roster was given"
    yield Fact("Identities", "pinned" if audit.pinned else "not pinned", "check" if audit.pinned else "open", pinned)
    complete = "complete" if audit.complete else "not shown complete"
    covered = f"Two members signed up to {audit.covered_to:,}"
    yield Fact("Record", complete, "check" if audit.complete else "open", covered)
    members = count(len(audit.members), "member")
    yield Fact("Entries", f"{audit.entries:,}", "", f"By {members}")
    by = severities(reading)
    mark = "cross" if by["fault"] else "open" if by["warning"] else "check"
    yield Fact("Findings", count(by["fault"], "fault"), mark,
               f"{count(by['warning'], 'warning')}, {count(by['note'], 'note')}")  # fmt: skip
    if reading.summary.get("commitments"):
        yield _promises(reading)


def _promises(reading: Reading) -> Fact:
    timeline = reading.timeline
    assert timeline is not None
    statuses = [s for name, s in timeline.statuses.items() if not timeline.is_template(name)]
    tally: dict[str, int] = {}
    for status in statuses:
        word = STATE_WORDS[status.state]
        if status.state == "violated" and status.remedy == "remedied":
            word = "broken, made good"
        tally[word] = tally.get(word, 0) + 1
    broken = tally.get("broken", 0)
    kept = tally.pop("kept", 0)
    rest = ", ".join(f"{number:,} {word}" for word, number in sorted(tally.items())[:MOST_STATES_NAMED])
    hanging = any(status.state in ("unconfirmed", "disputed") for status in statuses)
    mark = "cross" if broken else "open" if hanging or timeline.open() else "check"
    return Fact("Promises", f"{kept:,} kept", mark, rest)


STATE_WORDS: Final = {
    "none": "never made",
    "conditional": "not yet binding",
    "detached": "owed now",
    "satisfied": "kept",
    "expired": "lapsed",
    "violated": "broken",
    "terminated": "called off",
    "pending": "suspended",
    "unconfirmed": "reported, unconfirmed",
    "disputed": "disputed",
}
"""The states of a commitment in everyday words."""


def severities(reading: Reading) -> dict[str, int]:
    """Return the number of findings of each severity."""
    found = {severity.value: 0 for severity in SEVERITIES}
    for finding in reading.audit.findings:
        found[CODES[finding["code"]][0].value] += 1
    return found


def _bands(reading: Reading) -> Iterator[Band]:
    audit = reading.audit
    if audit.verdict == "failed":
        first = next(iter(audit.findings), None)
        held = count(audit.entries, "entry", "entries")
        text = f"This ledger does not hold: {{}}. What stands below is what its first {held} say, and no more."
        yield Band("failed", "Not verified: failed", _because(first, text))
    elif audit.verdict == "contested":
        for contest in audit.contested:
            yield Band("failed", "Not verified: contested", say("{}.", contest["text"]))
    elif audit.verdict != "verified":
        lacking = []
        if not audit.pinned:
            lacking.append("no roster says whose keys these are, so the whole of it could be made up")
        if not audit.complete:
            lacking.append("not every member is shown to have signed the end, so records may be missing")
        yield Band("open", "Not verified", say("Nothing in it contradicts, but " + "; and ".join(lacking) + "."))
    rehearsal = reading.summary.get("rehearsal")
    if rehearsal is not None:
        unit = format_duration(parse_duration(rehearsal["second"]))
        text = f"After the agreement, dated {{}}, one second of the log counts as {unit}. The dates of promises are not"
        yield Band("rehearsal", "Rehearsal", say(text + " real ones.", rehearsal["agreed_at"], at=[1]))


def _because(finding: dict[str, Any] | None, form: str) -> Sentence:
    if finding is None:
        return say(form, "no reason is recorded")
    return say(form, finding["text"])


# -- in words ---------------------------------------------------------------------------------------------------------


def standing_of(reading: Reading) -> Mapping[str, Any] | None:
    """Return the option that stands at the end, agreed or not; None if nothing was selected."""
    considered, room = reading.summary.get("considered"), reading.room
    if considered is None or room is None or room.concord is None or room.concord.selection is None:
        return None
    standing = room.concord.selection.standing
    return next((option for option in considered["options"] if option["id"] == standing), None)


def lowest_of(option: Mapping[str, Any]) -> tuple[int | None, list[str]]:
    """Return the lowest score that *option* got, and whose it is; None if somebody rejected it or nobody scored it."""
    scores: Mapping[str, int | None] = option["scores"]
    given = {member: score for member, score in scores.items() if score is not None}
    if not given or len(given) < len(scores):
        return None, sorted(member for member, score in scores.items() if score is None)
    least = min(given.values())
    return least, [member for member, score in given.items() if score == least]


REASONS: Final = {
    "no_eligible_option": "somebody objects to every option",
    "below_bar": "even of the best option the lowest score is below the bar",
    "no_options": "nobody proposed an option that counts",
    "no_quorum": "not every member's scores are there",
    "not_quoted": "who alone decides an issue did not say which values it allows",
    "divergence": "a difference of meaning stayed open, and blocks",
    "budget": "the budget is used up",
    "declined": "declined",
    "silent": "no answer came in time",
    "left": "somebody had left",
    "excused": "somebody excused itself",
}
"""The reasons for which a room ends, in words; what follows a colon is the log's own text."""


def reason_in_words(reason: str | None) -> tuple[str, list[str]]:
    """Return the form and the texts of a room's *reason* for ending."""
    if not reason:
        return "the log does not say more", []
    code, colon, rest = reason.partition(": ")
    if code not in REASONS:
        return "{}", [reason]
    return (f"{REASONS[code]} ({{}})", [rest]) if colon and rest else (REASONS[code], [])
