"""A mind that is a language model: what it is asked, behind a fence, and how its answers are converted."""
