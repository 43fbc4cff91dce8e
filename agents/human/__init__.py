"""A mind that is a person at a screen: what is shown, how entries are taken, and acting on promises."""
