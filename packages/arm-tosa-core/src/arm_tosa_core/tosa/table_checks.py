"""The two questions asked of the table of operators for every emitted operator.

``infer`` gives the shapes and types of an operator's results, ``check`` says whether a specification has it.
"""

from __future__ import annotations

from packaging.version import Version

from ..support.errors import LoweringError, Rejected
from . import level_limits
from .ir import DType, Op, Tensor
from .shape_checks import Result
from .specification import EXTENSIONS, TosaSpecification
from .table import ENUMS, OPERATORS, REQUIRED, Operator


def infer(op: Op) -> list[Result]:
    """Shape and data type of each result of ``op``; also completes ``op.attrs`` with the table's defaults.

    Raises:
        Rejected: the operands' shapes do not fit the operator or each other.
        LoweringError: not an operator of the table, or operands or attributes that it does not have.
    """
    operator = OPERATORS.get(op.name)
    if operator is None:
        raise LoweringError(f"{op.name} is not an operator of the table of TOSA")
    inputs, attrs = op.inputs, op.attrs
    if len(inputs) != len(operator.operands) and not (operator.variadic and inputs):
        names = ", ".join(operand.name for operand in operator.operands)
        raise LoweringError(f"{op.name} takes {len(operator.operands)} operands ({names}), got {len(inputs)}")
    for attribute in operator.attributes:
        name = attribute.name
        value = attrs.get(name)
        if value is None:
            value = attribute.default
            if value is REQUIRED:
                raise LoweringError(f"{op.name} needs the attribute {name}")
            attrs[name] = value(inputs) if callable(value) else value
        elif attribute.type == "ints":
            attrs[name] = value = tuple(value)
            if attribute.length and len(value) != attribute.length:
                raise LoweringError(f"{op.name}: {name} takes {attribute.length} numbers, got {list(value)}")
        elif attribute.type == "enum" and value not in ENUMS[name]:
            raise LoweringError(f"{op.name}: {name} is one of {', '.join(ENUMS[name])}, not {value!r}")
    if len(attrs) != len(operator.attributes):
        unknown = sorted(attrs.keys() - operator.attribute_names)
        raise LoweringError(f"{op.name} has no attribute {unknown[0]}")
    try:
        return operator.shape(inputs, attrs)
    except Rejected as error:
        raise Rejected(f"{op.name}: {error.reason}", error.fix) from None


def signature(op: Op) -> tuple[DType, ...]:
    """The types of ``op`` that the table's rows list; ``op.attrs`` must be complete."""
    operator = OPERATORS[op.name]
    types = [op.inputs[i].dtype for i in operator.typed]
    if operator.has_accumulator:
        types.append(op.attrs["acc_type"])
    types += [tensor.dtype for tensor in op.outputs]
    return tuple(types)


def check(op: Op, spec: TosaSpecification) -> None:
    """Refuses an operator that ``spec`` does not have. ``op`` has its results and its complete attributes (``infer``).

    Raises:
        Rejected: the operator or this combination of data types is in no profile or extension of ``spec``, an operand
            must be a compile-time constant and is not, or a limit of the level is exceeded.
    """
    operator = OPERATORS[op.name]
    if operator.signatures:
        types = signature(op)
        alternatives = operator.signatures.get(types)
        words = spec.words
        if alternatives is None or not any(alternative <= words for alternative in alternatives):
            raise _types_refused(operator, types, alternatives, spec)
    if operator.extension and not spec.support_extension(operator.extension):
        raise Rejected(f"{op.name} is not in {spec}", f"needs {operator.extension} in the specification")
    level_limits.tensors(op)
    for position in operator.constants:
        tensor = op.inputs[position]
        needed = "shape" if tensor.dtype is DType.SHAPE else "dynamic"
        if not tensor.is_constant and needed not in spec.extensions:
            name = operator.operands[position].name
            raise Rejected(f"{op.name}: {name} is not a compile-time constant", f"needs the extension {needed}")
    if op.name == "RESCALE":
        _check_rescale(op, spec)
    elif operator.constants:
        _check_zero_points(operator, op)
    if operator.limits is not None:
        try:
            operator.limits(op)
        except Rejected as error:
            raise Rejected(f"{op.name}: {error.reason}", error.fix) from None


def _check_zero_points(operator: Operator, op: Op) -> None:
    """Only INT8 has zero points other than 0."""
    for position in operator.constants:
        name = operator.operands[position].name
        tensor = op.inputs[position]
        if name.endswith("_zp") and tensor.dtype is not DType.INT8 and tensor.data is not None and tensor.data.any():
            raise Rejected(f"{op.name}: {name} of {tensor.dtype} must be 0, got {tensor.data.flat[0]}")


def _check_rescale(op: Op, spec: TosaSpecification) -> None:
    """Zero points and rounding modes of RESCALE, where UINT16 (INT16 marked unsigned) may have the zero point 32768."""
    attrs = op.attrs
    needed = {"DOUBLE_ROUND": "doubleround", "INEXACT_ROUND": "inexactround"}.get(attrs["rounding_mode"])
    if needed and needed not in spec.extensions:
        raise Rejected(f"RESCALE: {attrs['rounding_mode']} is not in {spec}", f"needs the {needed} extension")
    for position, unsigned in ((3, attrs["input_unsigned"]), (4, attrs["output_unsigned"])):
        zero_point: Tensor = op.inputs[position]
        if zero_point.dtype in (DType.INT8, DType.UINT8) or zero_point.data is None:
            continue
        value = int(zero_point.data.flat[0])
        if value and not (unsigned and zero_point.dtype is DType.INT16 and value in (32768, -32768)):
            name = OPERATORS["RESCALE"].operands[position].name
            raise Rejected(f"RESCALE: {name} of {zero_point.dtype} must be 0, got {value}")


def _lacking(words: frozenset[str]) -> str:
    """The name of a requirement that a specification lacks, with its TOSA version."""
    begun = [EXTENSIONS[word][2] for word in words if word in EXTENSIONS] + [Version(w) for w in words if w == "1.1"]
    version = max(begun, default=Version("1.0"))
    names = "+".join(sorted(words - {"1.1"}))
    if version == Version("1.0"):
        return names
    return f"TOSA-{version}+{names}" if names else f"TOSA-{version}"


def _types_refused(
    operator: Operator,
    types: tuple[DType, ...],
    alternatives: tuple[frozenset[str], ...] | None,
    spec: TosaSpecification,
) -> Rejected:
    fix = ""
    if alternatives:
        choices = [_lacking(alternative - spec.words) for alternative in alternatives]
        fix = f"needs {' or '.join(choices)} in the specification"
    allowed = [row for row, options in operator.signatures.items() if any(option <= spec.words for option in options)]
    if not allowed:
        return Rejected(f"{operator.name} is not in {spec}", fix)
    # One name is enough where the first type decides, as for CLAMP; else whole rows are listed.
    if all(row[0] is not types[0] for row in allowed):
        listed = ", ".join(dict.fromkeys(str(row[0]) for row in allowed))
        return Rejected(f"{operator.name} takes {listed} in {spec}; got {types[0]}", fix)
    listed = "; ".join(", ".join(map(str, row)) for row in allowed if row[0] is types[0])
    return Rejected(f"{operator.name} takes ({listed}) in {spec}; got ({', '.join(map(str, types))})", fix)
