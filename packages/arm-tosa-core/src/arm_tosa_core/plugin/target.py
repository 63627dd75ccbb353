"""A target: a plugin's description of a device or a format that takes TOSA graphs."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
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


#: Names are written on command lines, between commas, and become names of files.
_NAME = re.compile(r"[A-Za-z0-9][\w.-]*", re.ASCII)
#: An event of a run: begin, end, name.
Span = tuple[int, int, str]
#: A step of a payload's plan on this machine: texts and numbers for users, by column.
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
        kind: its name in the compiler.
        tensor: the result of the TOSA operator that it comes from, by its name in the flatbuffer; empty: of none.
        cycles: estimated; where several run as one, they count with one of them.
        macs: multiplications and accumulations.
        bytes: read from and written to memories outside of the device's core.
        bound: the unit or memory that decides its time; empty: the compiler does not say.
    """

    kind: str
    tensor: str
    cycles: float
    macs: int = 0
    bytes: int = 0
    bound: str = ""


@dataclass(frozen=True)
class Moved:
    """Bytes that an inference moves between the device's core and a memory outside of it, by estimate.

    Args:
        memory: ``SRAM``, ``DRAM`` or ``flash``.
        kind: ``feature maps``, ``weights`` (with biases and scales) or ``tables``.
        read, written: bytes.
    """

    memory: str
    kind: str
    read: int
    written: int


@dataclass(frozen=True)
class Compiled:
    """A payload and the figures of the target's compiler.

    Args:
        payload: as ``Compiler.compile`` returns it.
        figures: its predictions, as of ``Reporting.estimate``.
        at_peak: tensors in on-chip memory when most of it is in use.
        layers: in order.
        in_memory: all tensors that are in on-chip memory at any time.
        estimated_by: whose estimate figures and layers are; empty: the compiler's.
        notes: what figures and layers leave out, a line each, such as a tool that would tell more, and how to get it.
        moved: bytes by memory and kind; empty: the compiler does not say.
    """

    payload: bytes
    figures: Mapping[str, float] = field(default_factory=dict)
    at_peak: Sequence[LiveTensor] = ()
    layers: Sequence[CompiledLayer] = ()
    in_memory: Sequence[LiveTensor] = ()
    estimated_by: str = ""
    notes: Sequence[str] = ()
    moved: Sequence[Moved] = ()


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
        shape: of the tensor, or one axis if only the number of elements is known.
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
    """A target's choices among equivalent TOSA graphs. Each choice is right on every target.

    Args:
        addition_shifts: bits by which the operand of the larger scale is shifted left before two quantized values are
            added, by the bits of the operands. For widths that are not here, as many as INT32 has room for.
        largest_mean_window: height and width, at most, of the depthwise convolution that takes the mean of a quantized
            image. An image with longer sides is read in another shape of as many pixels; where none fits, the mean is
            taken by sums along the axes.
        convolved_sums: sums of quantized values over an axis that is not the last in memory, or over two of such
            images, are taken by a depthwise convolution where nothing is moved for it; otherwise along the axes.
        most_repeated_indices: indices at most with which reals are gathered without a TRANSPOSE; they are repeated for
            every element of the axes before the one that is indexed.
        maxima: a maximum of quantized tensors costs no more than a sum: PReLU with slopes per channel is one.
        wraps: INT32 sums, differences and products that leave 32 bits keep their lower 32 bits, as PyTorch's do. TOSA
            says that of products only. Otherwise those whose range is not known are made of halves of 16 bits.
        sampled_by_products: where a quantized image is sampled at constant positions, it is multiplied with a matrix of
            one row per position, if that is not too large; otherwise pixels are gathered.
        samplers: images may be sampled by samplers of the device, whose positions have few bits (8 behind the point).
        square_images: the rows that a linear layer takes are an image as near to a square as can be; otherwise a line.
    """

    addition_shifts: Mapping[int, int] = field(default_factory=lambda: {8: 19, 16: 14}, hash=False)
    largest_mean_window: int = 64
    convolved_sums: bool = False
    most_repeated_indices: int = 1 << 12
    sampled_by_products: bool = False
    samplers: bool = False
    square_images: bool = True
    maxima: bool = False
    wraps: bool = True


class CompileSpec(Protocol):
    """A user's options of a target, as the core sees them: an ``ArmCompileSpec`` (``arm_tosa_core.extend``)."""

    def target(self) -> Target:
        """The target with its compiler bound to these options."""


