"""Accord: what each member means by each term, and where the readings diverge."""
