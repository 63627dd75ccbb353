"""Trained networks on real data: their accuracy and cycles beside the rival's, for ``docs/trained-networks.md``."""
