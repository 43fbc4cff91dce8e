"""One model, one duty, and everything that can go wrong on the way, over real HTTP."""

import asyncio
from collections.abc import Iterator
from decimal import Decimal

import pytest

from agents.agent import Costed, Scored
from agents.llm.completions import CUT_OFF, NO_KEY, CannotAsk, Failed
from agents.llm.mind import MOST_FAILURES, Llm, LlmMind, _wait_s
from protocols.messages.budget import Left
from tests.support.llm_duties import OPTIONS, ask, asked_option, counts, failure, mind, read_duty, score_duty, scores
from tests.support.llm_server import Server, serving

SECRET = "sk-not-to-be-seen-1234567890"


@pytest.fixture
def server() -> Iterator[Server]:
    with serving(scores) as running:
        yield running


def assert_scored(answer: Costed, server: Server) -> None:
    ids = [asked_option(option).id for option in OPTIONS]
    assert answer.answer == Scored({ids[0]: 70, ids[1]: 60})
    assert counts(answer) == server.counted
    assert answer.model == "scripted"
    assert Decimal(answer.seconds or "0") > 0


def test_an_answer_comes_with_what_it_took(server: Server) -> None:
    """Protects the plain case: typed scores by id, and the cost as the server counted it."""
    assert_scored(ask(mind(server), score_duty()), server)
    assert server.requests == 1


@pytest.mark.parametrize("fault", ["not_json", "wrong_schema", "text_numbers", "prose", "twice", "long"])
def test_an_answer_of_no_use_goes_back_with_what_was_wrong(server: Server, fault: str) -> None:
    """Protects the correction: one bad answer costs one more request, which says what was wrong, and no member."""
    server.order(fault)
    assert_scored(ask(mind(server), score_duty()), server)
    assert server.requests == 2
    assert server.asked[1].data["refused"]["why"]
    assert "refused" not in server.asked[0].data


@pytest.mark.parametrize(
    "score",
    ["true", '"85"', "0.8", '"8/10"', "9.2e124", "-1", "101", "100.0", "null", '"there are 5 reasons"', "1e999"],
)
def test_what_is_no_score_is_never_made_one(server: Server, score: str) -> None:
    """Protects AC-04: nothing is rescaled, clamped, read from words or filled in; the model is told the field."""
    said = f'{{"options": [{{"option": "o1", "score": {score}}}, {{"option": "o2", "score": 50}}]}}'
    server.order(f"say:{said}", times=2)
    reason, cost = failure(mind(server, retries=1), score_duty())
    assert reason.startswith("no answer that can be used in 2: ")
    assert counts(cost) == server.counted
    assert server.requests == 2


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ('{"options": [{"option": "o1", "score": 5}]}', "o2 missing"),
        ('{"options": [{"option": "o1", "score": 5}, {"option": "o1", "score": 6}]}', "o1 stands twice"),
        ('{"options": [{"option": "o1", "score": 5}, {"option": "o9", "score": 6}]}', "'o9' is none of o1, o2"),
        ('{"options": [{"option": "o1", "reject": "a"}, {"option": "o2", "reject": "b"}]}', "you have 1 left"),
        ('{"options": [{"option": "o1", "score": 5, "reject": "a"}, {"option": "o2", "score": 1}]}', "either a score"),
        ('{"options": [], "options": []}', "a key stands twice"),
        ('{"options": [], "roster": ["bob"]}', "Extra inputs"),
    ],
)
def test_a_ballot_is_checked_against_its_duty(server: Server, said: str, told: str) -> None:
    """Protects the model's second chance: it learns which handle is wrong, before its peer would have to say so."""
    server.order(f"say:{said}")
    assert_scored(ask(mind(server), score_duty()), server)
    assert told in server.asked[1].data["refused"]["why"]


def test_sending_back_is_bounded(server: Server) -> None:
    """Protects the budget: `retries` more requests, then an excuse that says why and carries what it all took."""
    server.order("text_numbers", times=9)
    reason, cost = failure(mind(server, retries=3), score_duty())
    assert "valid integer" in reason
    assert server.requests == 4
    assert counts(cost) == server.counted


def test_an_answer_cut_off_twice_is_given_up(server: Server) -> None:
    """Protects against a model that cannot be brief: it is told once."""
    server.order("long", times=9)
    reason, cost = failure(mind(server, retries=5), score_duty())
    assert "too long, and again" in reason
    assert server.asked[1].data["refused"]["why"] == CUT_OFF
    assert server.requests == 2
    assert counts(cost) == server.counted


