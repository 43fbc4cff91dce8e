"""What an agent file cannot be tried on in a room, because scripts and points name issues, titles and events."""

from collections.abc import Iterable
from typing import Any

from agents.scripted import OTHERWISE
from protocols.messages.concord import Option
from protocols.messages.room import TASK
from swarm.scenario.members import ScriptedMember, UtilityMember
from swarm.trial.setting import Setting, Unsuitable


def unfit(member: Any, trial: str, act: str, setting: Setting) -> str | None:
    """Return why *trial* says nothing about the file of *member* in the room of *setting*; None if it does."""
    reads = getattr(member, "reads", {})
    if act == "interpret" and reads and not set(reads) & {TASK, *setting.scenario.terms}:
        return f"it has meanings for {_some(reads)}; the terms are {_some([TASK, *setting.scenario.terms])}"
    performs = getattr(member, "performs", [])
    if act == "perform" and performs:
        events = set(setting.opening.get("events", setting.scenario.events))
        strange = [each.event for each in performs if each.event is not None and each.event not in events]
        if strange:
            return f"it reports {_some(strange)}; the events are {_some(events)}"
    if isinstance(member, UtilityMember) and act in ("propose", "score", "improve"):
        return _pointless(member, setting)
    if isinstance(member, ScriptedMember):
        return _unscripted(member, trial, act, setting)
    return None


def _pointless(member: UtilityMember, setting: Setting) -> str | None:
    issues = setting.scenario.issues
    for name, points in member.values.items():
        if name in issues and points.keys() & {str(value) for value in issues[name].values}:
            return None
    return f"it has points for {_some(member.values)}; the issues are {_some(issues)}"


def _unscripted(member: ScriptedMember, trial: str, act: str, setting: Setting) -> str | None:
    issues = setting.scenario.issues
    if trial == "number":
        return "a script scores by title, whatever the numbers"
    if act == "quote" and member.quotes and not member.quotes.keys() & issues.keys():
        return f"it quotes {_some(member.quotes)}; the issues are {_some(issues)}"
    if act == "score" and OTHERWISE not in member.scores:
        titles = [setting.option(name).title for name in setting.scenario.names]
        if setting.scenario.status_quo is not None:
            titles.append(setting.scenario.status_quo.title)
        unknown = [title for title in titles if title not in member.scores and title not in member.rejects]
        if unknown:
            return f"it has no score for {unknown[0]!r}, and no {OTHERWISE!r}"
    options: list[Option] = list(member.improves) if act == "improve" else []
    if act == "propose" and member.proposes is not None:
        options.append(member.proposes)
    return next((why for option in options if (why := _strange(option, setting)) is not None), None)


def _strange(option: Option, setting: Setting) -> str | None:
    for name, issue in setting.scenario.issues.items():
        if name not in option.offer and name not in setting.scenario.authority.issues:
            return f"its option {option.title!r} has no value for {name}"
        if name in option.offer and str(option.offer[name]) not in {str(value) for value in issue.values}:
            return f"its option {option.title!r} offers {name} {option.offer[name]}, which is not listed"
    return None


def mandate_notes(member: Any, setting: Setting) -> list[str]:
    """Return the parts of the mandate of *member* that can have no effect in the room of *setting*."""
    if member.mandate is None:
        return []
    notes = []
    strange = [name for name in member.mandate.offers if name not in setting.scenario.issues]
    if strange:
        notes.append(f"mandate.offers bounds {_some(strange)}, which is no issue of this room: not tried")
    if member.mandate.approve:
        notes.append("mandate.approve is left out: nobody is asked to approve what only a trial would sign")
    return notes


def _some(names: Iterable[str]) -> str:
    shown = sorted(names)
    return ", ".join(shown[:5]) + (" …" if len(shown) > 5 else "") if shown else "none"


__all__ = ["Unsuitable", "mandate_notes", "unfit"]
