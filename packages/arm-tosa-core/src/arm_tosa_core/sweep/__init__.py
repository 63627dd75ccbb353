"""Many ways to compile one model: which are worth having, and which is the cheapest that meets a set of limits."""
