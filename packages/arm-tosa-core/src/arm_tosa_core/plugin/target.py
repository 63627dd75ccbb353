"""A target: what a plugin describes of a device or a format that takes TOSA graphs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np

    from ..exir.compile_spec import ArmCompileSpec
    from ..support.errors import Rejected
    from ..tosa.ir import Op
    from ..tosa.rewrite import Rewrite
    from ..tosa.specification import TosaSpecification

#: Judges one emitted TOSA operator: None if the device takes it, else the reason why not.
Check = Callable[["Op"], "Rejected | None"]


@dataclass(frozen=True)
class Target:
    """What the compiler must know of a target; returned by a factory behind the ``arm_tosa.targets`` entry point.

    Args:
        name: what users type after ``--target``.
        spec: the TOSA specification it takes, as an object or a string such as ``"TOSA-1.0+INT"``.
        checks: limits beyond the specification; each is asked about every TOSA operator that a rule emits.
        rewrites: graph rewrites of its own; each names the stage in which it runs, usually LEGALIZE.
        compile: TOSA flatbuffer and options to the device's format. None: the flatbuffer itself is the format.
        run: runs what ``compile`` returned on this machine, inputs and outputs as arrays. None: cannot.
        suffix: file name suffix of its own format.
        backend_id: the ExecuTorch delegate that executes its payload.
        description: one line for ``arm-tosa targets``.
        compile_spec: keyword options to a compile spec, if the target has one of its own (``EthosUCompileSpec``).
        estimate: figures that the target's compiler predicts of a TOSA flatbuffer, by name: ``cycles``, ``sram_kib``,
            ``flash_kib``. None: it predicts nothing.
        coarse: its rewrites leave a RESCALE from INT48 15 bits of a factor, for a result off by a quantum at most where
            TOSA can do better. The conformance kit grants some composites of 16 bits more for it.
        extract: a delegate's payload to the file that tools read, as its suffix and contents. None: the payload is it.
    """

    name: str
    spec: str | TosaSpecification
    checks: Sequence[Check] = ()
    rewrites: Sequence[Rewrite] = ()
    compile: Callable[[bytes, Mapping[str, str]], bytes] | None = None
    run: Callable[[bytes, Sequence[np.ndarray[Any, Any]]], list[np.ndarray[Any, Any]]] | None = None
    suffix: str = ".tosa"
    backend_id: str = "TOSABackend"
    description: str = ""
    compile_spec: Callable[..., ArmCompileSpec] | None = None
    extract: Callable[[bytes], tuple[str, bytes]] | None = None
    estimate: Callable[[bytes], Mapping[str, float]] | None = None
    coarse: bool = False

    @property
    def tosa_spec(self) -> TosaSpecification:
        """The specification as an object."""
        from ..tosa.specification import TosaSpecification

        return TosaSpecification.create_from_string(self.spec) if isinstance(self.spec, str) else self.spec
