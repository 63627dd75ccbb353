"""From an exported program to a ``.pte`` in one step: the fast flow.

ExecuTorch sees no more than what stays on the CPU and the calls of delegates; see docs/explanation/fast-flow.md.
"""

from .executorch_options import ExecuTorchOptions as ExecuTorchOptions
from .lowered import lower as lower
from .lowered_program import LoweredProgram as LoweredProgram
