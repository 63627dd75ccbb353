"""Databases of Vela and of Arm's NX estimator: tables of comma-separated values in an XML file."""

from __future__ import annotations

import csv
import io
import re

_TABLE = re.compile(r'<table name="(.*?)">\s*<!\[CDATA\[(.*?)\]\]>', re.DOTALL)
Rows = list[dict[str, str]]


def tables(xml: str) -> dict[str, Rows]:
    """The tables of a database by name, each as its rows."""
    found = ((name, io.StringIO(body.strip())) for name, body in _TABLE.findall(xml))
    return {name: list(csv.DictReader(body, skipinitialspace=True)) for name, body in found}