@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        ("refuse:I do not score colleagues.", "the model refused: I do not score colleagues."),
        ("filter", "the model refused: a content filter stopped the answer"),
        ("excuse:I know too little of paint.", "I know too little of paint."),
    ],
)
def test_a_refusal_is_no_fault(server: Server, fault: str, reason: str) -> None:
    """Protects GD-05: no second request, the model's own reason, and the cost of having asked."""
    server.order(fault)
    said, cost = failure(mind(server), score_duty())
    assert said == reason
    assert server.requests == 1
    assert counts(cost) == server.counted


@pytest.mark.parametrize("fault", ["status:429,0", "status:500", "status:503", "status:408", "drop", "failed", "html"])
def test_what_may_pass_is_tried_again(server: Server, fault: str) -> None:
    """Protects GD-05: throttling, failures of the server, also one returned as a value, and of the wire."""
    server.order(fault)
    assert_scored(ask(mind(server), score_duty()), server)
    assert server.requests == 2


def test_a_request_that_takes_too_long_is_tried_again(server: Server) -> None:
    """Protects against a server that hangs: one request's time is bounded, and it counts as the request it was."""
    server.order("slow:30")
    assert_scored(ask(mind(server, timeout_seconds=1), score_duty()), server)
    assert server.requests == 2


