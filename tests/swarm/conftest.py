"""Ledgers of real runs, for all that reads or judges them."""

from tests.support.ledger_fixtures import noisy, other, real, table

__all__ = ["noisy", "other", "real", "table"]
