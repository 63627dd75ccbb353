"""The door for third parties: targets and rules behind entry points."""
