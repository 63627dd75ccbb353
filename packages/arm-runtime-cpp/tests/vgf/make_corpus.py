"""Writes the fuzzer's first corpus: a file of each kind, and each of the hostile ones.

python packages/arm-runtime-cpp/tests/vgf/make_corpus.py packages/arm-runtime-cpp/tests/vgf/corpus
"""

import hashlib
import sys
from pathlib import Path

import test_hostile

folder = Path(sys.argv[1])
folder.mkdir(parents=True, exist_ok=True)
files = [make() for make, _ in test_hostile.ROWS.values()]
files.append(test_hostile.one(test_hostile.graph(), test_hostile.CONSTANT))
files.append(test_hostile.one(test_hostile.compute(), test_hostile.CONSTANT))
files.append(test_hostile.one(test_hostile.graph(constants=[(5, 2)]), test_hostile.CONSTANT))
for data in files:
    (folder / hashlib.sha1(data).hexdigest()).write_bytes(data)
