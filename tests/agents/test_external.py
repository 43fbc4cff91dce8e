"""`agent: exec`: real commands as minds, the ones that do their work and the ones that do not."""

import asyncio
import json
import os
import re
import shlex
import signal
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from agents import external
from agents.agent import BadAnswer, Costed, NoAnswer, Performed, Proposed, Ratified, Scored
from agents.external import Exec, ExternalMind
from agents.wire import ANSWERS, DUTIES, BadLine, duty_json, parse_answer
from protocols.duties.duties import ImproveDuty, OptionAsked, PerformDuty, ScoreDuty
from protocols.messages.budget import Left
from protocols.messages.commitments import ReportEvent
from protocols.messages.concord import Option
from swarm.cli.schemas import schema_of
from swarm.errors import BadInput
from swarm.running.running import run
from swarm.scenario.scenario import read_scenario

OPTION = "a" * 64

SERVES = '''
import json, os, signal, subprocess, sys, time

class Mind:
    """Agrees with everybody."""
    def manifest(self, duty): return {"manifest": {"agent": "test-mind", "model": "m-1"}}
    def nominate(self, duty): return {"nominates": ["soon"]}
    def interpret(self, duty):
        return {"interpretations": {term: {"meaning": "it\\u2028is " + term} for term in duty["terms"]}}
    def read(self, duty):
        return {"verdicts": ["yes"] * len(duty["cases"]), "judgements": ["different"] * len(duty["meanings"])}
    def settle(self, duty): return {"terms": {term: {"keep": True} for term in duty["terms"]}}
    def quote(self, duty): return {"values": {name: issue["values"] for name, issue in duty["issues"].items()}}
    def propose(self, duty): return {"option": {"title": "tue", "offer": {"day": "tue"}}, "reserve": 10}
    def score(self, duty): return {"scores": {asked["id"]: 70 for asked in duty["options"]}}
    def improve(self, duty): return {"pass": True}
    def ratify(self, duty): return {"accept": True}
    def perform(self, duty):
        if "signed" in duty["reportable"] and duty["promises"].get("sign") == "detached" and not duty["done"]:
            return {"acts": [{"kind": "event.report", "event": "signed"}], "again_in_seconds": "0.5"}
        return {"acts": []}

def say(text): print(text, flush=True)

def serve(mind):
    for line in sys.stdin:
        duty = json.loads(line)
        said = getattr(mind, duty["act"])(duty)
        if isinstance(said, dict): say(json.dumps({"id": duty["id"], "answer": said, "cost": {"calls": 1}}))
        elif said is not None: say(said)
'''


def commanded(folder: Path, body: str = "", **config: Any) -> Exec:
    """Return a command whose mind is `Mind` with the methods in *body* in place of its own."""
    methods = "".join(f"    {line}\n" for line in body.splitlines())
    text = f"{SERVES}\nclass Own(Mind):\n    pass\n{methods}\nserve(Own())\n"
    (folder / "mind.py").write_text(text, encoding="utf-8")
    return Exec(command=[sys.executable, "mind.py"], folder=str(folder), **config)


def asked(config: Exec, work: Callable[[ExternalMind], Awaitable[Any]]) -> Any:
    """Return what *work* comes to with a mind of *config*; the deadline is only for a hang."""

    async def bounded() -> Any:
        mind = ExternalMind(config, "bob")
        try:
            return await asyncio.wait_for(work(mind), 60)
        finally:
            mind.close()

    return asyncio.run(bounded())


def why(config: Exec, duty: Any = None) -> str:
    """Return the reason why *config* has no answer when it is to score."""

    async def work(mind: ExternalMind) -> str:
        with pytest.raises((NoAnswer, BadAnswer)) as caught:
            await mind.score(duty or ballot())
        return str(caught.value)

    said: str = asked(config, work)
    assert "Traceback" not in said
    assert "\n" not in said
    return said


def ballot(left: str | None = None) -> ScoreDuty:
    option = OptionAsked(id=OPTION, option=Option(title="x"), proposers=["ann"])
    time_left = None if left is None else Left(seconds=left)
    return ScoreDuty(member="bob", left=time_left, options=[option], rejects_left=1, bar=50, opens_reserve=True)


