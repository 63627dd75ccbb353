"""One file for each network: where it comes from, its data, and what it decides."""
