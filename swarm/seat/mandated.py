"""A mind together with the mandate that its peer enforces."""

from agents.agent import Agent
from swarm.seat.approval import Approver
from swarm.seat.mandate import Mandate


class Mandated(Agent):
    """A mind together with the mandate that its peer enforces, for the code that seats it; it answers nothing itself.

    `swarm.seat.seat.Seat` separates the two, so that the mind neither sees the mandate nor can set it aside.
    """

    def __init__(self, mind: Agent, mandate: Mandate, approver: Approver | None = None) -> None:
        """Keep whom to ask for approvals; without an *approver*, nothing that needs approval is signed."""
        self.mind = mind
        self.mandate = mandate
        self.approver = approver
        self.kind = mind.kind

    @staticmethod
    def apart(agent: Agent) -> tuple[Agent, Mandate | None]:
        """Return the mind itself, and its mandate if it has one."""
        return (agent.mind, agent.mandate) if isinstance(agent, Mandated) else (agent, None)
