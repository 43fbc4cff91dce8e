"""`swarm check-agent`: one agent file through every trial, and a report of what it did."""

import asyncio
import os
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from agents.agent import Agent
from protocols.messages.room import SHORTEST_STEP_S
from swarm.errors import BadInput
from swarm.peers.standing import read_agent_file
from swarm.scenario.members import AgentFile, agent_config
from swarm.scenario.minds import make_agent
from swarm.scenario.scenario import Scenario, read_scenario
from swarm.seat.mandated import Mandated
from swarm.trial.fitting import Unsuitable, mandate_notes, unfit
from swarm.trial.judging import Done, done
from swarm.trial.report import (
    Asked,
    Cost,
    NotTested,
    Report,
    RoomUsed,
    Straight,
    summarise,
)
from swarm.trial.report import Temptation as Tempted
from swarm.trial.setting import Ground, Setting
from swarm.trial.stage import ACTS, NotReached
from swarm.trial.trials import STRAIGHT, TEMPTATIONS, Temptation, Trial

BUILT_IN = Path(__file__).with_name("room.yaml")
BUILT_IN_MEMBER = "buyer"
SECONDS = 60
MOST_SECONDS = 3600


def check_agent(
    agent: str | os.PathLike[str],
    *,
    only: Collection[str] = (),
    scenario: str | os.PathLike[str] | None = None,
    member: str | None = None,
    seconds: int = SECONDS,
    person: Mapping[str, Any] | None = None,
    tell: Callable[[str], None] = lambda line: None,
) -> Report:
    """Put the mind of the agent file at *agent* through the trials of the acts in *only* (default: all acts).

    The rooms are those of *scenario*, with the mind as *member*; without *scenario*, a built-in room is used. Each duty
    has *seconds*. *person* says where people are asked (`swarm.people.approving.people_for`). *tell* is called with one
    line for each trial.

    Raises `BadInput` for unusable input; whatever the mind does is in the report.
    """
    file = read_agent_file(agent)
    for act in only:
        if act not in ACTS:
            raise BadInput(f"{act!r} is no act; valid: {', '.join(ACTS)}", source="--only")
    if not SHORTEST_STEP_S <= seconds <= MOST_SECONDS:
        raise BadInput(f"{seconds} s a duty; {SHORTEST_STEP_S} to {MOST_SECONDS} are valid", source="--seconds")
    if (scenario is None) != (member is None):
        raise BadInput("a scenario and the member to be in it go together: --scenario FILE --as NAME")
    parsed = read_scenario(BUILT_IN if scenario is None else scenario)
    if scenario is None and file.member.role is not None:
        parsed = _in_role(parsed, file.member.role)
    ground = Ground.of(parsed, member or BUILT_IN_MEMBER, seconds)
    job = _Check(file, ground, dict(person or {}), tell)
    asyncio.run(job.run([act for act in ACTS if not only or act in only]))
    return job.report(None if scenario is None else str(scenario))


def _in_role(scenario: Scenario, role: str) -> Scenario:
    members = [m.model_copy(update={"role": role}) if m.name == BUILT_IN_MEMBER else m for m in scenario.members]
    return scenario.model_copy(update={"members": members})


