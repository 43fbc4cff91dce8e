"""A member whose mind is a person, asked at a terminal with everything needed to decide.

Nothing is sent that the person has not seen as a whole and confirmed. A question can be put aside; it is asked again
when the person returns while its step is open, and the input is kept until then. `agents.human.sheet` shows what is to
be judged, `agents.human.forms` reads input, and `agents.human.desk` acts on promises.
"""

import asyncio
import re
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from pydantic import ValidationError

from agents.agent import (
    Agent,
    NoAnswer,
    Performed,
    Proposed,
    Ratified,
    Scored,
    Watch,
    judgement_by_bounds,
    verdict_by_bounds,
)
from agents.human import sheet
from agents.human.desk import Desk
from agents.human.forms import (
    NO,
    YES,
    Draft,
    Form,
    Left,
    Screen,
    Terminal,
    Wrong,
    anything,
    come_back,
    number,
    one_of,
    words,
)
from protocols.core.instants import SECOND, Duration
from protocols.core.message import DECIMAL_PATTERN
from protocols.duties.duties import (
    Duty,
    ImproveDuty,
    InterpretDuty,
    JoinDuty,
    MeaningAsked,
    PerformDuty,
    ProposeDuty,
    QuoteDuty,
    RatifyDuty,
    ReadDuty,
    ScoreDuty,
    SettleDuty,
)
from protocols.messages.accord import MOST_CASES, Bound, Case, Interpretation, Readings, Settlement
from protocols.messages.commitments import CommitmentTerms
from protocols.messages.concord import Issue, Option, Value

Answer = TypeVar("Answer")

