"""A person acting on promises: reports are shown to the person; other acts are listed once and done on request.

The peer comes with the standing duty and takes away what was decided. It never waits for the person.
"""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from pydantic import ValidationError

from agents.human import sheet
from agents.human.forms import LATER, NO, YES, Screen, Terminal, Wrong
from protocols.core.message import Message
from protocols.duties.duties import OfferAsked, PerformDuty, ReportAsked
from protocols.messages.commitments import (
    ON_COMMITMENT,
    AcceptCommitment,
    ConfirmReport,
    DisputeReport,
    ReportEvent,
)

LISTEN_S = 0.25
"""How long the desk listens for input before it checks its duty again."""
OFFERED = ("cancel", "release", "waive", "accept")
"""The acts on a commitment that a person can type: those that need only a reason."""
OVER = ("satisfied", "expired", "violated", "terminated", "none")


class _Gone(Exception):
    """The report no longer awaits an answer."""


class Desk:
    """What one person does about the promises of one room, apart from the questions of its steps."""

    def __init__(self, terminal: Terminal) -> None:
        self._terminal = terminal
        self._duty: PerformDuty | None = None
        self._ready: list[Message] = []
        self._answered: set[str] = set()
        self._put_off: set[str] = set()
        self._listed = False
        self._offers: set[tuple[str, str]] = set()
        self._closed = 0
        self._task: asyncio.Task[None] | None = None

    @contextmanager
    def closed(self) -> Iterator[None]:
        """Stop the desk from listening while a step's question takes the input."""
        self._closed += 1
        try:
            yield
        finally:
            self._closed -= 1

    def turn_to(self, duty: PerformDuty) -> list[Message]:
        """Use *duty* from this point on, and return what was decided since the last call."""
        self._duty = duty
        if self._task is None or self._task.done() or self._task.get_loop() is not asyncio.get_running_loop():
            self._task = asyncio.create_task(self._sit())
        ready, self._ready = self._ready, []
        return ready

    async def _sit(self) -> None:
        while True:
            duty = None if self._closed else self._duty
            new = [] if duty is None else [r for r in self._left(duty) if r.id not in self._put_off]
            if new:
                async with self._terminal.turn() as screen:
                    try:
                        await self._ask(screen, new[0])
                    except _Gone:
                        await screen.say()
                        await screen.say("too late: this report does not await your answer any more")
            elif duty is not None and (duty.reportable or duty.offers or self._left(duty) or self._mine(duty)):
                await self._listen(duty)
            else:
                await asyncio.sleep(LISTEN_S)

    async def _listen(self, duty: PerformDuty) -> None:
        if not self._listed:
            self._listed = True
            async with self._terminal.turn() as screen:
                await self._list(screen, duty)
        new = [offer for offer in duty.offers if (offer.id, offer.commitment) not in self._offers]
        if new:
            async with self._terminal.turn() as screen:
                await self._show_offers(screen, duty, new)
        try:
            text = await self._terminal.heard(LISTEN_S)
        except TimeoutError:
            return
        self._put_off.clear()
        if text:
            async with self._terminal.turn() as screen:
                if text.strip() == "?":
                    await self._list(screen, duty)
                else:
                    await self._command(screen, text, duty)

    async def _list(self, screen: Screen, duty: PerformDuty) -> None:
        await screen.say()
        await screen.say("Promises in {}: what you can do, whenever you like", _room(duty), strong=True)
        if duty.reportable:
            await screen.say("  report EVENT [NAME=VALUE …]   {}", ", ".join(duty.reportable))
        if self._left(duty):
            await screen.say("  Enter                         shows again the reports that await your answer")
        for commitment in self._mine(duty):
            await screen.say("  {} is {}", commitment, duty.promises[commitment])
        await self._show_offers(screen, duty, duty.offers)
        if self._mine(duty):
            await screen.say("  cancel · release · waive · accept PROMISE [REASON]")
        await screen.say("  ?                             shows this again")

    async def _show_offers(self, screen: Screen, duty: PerformDuty, offers: list[OfferAsked]) -> None:
        for offer in offers:
            self._offers.add((offer.id, offer.commitment))
            await sheet.offer(screen, offer, duty.member)
            await screen.say("       accept {} takes it over", offer.commitment)

    def _left(self, duty: PerformDuty) -> list[ReportAsked]:
        """Return the reports that still await an answer."""
        return [report for report in duty.awaiting if report.id not in self._answered]

    def _mine(self, duty: PerformDuty) -> list[str]:
        """Return the open promises that concern this member, as far as the member knows their terms."""
        brief = duty.briefing
        if brief is None:
            return []
        concern = {each.id for each in brief.own.promises if duty.member in (each.debtor, each.creditor)}
        return [
            name
            for name, state in duty.promises.items()
            if not concern.isdisjoint((name, name.partition("[")[0])) and state not in OVER
        ]

    async def _ask(self, screen: Screen, report: ReportAsked) -> None:
        """Show *report* to the person; a confirmed decision goes to `_ready`."""
        assert self._duty is not None
        await screen.say()
        await screen.say("A report in {} awaits your answer", _room(self._duty), strong=True)
        attributes = ", ".join(f"{name} {value}" for name, value in report.attributes.items())
        await screen.say(
            f"  {{}} reports: {{}}{' ({})' if attributes else ''}", report.by, report.event, *filter(None, [attributes])
        )
        while True:
            text = await self._line(screen, report, f"Did it happen? [yes · no REASON · {LATER}]: ")
            word, _, because = (text or "").strip().partition(" ")
            if text is None or (word.lower() == LATER and not because):
                self._put_off.add(report.id)
                await screen.say("Left: press Enter to come back to it.")
                return
            act: Message
            if word.lower() in YES and not because:
                act = ConfirmReport(report=report.id)
            elif word.lower() in NO and because.strip():
                act = DisputeReport(report=report.id, because=because.strip())
            else:
                await screen.say(f"  not taken: yes confirms it, no REASON disputes it, {LATER} leaves it")
                continue
            verb = "confirm" if isinstance(act, ConfirmReport) else "dispute"
            reason = because.strip()
            said = f"{verb} that {{}} happened{', because “{}”' if reason else ''}"
            if await self._confirmed(screen, said, report.event, *filter(None, [reason])):
                self._answered.add(report.id)
                self._ready.append(act)
                return

    async def _line(self, screen: Screen, report: ReportAsked, prompt: str) -> str | None:
        """Return the person's answer, or raise `_Gone`: others may have settled the report in the meantime."""
        while True:
            try:
                return await screen.line(prompt, wait_s=LISTEN_S)
            except TimeoutError:
                prompt = ""
            if self._duty is None or all(report.id != r.id for r in self._duty.awaiting):
                raise _Gone

    async def _confirmed(self, screen: Screen, said: str, *theirs: object) -> bool:
        answer = await screen.line(f"This will be signed: {said}. Send it? [yes · no]: ", *theirs)
        return answer is not None and answer.strip().lower() in YES

    async def _command(self, screen: Screen, text: str, duty: PerformDuty) -> None:
        try:
            act, said, theirs = _act(text, duty)
        except Wrong as wrong:
            await screen.say("  not taken: {}", wrong)
            return
        shown = _offered(act, duty)
        if shown is not None:
            await sheet.offer(screen, shown, duty.member)
        if not await self._confirmed(screen, said, *theirs):
            await screen.say("  nothing was sent")
        elif self._duty is None or _offered(act, self._duty) != shown:
            await screen.say("  too late: what you were shown has changed, and nothing was sent; ? shows it again")
        else:
            self._ready.append(act)


