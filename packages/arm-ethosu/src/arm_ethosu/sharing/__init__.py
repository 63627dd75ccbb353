"""One block of weights for several payloads: constants of the same bytes are in it once."""
