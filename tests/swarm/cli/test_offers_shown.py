"""A delegation as `swarm rooms` and `swarm status` show it: whole, escaped, and with the command that accepts it."""

from swarm.cli.output import offer_lines

OFFER = {
    "id": "ab" * 32,
    "commitment": "call",
    "debtor": "bob",
    "creditor": "cy",
    "because": "a courtesy\x1b[2J",
    "promise": {
        "id": "call",
        "debtor": "bob",
        "creditor": "cy",
        "if": "ordered",
        "then": "paid(amount >= 1000000) within 1 hour of ordered",
        "each": "order",
        "excludes": ["rest"],
        "state": "conditional",
        "answerable": ["dan"],
        "instances": {"call[17]": "detached"},
    },
}


def test_nothing_of_an_offer_is_left_out() -> None:
    """Protects the one who is asked: parties, state, terms, reason, instances, and the offer's whole id."""
    assert offer_lines(OFFER) == [
        "bob offers call, owed to cy, conditional: if ordered then paid(amount >= 1000000) within 1 hour of ordered",
        "because a courtesy\\x1b[2J",
        "one for each order, those to come included; so far: call[17] detached",
        "answerable still: dan",
        "cannot be kept together with: rest",
        f"to accept it: swarm say ROOM accept call {OFFER['id']}",
    ]


def test_a_plain_offer_takes_two_lines() -> None:
    """Protects the reader: what is not there is not mentioned."""
    promise = {"id": "p", "debtor": "bob", "creditor": "cy", "then": "paid", "state": "detached", "instances": {}}
    assert offer_lines({**OFFER, "commitment": "a call", "because": None, "promise": promise}) == [
        "bob offers a call, owed to cy, detached: paid",
        f"to accept it: swarm say ROOM accept 'a call' {OFFER['id']}",
    ]
