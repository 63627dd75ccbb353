"""The checks say what Vela 5.2 does: what they accept compiles; what they refuse does not, or to something else.

That the second kind computes something else is tested on the functional model, in ``packages/arm-runtime-cpp``.
"""

from __future__ import annotations

import pytest
from vela_cases import CASES, I8, I16, Case, conv, conv3d, pool, rescale, resize
from vela_in_process import problem

from arm_ethosu import EthosUCompileSpec, vela
from arm_ethosu.accelerators import ACCELERATORS, DEFAULTS, family_of
from arm_ethosu.constraints import checks_for
from arm_tosa_core.lowering.pipeline import legalize
from arm_tosa_core.support.errors import ToolError
from arm_tosa_core.tosa.graph import Graph
from arm_tosa_core.tosa.serializer import serialize
from arm_tosa_core.tosa.specification import TosaSpecification

_SPEC = TosaSpecification.create_from_string("TOSA-1.0+INT+int16+int4")
_ONE_PER_FAMILY = ("ethos-u55-128", "ethos-u65-256", "ethos-u85-256")


def refusals(graph: Graph, accelerator: str) -> list[str]:
    (check,) = checks_for(family_of(accelerator))
    return [str(refused) for op in graph.ops if (refused := check(op)) is not None]


@pytest.mark.parametrize("accelerator", _ONE_PER_FAMILY)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_check_agrees_with_vela(case: Case, accelerator: str) -> None:
    family, graph = family_of(accelerator), case.graph()
    refused, replaced = family in case.refused.split(), family in case.replaced.split()
    checked = (refused or family in case.wrong.split()) and not replaced
    assert bool(refusals(graph, accelerator)) == checked, refusals(graph, accelerator)
    complaint = problem(serialize(graph, _SPEC), accelerator)
    assert bool(complaint) == refused, complaint
    if replaced:
        legal = legalize(graph, EthosUCompileSpec(accelerator).target())
        assert not problem(serialize(legal, _SPEC), accelerator)


def test_names_are_unique() -> None:
    names = [case.name for case in CASES]
    assert sorted({name for name in names if names.count(name) > 1}) == []


@pytest.mark.parametrize("accelerator", ACCELERATORS)
def test_limits_do_not_depend_on_the_size_of_the_accelerator(accelerator: str) -> None:
    for case in (conv("s4", "", s=(4, 4), out=(16, 16), oc=64), conv("s4p", "u55 u65", s=(4, 4), pad=(1, 1, 1, 1))):
        complaint = problem(serialize(case.graph(), _SPEC), accelerator)
        assert bool(complaint) == (family_of(accelerator) in case.refused.split()), complaint


@pytest.mark.parametrize("uses, refused", [(1, False), (2, True)])
def test_an_int48_result_feeds_one_rescale(uses: int, refused: bool) -> None:
    graph = conv("INT16", "", x=I16).graph()
    accumulator = graph.ops[0].output
    graph.outputs = [rescale(graph, accumulator, dtype) for dtype in (I16, I8)[:uses]]
    graph.sweep()
    assert bool(refusals(graph, "ethos-u55-128")) == refused
    assert bool(problem(serialize(graph, _SPEC), "ethos-u55-128")) == refused
    assert not problem(serialize(graph, _SPEC), "ethos-u85-256")


@pytest.mark.parametrize("stride, pad", [(3, 1), (4, 1)])
def test_the_executable_agrees_with_its_core(stride: int, pad: int, tmp_path) -> None:
    tosa = serialize(pool("", "", "MAX_POOL2D", s=(stride, stride), pad=(pad,) * 4).graph(), _SPEC)

    def compile() -> vela.VelaOutput:
        u55 = DEFAULTS["u55"]
        return vela.compile(
            tosa, accelerator="ethos-u55-128", config=None, system_config=u55.system_config,
            memory_mode=u55.memory_mode, timeout=60, artifacts=tmp_path,
        )  # fmt: skip

    if problem(tosa, "ethos-u55-128"):
        with pytest.raises(ToolError, match="could not run on NPU"):
            compile()
    else:
        assert compile().cycles > 0


def test_a_refusal_says_what_is_wrong() -> None:
    (reason,) = refusals(pool("", "", "MAX_POOL2D", s=(4, 4), pad=(1, 1, 1, 1)).graph(), "ethos-u55-128")
    assert reason == "MAX_POOL2D: stride [4, 4] with padding; Ethos-U55 and Ethos-U65 take strides of 3 at most there"


@pytest.mark.parametrize("accelerator", _ONE_PER_FAMILY)
@pytest.mark.parametrize("images", [16384, 16385])
def test_no_operator_has_so_many_images_that_vela_never_ends(images: int, accelerator: str) -> None:
    cases = (
        conv("", "", k=(3, 1), c=1, oc=1, n=images),
        conv("", "", k=(1, 1), c=1, oc=1, n=images),  # one image to Vela
        conv3d("", "", k=(1, 1, 1), c=1, oc=1, out=(images, 1, 1)),
        pool("", "", "MAX_POOL2D", k=(1, 2), c=1, n=images),
        resize("", "", "NEAREST_NEIGHBOR", 2, 2, hw=(2, 2), c=1, n=images),
    )
    told = [any("images" in reason for reason in refusals(case.graph(), accelerator)) for case in cases]
    assert told == [images > 16384 and i != 1 for i in range(len(cases))]


def test_a_resize_in_a_batch_is_refused_where_its_transposes_are() -> None:
    def resized(batch: int) -> list[str]:
        case = resize("", "", "BILINEAR", 2, 2, at="corners", hw=(3, 3), c=2, n=batch)
        return refusals(case.graph(), "ethos-u55-128")

    assert not resized(13107)
    assert "joins axes to 65540 elements" in resized(13108)[0]
