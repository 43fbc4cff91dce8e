"""A person's yes, and the terminal at which it is asked."""
