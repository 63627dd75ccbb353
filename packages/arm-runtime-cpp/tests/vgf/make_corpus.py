"""Writes the fuzzers' first corpora.

python packages/arm-runtime-cpp/tests/vgf/make_corpus.py packages/arm-runtime-cpp/tests/vgf/corpus
python packages/arm-runtime-cpp/tests/vgf/make_corpus.py packages/arm-runtime-cpp/tests/vgf/graph_corpus FILE.vgf...

The first is for ``fuzz_program.cpp``: a file of each kind, and each of the hostile ones. The second is for
``fuzz_graph.cpp``: the graphs of the VGFs, such as the conformance kit leaves in artifacts.
"""

import hashlib
import sys
from pathlib import Path

import test_hostile
from vgf_files import graph_seed

folder, *vgfs = sys.argv[1:]
files = [graph_seed(Path(vgf).read_bytes()) for vgf in vgfs]
if not vgfs:
    files = [make() for make, _ in test_hostile.ROWS.values()]
    files.append(test_hostile.one(test_hostile.graph(), test_hostile.CONSTANT))
    files.append(test_hostile.one(test_hostile.compute(), test_hostile.CONSTANT))
    files.append(test_hostile.one(test_hostile.graph(constants=[(5, 2)]), test_hostile.CONSTANT))
Path(folder).mkdir(parents=True, exist_ok=True)
for data in files:
    (Path(folder) / hashlib.sha1(data).hexdigest()).write_bytes(data)
