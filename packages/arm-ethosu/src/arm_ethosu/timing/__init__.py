"""An estimate of how long a command stream takes; see ``docs/explanation/ethosu-timing.md``."""

from .estimate import estimate_stream
from .system import Memory, System, system_of
from .timeline import KernelTime, Span, Timeline, Unit

__all__ = ["KernelTime", "Memory", "Span", "System", "Timeline", "Unit", "estimate_stream", "system_of"]
