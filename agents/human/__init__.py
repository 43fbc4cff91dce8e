"""A mind that is a person at a terminal: what is shown, how input is read, and acting on promises."""
