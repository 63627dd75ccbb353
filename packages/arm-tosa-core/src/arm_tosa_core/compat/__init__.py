"""Private parts of PyTorch, ExecuTorch and torchao that the packages need: one module each, and nowhere else.

Each entry names its needs in the library, and the fault without them. When a new version of a library is to be
admitted, read these files first; ``nox -s versions`` runs the tests on the oldest and the newest versions
that the metadata of the packages admits.
"""
