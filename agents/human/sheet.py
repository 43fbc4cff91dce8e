"""What a person sees in order to decide: the room as its log stands, and what one duty asks.

Everything here comes from the duty. Members' words go to the screen as data, apart from our own words.
"""

from collections.abc import Iterable, Mapping

from agents.human.forms import Screen, in_words
from protocols.duties.briefing import Briefing, OptionKnown, PromiseKnown
from protocols.duties.duties import (
    Duty,
    ImproveDuty,
    InterpretDuty,
    JoinDuty,
    OfferAsked,
    ProposeDuty,
    QuoteDuty,
    RatifyDuty,
    ReadDuty,
    ScoreDuty,
    SettleDuty,
)
from protocols.messages.accord import Bound, Interpretation
from protocols.messages.commitments import CommitmentTerms
from protocols.messages.concord import Issue, Option, Value

ASKED = {
    "join": "JOIN? Joining signs this opening, and it has you promise something.",
    "interpret": "MEANING: say what each term means, before you see what others mean",
    "read": "READING: judge the others' cases and meanings",
    "settle": "DIFFERENCES: your reading and another's differ",
    "quote": "QUOTE: which values do you allow for what is yours to decide?",
    "propose": "PROPOSE one option, and the score below which you would rather have no deal",
    "score": "SCORE or reject every option",
    "improve": "IMPROVE on the standing option, or pass",
    "ratify": "SIGN the outcome, or decline",
}


async def show(screen: Screen, duty: Duty, left_s: float | None) -> None:
    """Show everything that is needed to answer *duty*."""
    brief = duty.briefing
    await screen.say()
    await screen.say("── {} ──", "a room" if brief is None else brief.room, strong=True)
    if brief is not None:
        await _room(screen, duty, brief)
    time = "" if left_s is None else f"   ({in_words(left_s)} left)"
    await screen.say(f"{ASKED[duty.act]}{time}", strong=True)
    if duty.problem is not None:
        await screen.say("  Your answer was not taken: {}", duty.problem, strong=True)
    match duty:
        case JoinDuty() if brief is not None:
            await promises(screen, [terms for terms in brief.promises if terms.debtor == duty.member])
        case ReadDuty():
            await _own_meanings(screen, duty.own)
        case SettleDuty():
            await _own_meanings(screen, {} if brief is None else brief.own.interpretations)
        case QuoteDuty() | ProposeDuty():
            await _issues(screen, duty.issues)
            if isinstance(duty, ProposeDuty) and duty.status_quo is not None:
                await screen.say("  if nothing better is found:")
                await option(screen, duty.status_quo, "status quo")
        case ScoreDuty():
            await _score(screen, duty, brief)
        case ImproveDuty():
            await _improve(screen, duty, brief)
        case RatifyDuty():
            await _outcome(screen, duty, brief)
        case InterpretDuty() | _:
            pass
    await screen.say("  at any question: ? shows this again · later leaves it · excuse REASON leaves it for good")


async def _room(screen: Screen, duty: Duty, brief: Briefing) -> None:
    await screen.say("  question  {}", brief.intent)
    for seat in brief.members:
        you = " (you)" if seat.name == duty.member else ""
        left = ", has left" if seat.left else ""
        kind = "" if seat.agent is None else "   a {} mind"
        said = [seat.name, seat.role or "no role given", *([seat.agent] if seat.agent is not None else [])]
        await screen.say(f"  member    {{}}{you}: {{}}{kind}{left}", *said)
    if brief.terms:
        await screen.say("  terms     {}", ", ".join(brief.terms))
    if not isinstance(duty, InterpretDuty | ReadDuty | SettleDuty):
        for term, held in brief.meanings.items():
            for member, theirs in held.items():
                await screen.say(f"    {{}}, {{}} means: {meaning_form(theirs)}", term, member, *meaning(theirs))
    for difference in brief.differences:
        await screen.say(
            "  differ    {}: {} (" + difference.status + ")", difference.term, " and ".join(difference.between)
        )
    if brief.own.promises and not isinstance(duty, JoinDuty):
        await screen.say("  promises that concern you, as they stand:")
        await promises(screen, brief.own.promises)
    if brief.own.option is not None and not isinstance(duty, ScoreDuty | ImproveDuty):
        await screen.say("  your own  option {}", _title(brief, brief.own.option))
    if brief.own.reserve is not None:
        await screen.say("  your own  reserve {}", brief.own.reserve)


def _title(brief: Briefing, option_id: str) -> str:
    return next((known.option.title for known in brief.options if known.id == option_id), option_id)


def meaning_form(said: Interpretation) -> str:
    """Return the form for the parts of `meaning`."""
    return "{}" + (" · bounds {}" if said.bounds else "") + "".join(" · case “{}”: {}" for _ in said.cases)


def meaning(said: Interpretation) -> list[str]:
    """Return one meaning, in parts."""
    bounds = [", ".join(f"{name} {bound(each)}" for name, each in said.bounds.items())] if said.bounds else []
    cases = [part for case in said.cases for part in (case.text, "yes" if case.applies else "no")]
    return [said.meaning, *bounds, *cases]


def bound(each: Bound) -> str:
    """Return one bound in a short form."""
    if each.values is not None:
        return "in " + ", ".join(each.values)
    low = "" if each.min is None else f">= {each.min}"
    high = "" if each.max is None else f"<= {each.max}"
    return " and ".join(part for part in (low, high) if part) + (f" {each.unit}" if each.unit else "")


async def _own_meanings(screen: Screen, own: Mapping[str, Interpretation]) -> None:
    for term, said in own.items():
        await screen.say(f"  your own  {{}}: {meaning_form(said)}", term, *meaning(said))