LOOK_AGAIN = Duration(SECOND // 2)
"""How soon to look again for what the person wants to do about promises."""
LONGEST_TITLE = 200

_NUMBER = DECIMAL_PATTERN.strip("^$")
_RANGE = re.compile(rf"(?P<name>.+?)\s+(?P<min>{_NUMBER})?\s*\.\.\s*(?P<max>{_NUMBER})?(?:\s+(?P<unit>\S.*))?")
_LIMIT = re.compile(rf"(?P<name>.+?)\s*(?P<op><=|>=)\s*(?P<limit>{_NUMBER})(?:\s+(?P<unit>\S.*))?")
_LIST = re.compile(r"(?P<name>.+?)\s+in\s+(?P<values>\S.*)")


class Human(Agent):
    """A person at *terminal*; with None, only for checking a file, it answers nothing."""

    kind = "human"
    free = True

    def __init__(self, terminal: Terminal | None) -> None:
        self._terminal = terminal
        self._drafts: dict[str, Draft] = {}
        self._desk = None if terminal is None else Desk(terminal)

    async def join(self, duty: JoinDuty) -> None:  # type: ignore[override]
        """Ask the person if the opening makes this member promise something; join any other room without asking."""
        brief = duty.briefing
        if brief is not None and any(terms.debtor == duty.member for terms in brief.promises):
            because = await self._answered(duty, _no_with_reason("Do you join, and promise this?"))
            if because is not None:
                raise NoAnswer(because)

    async def interpret(self, duty: InterpretDuty) -> dict[str, Interpretation]:
        """Ask what each term means; a term left empty gets no interpretation."""

        async def fill(form: Form) -> dict[str, Interpretation]:
            said = {term: await _interpretation(form, place, term) for place, term in enumerate(duty.terms)}
            return {term: meaning for term, meaning in said.items() if meaning is not None}

        return await self._answered(duty, fill)

    async def read(self, duty: ReadDuty) -> Readings:
        """Ask for a verdict on each case and a judgement of each meaning.

        Enter takes what the member's own bounds say.
        """

        async def fill(form: Form) -> Readings:
            verdicts: list[Any] = []
            for place, case in enumerate(duty.cases):
                if case.verdict is not None:
                    verdicts.append(case.verdict)
                    continue
                default = verdict_by_bounds(duty, case)
                hint = f"yes · no · unsure; Enter: {default}"
                parse = one_of("yes", "no", "unsure", default=default)
                label = "does “{}” apply to “{}”?"
                verdicts.append(await form.ask(f"case {place}", parse, hint, label, case.term, case.text))
            judgements: list[Any] = []
            for place, meaning in enumerate(duty.meanings):
                judged = judgement_by_bounds(duty, meaning)
                hint = f"same · different · unsure; Enter: {judged}"
                parse = one_of("same", "different", "unsure", default=judged)
                label, theirs = _meaning(meaning)
                judgements.append(await form.ask(f"meaning {place}", parse, hint, label, *theirs))
            return Readings(verdicts=verdicts, judgements=judgements)

        if not duty.meanings and all(case.verdict is not None for case in duty.cases):
            return Readings(verdicts=[case.verdict or "unsure" for case in duty.cases], judgements=[])
        return await self._answered(duty, fill)

    async def settle(self, duty: SettleDuty) -> dict[str, Settlement]:
        """Ask for each term whether to keep one's own meaning, adopt another, or rule with authority."""

        async def fill(form: Form) -> dict[str, Settlement]:
            return {term: await _settlement(form, duty, place, term) for place, term in enumerate(duty.terms)}

        return await self._answered(duty, fill)

    async def quote(self, duty: QuoteDuty) -> dict[str, list[Value]]:
        """Ask which values to allow, the standard first; Enter allows all of them."""

        async def fill(form: Form) -> dict[str, list[Value]]:
            return {
                name: await form.ask(
                    f"quote {name}", _values(issue), "values with commas, your standard first; Enter: all", "{}", name
                )
                for name, issue in duty.issues.items()
            }

        return await self._answered(duty, fill)

    async def propose(self, duty: ProposeDuty) -> Proposed:
        """Ask for an option and a reserve."""

        async def fill(form: Form) -> Proposed:
            option = await _option(form, duty.issues, duty.optional, {})
            reserve = await form.ask("reserve", _reserve, "0–100; Enter: none", "your reserve, below it rather no deal")
            return Proposed(option, reserve)

        return await self._answered(duty, fill)

    async def score(self, duty: ScoreDuty) -> Scored:
        """Ask for a score or a rejection of each option."""

        async def fill(form: Form) -> Scored:
            scored = Scored({})
            for place, asked in enumerate(duty.options, start=1):
                hint = "0–100, a reason behind it if you like" + (" · reject REASON" if duty.rejects_left else "")
                score, because = await form.ask(
                    f"score {asked.id}", _score, hint, f"option {place}, {{}}", asked.option.title
                )
                if score is None:
                    scored.rejects[asked.id] = because
                else:
                    scored.scores[asked.id] = score
                    if because:
                        scored.reasons[asked.id] = because
            if len(scored.rejects) > duty.rejects_left:
                raise Wrong(f"{len(scored.rejects)} rejections, and you have {duty.rejects_left} left: change one")
            return scored

        return await self._answered(duty, fill)

    async def improve(self, duty: ImproveDuty) -> Option | None:
        """Ask for a better option, or a pass."""

        async def fill(form: Form) -> Option | None:
            improves = await form.ask("improve", one_of("pass", "improve"), "pass · improve", "pass, or improve")
            if improves == "pass":
                return None
            with_promises = {
                place: asked.option.commitments
                for place, asked in enumerate(duty.options, start=1)
                if asked.option.commitments
            }
            return await _option(form, duty.issues, duty.optional, with_promises)

        return await self._answered(duty, fill)

    async def ratify(self, duty: RatifyDuty) -> Ratified:
        """Ask for the signature under the outcome."""
        because = await self._answered(duty, _no_with_reason("Do you sign this outcome?"))
        return Ratified(because is None, because)

    async def perform(self, duty: PerformDuty, watch: Watch) -> Performed:
        """Return what the person has decided about promises since the last call, without waiting."""
        if self._desk is None:
            return Performed()
        return Performed(self._desk.turn_to(duty), LOOK_AGAIN)

    # -- asking ---------------------------------------------------------------------------------------------------

    async def _answered(self, duty: Duty, fill: Callable[[Form], Awaitable[Answer]]) -> Answer:
        """Return the person's confirmed answer to *duty*, however often the question is put aside."""
        terminal, desk = self._terminal, self._desk
        if terminal is None or desk is None:
            raise NoAnswer("there is no terminal to ask at")
        loop = asyncio.get_running_loop()
        seconds = None if duty.left is None or duty.left.seconds is None else float(duty.left.seconds)
        until = None if seconds is None else loop.time() + seconds

        def left_s() -> float | None:
            return None if until is None else until - loop.time()

        async def show(screen: Screen) -> None:
            await sheet.show(screen, duty, left_s())

        room = "this room" if duty.briefing is None else duty.briefing.room
        draft = self._draft(duty)
        shown = False
        try:
            with desk.closed():
                while True:
                    try:
                        async with terminal.turn() as screen:
                            shown = True
                            return await Form(screen, draft, left_s).complete(show, fill)
                    except Left:
                        text = f"Left: {duty.act} in {{}}. Press Enter to come back to it, while its step is open."
                        await come_back(terminal, text, room)
        except asyncio.CancelledError:
            if shown:
                terminal.too_late(f"too late: the step has closed ({duty.act} in {{}}); nothing of it was sent", room)
            raise

    def _draft(self, duty: Duty) -> Draft:
        """Return the kept input for *duty*; input for other steps is dropped, because it would be late."""
        key = duty.step or duty.act
        self._drafts = {key: self._drafts.get(key, Draft())}
        return self._drafts[key]


def _no_with_reason(label: str) -> Callable[[Form], Awaitable[str | None]]:
    """Return a form that gives None for a yes, and the reason for a no."""

    def parse(text: str) -> str | None:
        word, _, because = text.partition(" ")
        if word.lower() in YES and not because:
            return None
        if word.lower() not in NO or not because.strip():
            raise Wrong("yes, or no with its reason: no REASON")
        return because.strip()

    async def fill(form: Form) -> str | None:
        return await form.ask("yes or no", parse, "yes · no REASON", label)

    return fill


async def _interpretation(form: Form, place: int, term: str) -> Interpretation | None:
    meaning = await form.ask(f"meaning {place}", anything, "in words; Enter: nothing", "“{}” means", term)
    if not meaning:
        return None
    hint = "such as: discount 10..15 % · walk <= 10 min · day in mon, tue; with semicolons; Enter: none"
    bounds = await form.ask(f"bounds {place}", _bounds, hint, "bounds of “{}”", term)
    cases: dict[str, Case] = {}
    for count in range(MOST_CASES):
        hint = "yes: TEXT or no: TEXT; Enter: no more"
        case = await form.ask(f"case {place} {count}", _case, hint, f"case {count + 1} of “{{}}”", term)
        if case is None:
            break
        cases[case.text] = case
    return Interpretation(meaning=meaning, bounds=bounds, cases=list(cases.values()))


def _bounds(text: str) -> dict[str, Bound]:
    found: dict[str, Bound] = {}
    for part in filter(None, (part.strip() for part in text.split(";"))):
        name, bound = _bound(part)
        found[name] = bound
    return found


def _bound(part: str) -> tuple[str, Bound]:
    said: dict[str, Any] = {}
    if (m := _RANGE.fullmatch(part)) is not None:
        said = {"min": m["min"], "max": m["max"], "unit": m["unit"]}
    elif (m := _LIMIT.fullmatch(part)) is not None:
        said = {"max" if m["op"] == "<=" else "min": m["limit"], "unit": m["unit"]}
    elif (m := _LIST.fullmatch(part)) is not None:
        said = {"values": [value.strip() for value in m["values"].split(",")]}
    try:
        if m is not None:
            return m["name"].strip(), Bound(**{key: value for key, value in said.items() if value is not None})
    except ValidationError:
        pass
    raise Wrong(f"“{part}” is no bound; NAME LOW..HIGH UNIT, NAME <= HIGH UNIT, or NAME in A, B")


def _case(text: str) -> Case | None:
    if not text:
        return None
    word, colon, case = text.partition(":")
    if not colon or word.strip().lower() not in (*YES, *NO) or not case.strip():
        raise Wrong("yes: and a case where the term applies, or no: and one where it does not")
    return Case(text=case.strip(), applies=word.strip().lower() in YES)


def _meaning(asked: MeaningAsked) -> tuple[str, list[str]]:
    said = asked.interpretation
    label = f"“{{}}”, as {{}} reads it: {sheet.meaning_form(said)} – the same as yours?"
    return label, [asked.term, ", ".join(asked.held_by), *sheet.meaning(said)]


async def _settlement(form: Form, duty: SettleDuty, place: int, term: str) -> Settlement:
    others = [meaning for meaning in duty.meanings if meaning.term == term]
    verbs = ["adopt", *(["rule"] if term in duty.authority else [])]
    label, theirs = "“{}”", [term]
    for count, meaning in enumerate(others, start=1):
        label += f"; {count}: {{}} reads it as {sheet.meaning_form(meaning.interpretation)}"
        theirs += [", ".join(meaning.held_by), *sheet.meaning(meaning.interpretation)]
    own = duty.own.get(term)
    if "rule" in verbs and own is not None:
        label += "; 0: your own"
    valid = " · ".join(["keep", *(f"{verb} NUMBER" for verb in verbs if others or verb == "rule")])

    def parse(text: str) -> tuple[str, str]:
        verb, _, chosen = text.lower().partition(" ")
        if verb == "keep" and not chosen:
            return "keep", ""
        if verb in verbs and chosen.strip().isdigit():
            if chosen.strip() == "0" and verb == "rule" and own is not None:
                return verb, own
            if 1 <= int(chosen) <= len(others):
                return verb, others[int(chosen) - 1].id
        raise Wrong(valid)

    verb, chosen = await form.ask(f"settle {place}", parse, valid, label, *theirs)
    needed, hint = (words, "needed") if verb == "adopt" else (anything, "Enter: none")
    because = await form.ask(f"because {place} {verb}", needed, hint, "your reason for “{}”", term)
    said: dict[str, Any] = {verb: True if verb == "keep" else chosen, **({"because": because} if because else {})}
    return Settlement(**said)


def _value(text: str, issue: Issue) -> Value:
    """Read one value: by its text, or by its place if the entry cannot be meant as a value."""
    for value in issue.values:
        if str(value).casefold() == text.casefold():
            return value
    if (
        not sheet.all_numbers(issue.values)
        and text.isascii()
        and text.isdigit()
        and 1 <= int(text[:9]) <= len(issue.values)
    ):
        return issue.values[int(text) - 1]
    raise Wrong(f"one of: {sheet.values(issue.values)}")


def _values(issue: Issue) -> Callable[[str], list[Value]]:
    def parse(text: str) -> list[Value]:
        if not text:
            return list(issue.values)
        return list(dict.fromkeys(_value(part.strip(), issue) for part in text.split(",")))

    return parse


async def _option(
    form: Form, issues: dict[str, Issue], optional: list[str], with_promises: dict[int, list[CommitmentTerms]]
) -> Option:
    title = await form.ask("title", _title, "in words", "title of your option")
    offer: dict[str, Value] = {}
    for name, issue in issues.items():
        may_miss = name in optional

        def parse(text: str, issue: Issue = issue, may_miss: bool = may_miss) -> Value | None:
            return None if not text and may_miss else _value(text, issue)

        hint = "a value" if sheet.all_numbers(issue.values) else "a value or its number"
        value = await form.ask(f"issue {name}", parse, hint + ("; Enter: as quoted" if may_miss else ""), "{}", name)
        if value is not None:
            offer[name] = value
    rationale = await form.ask("rationale", anything, "Enter: none", "why")
    promises: list[CommitmentTerms] = []
    if with_promises:
        valid = " · ".join(map(str, with_promises))

        def of(text: str) -> list[CommitmentTerms]:
            if not text:
                return []
            if not text.isascii() or not text.isdigit() or int(text[:9]) not in with_promises:
                raise Wrong(f"{valid}, or Enter for none")
            return with_promises[int(text[:9])]

        promises = await form.ask("promises", of, f"{valid}; Enter: none", "take over the promises of option")
    return Option(title=title, offer=offer, rationale=rationale or None, commitments=promises)


def _title(text: str) -> str:
    if not 1 <= len(text) <= LONGEST_TITLE:
        raise Wrong(f"a title has 1 to {LONGEST_TITLE} characters")
    return text


def _reserve(text: str) -> int | None:
    return None if not text or text.lower() == "none" else number(0, 100)(text)


def _score(text: str) -> tuple[int | None, str]:
    """Read a score and its reason, or a rejection (None) and its reason."""
    word, _, because = text.partition(" ")
    because = because.strip()
    if word.lower().rstrip(":") == "reject":
        if not because:
            raise Wrong("a rejection has a reason: reject REASON")
        return None, because
    try:
        return number(0, 100)(word.rstrip(",:;")), because
    except Wrong:
        raise Wrong("a whole number from 0 to 100, a reason behind it if you like; or reject REASON") from None
