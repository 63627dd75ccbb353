"""ExecuTorch's interfaces: compile specs, partitioner, backend, ``.pte`` files."""
