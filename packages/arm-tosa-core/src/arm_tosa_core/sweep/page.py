"""Results as one HTML page: a table, and the command behind each row; nothing from the network."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from ..report.page import security_policy

_STYLE = """
:root { color-scheme: light dark; }
body { font: 15px/1.5 system-ui, sans-serif; margin: 2em auto; max-width: 80em; padding: 0 1em; }
h1 { font-size: 1.4em; }
table { border-collapse: collapse; }
td, th { padding: .3em .8em; text-align: left; border-bottom: 1px solid #8886; font-variant-numeric: tabular-nums; }
code { font-size: .9em; user-select: all; }
"""


def page(
    title: str,
    heads: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    commands: Sequence[str] = (),
    notes: Sequence[str] = (),
) -> str:
    """The page.

    Args:
        commands: one for each row, or none at all.
        notes: paragraphs below the table.
    """
    body = [f"<tr>{_cells('td', cells)}</tr>" for cells in rows]
    listed = [f"<li><code>{escape(command)}</code></li>" for command in commands]
    parts = [
        f"<h1>{escape(title)}</h1>",
        f"<table><thead><tr>{_cells('th', heads)}</tr></thead><tbody>{''.join(body)}</tbody></table>",
        *(f"<p>{escape(note)}</p>" for note in notes),
        *([f"<h2>Commands, row by row</h2><ol>{''.join(listed)}</ol>"] if listed else []),
    ]
    policy = f'<meta http-equiv="Content-Security-Policy" content="{security_policy()}">'
    head = f'<meta charset="utf-8">{policy}<title>{escape(title)}</title><style>{_STYLE}</style>'
    return f'<!doctype html>\n<html lang="en"><head>{head}</head>\n<body>{"".join(parts)}</body></html>\n'


def _cells(kind: str, cells: Sequence[str]) -> str:
    return "".join(f"<{kind}>{escape(cell)}</{kind}>" for cell in cells)
