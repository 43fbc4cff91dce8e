"""Further tables of scores with known answers, worked out by hand; compare only what a row names."""

from typing import Any

_ONE = {"members": ["A", "B"], "options": ["X"]}
_TWO = {"members": ["A", "B"], "options": ["X", "Y"]}


def _ac04(name: str, score: Any, code: str = "score_not_integer") -> dict[str, Any]:
    return {
        "id": f"AC-04-{name}",
        "why": "the wrong type or scale voids the ballot; it is never repaired",
        "file": {**_ONE, "ballots": {"A": {"scores": {"X": score}}, "B": {"scores": {"X": 50}}}},
        "expect": {"outcome": "no_quorum", "void": {"A": code}, "winner": None, "standing": None},
    }


def _void(name: str, why: str, ballot: dict[str, Any], code: str, rejects: int = 1) -> dict[str, Any]:
    return {
        "id": name,
        "why": why,
        "file": {
            "members": ["A"],
            "options": ["X", "Y", "Z"],
            "ballots": {"A": ballot},
            "rules": {"rejects": rejects},
        },
        "expect": {"outcome": "no_quorum", "void": {"A": code}, "missing": []},
    }


ROWS: list[dict[str, Any]] = [
    _ac04("true", True),
    _ac04("text", "85"),
    _ac04("fraction", 0.8),
    _ac04("ratio", "8/10"),
    _ac04("huge-float", 9.2e124),
    _ac04("negative", -1, "score_out_of_range"),
    _ac04("whole-float", 100.0),
    _ac04("prose", "there are 5 reasons this is a 9"),
    _ac04("null", None),
    _ac04("list", [50]),
    _ac04("nan", float("nan")),
    _ac04("infinity", float("inf")),
    _ac04("401-digits", 10**400, "score_out_of_range"),
    {
        "id": "AC-07-exact-tie",
        "why": "0.1·0 + 0.2·0 + 0.7·90 and 0.1·0 + 0.2·70 + 0.7·70 are both 63: a tie, recorded as one",
        "file": {
            "members": ["A", "B"],
            "options": ["u", "v"],
            "ballots": {"A": {"scores": {"u": 63, "v": 63}}, "B": {"scores": {"u": 80, "v": 80}}},
        },
        "expect": {"outcome": "accepted", "rule": "beacon", "tied": ["u", "v"], "winner": "v", "vector": [63, 80]},
    },
    {
        "id": "AC-07-float",
        "why": "what a weighted sum in binary gives is no score",
        "file": {**_ONE, "ballots": {"A": {"scores": {"X": 62.99999999999999}}, "B": {"scores": {"X": 63}}}},
        "expect": {"outcome": "no_quorum", "void": {"A": "score_not_integer"}},
    },
    # The order in which a ballot is checked: each has the fault named and every later one.
    _void(
        "check-1-unknown",
        "unknown before all else",
        {"scores": {"W": 1, "X": 0.5}, "rejects": {"X": ""}},
        "unknown_option",
    ),
    _void("check-2-both", "then both ways", {"scores": {"X": 0.5}, "rejects": {"X": ""}}, "scored_and_rejected"),
    _void("check-3-type", "then the type, on any option", {"scores": {"X": 101, "Y": "1"}}, "score_not_integer"),
    _void(
        "check-4-range",
        "then the range",
        {"scores": {"X": 101}, "rejects": {"Y": "", "Z": ""}},
        "score_out_of_range",
    ),
    _void("check-5-budget", "then the budget", {"scores": {}, "rejects": {"Y": "", "Z": ""}}, "too_many_rejections"),
    _void("check-6-reason", "then the reason", {"scores": {}, "rejects": {"Y": " \n"}}, "rejection_without_reason"),
    _void("check-6-null", "no reason at all", {"scores": {}, "rejects": {"Y": None}}, "rejection_without_reason"),
    _void("check-7-incomplete", "a missing score is never 0", {"scores": {"X": 1, "Z": 1}}, "incomplete_ballot"),
    _void("check-5-none", "no rejections allowed", {"rejects": {"X": "r"}}, "too_many_rejections", rejects=0),
    {
        "id": "missing",
        "why": "who gave no ballot is named, in the order of names",
        "file": {"members": ["C", "B", "A"], "options": ["X"], "ballots": {"B": {"scores": {"X": 90}}}},
        "expect": {"outcome": "no_quorum", "missing": ["A", "C"], "void": {}},
    },
    {
        "id": "quorum-1",
        "why": "only counted ballots make the vector; the void and the missing are still named",
        "file": {
            "members": ["A", "B", "C"],
            "options": ["X", "Y"],
            "ballots": {"A": {"scores": {"X": 0}}, "B": {"scores": {"X": 60, "Y": 90}}},
            "rules": {"quorum": 1},
        },
        "expect": {
            "outcome": "accepted",
            "winner": "Y",
            "vector": [90],
            "void": {"A": "incomplete_ballot"},
            "missing": ["C"],
            "least_satisfied": "B",
        },
    },
    {
        "id": "floor-levels-all",
        "why": "a floor of 100 makes every option equal; equal options go by SHA-256",
        "file": {
            **_TWO,
            "ballots": {"A": {"scores": {"X": 10, "Y": 20}}, "B": {"scores": {"X": 30, "Y": 90}}},
            "rules": {"floor": 100},
            "beacon": "a1",
        },
        "expect": {"vector": [100, 100], "rule": "beacon", "winner": "Y", "tied": ["X", "Y"], "least_satisfied": "A"},
    },
    {
        "id": "rejection-stands-as-floor",
        "why": "in the vector a rejection is the floor, and it is still an objection",
        "file": {
            **_TWO,
            "ballots": {
                "A": {"scores": {"X": 100}, "rejects": {"Y": "no"}},
                "B": {"scores": {"Y": 90}, "rejects": {"X": "no"}},
            },
            "rules": {"floor": 30},
        },
        "expect": {
            "outcome": "no_eligible_option",
            "standing": "X",
            "winner": None,
            "vector": [30, 100],
            "rule": "leximin",
            "objections": {"X": ["B"], "Y": ["A"]},
            "least_satisfied": "B",
        },
    },
    {
        "id": "incumbent-beaten",
        "why": "an incumbent only breaks ties",
        "file": {
            **_TWO,
            "ballots": {"A": {"scores": {"X": 50, "Y": 50}}, "B": {"scores": {"X": 70, "Y": 71}}},
            "incumbent": "X",
        },
        "expect": {"winner": "Y", "rule": "leximin", "tied": ["Y"]},
    },
    {
        "id": "incumbent-elsewhere",
        "why": "the incumbent is not among the tied: the beacon decides between those",
        "file": {
            "members": ["A"],
            "options": ["X", "Y", "Z"],
            "ballots": {"A": {"scores": {"X": 80, "Y": 80, "Z": 10}}},
            "incumbent": "Z",
            "beacon": "a1",
        },
        "expect": {"winner": "Y", "rule": "beacon", "tied": ["X", "Y"]},
    },
    {
        "id": "fewest-objections",
        "why": "one objection goes before two, however low the scores",
        "file": {
            "members": ["A", "B", "C"],
            "options": ["X", "Y"],
            "ballots": {
                "A": {"scores": {"X": 59, "Y": 60}, "reserve": 60},
                "B": {"scores": {"X": 59, "Y": 1}, "reserve": 60},
                "C": {"scores": {"X": 100, "Y": 2}},
            },
        },
        "expect": {
            "outcome": "no_eligible_option",
            "standing": "Y",
            "rule": "objections",
            "objections": {"X": ["A", "B"], "Y": ["B"]},
            "least_satisfied": "B",
        },
    },
    {
        "id": "at-reserve-and-bar",
        "why": "a score at the reserve is no objection, a minimum at the bar is accepted",
        "file": {**_ONE, "ballots": {"A": {"scores": {"X": 50}, "reserve": 50}, "B": {"scores": {"X": 80}}}},
        "expect": {"outcome": "accepted", "winner": "X", "objections": {}, "rule": "only"},
    },
    {
        "id": "under-the-bar",
        "why": "one point under the default bar",
        "file": {**_ONE, "ballots": {"A": {"scores": {"X": 49}}, "B": {"scores": {"X": 80}}}},
        "expect": {"outcome": "below_bar", "winner": None, "standing": "X"},
    },
    {
        "id": "all-content",
        "why": "nobody is least satisfied where everyone gave 100",
        "file": {**_ONE, "ballots": {"A": {"scores": {"X": 100}, "reserve": 100}, "B": {"scores": {"X": 100}}}},
        "expect": {"least_satisfied": None, "vector": [100, 100]},
    },
    {
        "id": "shortfall-first",
        "why": "B is 20 below its reserve; A's lower score is above its own",
        "file": {
            **_ONE,
            "ballots": {"A": {"scores": {"X": 30}, "reserve": 20}, "B": {"scores": {"X": 50}, "reserve": 70}},
        },
        "expect": {"least_satisfied": "B", "outcome": "no_eligible_option"},
    },
    {
        "id": "also-ties",
        "why": "sum 100 both ways and lower median 40 and 30; a rejection counts 0 in both",
        "file": {
            "members": ["A", "B", "C"],
            "options": ["Y", "X"],
            "ballots": {
                "A": {"scores": {"X": 40, "Y": 70}},
                "B": {"scores": {"X": 40, "Y": 30}},
                "C": {"scores": {"X": 20}, "rejects": {"Y": "no"}},
            },
        },
        "expect": {"also": {"sum": "X", "median": "X"}, "standing": "X", "rule": "objections"},
    },
    {
        "id": "also-differ",
        "why": "maximin, sum and lower median each pick another",
        "file": {
            "members": ["A", "B", "C", "D"],
            "options": ["X", "Y", "Z"],
            "ballots": {
                "A": {"scores": {"X": 40, "Y": 0, "Z": 10}},
                "B": {"scores": {"X": 40, "Y": 30, "Z": 60}},
                "C": {"scores": {"X": 40, "Y": 100, "Z": 60}},
                "D": {"scores": {"X": 40, "Y": 100, "Z": 60}},
            },
        },
        "expect": {"standing": "X", "also": {"sum": "Y", "median": "Z"}},
    },
    {
        "id": "nobody-proposed",
        "why": "without options there is nothing to be short of a quorum for",
        "file": {"members": ["A", "B"], "options": [], "ballots": {"A": {"scores": {"X": 5}}}},
        "expect": {"outcome": "no_options", "void": {"A": "unknown_option"}, "missing": ["B"]},
    },
    {
        "id": "names-by-code-point",
        "why": "é (U+00E9) sorts after Z and z, not beside e",
        "file": {
            "members": ["é", "z", "Z"],
            "options": ["X"],
            "ballots": {name: {"scores": {"X": 60}} for name in ("é", "z", "Z")},
        },
        "expect": {"least_satisfied": "Z", "vector": [60, 60, 60]},
    },
]

