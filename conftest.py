"""The repository's own pytest plugins, for every run of its tests; they are in ``tests``."""

pytest_plugins = ["skip_list", "json_documents", "kit_results", "qat_patterns", "slow_tests"]
