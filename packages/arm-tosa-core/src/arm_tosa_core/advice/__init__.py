"""Advice: changes of options or of the network that make it faster, each tried before it is given."""
