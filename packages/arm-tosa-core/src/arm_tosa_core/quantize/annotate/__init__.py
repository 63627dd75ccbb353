"""Which tensors are observed, in which bits, and the form of the module for it."""
