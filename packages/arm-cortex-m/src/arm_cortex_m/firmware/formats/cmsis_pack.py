"""A CMSIS-Pack: a package description of models as software components (Open-CMSIS-Pack, PACK.xsd 1.7)."""

from __future__ import annotations

from collections.abc import Sequence
from xml.etree import ElementTree
from xml.etree.ElementTree import Element, SubElement

from ..model import Model
from ..npu import Npu
from .sources import model_files, processor_files

VENDOR = "ArmTosa"
_VERSION = "1.0.0"
_CLASS, _MODEL, _NPU = "Machine Learning", "Model", "Model NPU"
#: The component of Arm's pack that the core driver is.
_DRIVER = {"Cclass": _CLASS, "Cgroup": "NPU Support", "Csub": "Ethos-U Driver"}

#: The component of the functions that models call.
_KERNELS = {"Cclass": _CLASS, "Cgroup": "Model Kernels"}
#: Of the NPU: name, source, description and condition of a component.
_IMPLEMENTATIONS = (
    ("Core driver", "npu/core_driver.c", "The NPU by Arm's core driver", "Core driver"),
    ("Null", "npu/null.c", "No NPU: jobs succeed and compute nothing", ""),
)


def cmsis_pack(models: Sequence[Model], npu: Npu | None) -> dict[str, str]:
    """The package description, by path: each model is a component, and so is each way to run the NPU's jobs."""
    name = "_".join(model.name for model in models)
    package = Element(
        "package",
        {
            "schemaVersion": "1.7.2",
            "xmlns:xs": "http://www.w3.org/2001/XMLSchema-instance",
            "xs:noNamespaceSchemaLocation": "PACK.xsd",
        },
    )
    described = f"Models compiled by arm-tosa: {', '.join(model.name for model in models)}"
    for tag, words in (("vendor", VENDOR), ("name", name), ("description", described), ("url", "")):
        SubElement(package, tag).text = words
    SubElement(SubElement(package, "releases"), "release", version=_VERSION).text = "Made by arm-tosa deploy"
    kernels = processor_files(models)
    conditions = SubElement(package, "conditions") if npu or kernels else package
    if npu:
        _condition(conditions, "NPU", {"Cclass": _CLASS, "Cgroup": _NPU})
        _condition(conditions, "Core driver", _DRIVER)
    if kernels:
        _condition(conditions, "Kernels", _KERNELS)
    if npu and kernels:
        _condition(conditions, "NPU and kernels", {"Cclass": _CLASS, "Cgroup": _NPU}, _KERNELS)
    components = SubElement(package, "components")
    needed = {(False, False): "", (True, False): "NPU", (False, True): "Kernels", (True, True): "NPU and kernels"}
    for model in models:
        files = _component(
            components, _MODEL, model.name, f"{model.name} on {model.target}", needed[bool(npu), bool(model.calls)]
        )
        _file(files, "include", "./")
        _file(files, "include", "common/")
        _file(files, "header", f"models/{model.name}.h")
        for path in model_files(model):
            _file(files, "sourceC", path)
        if model.operators:
            _file(files, "include", "processor/")
    if kernels:
        files = _component(components, _KERNELS["Cgroup"], "TOSA", "Operators on the processor", "")
        for path in kernels:
            _file(files, "sourceC", path)
    for sub, path, words, needs in _IMPLEMENTATIONS if npu else ():
        files = _component(components, _NPU, sub, words, needs)
        _file(files, "include", "npu/")
        _file(files, "sourceC", path)
        if needs:
            _file(files, "sourceC", "npu/cache_cortex_m.c")  # used where NPU_CACHE is defined
    ElementTree.indent(package)
    text = ElementTree.tostring(package, encoding="unicode")
    return {f"{VENDOR}.{name}.pdsc": f'<?xml version="1.0" encoding="UTF-8"?>\n{text}\n'}


def _condition(conditions: Element, name: str, *components: dict[str, str]) -> None:
    condition = SubElement(conditions, "condition", id=name)
    for component in components:
        SubElement(condition, "require", component)


def _component(components: Element, group: str, sub: str, described: str, condition: str) -> Element:
    attributes = {"Cclass": _CLASS, "Cgroup": group, "Csub": sub, "Cversion": _VERSION}
    component = SubElement(components, "component", attributes | ({"condition": condition} if condition else {}))
    SubElement(component, "description").text = described
    return SubElement(component, "files")


def _file(files: Element, category: str, path: str) -> None:
    SubElement(files, "file", category=category, name=path)
