"""A mind together with the mandate that its peer holds it to."""

from agents.agent import Agent
from swarm.seat.approval import Approver
from swarm.seat.mandate import Mandate


class Mandated(Agent):
    """A mind together with the mandate that its peer holds it to, for whoever seats it; it answers nothing itself.

    `swarm.seat.seat.Seat` takes the two apart, so that the mind neither sees the mandate nor can put it aside.
    """

    def __init__(self, mind: Agent, mandate: Mandate, approver: Approver | None = None) -> None:
        """Take whom to ask for what the mandate wants approved; without an *approver* nothing of that is signed."""
        self.mind = mind
        self.mandate = mandate
        self.approver = approver
        self.kind = mind.kind

    @staticmethod
    def apart(agent: Agent) -> tuple[Agent, Mandate | None]:
        """Return the mind itself, and its mandate if it has one."""
        return (agent.mind, agent.mandate) if isinstance(agent, Mandated) else (agent, None)
