"""A person's approval, and the terminal at which it is asked."""
