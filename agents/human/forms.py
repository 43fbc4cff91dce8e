"""Asking a person: one question after another on one screen, with input kept and the whole confirmed at the end.

A form is a function that asks its questions in order. Answers stay in its `Draft`; asking the same question again
returns the kept answer. So a form that was put aside is resumed where it was, and to change one line means to forget
that line.

Other members' words reach a screen only as the *theirs* of `Screen.say`, never inside its text: the screen escapes
them.
"""

from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from typing import Protocol, TypeVar

from agents.agent import NoAnswer

Value = TypeVar("Value")
Answer = TypeVar("Answer")

LATER, EXCUSE, AGAIN = "later", "excuse", "?"
YES, NO = ("yes", "y"), ("no", "n")


class Screen(Protocol):
    """A terminal during one question's turn. In its texts, ``{}`` stands for each of *theirs*, shown escaped."""

    async def say(self, text: str = "", *theirs: object, strong: bool = False) -> None:
        """Show one line."""

    async def line(self, prompt: str, *theirs: object, wait_s: float | None = None) -> str | None:
        """Return the next line typed, without its end; None at the end of input (Ctrl-D).

        Raises ``TimeoutError`` after *wait_s* seconds without one.
        """


class Terminal(Protocol):
    """Where the person sits. Only one question has the screen at a time, across rooms and processes."""

    def turn(self) -> AbstractAsyncContextManager[Screen]:
        """Wait for the screen and hold it; if the holder is cancelled, half-typed input is discarded."""

    async def heard(self, wait_s: float | None = None) -> str | None:
        """Return the next line typed while no question has the screen; None for Ctrl-D.

        Raises ``TimeoutError`` after *wait_s* seconds without one.
        """

    def tell(self, text: str, *theirs: object) -> None:
        """Show one line, whoever has the screen; never waits."""

    def too_late(self, text: str, *theirs: object) -> None:
        """Show one line about a question that was taken away; says nothing while the process itself is ending."""


class Wrong(ValueError):
    """An entry that cannot be used; the text says, in one line, what is valid."""


class Left(Exception):
    """The person has put the question aside."""


class _Again(Exception):
    """The person wants to see the question again."""


@dataclass(slots=True)
class _Entry:
    label: tuple[str, tuple[object, ...]]
    text: str
    value: object


@dataclass(slots=True)
class Draft:
    """The input so far, by the question's key."""

    entries: dict[str, _Entry] = field(default_factory=dict)


