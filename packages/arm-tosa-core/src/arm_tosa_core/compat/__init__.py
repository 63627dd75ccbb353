"""Private parts of PyTorch, ExecuTorch and torchao that the packages need: one module each, and nowhere else.

Each entry says what it needs of the library, and what breaks without it. When a new version of a library is to be
admitted, these files are what to read first; ``nox -s versions`` runs the tests on the oldest and the newest versions
that the metadata of the packages admits.
"""