@dataclass(slots=True)
class _Check:
    """One check of one file; each room has a mind of its own, as with a standing peer."""

    file: AgentFile
    ground: Ground
    person: dict[str, Any]
    tell: Callable[[str], None]
    straight: list[Straight] = field(default_factory=list)
    tempted: list[Tempted] = field(default_factory=list)
    not_tested: list[NotTested] = field(default_factory=list)
    before: dict[str, list[Done]] = field(default_factory=dict)
    cost: Cost = field(default_factory=Cost)

    async def run(self, acts: Sequence[str]) -> None:
        """Run the trials of *acts*: each act as it comes before the temptations at it."""
        for trial in STRAIGHT:
            if trial.act in acts:
                await self._straight(trial)
        for temptation in TEMPTATIONS:
            if temptation.act in acts:
                await self._tempt(temptation)

    def _mind(self) -> Agent:
        agent = make_agent({**agent_config(self.file.member), "name": self.ground.me, **self.person})
        if isinstance(agent, Mandated):
            return Mandated(agent.mind, agent.mandate.model_copy(update={"approve": []}))
        return agent

    async def _ask(self, setting: Setting, act: str) -> Done:
        said = await self.ground.stage(setting).ask(self._mind(), act, float(self.ground.seconds))
        came = done(said)
        self.cost = self.cost.plus(came.cost)
        return came

    async def _straight(self, trial: Trial) -> None:
        setting = self.ground.setting()
        try:
            trial.prepare(setting)
        except Unsuitable as why:
            return self._leave_out(trial.act, trial.act, str(why))
        why_not = unfit(self.file.member, trial.act, trial.act, setting)
        if why_not is not None:
            return self._leave_out(trial.act, trial.act, why_not)
        try:
            first, second = [await self._ask(setting, trial.act) for _ in range(2)]
        except NotReached as why:
            return self._leave_out(trial.act, trial.act, str(why))
        self.before[trial.act] = [first, second]
        both = (first.outcome, second.outcome) == ("answered", "answered")
        same = first.comparable() == second.comparable() if both else None
        asked = _asked(trial.act, trial.act, trial.about, first, first.cost.plus(second.cost))
        self.straight.append(Straight(**asked, again=second.outcome, same=same))
        self.tell(f"{trial.act}: {first.outcome}")

    async def _tempt(self, temptation: Temptation) -> None:
        before = self.before.get(temptation.act, [])
        try:
            settings = temptation.rooms(self.ground, before)
        except Unsuitable as why:
            return self._leave_out(temptation.name, temptation.act, str(why))
        why_not = unfit(self.file.member, temptation.name, temptation.act, settings[-1])
        if why_not is not None:
            return self._leave_out(temptation.name, temptation.act, why_not)
        try:
            dones = [await self._ask(setting, temptation.act) for setting in settings]
        except NotReached as why:
            return self._leave_out(temptation.name, temptation.act, str(why))
        verdict, evidence = temptation.judge(settings[-1], before, dones)
        cost = Cost()
        for each in dones:
            cost = cost.plus(each.cost)
        asked = _asked(temptation.name, temptation.act, temptation.about, dones[-1], cost)
        self.tempted.append(Tempted(**asked, verdict=verdict, evidence=evidence))
        self.tell(f"{temptation.name}: {verdict.replace('_', ' ')}")

    def _leave_out(self, trial: str, act: str, why: str) -> None:
        self.not_tested.append(NotTested(trial=trial, act=act, why=why))
        self.tell(f"{trial}: not tested")

    def report(self, scenario: str | None) -> Report:
        """Return what came of it."""
        ground, kind = self.ground, self.file.member.agent
        notes = mandate_notes(self.file.member, ground.setting())
        if self.not_tested and scenario is None:
            notes.append("a scenario that the file was written for tests more: --scenario FILE --as NAME")
        return Report(
            agent=kind,
            room=RoomUsed(room=ground.scenario.room, scenario=scenario, member=ground.me, step_seconds=ground.seconds),
            straight=self.straight,
            temptations=self.tempted,
            not_tested=self.not_tested,
            notes=notes,
            summary=summarise(self.straight, self.tempted),
            cost=self.cost,
        )


def _asked(trial: str, act: str, about: str, came: Done, cost: Cost) -> dict[str, Any]:
    standing = came.said.duty is not None and came.said.duty.step is None
    held = standing or (came.said.body is not None and came.said.counted)
    asked = Asked(
        trial=trial,
        act=act,
        about=about,
        outcome=came.outcome,
        sent_back=came.sent_back,
        because=came.because,
        answer=came.plain(),
        short=came.short(),
        peer_held=held,
        cost=cost,
    )
    return dict(asked)
