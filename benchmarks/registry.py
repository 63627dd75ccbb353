"""The networks that are measured: those of ``tests/models``, or of a Python file that the user names."""

from __future__ import annotations

import argparse
import importlib.util
import sys
from collections.abc import Iterable, Sequence

from benchmarks.results import ROOT, add_results_option

sys.path.append(str(ROOT / "tests"))

from models import MODELS, ZOO, Network, mobilenet_stack

__all__ = ["NETWORKS", "TESTS", "ZOO", "Network", "network", "parser_of"]

NETWORKS = MODELS | ZOO
#: The name of the registry that ``tests/models`` is.
TESTS = "tests/models"


def network(name: str, registry: str = TESTS) -> Network:
    """A module in eval mode, and a function from a seed to example inputs.

    Args:
        name: of the registry; ``stack-N`` is a row of N equal MobileNetV2 blocks.
        registry: ``TESTS``, or a Python file with ``REG``, a dictionary from names to functions that return the pair,
            and perhaps ``bn_warm(module, inputs)``, which is called on it.

    Raises:
        KeyError: the registry lacks the name; those that it has are listed.
    """
    if registry == TESTS:
        if name.startswith("stack-"):
            return mobilenet_stack(int(name.removeprefix("stack-")))
        networks = NETWORKS
    else:
        spec = importlib.util.spec_from_file_location("registry", registry)
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        networks = module.REG
    if name not in networks:
        raise KeyError(f"{registry} has no network {name!r}; it has {', '.join(networks)}")
    made: Network = networks[name]()
    if registry != TESTS and hasattr(module, "bn_warm"):
        module.bn_warm(*made)
    return made


def parser_of(
    benchmark: str,
    description: str | None,
    networks: Sequence[str],
    among: Iterable[str] = NETWORKS,
    **lists: Sequence[str],
) -> argparse.ArgumentParser:
    """The arguments of a benchmark of networks: which of them, its results, and lists by name, all if none is given."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--networks", nargs="+", choices=sorted(among), metavar="NETWORK", default=networks)
    for name, choices in lists.items():
        parser.add_argument(f"--{name}", nargs="+", choices=choices, default=list(choices))
    add_results_option(parser, benchmark)
    return parser
