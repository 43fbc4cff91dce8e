"""The ledger: the chain that members sign, its verification, and its file."""