def _offered(act: Message, duty: PerformDuty) -> OfferAsked | None:
    """Return the delegation that *act* accepts, as it stands; None if there is no such delegation."""
    if not isinstance(act, AcceptCommitment):
        return None
    return next((o for o in duty.offers if (o.id, o.commitment) == (act.offer, act.commitment)), None)


def _act(text: str, duty: PerformDuty) -> tuple[Message, str, list[object]]:
    """Return the act that *text* asks for, and how to describe it to the person."""
    verb, _, rest = text.strip().partition(" ")
    rest = rest.strip()
    reader: dict[str, Callable[[str, str, PerformDuty], tuple[Message, str, list[object]]]] = {
        "report": _report,
        **dict.fromkeys(OFFERED, _operation),
    }
    if verb.lower() not in reader:
        raise Wrong("report EVENT, or cancel, release, waive or accept PROMISE; ? lists what there is")
    try:
        return reader[verb.lower()](verb.lower(), rest, duty)
    except ValidationError as error:
        raise Wrong(str(error.errors()[0]["msg"])) from None


def _report(verb: str, rest: str, duty: PerformDuty) -> tuple[Message, str, list[object]]:
    # The longest event first: one event's name may be the beginning of another's.
    for event in sorted(duty.reportable, key=len, reverse=True):
        if rest == event or rest.startswith(event + " "):
            attributes: dict[str, str] = {}
            for part in rest[len(event) :].split():
                name, equals, value = part.partition("=")
                if not equals or not name or not value:
                    raise Wrong("attributes follow the event as NAME=VALUE")
                attributes[name] = value
            shown = ", ".join(f"{name} {value}" for name, value in attributes.items())
            said = f"report that {{}} happened{' ({})' if shown else ''}"
            return ReportEvent(event=event, attributes=attributes), said, [event, *filter(None, [shown])]
    raise Wrong(f"you may report: {', '.join(duty.reportable) or 'nothing now'}")


def _operation(verb: str, rest: str, duty: PerformDuty) -> tuple[Message, str, list[object]]:
    for commitment in sorted(duty.promises, key=len, reverse=True):
        if rest == commitment or rest.startswith(commitment + " "):
            because = rest[len(commitment) :].strip()
            said: dict[str, str] = {"commitment": commitment}
            offered: dict[str, str] = {}
            if verb == "accept":
                offer = duty.offer_of(commitment)
                if offer is None:
                    raise Wrong(f"nobody offers you {commitment}")
                offered["offer"] = offer
            if because and "because" in ON_COMMITMENT[verb].model_fields:
                said["because"] = because
            shown = f"{verb} {{}}{', because “{}”' if 'because' in said else ''}"
            return ON_COMMITMENT[verb](**said, **offered), shown, list(said.values())
    raise Wrong(f"{verb} one of: {', '.join(duty.promises) or 'none now'}")


def _room(duty: PerformDuty) -> str:
    return "this room" if duty.briefing is None else duty.briefing.room