async def _issues(screen: Screen, issues: Mapping[str, Issue]) -> None:
    for name, issue in issues.items():
        unit = [issue.unit] if issue.unit else []
        await screen.say(f"  issue     {{}}{' ({})' if unit else ''}: {{}}", name, *unit, values(issue.values))


def values(of: list[Value]) -> str:
    """Return the values of an issue in one line, numbered unless they are numbers themselves."""
    shown = of if len(of) <= 40 else of[:40]
    texts = [str(value) if all_numbers(of) else f"{n} {value}" for n, value in enumerate(shown, start=1)]
    return " · ".join(texts) + (f" · … ({len(of)} in all)" if len(shown) < len(of) else "")


def all_numbers(of: Iterable[Value]) -> bool:
    """Tell whether all values are numbers; numbers are entered as they are, not by their place."""
    return all(str(value).lstrip("-").replace(".", "", 1).isdigit() for value in of)


async def promises(screen: Screen, made: Iterable[CommitmentTerms | PromiseKnown]) -> None:
    """Show promises in full: their terms, and their state if it is known."""
    for terms in made:
        condition = [terms.antecedent] if terms.antecedent is not None else []
        each = [terms.each] if terms.each is not None else []
        form = (
            "       promise {}, {} to {}:"
            + (" if {}" if condition else "")
            + " then {}"
            + (" (one for each {})" if each else "")
        )
        await screen.say(form, terms.id, terms.debtor, terms.creditor, *condition, terms.consequent, *each)
        if terms.excludes:
            await screen.say("         cannot be kept together with {}", ", ".join(terms.excludes))
        if isinstance(terms, PromiseKnown):
            await _standing(screen, terms)


async def _standing(screen: Screen, known: PromiseKnown) -> None:
    if known.state != "none":
        await screen.say(f"         is {known.state}")
    if known.answerable:
        await screen.say("         answerable for it, too: {}", ", ".join(known.answerable))
    if known.each is not None:
        there = ", ".join(f"{name} {state}" for name, state in known.instances.items())
        await screen.say("         for each {} that comes; so far: {}", known.each, there or "none")


async def offer(screen: Screen, offered: OfferAsked, member: str) -> None:
    """Show a delegation to *member* in full: the promise as it stands, who offers it, and why."""
    await screen.say(
        "  {} offers you to owe {} in its place, to {}:", offered.debtor, offered.commitment, offered.creditor
    )
    if offered.because:
        await screen.say("       because {}", offered.because)
    await promises(screen, [offered.promise])


async def option(screen: Screen, said: Option, number: str, proposers: Iterable[str] = ()) -> None:
    """Show one option: title, who proposed it, offer, rationale, promises."""
    by = ", ".join(proposers)
    await screen.say(f"  {number:>3s}  {{}}{'   by {}' if by else ''}", said.title, *([by] if by else []), strong=True)
    if said.offer:
        await screen.say("       {}", ", ".join(f"{name} {value}" for name, value in said.offer.items()))
    if said.rationale:
        await screen.say("       because {}", said.rationale)
    await promises(screen, said.commitments)


async def revealed(screen: Screen, known: OptionKnown) -> None:
    """Show the revealed scores of one option, with reasons."""
    for member, score in known.scores.items():
        because = [known.reasons[member]] if member in known.reasons else []
        shown = "rejects it" if score is None else str(score)
        await screen.say(f"       {{}}: {shown}{' ({})' if because else ''}", member, *because)


def _known(brief: Briefing | None) -> dict[str, OptionKnown]:
    return {} if brief is None else {known.id: known for known in brief.options}


async def _score(screen: Screen, duty: ScoreDuty, brief: Briefing | None) -> None:
    await screen.say(
        f"  An option needs at least {duty.bar} from everybody. Rejections left to you: {duty.rejects_left}."
    )
    asked = {each.id for each in duty.options}
    for known in _known(brief).values():
        if known.id not in asked and known.scores:
            mark = "standing" if brief is not None and known.id == brief.standing else "scored"
            await option(screen, known.option, mark, known.proposers)
            await revealed(screen, known)
    for number, each in enumerate(duty.options, start=1):
        await option(screen, each.option, str(number), each.proposers)


async def _improve(screen: Screen, duty: ImproveDuty, brief: Briefing | None) -> None:
    known = _known(brief)
    for number, each in enumerate(duty.options, start=1):
        await option(screen, each.option, str(number), each.proposers)
        if each.id == duty.standing:
            objections = ", ".join(duty.objections)
            await screen.say(
                f"       STANDS NOW{', objections: {}' if objections else ''}", *filter(None, [objections])
            )
        if each.id in known:
            await revealed(screen, known[each.id])
    for member, reserve in duty.reserves.items():
        await screen.say("  reserve   {}: {}", member, "none" if reserve is None else reserve)
    bar = "" if brief is None else f"The bar is {brief.rules.bar}. "
    await screen.say(f"  {bar}A new option is scored by everybody; tries left: {duty.tries_left}.")
    await _issues(screen, duty.issues)


async def _outcome(screen: Screen, duty: RatifyDuty, brief: Briefing | None) -> None:
    outcome = duty.outcome
    known = _known(brief).get(outcome.option)
    chosen = known.option if known is not None else Option(title=outcome.title, offer=outcome.offer)
    await option(screen, chosen, "→", [] if known is None else known.proposers)
    if known is not None:
        await revealed(screen, known)
    bar = "" if brief is None else f", the bar {brief.rules.bar}"
    await screen.say(f"  scores {', '.join(map(str, outcome.vector))}{bar}; decided by {{}}", outcome.rule)
    for still_open in outcome.open:
        who = still_open.get("between", [])
        between = " and ".join(map(str, who)) if isinstance(who, list) else str(who)
        await screen.say("  still open: {} mean different things by {}", between, still_open.get("term", ""))
