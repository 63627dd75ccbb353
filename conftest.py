"""The plugin that counts skips, for every run of the repository's tests; its file is in ``tests``."""

pytest_plugins = ["skip_list"]
