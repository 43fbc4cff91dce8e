"""An OpenAI-compatible server of ours, over real HTTP: it answers every question of a mind, and fails to order.

It reads what a model would read, the fenced data of the request, and answers by the script of examples/renewal.yaml or
by whatever function it is given. It counts every request that reaches it, and every token that it reports to somebody
who is still there to hear it.
"""

import json
import re
import select
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from agents.llm.prompts import WORDS
from swarm.scenario.scenario import read_scenario

ROOT = Path(__file__).resolve().parents[2]
FENCE = re.compile(r"<data ([0-9a-f]{32})>\n(.*)\n</data \1>")

LAST_WORD_S = 0.8
"""How long the one who can end the room takes to do so: questions that are on their way then would be lost."""

Answers = Callable[["Asked"], "dict[str, Any]"]


@dataclass
class Asked:
    """One request: the member that asks and the act, as far as they can be told, and all that was sent."""

    body: dict[str, Any]
    headers: dict[str, str]
    who: str = ""
    act: str = ""
    data: dict[str, Any] = field(default_factory=dict)
    fault: str = ""

    @classmethod
    def read(cls, body: dict[str, Any], headers: dict[str, str]) -> "Asked":
        asked = cls(body, headers)
        words = asked.words
        fence = FENCE.search(words)
        asked.act = next((act for act, text in WORDS.items() if words.startswith(text)), "")
        if fence is not None:
            asked.data = json.loads(fence[2])
            asked.who = asked.data["you"]
        return asked

    @property
    def words(self) -> str:
        return str(self.body["messages"][-1]["content"])

    @property
    def instructions(self) -> str:
        return str(self.body["messages"][0]["content"])

    @property
    def text(self) -> str:
        return json.dumps(self.body, ensure_ascii=False)


@dataclass
class Order:
    """A fault for the next requests that match: ``name`` or ``name:argument``."""

    fault: str
    who: str | None
    act: str | None
    times: int


class Server:
    """The server's books, orders and address."""

    def __init__(self, answers: Answers) -> None:
        self.answers = answers
        self.asked: list[Asked] = []
        self.requests = self.tokens_in = self.tokens_out = 0
        self.url = ""
        self.errors: list[Exception] = []
        self._orders: list[Order] = []
        self.lock = threading.Lock()

    def order(self, fault: str, *, who: str | None = None, act: str | None = None, times: int = 1) -> None:
        """Let the next *times* requests of that member and act come to *fault*."""
        self._orders.append(Order(fault, who, act, times))

    @property
    def unmet(self) -> list[str]:
        """The faults that were ordered and did not come."""
        return [order.fault for order in self._orders if order.times]

    def take(self, asked: Asked) -> None:
        """Enter a request in the books, and give it the first fault ordered for it."""
        with self.lock:
            self.requests += 1
            for order in self._orders:
                if order.times and order.who in (None, asked.who) and order.act in (None, asked.act):
                    order.times -= 1
                    asked.fault = order.fault
                    break
            self.asked.append(asked)

    @property
    def counted(self) -> dict[str, int]:
        """What was counted here, as a run's result puts it."""
        return {"tokens_in": self.tokens_in, "tokens_out": self.tokens_out, "calls": self.requests}

    def of(self, act: str, who: str | None = None) -> list[Asked]:
        """The requests for *act*, of one member or all."""
        return [asked for asked in self.asked if asked.act == act and who in (None, asked.who)]


@contextmanager
def serving(answers: Answers) -> Iterator[Server]:
    """Serve until the block ends; every connection has ended then too."""
    server = Server(answers)

    class Handler(_Handler):
        books = server

    http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    http.daemon_threads = False
    http.block_on_close = True
    thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    server.url = f"http://127.0.0.1:{http.server_port}/v1"
    try:
        yield server
    finally:
        http.shutdown()
        thread.join()
        http.server_close()
    if server.errors:
        raise server.errors[0]


