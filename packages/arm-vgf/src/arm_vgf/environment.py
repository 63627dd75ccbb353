"""Whether this machine can compile for VGF, and run it: the report of ``VgfCompileSpec.validate_environment``."""

from __future__ import annotations

from dataclasses import asdict, dataclass

from arm_tosa_core.plugin.health import Finding
from arm_tosa_core.support.errors import ToolError

from . import health


@dataclass(frozen=True)
class VgfEnvironmentReport:
    """Findings about this machine, as in ``arm-tosa doctor``.

    Args:
        checks: a finding for each tool or library.
        mode: ``"compile"``, or ``"run"`` with more findings.
    """

    checks: tuple[Finding, ...]
    mode: str

    @property
    def failures(self) -> tuple[Finding, ...]:
        """Findings of missing or broken tools and libraries."""
        return tuple(check for check in self.checks if check.state in ("missing", "broken"))

    @property
    def ok(self) -> bool:
        """Whether nothing is missing or broken."""
        return not self.failures

    def format(self) -> str:
        """A line for each check, for people."""
        return "\n".join(map(_line, self.checks))

    def to_dict(self) -> dict[str, object]:
        """The same as JSON values."""
        return {"mode": self.mode, "ok": self.ok, "checks": [asdict(check) for check in self.checks]}

    def raise_for_errors(self) -> None:
        """Raises for the first failure.

        Raises:
            ToolError: names every tool or library that is missing or broken, and the remedy.
        """
        if not self.ok:
            fix = "; ".join(check.fix for check in self.failures if check.fix)
            raise ToolError("VGF", f"cannot {self.mode} here: {'; '.join(map(_line, self.failures))}", fix=fix)


def look(*, run: bool) -> VgfEnvironmentReport:
    """Checks the tools for compiling for VGF; with ``run``, also the Vulkan loader, the engine and Arm's layer."""
    checks = health.HEALTH if run else health.COMPILE
    return VgfEnvironmentReport(tuple(check() for check in checks), "run" if run else "compile")


def _line(check: Finding) -> str:
    return f"{check.what}: {check.state}" + (f" ({check.detail})" if check.detail else "")
