"""The methods of a compiled language model, as a host calls them."""

#: (token [1, 1], position [1], *cache) -> (scores [1, 1, vocabulary], *rows); int32, then as the model is quantized.
DECODE = "decode"
#: (tokens [1, n], position [1], *cache) -> rows
PREFILL = "prefill"
#: -> what a step of the scores is worth
SCALE = "get_logits_scale"
#: -> the tokens that end a text; ExecuTorch's own runner for language models knows this name
EOS = "get_eos_ids"
