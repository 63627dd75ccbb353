"""All that a third party's target, rule, rewrite, test or sweep imports.

``docs/reference/stability.md`` says what may change. Names are imported when they are used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .support.lazy_names import lazy_names

if TYPE_CHECKING:
    from .advice.candidate import Candidate as Candidate
    from .advice.candidate import Request as Request
    from .cli.sweep_sources import FileSources as FileSources
    from .exir.compile_spec import ArmCompileSpec as ArmCompileSpec
    from .exir.compile_spec import TargetCompileSpec as TargetCompileSpec
    from .lowering.op_builder import OpBuilder as OpBuilder
    from .lowering.rule import Q as Q
    from .lowering.rule import op as op
    from .lowering.traits import Channels as Channels
    from .lowering.traits import Moves as Moves
    from .lowering.traits import Traits as Traits
    from .lowering.values import QParams as QParams
    from .lowering.values import Value as Value
    from .plugin.chip import Chip as Chip
    from .plugin.chip import Fact as Fact
    from .plugin.chip import read_chips as read_chips
    from .plugin.firmware import Deployed as Deployed
    from .plugin.firmware import Firmware as Firmware
    from .plugin.firmware import Program as Program
    from .plugin.firmware import Verified as Verified
    from .plugin.health import Finding as Finding
    from .plugin.health import HealthCheck as HealthCheck
    from .plugin.health import KnownVersions as KnownVersions
    from .plugin.health import distribution as distribution
    from .plugin.health import tool as tool
    from .plugin.named_data import NamedData as NamedData
    from .plugin.named_data import WithNames as WithNames
    from .plugin.target import Compiled as Compiled
    from .plugin.target import CompiledLayer as CompiledLayer
    from .plugin.target import Compiler as Compiler
    from .plugin.target import Host as Host
    from .plugin.target import LiveTensor as LiveTensor
    from .plugin.target import Moved as Moved
    from .plugin.target import Port as Port
    from .plugin.target import Preferences as Preferences
    from .plugin.target import Reporting as Reporting
    from .plugin.target import Symbol as Symbol
    from .plugin.target import Target as Target
    from .plugin.timing import OperatorTime as OperatorTime
    from .plugin.timing import TimeEstimate as TimeEstimate
    from .plugin.timing import UnitSpan as UnitSpan
    from .rewrites.by_estimate import Choice as Choice
    from .rewrites.by_estimate import Estimator as Estimator
    from .rewrites.cycle_estimate import CycleEstimate as CycleEstimate
    from .rewrites.graph_parts import Surroundings as Surroundings
    from .support.errors import LoweringError as LoweringError
    from .support.errors import Rejected as Rejected
    from .support.errors import ToolError as ToolError
    from .support.errors import UsageError as UsageError
    from .sweep.dask_engine import Dask as Dask
    from .sweep.engine import Engine as Engine
    from .sweep.engine import Here as Here
    from .sweep.limits import answer as answer
    from .sweep.limits import parse_limits as parse_limits
    from .sweep.pool import Pool as Pool
    from .sweep.run import sweep as sweep
    from .sweep.sources import Sources as Sources
    from .sweep.space import Space as Space
    from .sweep.space import read_space as read_space
    from .testing.case import OpCase as OpCase
    from .tosa import reference_model as reference_model
    from .tosa.graph import Graph as Graph
    from .tosa.ir import DType as DType
    from .tosa.ir import Op as Op
    from .tosa.ir import Tensor as Tensor
    from .tosa.pattern import ANY as ANY
    from .tosa.pattern import AnyOf as AnyOf
    from .tosa.pattern import Match as Match
    from .tosa.pattern import Pattern as Pattern
    from .tosa.pattern import pattern_rewrite as pattern_rewrite
    from .tosa.rewrite import Rewrite as Rewrite
    from .tosa.rewrite import Stage as Stage
    from .tosa.serializer import serialize as serialize
    from .tosa.specification import TosaSpecification as TosaSpecification

_NAMES = {
    "advice.candidate": "Candidate Request",
    "cli.sweep_sources": "FileSources",
    "exir.compile_spec": "ArmCompileSpec TargetCompileSpec",
    "lowering.op_builder": "OpBuilder",
    "lowering.rule": "Q op",
    "lowering.traits": "Channels Moves Traits",
    "lowering.values": "QParams Value",
    "plugin.chip": "Chip Fact read_chips",
    "plugin.firmware": "Deployed Firmware Program Verified",
    "plugin.health": "Finding HealthCheck KnownVersions distribution tool",
    "plugin.named_data": "NamedData WithNames",
    "plugin.target": "Compiled CompiledLayer Compiler Host LiveTensor Moved Port Preferences Reporting Symbol Target",
    "plugin.timing": "OperatorTime TimeEstimate UnitSpan",
    "rewrites.by_estimate": "Choice Estimator",
    "rewrites.cycle_estimate": "CycleEstimate",
    "rewrites.graph_parts": "Surroundings",
    "support.errors": "LoweringError Rejected ToolError UsageError",
    "sweep.dask_engine": "Dask",
    "sweep.engine": "Engine Here",
    "sweep.limits": "answer parse_limits",
    "sweep.pool": "Pool",
    "sweep.run": "sweep",
    "sweep.sources": "Sources",
    "sweep.space": "Space read_space",
    "testing.case": "OpCase",
    "tosa.graph": "Graph",
    "tosa.ir": "DType Op Tensor",
    "tosa.pattern": "ANY AnyOf Match Pattern pattern_rewrite",
    "tosa.rewrite": "Rewrite Stage",
    "tosa.serializer": "serialize",
    "tosa.specification": "TosaSpecification",
}
_HOME = {name: home for home, names in _NAMES.items() for name in names.split()} | {
    "reference_model": "tosa.reference_model:"
}

__all__ = sorted(_HOME)
__getattr__, __dir__ = lazy_names(__name__, _HOME, globals())
