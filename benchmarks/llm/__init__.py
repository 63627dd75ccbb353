"""A language model that is trained here on real text: cycles per token, bytes, and what integers cost in accuracy."""
