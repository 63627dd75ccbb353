"""The notebooks of ``examples/notebooks/`` run from top to bottom, and are committed without outputs."""

from __future__ import annotations

from pathlib import Path

import pytest

from documents import ROOT

nbclient = pytest.importorskip("nbclient", reason="nbclient is not installed")
nbformat = pytest.importorskip("nbformat", reason="nbclient is not installed")

NOTEBOOKS = sorted((ROOT / "examples" / "notebooks").glob("*.ipynb"))


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs(notebook: Path, tmp_path: Path) -> None:
    book = nbformat.read(notebook, as_version=4)
    cells = [cell for cell in book.cells if cell.cell_type == "code"]
    assert all(not cell.outputs and cell.execution_count is None for cell in cells), "clear the outputs"
    nbclient.NotebookClient(book, timeout=300, resources={"metadata": {"path": str(tmp_path)}}).execute()
    (shown,) = [output for output in cells[-1].outputs if "data" in output]  # a table at the end
    assert "<table" in shown["data"]["text/html"]
