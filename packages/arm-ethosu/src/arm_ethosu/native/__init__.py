"""The operators that Vela computes by itself, and replacements for the others.

The checks (``constraints``) and the rewrites both ask this.
"""
