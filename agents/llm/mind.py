"""A mind that is a language model (``agent: llm``), from any provider that pydantic-ai knows, or any compatible server.

It asks one question for each duty and remembers nothing between duties: the briefing contains what the room has said.
The answer is typed (`agents.llm.forms`). An answer that does not fit its form goes back to the model with what was
wrong, a limited number of times. Other members' words reach the model only as fenced data (`agents.llm.fence`).

Failures are told apart by code, never by text. A model that refuses or excuses itself is excused at once, with its
reason. A request that failed temporarily is sent again, after the time that the server asks for or at growing
intervals, within the time and the calls that the duty leaves. A refused request is not sent again. An answer and an
excuse both carry their cost: every request that was sent, the tokens that came back, and the seconds.
"""

import asyncio
import logging
import os
import random
import re
from dataclasses import dataclass, field
from decimal import Decimal
from time import monotonic, monotonic_ns
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field, StringConstraints

from agents.agent import Agent, CannotAnswer, Costed, NoAnswer, Performed, Proposed, Ratified, Scored, Watch
from agents.llm.completions import EXCUSE, CannotAsk, Completions, Failed, Reply, look_for
from agents.llm.fence import LONGEST_QUOTE, NotRead
from agents.llm.prompts import INSTRUCTIONS, WORDS, instructions, request
from agents.llm.questions import Question, Unusable, concern, own_readings, question
from agents.script import Score, as_text
from protocols.core.canonical import digest
from protocols.core.instants import SECOND, Duration
from protocols.core.message import DecimalText, Message, Text, Words
from protocols.duties.duties import (
    Duty,
    ImproveDuty,
    InterpretDuty,
    PerformDuty,
    ProposeDuty,
    QuoteDuty,
    RatifyDuty,
    ReadDuty,
    ScoreDuty,
    SettleDuty,
)
from protocols.messages.accord import Interpretation, Readings, Settlement
from protocols.messages.budget import Used
from protocols.messages.concord import Option, Value
from protocols.messages.room import Manifest

_log = logging.getLogger(__name__)

MOST_FAILURES = 5
"""How many temporary failures in a row a request may have before its duty has no answer."""
FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.5, 8.0
"""The longest pause after the first failure of a request, and after any; doubled with every further failure."""
KEPT_BACK = 1.5
"""How many times the peer's safety margin this mind leaves unused: it then reports the reason and the cost itself."""
FEWEST_TOKENS = 200
"""If fewer tokens are left for an answer, no model is asked."""
BYTES_A_TOKEN = 3
"""Assumed bytes per token of a question, when a budget of tokens is set."""
FIRST_REST_S, LONGEST_REST_S = 5.0, 60.0
"""How long promises are left alone after their question failed temporarily; doubled each time."""
LONGEST_REASON = 300

