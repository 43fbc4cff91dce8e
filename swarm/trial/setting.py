"""The room of a trial before it is opened: the scenario that it comes from, and everybody's script in it.

Each trial gets a `Setting` of its own and changes in it whatever the trial is about. By default, everybody means the
same by every term; each proposes an option of its own (the one in a scenario's script, otherwise values spread over the
issues), whose rationale repeats the typed offer; all agree to what is selected; and nobody acts on promises.
"""

import copy
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from agents.script import Script
from protocols.core.message import Name
from protocols.messages.commitments import CommitmentTerms, EventRule
from protocols.messages.concord import Option, Value
from protocols.messages.room import TASK, RoomOpen
from swarm.errors import BadInput
from swarm.scenario.members import ScriptedMember
from swarm.scenario.scenario import Scenario
from swarm.signed.identity import Identity
from swarm.trial.stage import Stage

NONCE = "7" * 64
"""The same for every room, so that the same duty can be asked twice."""
WATCH_S = 24 * 3600
AMOUNT = "100"
"""What the other member promises to pay when promises are tried."""


class Unsuitable(Exception):
    """The scenario's room cannot hold this trial; the text says why."""


@dataclass(slots=True)
class Setting:
    """What a trial may change: the opening's fields, and the scripts by member."""

    me: str
    rival: str
    scenario: Scenario
    opening: dict[str, Any]
    scripts: dict[str, dict[str, Any]]

    @classmethod
    def of(cls, scenario: Scenario, me: str, seconds: int) -> "Setting":
        """Return the setting of *scenario* with *me* on trial and steps of *seconds*."""
        others = [name for name in scenario.names if name != me]
        rules = {"step_seconds": seconds, "watch_seconds": WATCH_S, "on_divergence": "carry"}
        opening = {"rules": scenario.rules.model_copy(update=rules), "rehearsal": None}
        self = cls(me, others[0], scenario, opening, {})
        options = _options(scenario, [*others, me])
        terms = [TASK, *scenario.terms]
        # The rival's option wins alone: nonces would break a tie, and then no later duty could be asked twice in the
        # same form.
        best = options[self.rival].title
        for name in scenario.names:
            likes = scenario.rules.bar if name == me else min(95, scenario.rules.bar + 25)
            self.scripts[name] = {
                "reads": {term: {"meaning": f"What the opening says of “{term}”."} for term in terms},
                "judges": {term: dict.fromkeys(scenario.names, "same") for term in terms},
                "proposes": options[name],
                "scores": {"otherwise": likes, best: min(100, likes + 5)},
                "confirms": False,
            }
        return self

    def stage(self, identities: Mapping[str, Identity]) -> Stage:
        """Return the room, ready to be opened."""
        scenario = self.scenario.model_copy(update=self.opening)
        opening = scenario.opening({name: identities[name].public for name in scenario.names}, NONCE)
        scripts = {name: Script.model_validate(script) for name, script in self.scripts.items()}
        return Stage(RoomOpen.model_validate(opening), identities, scripts, self.me)

    def needs(self, part: str) -> None:
        """Raise `Unsuitable` unless *part* is on the room's agenda."""
        if part not in self.scenario.agenda:
            raise Unsuitable(f"this room's agenda has no {part}")

    def rules(self, **changed: Any) -> None:
        """Change the numbers of the room."""
        self.opening["rules"] = self.opening["rules"].model_copy(update=changed)

    # -- what others say ------------------------------------------------------------------------------------------

    def means(self, name: str, term: str, meaning: str, *cases: tuple[str, bool]) -> None:
        """Let *name* mean *meaning* by *term*, with cases and its verdict on each."""
        said = [{"text": text, "applies": applies} for text, applies in cases]
        self.scripts[name]["reads"][term] = {"meaning": meaning, "cases": said}

    def judges(self, name: str, term: str, judgement: str) -> None:
        """Let *name* judge everybody else's meaning of *term*."""
        self.scripts[name]["judges"][term] = dict.fromkeys(self.scenario.names, judgement)

    def option(self, name: str) -> Option:
        """Return what *name* proposes."""
        option: Option = self.scripts[name]["proposes"]
        return option

    def proposes(self, name: str, **changed: Any) -> None:
        """Change what *name* proposes."""
        self.scripts[name]["proposes"] = self.option(name).model_copy(update=changed)

    def adds(self, name: str, text: str) -> None:
        """Let *name* add *text* to the rationale of its option."""
        self.proposes(name, rationale=f"{self.option(name).rationale or ''}\n{text}".strip())

    # -- promises -------------------------------------------------------------------------------------------------

    def promises(self, paid: str) -> None:
        """Let the rival promise `AMOUNT` and report a payment of *paid*, and the member on trial promise a delivery."""
        self.needs("commitments")
        paying, done = self._free("paid", self.scenario.events), self._free("delivered", self.scenario.events)
        ids = [terms.id for terms in self.scenario.promises]
        pay, deliver = self._free("payment", ids), self._free("delivery", ids)
        self.opening["events"] = {
            **self.scenario.events,
            paying: EventRule(by=self.rival, confirmed_by=self.me),
            done: EventRule(by=self.me, confirmed_by=self.rival),
        }
        at_least = f"{paying}(amount >= {AMOUNT}) within 30 days of agreed"
        made = [
            {"id": pay, "debtor": self.rival, "creditor": self.me, "then": at_least},
            {"id": deliver, "debtor": self.me, "creditor": self.rival, "if": paying,
             "then": f"{done} within 30 days of {paying}"},
        ]  # fmt: skip
        self.opening["promises"] = [*self.scenario.promises, *map(CommitmentTerms.model_validate, made)]
        self.scripts[self.rival]["performs"] = [{"event": paying, "attributes": {"amount": paid}, "when": "agreed"}]

    @staticmethod
    def _free(name: Name, taken: Any) -> Name:
        return name if name not in taken else f"trial_{name}"