@pytest.mark.parametrize("status", [400, 401, 403, 404, 422])
def test_what_was_refused_is_not_sent_again_and_its_words_are_not_told(
    server: Server, status: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Protects the key: servers quote it in their refusals, and a reason stands in the ledger for good."""
    monkeypatch.setenv("PAINT_KEY", SECRET)
    server.order(f"status:{status}")
    reason, cost = failure(mind(server, api_key_env="PAINT_KEY"), score_duty())
    assert server.asked[0].headers["authorization"] == f"Bearer {SECRET}"
    assert f"status {status}" in reason
    assert "of_the_server" in reason
    assert SECRET not in reason + str(cost)
    assert server.requests == 1
    assert counts(cost) == server.counted


def test_failures_in_a_row_come_to_an_end(server: Server) -> None:
    """Protects time and calls: a server that stays down is not asked for ever, whatever it asks for."""
    server.order("status:500,0", times=99)
    reason, cost = failure(mind(server), score_duty())
    assert f"{MOST_FAILURES + 1} times in a row" in reason
    assert counts(cost) == server.counted


def test_a_wait_that_the_step_has_no_time_for_is_not_begun(server: Server) -> None:
    """Protects the excuse: it is said in time, instead of a wait for a server that asks for an hour."""
    server.order("status:429,3600")
    reason, cost = failure(mind(server), score_duty())
    assert "status 429" in reason
    assert "no time is left" in reason
    assert server.requests == 1
    assert counts(cost) == server.counted


def test_waits_grow_and_are_never_shorter_than_asked_for() -> None:
    """Protects servers: what they ask for is kept, and members that failed together do not come back together."""
    asked_for = Failed("throttled", again=True, wait_s=7.0)
    assert all(_wait_s(1, asked_for) >= 7 for _ in range(20))
    plain = Failed("down", again=True)
    first, later = [_wait_s(1, plain) for _ in range(20)], [_wait_s(4, plain) for _ in range(20)]
    assert max(first) < min(later)
    assert len(set(first)) > 1


def test_time_is_the_limit_of_everything(server: Server) -> None:
    """Protects the room: with the seconds left over, the mind says so itself and tells what it took."""
    server.order("slow:30")
    reason, cost = failure(mind(server), score_duty(left=Left(seconds="0.8")))
    assert reason.startswith("no answer to score within 0.5 s")
    assert counts(cost) == server.counted == {"tokens_in": 0, "tokens_out": 0, "calls": 1}


@pytest.mark.parametrize("fault", ["text_numbers", "status:500"])
def test_calls_are_a_limit_of_retries_too(server: Server, fault: str) -> None:
    """Protects the budget: two calls are two requests, whatever they are needed for."""
    server.order(fault, times=99)
    reason, cost = failure(mind(server, retries=9), score_duty(left=Left(seconds="20", calls=2)))
    assert reason.startswith("budget: no calls left: ")
    assert server.requests == 2
    assert counts(cost) == server.counted


def test_tokens_are_a_limit(server: Server) -> None:
    """Protects the budget: an answer is bounded by what the question leaves; if that is little, none is asked for."""
    assert_scored(ask(mind(server), score_duty(left=Left(seconds="20", tokens=50_000))), server)
    assert 200 <= server.asked[0].body["max_tokens"] < 50_000
    reason, cost = failure(mind(server), score_duty(left=Left(seconds="20", tokens=500)))
    assert reason.startswith("budget: too few tokens left")
    assert "calls" not in cost
    assert server.requests == 1


def test_a_cancelled_question_leaves_nothing_running_and_its_cost_is_not_lost(server: Server) -> None:
    """Protects GD-05: a cancellation is neither failure nor success; the next answer declares what it took."""
    server.order("slow:30")
    agent = mind(server)

    async def go() -> Costed:
        asking = asyncio.create_task(agent.score(score_duty()))
        while not server.asked:
            await asyncio.sleep(0.01)
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
        assert asyncio.all_tasks() == {asyncio.current_task()}
        again: Costed = await agent.score(score_duty())  # type: ignore[assignment]
        return again

    assert_scored(asyncio.run(go()), server)
    assert server.requests == 2


def test_a_server_that_went_away_was_not_asked() -> None:
    """Protects the count: what found no server is no request; the excuse says that it cannot be reached."""
    with serving(scores) as server:
        agent = mind(server)
    reason, cost = failure(agent, score_duty(left=Left(seconds="3")))
    assert "cannot be reached" in reason
    assert "calls" not in cost


def test_json_in_place_of_a_tool(server: Server) -> None:
    """Protects servers without tools: the schema is in the words, and the answer is as strict as ever."""
    server.order("text_numbers")
    assert_scored(ask(mind(server, output="json"), score_duty()), server)
    assert server.requests == 2
    assert "tools" not in server.asked[0].body
    assert server.asked[0].body["response_format"] == {"type": "json_object"}
    server.order('prose:```json\n{"excuse": "Not my matter."}\n```')
    assert failure(mind(server, output="json"), score_duty())[0] == "Not my matter."


def test_without_a_key_of_its_own_a_server_gets_none(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """Protects a person's key for one provider from every other server."""
    monkeypatch.setenv("OPENAI_API_KEY", SECRET)
    ask(mind(server), score_duty())
    assert SECRET not in str(server.asked[0].headers)
    assert NO_KEY in server.asked[0].headers["authorization"]


def test_settings_reach_the_server(server: Server) -> None:
    """Protects what the file says: model, temperature, the longest answer."""
    ask(mind(server, temperature="0.25", max_tokens=900), score_duty())
    body = server.asked[0].body
    assert (body["model"], body["temperature"], body["max_tokens"]) == ("scripted", 0.25, 900)


def test_nothing_is_asked_where_there_is_nothing_to_judge(server: Server) -> None:
    """Protects the budget: one's own verdicts on one's own cases need no model."""
    duty = read_duty()
    own = duty.model_copy(update={"cases": duty.cases[:1]})
    answer = ask(mind(server), own)
    assert answer.verdicts == ["yes"]
    assert server.requests == 0


@pytest.mark.parametrize(
    ("config", "place", "why"),
    [
        ({"model": "gpt"}, "model", "expected provider:model"),
        ({"model": "nobody:gpt"}, "model", "no provider 'nobody'"),
        ({"model": "openai:gpt-5"}, "model", "OPENAI_API_KEY"),
        ({"model": "openai:gpt-5", "api_key_env": "PAINT_KEY"}, "api_key_env", "PAINT_KEY is not set"),
        ({"model": "x", "base_url": "http://127.0.0.1:1/v1", "api_key_env": "PAINT_KEY"}, "api_key_env", "is not set"),
    ],
)
def test_a_model_that_cannot_be_asked_is_said_beforehand(
    config: dict[str, str], place: str, why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Protects whoever forgot a key or mistyped a name: it is told before a room opens, by the field."""
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "PAINT_KEY"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(CannotAsk) as told:
        LlmMind(Llm(**config))
    assert told.value.place == place
    assert why in told.value.why


def test_a_key_that_is_none_is_told_without_showing_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Protects a key that was pasted with its line break: libraries quote what they cannot send."""
    monkeypatch.setenv("PAINT_KEY", SECRET + "\n")
    with pytest.raises(CannotAsk) as told:
        LlmMind(Llm(model="openai:gpt-5", api_key_env="PAINT_KEY"))
    assert "more than a key" in str(told.value)
    assert SECRET not in str(told.value)


def test_a_provider_is_made_with_the_key_that_the_file_names(monkeypatch: pytest.MonkeyPatch) -> None:
    """Protects the other way to name a model: a provider's, with the key from any variable."""
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.setenv("PAINT_KEY", SECRET)
    agent = LlmMind(Llm(model="openai:gpt-5", api_key_env="PAINT_KEY"))
    assert agent.manifest().model == "openai:gpt-5"
    assert SECRET not in str(agent.manifest())
