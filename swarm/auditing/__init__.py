"""The verdict on a ledger, on several of one room, and on a proof."""
