"""Many ways to compile one model: the Pareto front, and the cheapest way within a set of limits."""
