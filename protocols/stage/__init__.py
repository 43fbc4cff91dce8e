"""What every stage shares: steps, sealed rounds, the setting, and what is spent."""