@dataclass(frozen=True, kw_only=True)
class Compiler:
    """The compiler of a target, from a TOSA flatbuffer to a payload, and the ExecuTorch delegate that runs it.

    Args:
        compile: TOSA flatbuffer and options to the device's format. None: the flatbuffer itself is the format.
        compile_in_detail: like ``compile``, with the compiler's figures. None: it has none.
        suffix: file name suffix of its own format.
        backend_id: the ExecuTorch delegate that executes its payload.
        backend: where its class is, as in an entry point: ``"module:Class"``. Empty: one of the general kind is made.
        options: names of the options that ``compile`` knows; users give no others. A ``compile_spec`` has its own.
        require_options: raises ``UsageError`` for values of these options that ``compile`` would refuse. It is called
            when they are given, before a model is quantized. None: ``compile`` says so, later.
        compile_spec: keyword options to a compile spec, if the target has one of its own (``EthosUCompileSpec``).
        of_program: the compile spec of a program by the options in its file, which may come from elsewhere: it reads no
            file of this machine, and what is not known here is as by default. For estimates of what was compiled.
        warm_up: starts processes for ``compile`` and returns at once; called before a program is lowered.
        sizes: joins the payloads of one program at the most of every symbol and at other values (at least one) to one
            payload that runs at all values within the bounds. None: sizes are fixed.
        ports: inputs and outputs of a payload, in order; they are compared with those of the graph at each compile.
            None: the payload does not say.
        outputs_in_order: a payload with its outputs in another order, given the number that each has in it. None: their
            order cannot be changed.
        with_names: moves bytes of one program's payloads to named data: bytes that several of them share, and all
            weights if a ``.ptd`` file is named. None: payloads have no names.
        without_names: puts the data of each name back into a payload. None: payloads have no names.
    """

    compile: Callable[[bytes, Mapping[str, str]], bytes] | None = None
    compile_in_detail: Callable[[bytes, Mapping[str, str]], Compiled] | None = None
    suffix: str = ".tosa"
    backend_id: str = "TOSABackend"
    backend: str = ""
    options: Collection[str] = ()
    require_options: Callable[[Mapping[str, str]], None] | None = None
    compile_spec: Callable[..., CompileSpec] | None = None
    of_program: Callable[[Mapping[str, Any]], CompileSpec] | None = None
    warm_up: Callable[[], None] | None = None
    sizes: Callable[[bytes, Sequence[Symbol], Sequence[tuple[Mapping[str, int], bytes]]], bytes] | None = None
    ports: Callable[[bytes], tuple[Sequence[Port], Sequence[Port]]] | None = None
    outputs_in_order: Callable[[bytes, Sequence[int]], bytes] | None = None
    with_names: Callable[[Sequence[bytes], str | None], WithNames] | None = None
    without_names: Callable[[bytes, Mapping[str, bytes]], bytes] | None = None


@dataclass(frozen=True, kw_only=True)
class Host:
    """Functions that run a payload on this machine, and their requirements.

    Args:
        run: runs a payload, inputs and outputs as arrays. None: cannot.
        profile: like ``run``, and the events of the run: begin and end (nanoseconds) and name of each.
        plan: the steps of a payload on this machine, with the engine of that name; None: the target's default. For
            targets whose payload is planned where it runs.
        profile_event: name of a run of the whole payload in ExecuTorch's ETDump; with an ETRecord,
            ExecuTorch's ``Inspector`` tells the operators and source lines of this event. Empty: it notes none.
        firmware: maker and runner of firmware, as in an entry point: ``"module:object"``, where the
            object is a :class:`~arm_tosa_core.plugin.firmware.Firmware`. Empty: there is none.
        health: checks of this machine, for compiling and running: lines of ``arm-tosa doctor``.
    """

    run: Callable[[bytes, Sequence[np.ndarray[Any, Any]]], list[np.ndarray[Any, Any]]] | None = None
    profile: Callable[[bytes, Arrays], tuple[list[np.ndarray[Any, Any]], Sequence[Span]]] | None = None
    plan: Callable[[bytes, str | None], Sequence[Step]] | None = None
    profile_event: str = ""
    firmware: str = ""
    health: Sequence[HealthCheck] = ()


