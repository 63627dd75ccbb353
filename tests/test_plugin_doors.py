"""What a user meets when a plugin is good, broken, there twice, or not there: the command in a process of its own.

Each plugin is a module and a ``dist-info`` folder in a temporary folder on the path: what pip leaves of an installed
package. The packages of this repository, and Acme's, are installed beside them, for real.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest

TARGETS, RULES = "arm_tosa.targets", "arm_tosa.rules"
GOOD = (
    "from arm_tosa_core import Target\ndef make(): return Target(name='{}', spec='TOSA-1.0+INT', description='fine')\n"
)
RULE = "from arm_tosa_core import Q, op\n@op({!r}, quant=Q.NONE)\ndef mine(b, x): return x\n"


class Plugin(NamedTuple):
    """One distribution with one entry point."""

    distribution: str
    name: str
    code: str
    group: str = TARGETS

    def install(self, folder: Path) -> None:
        module = self.distribution.replace("-", "_")
        (folder / f"{module}.py").write_text(self.code)
        info = folder / f"{module}-1.2.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {self.distribution}\nVersion: 1.2\n")
        value = f"{module}:make" if self.group == TARGETS else module
        (info / "entry_points.txt").write_text(f"[{self.group}]\n{self.name} = {value}\n")


FINE = Plugin("fine-npu", "fine", GOOD.format("fine"))
BROKEN = Plugin("bad-npu", "bad", "import no_such_module_at_all\n")
ODD = Plugin("odd-npu", "odd", "from arm_tosa_core import Target\ndef make(): return Target(name='odd', spec='TOSA')\n")
FIRST = Plugin("first-npu", "twice", GOOD.format("twice"))
SECOND = Plugin("second-npu", "twice", GOOD.format("twice"))


def arm_tosa(
    folder: Path,
    plugins: Sequence[Plugin],
    *arguments: str,
    code: str = "from arm_tosa_core.cli.main import main; main()",
) -> subprocess.CompletedProcess[str]:
    """Runs the command with these plugins installed in ``folder``."""
    for plugin in plugins:
        plugin.install(folder)
    path = os.pathsep.join(filter(None, [str(folder), os.environ.get("PYTHONPATH", "")]))
    command = [sys.executable, "-c", code, *arguments]
    return subprocess.run(command, env={**os.environ, "PYTHONPATH": path}, cwd=folder, capture_output=True, text=True)


def listed(done: subprocess.CompletedProcess[str]) -> dict[tuple[str, str], dict[str, Any]]:
    assert done.returncode == 0, done.stderr
    return {(row["name"], row["distribution"]): row for row in json.loads(done.stdout)}


def test_a_third_partys_target_is_listed_like_ours(tmp_path: Path) -> None:
    rows = listed(arm_tosa(tmp_path, [FINE], "targets", "--json"))
    assert rows["fine", "fine-npu"]["description"] == "fine"
    ours = {(name, "arm-ethosu") for name in ("ethos-u55-128", "ethos-u65-512", "ethos-u85-2048")}
    ours |= {("tosa", "arm-tosa-core"), ("vgf", "arm-vgf"), ("acme", "acme-npu")}
    assert not {key for key in ours if "error" in rows[key]}


def test_a_broken_target_is_a_warning_and_the_others_work(tmp_path: Path) -> None:
    done = arm_tosa(tmp_path, [BROKEN, ODD, FINE], "targets", "--json")
    rows = listed(done)
    assert "malformed TOSA specification 'TOSA'" in rows["odd", "odd-npu"]["error"]
    assert "no_such_module_at_all" in rows["bad", "bad-npu"]["error"]
    assert "error" not in rows["fine", "fine-npu"]
    assert "warning: the plugin bad-npu 1.2 is broken" in done.stderr
    assert "Traceback" not in done.stderr


REFUSED = {
    "broken": ([BROKEN], "bad", ["bad-npu 1.2", "No module named 'no_such_module_at_all'"]),
    "twice": ([FIRST, FINE, SECOND], "twice", ["'twice'", "first-npu 1.2", "second-npu 1.2", "uninstall one"]),
    "unknown": ([FINE], "fime", ["'fime'", "did you mean 'fine'", "acme", "ethos-u55-128", "tosa-int", "vgf"]),
}


@pytest.mark.parametrize(("plugins", "asked", "words"), REFUSED.values(), ids=REFUSED)
def test_a_target_that_cannot_be_had_is_an_error_that_says_why(
    tmp_path: Path, plugins: Sequence[Plugin], asked: str, words: list[str]
) -> None:
    done = arm_tosa(tmp_path, plugins, "explain", "model.pt2", "--target", asked)
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert not [word for word in words if word not in done.stderr]


FIND = """
import sys
from arm_tosa_core.lowering.rule_set import RuleSet
print(str(RuleSet.of(None).find(sys.argv[1])))
"""


def test_a_third_partys_rule_is_found(tmp_path: Path) -> None:
    plugin = Plugin("rule-pack", "pack", RULE.format("pack.thing.default"), RULES)
    done = arm_tosa(tmp_path, [plugin], "pack.thing.default", code=FIND)
    assert "rule_pack.mine" in done.stdout, done.stderr


def test_a_broken_rules_module_is_a_warning_and_our_rules_work(tmp_path: Path) -> None:
    plugin = Plugin("bad-rules", "bad", "1 / 0\n", RULES)
    done = arm_tosa(tmp_path, [plugin], "aten.add.Tensor", code=FIND)
    assert done.stdout.startswith("arm_tosa_core.rules")
    assert "bad-rules 1.2" in done.stderr
    assert "division by zero" in done.stderr


def test_a_second_rule_for_an_operator_is_refused_with_both_named(tmp_path: Path) -> None:
    plugin = Plugin("rule-pack", "pack", RULE.format("aten.add.Tensor"), RULES)
    done = arm_tosa(tmp_path, [plugin], "aten.add.Tensor", code=FIND)
    text = done.stdout + done.stderr
    assert "aten.add.Tensor has two rules" in text
    assert "arm_tosa_core.rules" in text
    assert "rule_pack.mine" in text