class Form:
    """One person answering one duty on *screen*; *left_s* returns the seconds that are left."""

    def __init__(self, screen: Screen, draft: Draft, left_s: Callable[[], float | None]) -> None:
        self._screen = screen
        self._draft = draft
        self._left_s = left_s
        self._used: list[str] = []

    async def ask(self, key: str, parse: Callable[[str], Value], hint: str, label: str, *theirs: object) -> Value:
        """Return the person's answer to the question *key*, as *parse* reads it; a kept answer is not asked for again.

        *hint* says what may be entered. Neither it nor *label* may contain other members' words.
        """
        entry = self._draft.entries.get(key)
        if entry is None:
            text, value = await self._entered(parse, hint, label, *theirs)
            entry = self._draft.entries[key] = _Entry((label, theirs), text, value)
        self._used.append(key)
        return entry.value  # type: ignore[return-value]

    async def _entered(
        self, parse: Callable[[str], Value], hint: str, label: str, *theirs: object
    ) -> tuple[str, Value]:
        while True:
            text = await self.entry(f"{label} [{hint}]{self._time()}: ", *theirs)
            try:
                return text, parse(text)
            except Wrong as wrong:
                await self._screen.say("  not taken: {}", wrong)

    async def entry(self, prompt: str, *theirs: object) -> str:
        """Return one line, stripped; the words that leave a question work at every prompt."""
        while True:
            line = await self._screen.line(prompt, *theirs)
            if line is None or line.strip().lower() == LATER:
                raise Left
            text = line.strip()
            if text == AGAIN:
                raise _Again
            word, _, because = text.partition(" ")
            if word.lower().rstrip(":") != EXCUSE:
                return text
            because = because.strip()
            if not because:
                await self._screen.say(f"  not taken: a reason belongs to it: {EXCUSE} REASON")
                continue
            said = await self._screen.line("Excuse yourself from this, with the reason “{}”? [yes · no]: ", because)
            if said is not None and said.strip().lower() in YES:
                raise NoAnswer(because)

    def _time(self) -> str:
        """Return the time left in the form that a prompt shows, or nothing without a deadline."""
        left_s = self._left_s()
        return "" if left_s is None else f" ({in_words(left_s)} left)"

    async def complete(
        self, show: Callable[[Screen], Awaitable[None]], fill: Callable[["Form"], Awaitable[Answer]]
    ) -> Answer:
        """Show the question, have it filled in, and return the answer once the person has confirmed all of it.

        Raises `Left`, or `NoAnswer` with the person's reason.
        """
        await show(self._screen)
        while True:
            try:
                answer = await self._once(fill)
            except _Again:
                await show(self._screen)
                continue
            if answer is not None:
                return answer[0]

    async def _once(self, fill: Callable[["Form"], Awaitable[Answer]]) -> tuple[Answer] | None:
        self._used = []
        problem: Wrong | None = None
        answer: tuple[Answer] | None = None
        try:
            answer = (await fill(self),)
        except Wrong as wrong:
            problem = wrong
        await self._screen.say("Your answer, as it will be signed:", strong=True)
        for number, key in enumerate(self._used, start=1):
            entry = self._draft.entries[key]
            label, theirs = entry.label
            # A value chosen by number or by Enter is shown as the value that it stands for.
            shown = str(entry.value) if isinstance(entry.value, str | int) and entry.value != "" else entry.text
            await self._screen.say(f"  {number:2d}  {label}{_colon(label)} {{}}", *theirs, shown or "–")
        if problem is not None:
            await self._screen.say("  not valid yet: {}", problem)
        return await self._confirmed(answer)

    async def _confirmed(self, answer: tuple[Answer] | None) -> tuple[Answer] | None:
        """Return *answer* if the person wants to send it, or None once a line of it is to be entered again."""
        count = len(self._used)
        lines = f"{'1' if count == 1 else f'1–{count}'} to change that line"
        choices = " · ".join([*(["yes to send"] if answer is not None else []), lines, f"{EXCUSE} REASON", LATER])
        while True:
            text = (await self.entry(f"Send it? [{choices}]{self._time()}: ")).lower()
            if text in YES and answer is not None:
                return answer
            if text in ("edit", "e", *NO) and count == 1:
                text = "1"
            if text.isascii() and text.isdigit() and 1 <= int(text[:4]) <= count:
                del self._draft.entries[self._used[int(text[:4]) - 1]]
                return None
            await self._screen.say(f"  not taken: {choices}")


def _colon(label: str) -> str:
    return "" if label.endswith("?") else ":"


async def come_back(terminal: Terminal, text: str, *theirs: object) -> None:
    """Say that a question was put aside, and return when the person presses Enter."""
    terminal.tell(text, *theirs)
    while await terminal.heard() is None:
        pass


def in_words(seconds: float) -> str:
    """Return a time left in words."""
    whole = max(0, int(seconds))
    if whole < 120:
        return f"{whole} s"
    minutes = whole // 60
    return f"{minutes} min" if minutes < 120 else f"{minutes // 60} h {minutes % 60} min"


def words(text: str) -> str:
    """Read a text that must not be empty."""
    if not text:
        raise Wrong("some words are needed")
    return text


def anything(text: str) -> str:
    """Read a text that may be empty."""
    return text


def number(low: int, high: int) -> Callable[[str], int]:
    """Return a parser for a whole number from *low* to *high*."""

    def parse(text: str) -> int:
        if not (text.isascii() and text.isdigit() and len(text) < 20 and low <= int(text) <= high):
            raise Wrong(f"a whole number from {low} to {high}")
        return int(text)

    return parse


def one_of(*valid: str, default: str | None = None) -> Callable[[str], str]:
    """Return a parser for one of *valid*, by its first letters; an empty entry is *default*."""

    def parse(text: str) -> str:
        if not text and default is not None:
            return default
        found = [word for word in valid if text and word.startswith(text.lower())]
        if len(found) != 1:
            raise Wrong(" · ".join(valid))
        return found[0]

    return parse
