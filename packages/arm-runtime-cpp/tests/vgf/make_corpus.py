"""Writes the fuzzers' first corpora.

python packages/arm-runtime-cpp/tests/vgf/make_corpus.py packages/arm-runtime-cpp/tests/vgf/corpus
python packages/arm-runtime-cpp/tests/vgf/make_corpus.py packages/arm-runtime-cpp/tests/vgf/graph_corpus FILE.vgf...

The first is for ``fuzz_program.cpp``: a file of each kind, those whose sizes vary too, and each of the hostile ones.
The second is for ``fuzz_graph.cpp``: the graphs of the VGFs, such as the conformance kit leaves in artifacts.
"""

import hashlib
import sys
from pathlib import Path

import test_hostile
import test_sizes
import test_unknown_sizes
from sized_operators import ROWS
from vgf_files import graph_seed

folder, *vgfs = sys.argv[1:]
files = [graph_seed(Path(vgf).read_bytes()) for vgf in vgfs]
if not vgfs:
    files = [make() for make, _ in test_hostile.ROWS.values()]
    files.append(test_hostile.one(test_hostile.graph(), test_hostile.CONSTANT))
    files.append(test_hostile.one(test_hostile.compute(), test_hostile.CONSTANT))
    files.append(test_hostile.one(test_hostile.graph(constants=[(5, 2)]), test_hostile.CONSTANT))
    files += [test_sizes.sized_vgf(row.graph, row.least, row.most) for row in ROWS]
    files += [damage(files[-1]) for damage, _ in test_sizes.DAMAGED.values()]
    line = b"\n%s\n"  # as fuzz_program.cpp reads it
    for row in test_unknown_sizes.CONVERTED:
        files.append(test_unknown_sizes.unknown(row.graph) + line % test_unknown_sizes.said(row).encode())
    two = test_unknown_sizes.unknown(test_unknown_sizes.two)
    files += [two + line % text.encode() for text, _ in test_unknown_sizes.MISSAID.values()]
    files += [make() + line % b"[4]" for make, _ in test_unknown_sizes.HOSTILE.values()]
Path(folder).mkdir(parents=True, exist_ok=True)
for data in files:
    (Path(folder) / hashlib.sha1(data).hexdigest()).write_bytes(data)