_MODEL_NAME = r"^[!-~]([ -~]*[!-~])?$"
_URL = r"^https?://[^\s/@?#]+(/[^\s@?#]*)?$"
_KEY = re.compile(r"[!-~]+")
Variable = Annotated[str, StringConstraints(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")]


def _temperature(text: str) -> str:
    if not 0 <= Decimal(text) <= 2:
        raise ValueError("a temperature is a decimal from 0 to 2")
    return text


class Llm(Message):
    """What a file says for a member whose mind is a language model.

    ``model`` is ``provider:model`` as pydantic-ai names them, or, with ``base_url``, its name at that OpenAI-compatible
    server. ``api_key_env`` names the variable that holds the key; the key itself is in no file. Without it, a provider
    uses its usual variable, and the server at ``base_url`` gets no key. ``timeout_seconds`` is how long one request may
    take; ``retries`` is how often an unusable answer is sent back.
    """

    model: Annotated[str, StringConstraints(min_length=1, max_length=200, pattern=_MODEL_NAME)]
    base_url: Annotated[str, StringConstraints(max_length=500, pattern=_URL)] | None = None
    api_key_env: Variable | None = None
    persona: Text | None = None
    goals: list[Words] = Field(default_factory=list)
    facts: list[Words] = Field(default_factory=list)
    reserve: Score | None = None
    temperature: Annotated[DecimalText, AfterValidator(_temperature), BeforeValidator(as_text)] | None = None
    max_tokens: Annotated[int, Field(ge=1, le=1_000_000)] | None = None
    output: Literal["tool", "json"] = "tool"
    retries: Annotated[int, Field(ge=0, le=10)] = 2
    timeout_seconds: Annotated[int, Field(ge=1, le=3600)] = 120

    def api_key(self) -> str | None:
        """Return the key; raise `CannotAsk` if a variable is named that does not hold one."""
        if self.api_key_env is None:
            return None
        key = os.environ.get(self.api_key_env)
        if not key:
            raise CannotAsk("api_key_env", f"{self.api_key_env} is not set")
        if _KEY.fullmatch(key) is None:
            raise CannotAsk("api_key_env", f"{self.api_key_env} holds more than a key: a space, say, or a line break")
        return key


class _Unreached(CannotAnswer):
    """No answer can be had for the moment."""


@dataclass(slots=True)
class _Inquiry:
    """One duty on its way to an answer: its deadline, its cost so far, and its last problem."""

    duty: Duty
    asked: Question
    ends: float | None
    used: Used = field(default_factory=Used)
    trouble: str = ""

    def left_s(self) -> float:
        """Return how much time is left, in seconds."""
        return float("inf") if self.ends is None else self.ends - asyncio.get_running_loop().time()

    def most_tokens(self, size: int, most: int | None) -> int | None:
        """Return how many tokens an answer to a question of *size* bytes may have.

        Raise `NoAnswer` if too few are left.
        """
        left = None if self.duty.left is None else self.duty.left.tokens
        if left is None:
            return most
        for_answer = left - self.used.amount("tokens") - size // BYTES_A_TOKEN
        if for_answer < FEWEST_TOKENS:
            raise CannotAnswer(self.why("budget: too few tokens left to ask"), "budget")
        return for_answer if most is None else min(most, for_answer)

    def check_calls(self) -> None:
        """Raise `NoAnswer` if no call is left."""
        left = None if self.duty.left is None else self.duty.left.calls
        if left is not None and self.used.calls >= left:
            raise CannotAnswer(self.why("budget: no calls left"), "budget")

    def why(self, reason: str) -> str:
        """Return *reason*, preceded by the last problem."""
        return f"{reason}: {self.trouble}" if self.trouble else reason


class LlmMind(Agent):
    """Asks the language model that *config* names. Raises `CannotAsk` if that is impossible."""

    kind = "llm"

    def __init__(self, config: Llm) -> None:
        key = config.api_key()
        self._config = config
        self._model = Completions(config.model, config.base_url, key, config.output)
        if config.base_url is not None:
            look_for(config.base_url)
        self._instructions = instructions(config.persona, config.goals, config.facts, config.reserve)
        self._carried = Used()
        self._seen: str | None = None
        self._again_at: float | None = None
        self._rests = 0

    def manifest(self) -> Manifest:
        """Name the model, and digest its instructions without goals and facts, which could be guessed from a digest."""
        told = {"instructions": INSTRUCTIONS, "words": WORDS, "persona": self._config.persona or ""}
        return Manifest(agent=self.kind, model=self._config.model[:80], digest=digest(told))

    async def interpret(self, duty: InterpretDuty) -> dict[str, Interpretation]:
        """Ask what the terms mean."""
        return await self._ask(duty)  # type: ignore[no-any-return]

    async def read(self, duty: ReadDuty) -> Readings:
        """Ask for a judgement of others' cases and meanings."""
        return await self._ask(duty, own_readings)  # type: ignore[no-any-return]

    async def settle(self, duty: SettleDuty) -> dict[str, Settlement]:
        """Ask how to settle the terms."""
        return await self._ask(duty)  # type: ignore[no-any-return]

    async def quote(self, duty: QuoteDuty) -> dict[str, list[Value]]:
        """Ask which values are allowed."""
        return await self._ask(duty)  # type: ignore[no-any-return]

    async def propose(self, duty: ProposeDuty) -> Proposed:
        """Ask for an option and a reserve."""
        return await self._ask(duty)  # type: ignore[no-any-return]

    async def score(self, duty: ScoreDuty) -> Scored:
        """Ask for scores and rejections."""
        return await self._ask(duty)  # type: ignore[no-any-return]

    async def improve(self, duty: ImproveDuty) -> Option | None:
        """Ask for a better option, or a pass."""
        return await self._ask(duty)  # type: ignore[no-any-return]

    async def ratify(self, duty: RatifyDuty) -> Ratified:
        """Ask whether to sign the outcome."""
        return await self._ask(duty)  # type: ignore[no-any-return]

    async def perform(self, duty: PerformDuty, watch: Watch) -> Performed:
        """Ask what to say about promises, if there is something new to act on."""
        concerned = concern(duty)
        if concerned is None:
            return Performed()
        seen = digest(concerned)
        if seen == self._seen and duty.problem is None:
            if self._again_at is None:
                return Performed()
            if (rest_s := self._again_at - monotonic()) > 0:
                return Performed(again_in=Duration(int(rest_s * SECOND) + 1))
        try:
            answer = await self._ask(duty)
        except _Unreached as unreached:
            _log.warning("%s: promises: %s", duty.member, unreached)
            rest_s = min(LONGEST_REST_S, FIRST_REST_S * 2**self._rests)
            self._seen, self._again_at, self._rests = seen, monotonic() + rest_s, self._rests + 1
            resting = Performed(again_in=Duration(int(rest_s * SECOND)))
            return Costed(resting, **(unreached.cost or {}))  # type: ignore[return-value]
        except NoAnswer:
            self._seen, self._again_at, self._rests = seen, None, 0
            raise
        again = answer.answer.again_in
        self._seen, self._rests = seen, 0
        self._again_at = None if again is None else monotonic() + again / SECOND
        return answer  # type: ignore[no-any-return]

    # -- one duty -------------------------------------------------------------------------------------------------

    async def _ask(self, duty: Duty, otherwise: Any = None) -> Any:
        """Return the model's answer to *duty* with its cost, or raise `NoAnswer` with it."""
        asked = question(duty)
        if asked is None:
            return otherwise(duty)
        limit_s = _limit_s(duty)
        ends = None if limit_s is None else asyncio.get_running_loop().time() + limit_s
        inquiry = _Inquiry(duty, asked, ends)
        started = monotonic_ns()
        try:
            async with asyncio.timeout_at(ends):
                given = await self._answered(inquiry)
        except NoAnswer as none:
            none.cost = self._cost(inquiry, started)
            raise
        except TimeoutError:
            because = inquiry.why(f"no answer to {duty.act} within {limit_s:.1f} s")
            raise _Unreached(because, "late", self._cost(inquiry, started)) from None
        except asyncio.CancelledError:
            # Nobody waits for this any more; its cost is declared with the next answer.
            took = self._cost(inquiry, started)
            self._carried.add(took)
            raise
        return Costed(given, **self._cost(inquiry, started))

    def _cost(self, inquiry: _Inquiry, started: int) -> dict[str, Any]:
        """Return the cost of *inquiry*, including that of abandoned ones."""
        inquiry.used.nanos = monotonic_ns() - started
        total, self._carried = self._carried, Used()
        total.add({**inquiry.used.cost(), "model": self._config.model})
        return total.cost()

    async def _answered(self, inquiry: _Inquiry) -> Any:
        """Return the first usable answer; an unusable one is sent back with what was wrong."""
        refused = {} if inquiry.duty.problem is None else {"why": inquiry.duty.problem}
        cut = False
        for _ in range(self._config.retries + 1):
            reply = await self._reply(inquiry, refused)
            if reply.refusal is not None:
                raise CannotAnswer(f"the model refused: {reply.refusal[:LONGEST_REASON]}", "refused")
            try:
                return self._read(inquiry.asked, reply)
            except (NotRead, Unusable) as wrong:
                inquiry.trouble = str(wrong)
            if reply.cut and cut:
                raise CannotAnswer(f"its answer was too long, and again: {inquiry.trouble}", "invalid")
            cut = cut or reply.cut
            refused = {"why": inquiry.trouble, "answer": reply.quoted()[:LONGEST_QUOTE]}
        raise CannotAnswer(inquiry.why(f"no answer that can be used in {self._config.retries + 1}"), "invalid")

    def _read(self, asked: Question, reply: Reply) -> Any:
        tool, arguments = reply.said(self._config.output)
        if tool != EXCUSE:
            return asked.read(arguments)
        because = arguments.get("because")
        if not isinstance(because, str) or not because.strip():
            raise Unusable("an excuse needs its reason: because")
        raise NoAnswer(because[:LONGEST_REASON])

    async def _reply(self, inquiry: _Inquiry, refused: dict[str, str]) -> Reply:
        """Return the model's reply to one request, which is repeated while that may help."""
        asked, schema = inquiry.asked, inquiry.asked.schema()
        words = request(asked.act, asked.data, schema, self._config.output, refused)
        size = len(self._instructions.encode()) + len(words.encode())
        failures = 0
        while True:
            inquiry.check_calls()
            most_tokens = inquiry.most_tokens(size, self._config.max_tokens)
            try:
                return await self._requested(inquiry, words, schema, most_tokens)
            except Failed as failed:
                inquiry.trouble = str(failed)
                failures += 1
                if not failed.again:
                    raise CannotAnswer(str(failed), "failed") from None
                if failures > MOST_FAILURES:
                    raise _Unreached(f"{failed}, {failures} times in a row") from None
                wait_s = _wait_s(failures, failed)
                if wait_s >= inquiry.left_s():
                    raise _Unreached(f"{failed}; no time is left to try again") from None
            await asyncio.sleep(wait_s)

    async def _requested(self, inquiry: _Inquiry, words: str, schema: dict[str, Any], most_tokens: int | None) -> Reply:
        temperature = None if self._config.temperature is None else float(self._config.temperature)
        inquiry.used.calls += 1
        try:
            async with asyncio.timeout(self._config.timeout_seconds):
                reply = await self._model.request(
                    self._instructions, words, schema, temperature=temperature, most_tokens=most_tokens
                )
        except Failed as failed:
            inquiry.used.calls -= not failed.sent
            raise
        except TimeoutError:
            raise Failed(f"no reply within {self._config.timeout_seconds} s", again=True) from None
        inquiry.used.tokens_in += reply.tokens_in
        inquiry.used.tokens_out += reply.tokens_out
        if reply.broken:
            raise Failed("the model's server failed within its answer", again=True)
        return reply


def _limit_s(duty: Duty) -> float | None:
    """Return how long *duty* may take: slightly less than the peer waits."""
    if duty.left is None or duty.left.seconds is None:
        return None
    left_s = float(duty.left.seconds)
    return left_s - KEPT_BACK * min(1.0, left_s / 4)


def _wait_s(failures: int, failed: Failed) -> float:
    """Return how long to wait: what the server asks for, otherwise more after each failure, with jitter."""
    pause_s = min(LONGEST_PAUSE_S, FIRST_PAUSE_S * 2 ** (failures - 1))
    if failed.wait_s is not None:
        return max(0.0, failed.wait_s) + random.uniform(0, FIRST_PAUSE_S / 2)
    return random.uniform(pause_s / 2, pause_s)