def standing() -> PerformDuty:
    return PerformDuty(member="bob", reportable=["signed"], awaiting=[], promises={}, done=[], operations=[])


# -- a room ------------------------------------------------------------------------------------------------------------


def a_room(place: Path, **bob: Any) -> dict[str, Any]:
    scripted = {
        "reads": {"task": {"meaning": "m", "cases": [{"text": "c", "applies": True}]}},
        "scores": {"otherwise": 60},
    }
    return {
        "room": "small",
        "intent": "Pick a day.",
        "agenda": ["accord", "concord", "commitments"],
        "issues": {"day": ["mon", "tue"]},
        "authority": {"issues": {"day": "bob"}},
        "events": {"signed": {"by": "bob", "confirmed_by": "ann"}},
        "promises": [
            {
                "id": "sign",
                "debtor": "bob",
                "creditor": "ann",
                "if": "agreed",
                "then": "signed within 9 seconds of agreed",
            }
        ],
        "rules": {"step_seconds": 20, "improvements": 2},
        "members": [
            {"name": "ann", "proposes": {"title": "mon", "offer": {"day": "mon"}}, **scripted},
            {"name": "bob", "agent": "exec", "command": [sys.executable, "mind.py"], "folder": str(place), **bob},
        ],
    }


RECORDS = """
def __getattribute__(self, name):
    with open("asked.jsonl", "a") as file: file.write(name + "\\n")
    return object.__getattribute__(self, name)
"""


def test_a_command_takes_part_from_joining_to_its_kept_promise(tmp_path: Path) -> None:
    """Protects the whole: every kind of duty is asked and answered over the pipe, and the room takes the answers."""
    commanded(tmp_path, RECORDS)
    result = run(a_room(tmp_path), memory=True, ledger=tmp_path / "ledger.jsonl")

    assert (result.outcome, result.commitments) == ("agreed", {"sign": "satisfied"}), result.reason
    excused = [f for f in result.plain()["findings"] if f["code"] in ("excused", "silent", "late")]
    assert excused == []
    acts = set((tmp_path / "asked.jsonl").read_text().split())
    assert acts >= set(DUTIES) - {"improve"}
    lines = [json.loads(line) for line in (tmp_path / "ledger.jsonl").read_bytes().splitlines()]
    entries = [line["entry"] for line in lines if "entry" in line]
    joins = [entry["body"] for entry in entries if entry["body"]["kind"] == "room.join"]
    assert {"agent": "test-mind", "model": "m-1"} in [join["manifest"] for join in joins]
    assert ["soon"] in [join.get("nominates") for join in joins]
    assert {"calls": 1} in [{k: v for k, v in entry.get("cost", {}).items() if v} for entry in entries]


KILLED_ONCE = """
def score(self, duty):
    if not os.path.exists("killed"):
        open("killed", "w").close()
        os.kill(os.getpid(), signal.SIGKILL)
    return super().score(duty)
"""


def test_killed_in_the_middle_it_is_started_again_and_asked_the_same(tmp_path: Path) -> None:
    """Protects the room: a command that dies over its ballot costs nobody anything."""
    commanded(tmp_path, KILLED_ONCE)
    result = run(a_room(tmp_path), memory=True)
    assert (tmp_path / "killed").exists()
    assert result.outcome == "agreed", result.reason
    assert [f for f in result.plain()["findings"] if f["code"] in ("excused", "silent", "late")] == []