@dataclass(frozen=True, slots=True)
class Ground:
    """What all rooms of one check share: the scenario, who is on trial, the seconds of a step, and the keys."""

    scenario: Scenario
    me: str
    seconds: int
    identities: dict[str, Identity] = field(default_factory=dict)

    @classmethod
    def of(cls, scenario: Scenario, me: str, seconds: int) -> "Ground":
        """Return the ground with new keys; raise `BadInput` if *me* is not a member."""
        if me not in scenario.names:
            raise BadInput(f"{me!r} is no member of the scenario; valid: {', '.join(scenario.names)}", source="--as")
        return cls(scenario, me, seconds, {name: Identity.new() for name in scenario.names})

    def setting(self) -> Setting:
        """Return a setting to change."""
        return Setting.of(copy.copy(self.scenario), self.me, self.seconds)

    def stage(self, setting: Setting) -> Stage:
        """Return the room of *setting*."""
        return setting.stage(self.identities)


def numeric(values: list[Value]) -> bool:
    """Tell whether there are at least two integers to choose from, and nothing but integers."""
    return len(values) > 1 and all(type(value) is int for value in values)


def _options(scenario: Scenario, order: list[str]) -> dict[str, Option]:
    """Return an option for each of *order*: the one of its script, or values spread over the issues."""
    options: dict[str, Option] = {}
    members = {member.name: member for member in scenario.members}
    for place, name in enumerate(order):
        member = members[name]
        if isinstance(member, ScriptedMember) and member.proposes is not None:
            options[name] = member.proposes
            continue
        offer: dict[str, Value] = {}
        for issue, described in scenario.issues.items():
            last = len(described.values) - 1
            offer[issue] = described.values[(place * last) // max(1, len(order) - 1)]
        options[name] = Option(title=f"{name}'s offer", offer=offer, rationale=rationale(scenario, offer))
    return options


def rationale(scenario: Scenario, offer: Mapping[str, Value]) -> str:
    """Return a text that says the same as *offer*."""
    parts = [f"{name} {value} {scenario.issues[name].unit or ''}".strip() for name, value in offer.items()]
    return f"We propose {', '.join(parts)}." if parts else "We propose this."
