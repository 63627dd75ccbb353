"""What Vela computes by itself, and what other operators can stand for where it does not.

The checks (``constraints``) and the rewrites both ask this.
"""