def closed_port() -> int:
    """Return a port of this machine where nothing listens."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return port


class _Handler(BaseHTTPRequestHandler):
    books: Server

    def log_message(self, *_: Any) -> None:
        pass

    def do_GET(self) -> None:
        self._send(200, {"object": "list", "data": [{"id": "scripted", "object": "model"}]})

    def do_POST(self) -> None:
        try:
            self._post()
        except Exception as error:
            self.books.errors.append(error)
            self._send(400, {"error": {"message": "the test's own answers failed"}})

    def _post(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        asked = Asked.read(body, {name.lower(): value for name, value in self.headers.items()})
        self.books.take(asked)
        fault, _, argument = asked.fault.partition(":")
        if fault == "slow" and not self._still_there(float(argument)):
            return
        if fault == "drop":
            self.close_connection = True
            self.connection.shutdown(socket.SHUT_RDWR)
        elif fault == "status":
            status, _, wait = argument.partition(",")
            said = f"Incorrect key provided: {asked.headers.get('authorization')}"
            error = {"error": {"message": said, "code": "of_the_server", "type": "error"}}
            self._send(int(status), error, {"Retry-After": wait} if wait else {})
        elif fault == "failed":
            self._send(200, {"status": "failed", "error": "it did not work"})
        elif fault == "html":
            self._send(200, "<html>Bad gateway</html>")
        else:
            self._complete(asked, fault, argument)

    def _still_there(self, seconds: float) -> bool:
        """Wait, and tell whether the one who asks has waited too."""
        ends = time.monotonic() + seconds
        while (left := ends - time.monotonic()) > 0:
            if select.select([self.connection], [], [], left)[0]:
                self.close_connection = True
                return False
        return True

    def _complete(self, asked: Asked, fault: str, argument: str) -> None:
        reason, message = "stop", {"role": "assistant", "content": None}
        if fault == "refuse":
            message["refusal"] = argument
        elif fault == "filter":
            reason = "content_filter"
        elif fault == "prose":
            message["content"] = argument or "I would say 85 for each of them."
        else:
            name, arguments = _arguments(asked, fault, argument, self.books.answers)
            reason = "length" if fault == "long" else "tool_calls"
            if "tools" in asked.body:
                call = {"id": "call_1", "type": "function", "function": {"name": name, "arguments": arguments}}
                message["tool_calls"] = [call] * (2 if fault == "twice" else 1)  # type: ignore[assignment]
            else:
                message["content"] = arguments
        tokens_in, tokens_out = len(asked.text) // 4, len(json.dumps(message)) // 4
        completion = {
            "id": "completion-1",
            "object": "chat.completion",
            "created": 1_800_000_000,
            "model": asked.body["model"],
            "choices": [{"index": 0, "message": message, "finish_reason": reason}],
            "usage": {
                "prompt_tokens": tokens_in,
                "completion_tokens": tokens_out,
                "total_tokens": tokens_in + tokens_out,
            },
        }
        with self.books.lock:
            self.books.tokens_in += tokens_in
            self.books.tokens_out += tokens_out
        self._send(200, completion)

    def _send(self, status: int, content: Any, headers: dict[str, str] | None = None) -> None:
        payload = content.encode() if isinstance(content, str) else json.dumps(content).encode()
        self.send_response(status)
        kind = "text/html" if isinstance(content, str) else "application/json"
        for name, value in {"Content-Type": kind, "Content-Length": str(len(payload)), **(headers or {})}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(payload)


def _arguments(asked: Asked, fault: str, argument: str, answers: Answers) -> tuple[str, str]:
    """Return the tool that is called and its arguments, spoilt as ordered."""
    if fault == "excuse":
        return "excuse", json.dumps({"because": argument})
    if fault == "say":
        return "answer", argument
    said = json.dumps(answers(asked))
    if fault == "not_json":
        return "answer", said[:-1]
    if fault == "long":
        return "answer", said[: len(said) // 2]
    if fault == "text_numbers":
        return "answer", re.sub(r"(: )(\d+)", r'\1"\2"', said)
    return "answer", json.dumps({"result": "ok"}) if fault == "wrong_schema" else said


class Story:
    """The members of examples/renewal.yaml, as models would answer for them."""

    def __init__(self) -> None:
        self._scripts = {member.name: member for member in read_scenario(ROOT / "examples" / "renewal.yaml").members}

    def __call__(self, asked: Asked) -> dict[str, Any]:
        answer: dict[str, Any] = getattr(self, f"_{asked.act}")(self._scripts[asked.who], asked.data)
        return answer

    def _interpret(self, script: Any, data: dict[str, Any]) -> dict[str, Any]:
        terms = []
        for term in data["asked"]["terms"]:
            said = script.reads[term["name"]].plain()
            bounds = [{"quantity": quantity, **bound} for quantity, bound in said["bounds"].items()]
            cases = [{"text": case["text"], "applies": case["applies"]} for case in said["cases"]]
            terms.append({"term": term["term"], "meaning": said["meaning"], "bounds": bounds, "cases": cases})
        return {"terms": terms}

    def _read(self, script: Any, data: dict[str, Any]) -> dict[str, Any]:
        def judged(meaning: dict[str, Any]) -> str:
            judges = script.judges.get(meaning["term"], {})
            return str(next((judges[member] for member in meaning["held_by"] if member in judges), "unsure"))

        asked = data["asked"]
        return {
            "cases": [{"case": case["case"], "verdict": "unsure"} for case in asked["cases"]],
            "meanings": [{"meaning": m["meaning"], "judgement": judged(m)} for m in asked["meanings"]],
        }

    def _settle(self, script: Any, data: dict[str, Any]) -> dict[str, Any]:
        terms = []
        for term in data["asked"]["terms"]:
            planned = script.settles.get(term["name"])
            entry = {"term": term["term"], "do": "keep"}
            if planned is not None:
                held = next(
                    m["meaning"]
                    for m in data["asked"]["meanings"]
                    if m["term"] == term["name"] and planned.adopt in m["held_by"]
                )
                entry |= {"do": "adopt", "meaning": held, "because": planned.because}
            terms.append(entry)
        return {"terms": terms}

    def _option(self, option: Any, data: dict[str, Any]) -> dict[str, Any]:
        handles = {issue["name"]: issue["issue"] for issue in data["asked"]["issues"]}
        return {
            "title": option.title,
            "rationale": option.rationale,
            "offer": [{"issue": handles[name], "value": value} for name, value in option.offer.items()],
        }

    def _propose(self, script: Any, data: dict[str, Any]) -> dict[str, Any]:
        promises = [terms.plain() for terms in script.proposes.commitments]
        return {**self._option(script.proposes, data), "promises": promises, "reserve": script.reserve}

    def _score(self, script: Any, data: dict[str, Any]) -> dict[str, Any]:
        ballot: list[dict[str, Any]] = []
        for option in data["asked"]["options"]:
            title, handle = option["title"], option["option"]
            if title in script.rejects:
                ballot.append({"option": handle, "reject": script.rejects[title]})
            else:
                reason = {"reason": script.reasons[title]} if title in script.reasons else {}
                ballot.append({"option": handle, "score": script.scores[title], **reason})
        return {"options": ballot}

    def _improve(self, script: Any, data: dict[str, Any]) -> dict[str, Any]:
        options = data["room"]["options"]
        known = {option["title"] for option in options}
        better = next((option for option in script.improves if option.title not in known), None)
        if better is None:
            return {"pass": True}
        promising = next(option["option"] for option in options if option.get("promises"))
        return {"option": {**self._option(better, data), "promises_of": promising}}

    def _ratify(self, script: Any, data: dict[str, Any]) -> dict[str, Any]:
        return {"accept": True}

    def _perform(self, script: Any, data: dict[str, Any]) -> dict[str, Any]:
        asked = data["asked"]
        said = {report["event"] for report in asked["said"]["reported"]}
        events = []
        for promise in asked["promises"]:
            event = re.match(r"(\w+)(?:\((\w+) >= (\d+)\))?", promise["then"])
            assert event is not None
            if promise["debtor"] == data["you"] and promise["state"] == "detached" and event[1] not in said:
                attributes = [{"name": event[2], "value": int(event[3])}] if event[2] else []
                events.append({"event": event[1], "attributes": attributes})
        states = {promise["id"]: promise["state"] for promise in asked["promises"]}
        settled = all(states.get(name) == "satisfied" for name in ("order", "plan"))
        # The last thing that happens in the room happens alone, while no other question is on its way.
        now = [report for report in asked["reports"] if report["event"] != "bonus_paid" or settled]
        if any(report["event"] == "bonus_paid" for report in now):
            time.sleep(LAST_WORD_S)
        return {"reports": [{"report": report["report"], "answer": "confirm"} for report in now], "events": events}
