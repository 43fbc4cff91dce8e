"""What utility members reach together, and what one of them may do alone."""

import statistics
from collections.abc import Mapping

import pytest

from agents import utility_model
from agents.utility_model import Offer, Row, UtilityModel
from tests.support.games import DATA, generated, play, published
from tests.support.lacking import needs

needs_data = needs(DATA)


@needs_data
@pytest.mark.parametrize(("name", "best"), [("base", 51), ("game1", 62)])
def test_the_published_games_end_at_the_best_acceptable_deal(name: str, best: int) -> None:
    game = published(name)
    assert game.best_acceptable_minimum() == best
    ended = play(game)
    assert ended.acceptable
    assert min(ended.scores.values()) == best
    assert ended.tries <= 20


def test_a_hundred_games_end_within_a_point_of_the_best_on_average() -> None:
    short, tries = [], []
    for seed in range(100):
        game = generated(seed)
        ended = play(game)
        best = game.best_acceptable_minimum()
        assert ended.acceptable and best is not None, seed
        short.append(best - min(ended.scores.values()))
        tries.append(ended.tries)
    assert statistics.mean(short) <= 1
    assert statistics.mean(tries) <= 20


def test_a_game_is_played_the_same_way_every_time() -> None:
    assert play(generated(3)) == play(generated(3))


ISSUES = {"price": ["10", "20", "30"], "days": ["1", "2"]}
SELLER: Mapping[str, Mapping[str, int]] = {"price": {"20": 30, "30": 60}, "days": {"2": 40}}


def seller(reserve: int | None = None, issues: Mapping[str, list[str]] = ISSUES) -> UtilityModel:
    return UtilityModel(issues, SELLER, reserve, ["seller", "buyer"], "seller")


def test_scores_are_sums_of_points_and_unlisted_values_are_worth_nothing() -> None:
    assert seller().score(("20", "2")) == 70
    assert seller().score(("10", "1")) == 0
    assert seller().first_proposal() == ("30", "2")


def test_an_issue_left_out_takes_its_first_value() -> None:
    model = seller(issues={"price": ["30", "20"], "days": ["1", "2"]})
    assert model.offer({"days": "2"}) == ("30", "2")
    assert model.values(("30", "2")) == {"price": "30", "days": "2"}


def _row(offer: Offer | None, seller_score: int | None, buyer_score: int | None) -> Row:
    return Row(offer, {"seller": seller_score, "buyer": buyer_score})


def test_it_proposes_only_what_is_better_for_itself() -> None:
    rows = [_row(("20", "1"), 30, 40), _row(("10", "1"), 0, 100), _row(("10", "2"), 40, 90)]
    offer = seller().improve(rows, 0, {"buyer": None})
    assert offer is not None
    assert seller().score(offer) > 30
    content = [_row(("30", "2"), 100, 10), *rows[1:]]
    assert seller().improve(content, 0, {"buyer": None}) is None


def test_while_there_are_objections_its_reserve_will_do() -> None:
    rows = [_row(("30", "2"), 100, 10), _row(("10", "1"), 0, 80)]
    offer = seller(reserve=40).improve(rows, 0, {"buyer": 50})
    assert offer is not None
    assert 40 <= seller().score(offer) < 100


def test_without_issues_there_is_nothing_to_propose() -> None:
    model = UtilityModel({}, {}, None, ["seller", "buyer"], "seller")
    assert model.first_proposal() == ()
    assert model.improve([_row(None, 0, 0), _row((), 0, 0)], 0, {}) is None


def test_a_rejection_by_a_member_is_an_objection_to_the_standing_option() -> None:
    rows = [_row(("30", "2"), 100, None), _row(("10", "1"), 0, 80)]
    assert seller(reserve=0).improve(rows, 0, {"buyer": None}) is not None


def test_it_repeats_nothing() -> None:
    every = [(price, days) for price in ISSUES["price"] for days in ISSUES["days"]]
    rows = [_row(("30", "2"), 100, 10)]
    assert seller(reserve=0).improve(rows, 0, {"buyer": 90}, tried=every) is None
    left = ("20", "1")
    assert seller(reserve=0).improve(rows, 0, {"buyer": 90}, tried=[o for o in every if o != left]) == left


def test_a_status_quo_without_values_can_stand() -> None:
    rows = [_row(None, 0, 0), _row(("30", "2"), 100, 10)]
    assert seller(reserve=30).improve(rows, 0, {"buyer": 30}) is not None


def test_it_learns_what_a_value_is_worth_to_another() -> None:
    """The buyer's scores show that it cares about the price alone, so the seller trades the days for nothing."""
    rows = [_row(("20", "1"), 30, 50), _row(("30", "1"), 60, 0), _row(("10", "2"), 40, 100), _row(("10", "1"), 0, 100)]
    assert seller().improve(rows, 0, {"buyer": 40}) == ("20", "2")


@pytest.mark.parametrize("enumerated", [600, 10])
def test_searching_neighbours_comes_as_far_as_weighing_every_offer(
    enumerated: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With too many offers to weigh each, a bounded search stands in; here it is forced on small games."""
    monkeypatch.setattr(utility_model, "MOST_ENUMERATED", enumerated)
    if enumerated == 10:
        monkeypatch.setattr(utility_model, "_SEARCH_WORK", 200_000)  # leaves no room for changes of two issues
    short = []
    for seed in range(20):
        game = generated(seed)
        ended = play(game)
        assert ended.acceptable, seed
        short.append((game.best_acceptable_minimum() or 0) - min(ended.scores.values()))
    assert statistics.mean(short) <= 1


def test_a_large_space_is_searched_within_bounds() -> None:
    issues = {f"i{n}": [str(v) for v in range(8)] for n in range(40)}
    own = {issue: {"7": 2} for issue in issues}
    model = UtilityModel(issues, own, 10, ["a", "b"], "a")
    start = tuple("0" for _ in issues)
    rows = [Row(start, {"a": 0, "b": 60}), Row(model.first_proposal(), {"a": 80, "b": 20})]
    offer = model.improve(rows, 0, {"b": 30})
    assert offer is not None
    assert model.score(offer) >= 10