def test_a_command_that_cannot_begin_declines_and_its_owner_reads_its_last_words(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Protects the others: they are told that a member is missing, and do not wait for it; its owner is told why."""
    (tmp_path / "mind.py").write_text("import no_such_module_here", encoding="utf-8")
    result = run(a_room(tmp_path), memory=True)
    assert result.outcome == "abandoned"
    assert "declined: bob" in result.reason
    assert "no_such_module_here" in caplog.text
    assert "no_such_module_here" not in str(result.plain())


# -- what can go wrong -------------------------------------------------------------------------------------------------

FAULTS = {
    "garbage": ("return 'Loading model...'", "no strict JSON"),
    "no object": ("return '[1]'", "expected a JSON object"),
    "another's id": ("""return '{"id":99,"answer":{"scores":{}}}'""", "expected the id 1, found 99"),
    "a float": (
        """return '{"id":1,"answer":{"scores":{"%s":70.0}}}' % duty["options"][0]["id"]""",
        "70.0 is no integer",
    ),
    "not UTF-8": ("sys.stdout.buffer.write(b'\\xff\\xfe\\n'); sys.stdout.buffer.flush()", "no strict JSON"),
    "nested": ("return '[' * 100_000", "no strict JSON"),
    "ten megabytes": ("return 'x' * 10_000_000", "more than 1048576 bytes"),
    "no end": ("sys.stdout.write('x' * 10_000_000); sys.stdout.flush(); time.sleep(3600)", "more than 1048576 bytes"),
    "text for a number": ("""return {"scores": {asked["id"]: "70" for asked in duty["options"]}}""", "valid integer"),
    "too high": ("""return {"scores": {asked["id"]: 101 for asked in duty["options"]}}""", "less than or equal to 100"),
    "an unknown field": ("""return {"scores": {}, "confidence": 1}""", "answer.confidence"),
    "a returned failure": ("""return {"status": "failed"}""", "answer.scores: Field required"),
    "both": ("""return '{"id":1,"answer":{"scores":{}},"excuse":"no"}'""", "either an answer or an excuse"),
    "neither": ("""return '{"id":1}'""", "either an answer or an excuse"),
    "refusing": ("""return '{"id":1,"excuse":"I do not vote on that."}'""", "I do not vote on that."),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_what_is_no_answer_is_an_excuse_that_says_so(tmp_path: Path, fault: str) -> None:
    """Protects the record and the peer: whatever a command says, its peer has a reason and no traceback."""
    body, told = FAULTS[fault]
    assert told in why(commanded(tmp_path, f"def score(self, duty):\n    {body}"))


def test_the_last_words_on_stderr_stand_in_the_reason_and_on_stderr_inert(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """Protects who looks for the cause, and the terminal it is shown on: it is told, and drives nothing."""
    body = "def score(self, duty):\n    print('first\\nthe key \\x1b[2J is missing', file=sys.stderr)\n    sys.exit(3)"
    reason = why(commanded(tmp_path, body))
    assert "it ended with code 3" in reason
    assert reason.endswith("last on stderr: the key \\x1b[2J is missing")
    err = capfd.readouterr().err
    assert "bob: first\n" in err
    assert "\x1b" not in err + reason


def test_a_log_keeps_stderr_as_it_was(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Protects who asked for a file: it holds all of it, and the peer's stderr none."""
    body = (
        "def score(self, duty):\n    print('bytes \\x1b', file=sys.stderr, flush=True)\n    return super().score(duty)"
    )
    asked(commanded(tmp_path, body, log="mind.log"), lambda mind: mind.score(ballot()))
    assert (tmp_path / "mind.log").read_bytes() == b"bytes \x1b\n"
    assert capfd.readouterr().err == ""


def test_a_slow_command_is_given_up_in_time_and_a_fresh_one_asked_next(tmp_path: Path) -> None:
    """Protects the next duty: what a command still says about the last one is not taken for its answer."""
    body = """
def score(self, duty):
    if duty["bar"] == 50:
        time.sleep(3600)
    return super().score(duty)
"""

    async def work(mind: ExternalMind) -> Any:
        with pytest.raises(NoAnswer, match=r"no answer to score within 2\.0 s"):
            await mind.score(ballot())
        return await mind.score(ballot().model_copy(update={"bar": 60}))

    assert asked(commanded(tmp_path, body, timeout_seconds=2), work).answer == Scored({OPTION: 70})


def test_the_deadline_of_a_duty_is_a_limit_too(tmp_path: Path) -> None:
    """Protects the step: its reason is given, last words included, before its peer stops waiting."""
    body = "def score(self, duty):\n    print('thinking', file=sys.stderr, flush=True)\n    time.sleep(3600)"
    reason = why(commanded(tmp_path, body), ballot(left="4"))
    assert re.fullmatch(r"no answer to score within [0-3]\.\d s; last on stderr: thinking", reason), reason


def test_a_command_that_always_crashes_is_started_a_few_times_ever_more_slowly(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Protects the machine: a command that cannot work is no busy loop."""
    pauses: list[float] = []
    sleep = asyncio.sleep

    async def noted(seconds: float, *rest: Any) -> None:
        pauses.append(seconds)
        await sleep(0)

    monkeypatch.setattr(external.asyncio, "sleep", noted)
    body = "def score(self, duty):\n    open('starts', 'a').write('x')\n    os.abort()"
    reason = why(commanded(tmp_path, body))
    assert f"no answer to score in {external.MOST_STARTS} starts: it was killed by SIGABRT" in reason
    assert (tmp_path / "starts").read_text() == "x" * external.MOST_STARTS
    assert pauses == [0.1, 0.2, 0.4]


def test_a_command_that_answers_once_and_ends_is_no_crash(tmp_path: Path) -> None:
    """Protects the simplest of scripts: one line in, one line out, the end."""
    answer = 'read -r duty; id=${duty#*:}; echo "{\\"id\\":${id%%,*},\\"answer\\":{\\"pass\\":true}}"'
    config = Exec(command=["sh", "-c", answer], folder=str(tmp_path))

    async def work(mind: ExternalMind) -> list[Any]:
        return [await mind.improve(improvement()) for _ in range(3)]

    assert asked(config, work) == [None, None, None]


def improvement() -> ImproveDuty:
    return ImproveDuty(
        member="bob", standing=OPTION, objections=[], options=[], table={OPTION: {"ann": None}}, reserves={"ann": None},
        issues={}, optional=[], floor=0, tries_left=1,
    )  # fmt: skip


# -- refusals, failures, cancellations (GD-05) -------------------------------------------------------------------------


def test_a_refusal_is_no_fault(tmp_path: Path) -> None:
    """Protects who declines: five refusals start nothing again and slow nothing down; the reason is the command's."""
    body = """
def score(self, duty):
    open("starts", "a").write(str(os.getpid()) + "\\n")
    return json.dumps({"id": duty["id"], "excuse": "not my vote"})
"""

    async def work(mind: ExternalMind) -> None:
        for _ in range(5):
            with pytest.raises(NoAnswer, match=r"^not my vote$"):
                await mind.score(ballot())
        assert isinstance(await mind.improve(improvement()), Costed)

    asked(commanded(tmp_path, body), work)
    pids = (tmp_path / "starts").read_text().split()
    assert len(pids) == 5
    assert len(set(pids)) == 1


@pytest.mark.parametrize("act", [act for act in ANSWERS if act != "manifest"])
def test_a_returned_failure_is_no_answer_to_anything(act: str) -> None:
    """Protects the record: no act has a form that an error, returned as a value, would fit by its defaults."""
    for failure in ({"status": "failed"}, {"error": "rate limit"}, {}, None, "failed", False):
        with pytest.raises(BadAnswer):
            parse_answer(act, json.dumps({"id": 1, "answer": failure}), 1)


def test_a_cancellation_is_neither_failure_nor_success(tmp_path: Path) -> None:
    """Protects the count of failures: who stops waiting has learnt nothing about the command, and ends its work."""
    body = "def score(self, duty):\n    open('began', 'w').write(str(os.getpid()))\n    time.sleep(3600)"

    async def work(mind: ExternalMind) -> None:
        task = asyncio.ensure_future(mind.score(ballot()))
        await until(lambda: (tmp_path / "began").exists() and (tmp_path / "began").read_text())
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await until(lambda: not alive(int((tmp_path / "began").read_text())))
        assert (await mind.improve(improvement())).answer is None

    asked(commanded(tmp_path, body), work)


async def until(holds: Callable[[], Any]) -> None:
    """Wait until *holds*; the deadline is only for what never comes."""
    async with asyncio.timeout(30):
        while not holds():
            await asyncio.sleep(0.02)


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


# -- processes ---------------------------------------------------------------------------------------------------------

HAS_A_CHILD = """
def score(self, duty):
    child = subprocess.Popen(["sleep", "1000"])
    open("pids", "w").write(f"{os.getpid()} {child.pid}\\n")
    return super().score(duty)
"""


def pids(folder: Path) -> list[int]:
    path = folder / "pids"
    text = path.read_text() if path.exists() else ""
    return [int(pid) for pid in text.split()] if text.endswith("\n") else []


def test_a_command_and_its_children_end_with_the_loop_they_were_asked_in(tmp_path: Path) -> None:
    """Protects the machine: when a member is done, nothing that its command started goes on."""

    async def work() -> None:
        await ExternalMind(commanded(tmp_path, HAS_A_CHILD), "bob").score(ballot())
        assert all(alive(pid) for pid in pids(tmp_path))

    asyncio.run(work())
    started = pids(tmp_path)
    assert len(started) == 2
    asyncio.run(until(lambda: not any(alive(pid) for pid in started)))


def test_a_command_and_its_children_end_when_their_peer_is_killed(tmp_path: Path) -> None:
    """Protects the machine: not even a SIGKILL of the peer leaves a command behind."""
    commanded(tmp_path, HAS_A_CHILD)
    peer = tmp_path / "peer.py"
    peer.write_text(
        "import asyncio, sys\n"
        "from agents.external import Exec, ExternalMind\n"
        "from protocols.duties.duties import ScoreDuty\n"
        "async def main():\n"
        "    mind = ExternalMind(Exec(command=[sys.executable, 'mind.py']))\n"
        "    await mind.score(ScoreDuty(member='bob', options=[], rejects_left=0, bar=50, opens_reserve=False))\n"
        "    await asyncio.sleep(3600)\n"
        "asyncio.run(main())\n",
        encoding="utf-8",
    )
    root = str(Path(__file__).resolve().parents[2])

    async def work() -> None:
        process = await asyncio.create_subprocess_exec(
            sys.executable, str(peer), cwd=tmp_path, env={**os.environ, "PYTHONPATH": root}
        )
        try:
            await until(lambda: pids(tmp_path))
        finally:
            process.send_signal(signal.SIGKILL)
            await process.wait()
        await until(lambda: not any(alive(pid) for pid in pids(tmp_path)))

    asyncio.run(work())


def test_the_environment_is_a_minimal_one_and_what_the_file_adds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Protects secrets: a command sees the variables that its file names, no others of its peer's, and no file."""
    monkeypatch.setenv("SECRET_OF_THE_PEER", "s")
    monkeypatch.setenv("HANDED_ON", "h")
    body = """
def score(self, duty):
    open("env", "w").write(json.dumps([dict(os.environ), sorted(os.listdir("/proc/self/fd"), key=int)]))
    return super().score(duty)
"""
    config = commanded(tmp_path, body, env={"ADDED": "a"}, pass_env=["HANDED_ON"])
    asked(config, lambda mind: mind.score(ballot()))
    environment, files = json.loads((tmp_path / "env").read_text())
    assert (environment["ADDED"], environment["HANDED_ON"]) == ("a", "h")
    assert "SECRET_OF_THE_PEER" not in environment
    assert set(files) <= {"0", "1", "2", "3", "4"}  # Its own: the three, what it writes and what it lists.


# -- files -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("config", "told"),
    [
        ({"command": ["no-such-program-here"]}, "command: no program 'no-such-program-here'"),
        ({"command": ["./mind.py"]}, "command: no program './mind.py'"),
        ({"folder": "/no/such/folder"}, "folder: no folder /no/such/folder"),
        ({"pass_env": ["NO_SUCH_VARIABLE"]}, "pass_env: NO_SUCH_VARIABLE is not set"),
        ({"log": "no/such/mind.log"}, "log: no folder"),
    ],
)
def test_what_cannot_be_run_is_bad_input_before_the_room_opens(
    tmp_path: Path, config: dict[str, Any], told: str
) -> None:
    """Protects the others: nobody is invited to a room in which a seat must stay empty."""
    commanded(tmp_path)
    ledger = tmp_path / "ledger.jsonl"
    with pytest.raises(BadInput, match=re.escape(f"agent exec of bob: {told}")):
        run(a_room(tmp_path, **config), memory=True, ledger=ledger)
    assert not ledger.exists()


def test_a_folder_is_looked_for_beside_the_scenario(tmp_path: Path) -> None:
    """Protects files that are moved: a command is found from where its scenario is, not from where one stands."""
    path = tmp_path / "scenario.json"
    for folder, expected in (("", tmp_path), ("minds", tmp_path / "minds"), ("/opt", Path("/opt"))):
        scenario = a_room(tmp_path)
        scenario["members"][1]["folder"] = folder
        if not folder:
            del scenario["members"][1]["folder"]
        path.write_text(json.dumps(scenario), encoding="utf-8")
        assert Path(read_scenario(path).members[1].folder) == expected


# -- the wire ----------------------------------------------------------------------------------------------------------


def test_answers_become_what_an_agent_returns() -> None:
    """Protects the peer: over the wire or not, it gets the same types."""
    option = Option(title="x", offer={"day": "mon"})
    wanted: list[tuple[str, Any, Any]] = [
        ("propose", {"option": option.plain()}, Proposed(option)),
        ("score", {"scores": {OPTION: 0}, "rejects": {"b": "no"}}, Scored({OPTION: 0}, {"b": "no"})),
        ("improve", {"option": option.plain()}, option),
        ("improve", {"pass": True}, None),
        ("ratify", {"accept": False, "because": "no"}, Ratified(False, "no")),
        ("perform", {"acts": [], "again_in_seconds": "1.25"}, Performed([], 1_250_000)),
        ("perform", {"acts": [], "again_in_seconds": 2}, Performed([], 2_000_000)),
        (
            "perform",
            {"acts": [{"kind": "event.report", "event": "signed", "attributes": {"seats": "12"}}]},
            Performed([ReportEvent(event="signed", attributes={"seats": "12"})]),
        ),
    ]
    for act, answer, given in wanted:
        assert parse_answer(act, json.dumps({"id": 7, "answer": answer}), 7).answer() == given
    costed = parse_answer("improve", '{"id":7,"answer":{"pass":true},"cost":{"tokens_in":3,"seconds":"0.5"}}', 7)
    assert costed.answer() == Costed(None, tokens_in=3, seconds="0.5")


@pytest.mark.parametrize(
    ("act", "answer"),
    [
        ("perform", '{"acts":[],"again_in_seconds":1.5}'),
        ("perform", '{"acts":[],"again_in_seconds":"1e3"}'),
        ("perform", '{"acts":[],"again_in_seconds":"99999999"}'),
        ("perform", '{"acts":[{"kind":"room.leave","because":"x"}]}'),
        ("improve", '{"pass":false}'),
        ("improve", '{"pass":true,"option":{"title":"x"}}'),
        ("ratify", '{"accept":false}'),
        ("ratify", '{"accept":"true"}'),
        ("propose", '{"option":{"title":"x"},"reserve":true}'),
        ("read", '{"verdicts":["maybe"],"judgements":[]}'),
        ("settle", '{"terms":{"task":{"keep":true,"adopt":"x"}}}'),
        ("nominate", '{"nominates":["a","b","c","d"]}'),
        ("score", '{"scores":{"a":1,"a":2}}'),
        ("score", '{"scores":{"\\ud800":1}}'),
        ("score", '{"scores":{"a":9007199254740993}}'),
    ],
)
def test_nothing_is_coerced(act: str, answer: str) -> None:
    """Protects the record: what a command did not mean is refused, and never made to fit."""
    with pytest.raises((BadAnswer, BadLine)):
        parse_answer(act, f'{{"id":1,"answer":{answer}}}', 1)


def test_every_line_of_a_real_run_is_valid_under_the_published_schema(tmp_path: Path) -> None:
    """Protects who writes a mind in another language: the schema describes what is really said, and nothing else."""
    tee = f"tee -a duties.jsonl | {shlex.quote(sys.executable)} -u mind.py | tee -a answers.jsonl"
    commanded(tmp_path)
    scenario = a_room(tmp_path, command=["sh", "-c", tee])
    scenario["members"][0]["scores"] = {"mon": 90, "tue": 20}
    run(scenario, memory=True)
    published = json.loads(json.dumps(schema_of("duty")))
    defs = published["$defs"]
    duties = [json.loads(line) for line in (tmp_path / "duties.jsonl").read_text().splitlines()]
    answers = [json.loads(line) for line in (tmp_path / "answers.jsonl").read_text().splitlines()]
    assert {duty["act"] for duty in duties} == set(DUTIES)
    acts = {duty["id"]: duty["act"] for duty in duties}
    for duty in duties:
        assert fits(duty, published, defs), duty
        assert not fits({**duty, "more": 1}, published, defs)
        assert not fits({key: value for key, value in duty.items() if key != "act"}, published, defs)
    for answer in answers:
        assert fits(answer, published, defs), answer
        assert fits(answer, {"$ref": f"#/$defs/{acts[answer['id']].capitalize()}Reply"}, defs), answer
        assert not fits({**answer, "answer": {"status": "failed"}}, published, defs)
    assert fits({"id": 1, "excuse": "no"}, published, defs)
    assert not fits({"id": 1, "excuse": ""}, published, defs)
    assert not fits({"id": 1}, published, defs)


def test_an_absent_value_stays_in_a_duty() -> None:
    """Protects improvements: a rejection is null in the table, which must not vanish on the way."""
    assert json.loads(duty_json(improvement(), 4))["table"] == {OPTION: {"ann": None}}


TYPES: dict[str, Callable[[Any], bool]] = {
    "object": lambda v: isinstance(v, dict),
    "array": lambda v: isinstance(v, list),
    "string": lambda v: isinstance(v, str),
    "integer": lambda v: type(v) is int,
    "boolean": lambda v: isinstance(v, bool),
    "null": lambda v: v is None,
}
ANNOTATIONS = {"title", "description", "default", "$schema", "$defs", "discriminator"}


def fits(value: Any, form: Any, defs: dict[str, Any]) -> bool:
    """Tell whether *value* is valid under *form*: the part of JSON Schema that ours use; another word is an error."""
    if isinstance(form, bool):
        return form
    checks: dict[str, Callable[[Any], bool]] = {
        "$ref": lambda ref: fits(value, defs[ref.removeprefix("#/$defs/")], defs),
        "anyOf": lambda forms: any(fits(value, f, defs) for f in forms),
        "oneOf": lambda forms: sum(fits(value, f, defs) for f in forms) == 1,
        "type": lambda kind: TYPES[kind](value),
        "const": lambda wanted: value == wanted and type(value) is type(wanted),
        "enum": lambda wanted: value in wanted,
        "minimum": lambda least: type(value) is not int or value >= least,
        "maximum": lambda most: type(value) is not int or value <= most,
        "minLength": lambda least: not isinstance(value, str) or len(value) >= least,
        "maxLength": lambda most: not isinstance(value, str) or len(value) <= most,
        "pattern": lambda pattern: not isinstance(value, str) or re.search(pattern, value) is not None,
        "minItems": lambda least: not isinstance(value, list) or len(value) >= least,
        "maxItems": lambda most: not isinstance(value, list) or len(value) <= most,
        "items": lambda item: not isinstance(value, list) or all(fits(v, item, defs) for v in value),
        "required": lambda keys: not isinstance(value, dict) or set(keys) <= value.keys(),
        "minProperties": lambda least: not isinstance(value, dict) or len(value) >= least,
        "maxProperties": lambda most: not isinstance(value, dict) or len(value) <= most,
        "propertyNames": lambda f: not isinstance(value, dict) or all(fits(k, f, defs) for k in value),
        "properties": lambda _: True,
        "patternProperties": lambda _: True,
        "additionalProperties": lambda _: True,
    }
    unknown = form.keys() - checks.keys() - ANNOTATIONS
    assert not unknown, f"a word of JSON Schema that this check does not know: {unknown}"
    if isinstance(value, dict):
        named, patterned = form.get("properties", {}), form.get("patternProperties", {})
        others = form.get("additionalProperties", True)
        for key, item in value.items():
            matching = [f for pattern, f in patterned.items() if re.search(pattern, key)]
            if not all(fits(item, f, defs) for f in ([named[key]] if key in named else matching or [others])):
                return False
    return all(check(form[word]) for word, check in checks.items() if word in form)
