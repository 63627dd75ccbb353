"""Running programs on samples: calls of a model, their buffers, what nodes give."""