_GOOD = {"members": ["A", "B"], "options": ["X"], "ballots": {"A": {"scores": {"X": 1}}}}

BAD_INPUT: list[tuple[str, dict[str, Any], str]] = [
    ("stranger", {**_GOOD, "ballots": {"C": {"scores": {"X": 1}}}}, "ballots.C: not a member"),
    ("member twice", {**_GOOD, "members": ["A", "B", "A"]}, "members[2]: 'A' stands twice"),
    ("option twice", {**_GOOD, "options": ["X", "X"]}, "options[1]: 'X' stands twice"),
    ("nobody", {**_GOOD, "members": [], "ballots": {}}, "members: must not be empty"),
    ("number as name", {**_GOOD, "members": ["A", 2]}, "members[1]: expected text, found the number 2"),
    ("incumbent", {**_GOOD, "incumbent": "Y"}, "incumbent: not an option"),
    ("quorum", {**_GOOD, "rules": {"quorum": 3}}, "rules.quorum: must be all or from 1 to 2"),
    ("no quorum", {**_GOOD, "rules": {"quorum": 0}}, "rules.quorum: must be at least 1"),
    ("quorum word", {**_GOOD, "rules": {"quorum": "most"}}, "rules.quorum: expected 'all' or a whole number"),
    ("bar", {**_GOOD, "rules": {"bar": 101}}, "rules.bar: must be at most 100"),
    ("fraction as bar", {**_GOOD, "rules": {"bar": 50.0}}, "rules.bar: expected a whole number, found the number 50.0"),
    ("truth as floor", {**_GOOD, "rules": {"floor": True}}, "rules.floor: expected a whole number"),
    ("nan as bar", {**_GOOD, "rules": {"bar": float("nan")}}, "rules.bar: nan is a number that JSON cannot hold"),
    (
        "reserve",
        {**_GOOD, "ballots": {"A": {"scores": {"X": 1}, "reserve": float("inf")}}},
        "ballots.A.reserve: inf is a number that JSON cannot hold",
    ),
    (
        "reason",
        {**_GOOD, "ballots": {"A": {"rejects": {"X": float("nan")}}}},
        "ballots.A.rejects.X: expected a reason in words, not nan",
    ),
    ("misspelt", {**_GOOD, "ballots": {"A": {"score": {"X": 1}}}}, "unknown field 'score'; did you mean scores?"),
    ("not a mapping", {**_GOOD, "ballots": {"A": [1]}}, "ballots.A: expected a mapping, found a list"),
    ("no options field", {"members": ["A"]}, "the field options is missing"),
    ("beacon", {**_GOOD, "beacon": 7}, "beacon: expected text, found the number 7; put it in quotes"),
]