@dataclass(frozen=True, kw_only=True)
class Reporting:
    """Figures of a payload without a device.

    Args:
        estimate: figures that the target's compiler predicts of a TOSA flatbuffer, by name: ``cycles`` of an
            inference, ``clock_hz`` and ``macs_per_cycle`` of the device, ``instructions`` of a processor, what an
            inference reads from DRAM and writes there, ``dram_read_kib`` and ``dram_written_kib``, and of the memories
            in use ``sram_kib``, ``dram_kib`` and ``flash_kib``. Parts of these: ``tensors_kib``, the peak of tensors in
            SRAM; ``cache_kib``, SRAM set aside as a cache of DRAM; and weights and commands by where they lie,
            ``constants_in_sram_kib``, ``constants_in_dram_kib`` or ``constants_in_flash_kib``. Those that it does not
            know are left out. None: it predicts nothing.
        timing: how long a payload takes on the device, as a model estimates it. The TOSA graph that the payload was
            compiled from, if given, lets it tell operators, their source lines and the compiler's own figures.
        extract: a delegate's payload to the file that tools read, as its suffix and contents. None: the payload is it.
        advice: function of changes that may make a program faster, as in an entry point: ``"module:function"``. It is
            given a :class:`~arm_tosa_core.advice.candidate.Request` and the report of what it came to, and returns
            :class:`~arm_tosa_core.advice.candidate.Candidate` objects. Empty: there are none.
    """

    estimate: Callable[[bytes], Mapping[str, float]] | None = None
    timing: Callable[[bytes, bytes | None], TimeEstimate] | None = None
    extract: Callable[[bytes], tuple[str, bytes]] | None = None
    advice: str = ""


def _is_rewrite(value: object) -> bool:
    from ..tosa.rewrite import Rewrite

    return isinstance(value, Rewrite)


@dataclass(frozen=True, kw_only=True)
class Target:
    """A target, as the compiler sees it; returned by a factory behind the ``arm_tosa.targets`` entry point.

    Args:
        name: the argument of ``--target``.
        spec: the TOSA specification it takes, as an object or a string such as ``"TOSA-1.0+INT"``.
        description: one line for ``arm-tosa targets``.
        checks: limits beyond the specification; each is asked about every TOSA operator that a rule emits.
        rewrites: graph rewrites of its own; each names the stage in which it runs, usually LEGALIZE.
        preferences: its choices among equivalent TOSA graphs.
        compiler: from TOSA to its payloads.
        host: runs them on this machine.
        report: their figures without a device.
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
        """Parses the specification and checks the types of fields.

        Raises:
            UsageError: the specification is none, another field is of another type, or the name is not one word.
        """
        from ..tosa.specification import TosaSpecification

        for part, kind in (("compiler", Compiler), ("host", Host), ("report", Reporting)):
            if not isinstance(value := getattr(self, part), kind):
                raise UsageError(f"{part} of target {self.name!r} is a {kind.__name__}, not {value!r}")
        for owner, names in (
            (self, ("name", "description")),
            (self.compiler, ("suffix", "backend_id", "backend")),
            (self.host, ("firmware", "profile_event")),
            (self.report, ("advice",)),
        ):
            for name in names:
                if not isinstance(value := getattr(owner, name), str):
                    raise UsageError(f"{name} of a target is a text, not {value!r}")
        if not _NAME.fullmatch(self.name):
            raise UsageError(
                f"the name of a target is of letters, digits, '-', '_' and '.', and begins with one of the first two, "
                f"not {self.name!r}"
            )
        if isinstance(self.compiler.options, str) or not all(isinstance(name, str) for name in self.compiler.options):
            raise UsageError(f"options of target {self.name!r} is a tuple of names, not {self.compiler.options!r}")
        for name in ("name", "artifacts"):  # which the compile spec and the compiler's caller have themselves
            if name in self.compiler.options:
                raise UsageError(f"an option of target {self.name!r} cannot be called {name!r}")
        if not isinstance(self.checks, Sequence) or not all(callable(check) for check in self.checks):
            raise UsageError(f"checks of target {self.name!r} is a tuple of functions, not {self.checks!r}")
        if not isinstance(self.rewrites, Sequence) or not all(_is_rewrite(rewrite) for rewrite in self.rewrites):
            raise UsageError(f"rewrites of target {self.name!r} is a tuple of Rewrites, not {self.rewrites!r}")
        if self.compiler.compile is not None and not callable(self.compiler.compile):
            raise UsageError(f"compile of target {self.name!r} is a function, not {self.compiler.compile!r}")
        if not isinstance(self.spec, str | TosaSpecification):
            raise UsageError(f"spec of target {self.name!r} is a TosaSpecification or its text, not {self.spec!r}")
        spec = TosaSpecification.create_from_string(self.spec) if isinstance(self.spec, str) else self.spec
        object.__setattr__(self, "_tosa_spec", spec)

    @property
    def tosa_spec(self) -> TosaSpecification:
        """The specification as an object."""
        spec: TosaSpecification = vars(self)["_tosa_spec"]
        return spec
