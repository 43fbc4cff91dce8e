"""Promises over time: a history alone, or a ledger as a timeline, tables and pictures."""
