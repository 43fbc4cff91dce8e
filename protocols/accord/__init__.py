"""Accord: what does each member mean by each term, and where do the readings diverge?"""
