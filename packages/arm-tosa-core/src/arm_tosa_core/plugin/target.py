"""A target: what a plugin describes of a device or a format that takes TOSA graphs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from ..support.errors import UsageError

if TYPE_CHECKING:
    import numpy as np

    Arrays = Sequence[np.ndarray[Any, Any]]

    from ..tosa.rewrite import Rewrite
    from ..tosa.specification import TosaSpecification
    from ..tosa.verifier import Check
    from .health import HealthCheck
    from .named_data import WithNames
    from .timing import TimeEstimate


#: An event of a run: begin, end, name.
Span = tuple[int, int, str]
#: A step of what a payload becomes on this machine: what users read, by column.
Step = Mapping[str, str | int]


@dataclass(frozen=True)
class LiveTensor:
    """A tensor of the TOSA graph, or a buffer of the target's own, in on-chip memory.

    Args:
        name: in the flatbuffer, or the compiler's own.
        size: bytes.
        first, last: when it is there, both included, in steps of the compiler's schedule.
        offset: where it begins, bytes.
    """

    name: str
    size: int
    first: int = 0
    last: int = 0
    offset: int = 0


@dataclass(frozen=True)
class CompiledLayer:
    """An operator of a payload, as the target's compiler counts them.

    Args:
        kind: what the compiler calls it.
        tensor: the result of the TOSA operator that it comes from, by its name in the flatbuffer; empty: of none.
        cycles: estimated; where several run as one, they count with the first.
        macs: multiplications and accumulations.
        bytes: read from and written to memories outside of the device's core.
    """

    kind: str
    tensor: str
    cycles: float
    macs: int = 0
    bytes: int = 0


@dataclass(frozen=True)
class Compiled:
    """A payload, and what the target's compiler says of it.

    Args:
        payload: what ``Compiler.compile`` returns.
        figures: what it predicts, as ``Reporting.estimate`` does.
        at_peak: what is in on-chip memory when most of it is in use.
        layers: in order.
        in_memory: all that is in on-chip memory at any time.
    """

    payload: bytes
    figures: Mapping[str, float] = field(default_factory=dict)
    at_peak: Sequence[LiveTensor] = ()
    layers: Sequence[CompiledLayer] = ()
    in_memory: Sequence[LiveTensor] = ()


@dataclass(frozen=True)
class Symbol:
    """A size that a run chooses, such as that of a batch: a dynamic dimension of ``torch.export``."""

    name: str
    least: int
    most: int


@dataclass(frozen=True)
class Port:
    """An input or output of a payload, as the payload itself says.

    Args:
        shape: that of the tensor, or one axis, if it is only known how many elements there are.
        size: bytes of an element.
        kind: of the elements, ``"b"`` (BOOL), ``"i"`` (integers) or ``"f"`` (reals); empty: it is not known.
        place: of the tensor in the payload; inputs of the graph have the places from 0 on, and outputs of one place
            are one tensor. None: it is not known.
    """

    shape: tuple[int, ...]
    size: int
    kind: str = ""
    place: int | None = None


@dataclass(frozen=True)
class Preferences:
    """Which of several ways to say the same in TOSA suits a target. All of them are right on every target.

    Args:
        addition_shifts: bits by which the operand of the larger scale is shifted left before two quantized values are
            added, by the bits of the operands. For widths that are not here, as many as INT32 has room for.
        largest_mean_window: height and width, at most, of the depthwise convolution that takes the mean of a quantized
            image. An image with longer sides is read in another shape of as many pixels; where none fits, the mean is
            taken by sums along the axes.
        convolved_sums: sums over the height and width of such images, and means of those that have channels last in
            PyTorch, are taken by a depthwise convolution where nothing is moved for it; otherwise along the axes.
        most_repeated_indices: indices at most with which reals are gathered without a TRANSPOSE; they are repeated for
            every element of the axes before the one that is indexed.
        maxima: a maximum of quantized tensors costs no more than a sum: PReLU with slopes per channel is one.
        square_images: the rows that a linear layer takes are an image as near to a square as can be; otherwise a line.
    """

    addition_shifts: Mapping[int, int] = field(default_factory=lambda: {8: 19, 16: 14}, hash=False)
    largest_mean_window: int = 64
    convolved_sums: bool = False
    most_repeated_indices: int = 1 << 12
    square_images: bool = True
    maxima: bool = False


class CompileSpec(Protocol):
    """What a user asks of a target, as the core sees it: an ``ArmCompileSpec`` (``arm_tosa_core.extend``)."""

    def target(self) -> Target:
        """The target that it configures, its compiler bound to what was asked."""


@dataclass(frozen=True, kw_only=True)
class Compiler:
    """What makes a device's program, a payload, of a TOSA flatbuffer, and the ExecuTorch delegate that takes it.

    Args:
        compile: TOSA flatbuffer and options to the device's format. None: the flatbuffer itself is the format.
        compile_in_detail: like ``compile``, with what the compiler says of the payload. None: it says nothing.
        suffix: file name suffix of its own format.
        backend_id: the ExecuTorch delegate that executes its payload.
        backend: where its class is, as in an entry point: ``"module:Class"``. Empty: one of the general kind is made.
        compile_spec: keyword options to a compile spec, if the target has one of its own (``EthosUCompileSpec``).
        warm_up: starts what ``compile`` will need and returns at once; called before a program is lowered.
        sizes: puts together what ``compile`` made of one program at the most of every symbol, and at other values of
            them (at least one), so that it runs at all values within their bounds. None: sizes are fixed.
        ports: inputs and outputs of what ``compile`` returned, in order, with which those of the graph are compared
            whenever one is compiled. None: the payload does not say.
        with_names: payloads of the delegates of one program to such as refer to named data: what several of them have
            in common, and with the name of a ``.ptd`` all weights, which are in that file. None: they have no names.
        without_names: a payload to one without names, by the data of each name. None: payloads have no names.
        joins_int48_rescales: of two RESCALEs from INT48 in a row it makes one, which has 15 bits of a factor: a result
            may be off by a quantum. The conformance kit grants some composites of 16 bits more for it.
    """

    compile: Callable[[bytes, Mapping[str, str]], bytes] | None = None
    compile_in_detail: Callable[[bytes, Mapping[str, str]], Compiled] | None = None
    suffix: str = ".tosa"
    backend_id: str = "TOSABackend"
    backend: str = ""
    compile_spec: Callable[..., CompileSpec] | None = None
    warm_up: Callable[[], None] | None = None
    sizes: Callable[[bytes, Sequence[Symbol], Sequence[tuple[Mapping[str, int], bytes]]], bytes] | None = None
    ports: Callable[[bytes], tuple[Sequence[Port], Sequence[Port]]] | None = None
    with_names: Callable[[Sequence[bytes], str | None], WithNames] | None = None
    without_names: Callable[[bytes, Mapping[str, bytes]], bytes] | None = None
    joins_int48_rescales: bool = False


@dataclass(frozen=True, kw_only=True)
class Host:
    """What runs a payload on this machine, and what that needs.

    Args:
        run: runs what ``Compiler.compile`` returned, inputs and outputs as arrays. None: cannot.
        profile: like ``run``, and what happened meanwhile: begin and end (nanoseconds) and name of each event.
        plan: what a payload becomes on this machine, step by step, with the engine of that name; None: the target's
            default. For targets whose payload is planned where it runs.
        profile_event: what its delegate calls a run of the whole payload in ExecuTorch's ETDump; with an ETRecord,
            ExecuTorch's ``Inspector`` tells the operators and source lines of this event. Empty: it notes none.
        firmware: what makes and runs firmware of its programs, as in an entry point: ``"module:object"``, where the
            object is a :class:`~arm_tosa_core.plugin.firmware.Firmware`. Empty: nothing does.
        health: what the target needs of this machine, to compile and to run: lines of ``arm-tosa doctor``.
    """

    run: Callable[[bytes, Sequence[np.ndarray[Any, Any]]], list[np.ndarray[Any, Any]]] | None = None
    profile: Callable[[bytes, Arrays], tuple[list[np.ndarray[Any, Any]], Sequence[Span]]] | None = None
    plan: Callable[[bytes, str | None], Sequence[Step]] | None = None
    profile_event: str = ""
    firmware: str = ""
    health: Sequence[HealthCheck] = ()


@dataclass(frozen=True, kw_only=True)
class Reporting:
    """What is known of a payload without a device.

    Args:
        estimate: figures that the target's compiler predicts of a TOSA flatbuffer, by name: ``cycles`` of an
            inference, ``clock_hz`` and ``macs_per_cycle`` of the device, and of the memories in use ``sram_kib``,
            ``dram_kib`` and ``flash_kib``. Parts of these: ``tensors_kib``, the peak of tensors in SRAM; ``cache_kib``,
            SRAM set aside as a cache of DRAM; and weights and commands by where they lie, ``constants_in_sram_kib``,
            ``constants_in_dram_kib`` or ``constants_in_flash_kib``. Those that it does not know are left out. None: it
            predicts nothing.
        timing: how long a payload takes on the device, as a model estimates it. The TOSA graph that the payload was
            compiled from, if given, lets it tell operators, their source lines and the compiler's own figures.
        extract: a delegate's payload to the file that tools read, as its suffix and contents. None: the payload is it.
    """

    estimate: Callable[[bytes], Mapping[str, float]] | None = None
    timing: Callable[[bytes, bytes | None], TimeEstimate] | None = None
    extract: Callable[[bytes], tuple[str, bytes]] | None = None


@dataclass(frozen=True, kw_only=True)
class Target:
    """What the compiler must know of a target; returned by a factory behind the ``arm_tosa.targets`` entry point.

    Args:
        name: what users type after ``--target``.
        spec: the TOSA specification it takes, as an object or a string such as ``"TOSA-1.0+INT"``.
        description: one line for ``arm-tosa targets``.
        checks: limits beyond the specification; each is asked about every TOSA operator that a rule emits.
        rewrites: graph rewrites of its own; each names the stage in which it runs, usually LEGALIZE.
        preferences: which of several ways to say the same in TOSA suits it.
        compiler: what makes its payloads.
        host: what runs them on this machine.
        report: what is known of them without a device.
    """

    name: str
    spec: str | TosaSpecification
    description: str = ""
    checks: Sequence[Check] = ()
    rewrites: Sequence[Rewrite] = ()
    preferences: Preferences = field(default_factory=Preferences)
    compiler: Compiler = field(default_factory=Compiler)
    host: Host = field(default_factory=Host)
    report: Reporting = field(default_factory=Reporting)

    def __post_init__(self) -> None:
        """Reads what is text.

        Raises:
            UsageError: the specification is none, or another field is of another type.
        """
        from ..tosa.specification import TosaSpecification

        for part, kind in (("compiler", Compiler), ("host", Host), ("report", Reporting)):
            if not isinstance(value := getattr(self, part), kind):
                raise UsageError(f"{part} of target {self.name!r} is a {kind.__name__}, not {value!r}")
        for owner, names in (
            (self, ("name", "description")),
            (self.compiler, ("suffix", "backend_id", "backend")),
            (self.host, ("firmware", "profile_event")),
        ):
            for name in names:
                if not isinstance(value := getattr(owner, name), str):
                    raise UsageError(f"{name} of a target is a text, not {value!r}")
        if not isinstance(self.spec, str | TosaSpecification):
            raise UsageError(f"spec of target {self.name!r} is a TosaSpecification or its text, not {self.spec!r}")
        spec = TosaSpecification.create_from_string(self.spec) if isinstance(self.spec, str) else self.spec
        object.__setattr__(self, "_tosa_spec", spec)

    @property
    def tosa_spec(self) -> TosaSpecification:
        """The specification as an object."""
        spec: TosaSpecification = vars(self)["_tosa_spec"]
        return spec
