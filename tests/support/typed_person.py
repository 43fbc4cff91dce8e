"""A person as a list of lines, and a screen that keeps what it is shown."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from swarm.text import visible


class Typed:
    """A terminal at which *lines* are typed, one a question; None is Ctrl-D. Running out of them is a failure."""

    def __init__(self, *lines: str | None) -> None:
        self.lines = list(lines)
        self.shown: list[str] = []

    @property
    def text(self) -> str:
        return "\n".join(self.shown)

    @asynccontextmanager
    async def turn(self) -> AsyncIterator["Typed"]:
        yield self

    async def heard(self, wait_s: float | None = None) -> str | None:
        if wait_s is None:
            return await self.line("")
        await asyncio.sleep(0.01)
        if not self.lines:
            raise TimeoutError
        return self.lines.pop(0)

    def tell(self, text: str, *theirs: object) -> None:
        self.shown.append(text.format(*(visible(str(each)) for each in theirs)))

    too_late = tell

    async def say(self, text: str = "", *theirs: object, strong: bool = False) -> None:
        self.tell(text, *theirs)

    async def line(self, prompt: str, *theirs: object, wait_s: float | None = None) -> str | None:
        if prompt or not self.shown:
            self.tell(prompt, *theirs)
        assert self.lines, f"asked once more than expected:\n{self.text}"
        return self.lines.pop(0)
