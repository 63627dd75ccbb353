"""Random PyTorch programs for every flow, target and scheme: right, refused, or a fault (``python -m programs``)."""
