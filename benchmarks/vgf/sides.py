"""Who runs a program: each class loads a file when it is made, and then runs it; it imports no more than it needs."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

Array = np.ndarray[Any, Any]
MIB = 2**20


class Side(ABC):
    """A loaded program: the base of all.

    Attributes:
        MODULES: what is imported before loading is timed.
        device: who runs it.
    """

    MODULES: ClassVar[tuple[str, ...]] = ()
    device = "cpu"

    def __init__(self, file: Path, inputs: list[Array], scheme: str, device: str) -> None:
        self.file, self.inputs, self.scheme = file, inputs, scheme
        self.load(device)

    @abstractmethod
    def load(self, device: str) -> None:
        """Loads the file; a device of this name, if there is a choice."""

    @abstractmethod
    def run(self) -> None:
        """Runs once: inputs from the host's memory, outputs back in it."""

    def memory(self) -> dict[str, float]:
        """MiB of device memory by figure's name; empty: unknown."""
        return {}

    def device_ms(self, repeat: int) -> list[float]:
        """Milliseconds that the device says its part of each run took; empty: unknown."""
        return []


class Compute(Side):
    """Our runtime."""

    MODULES = ("arm_runtime.vgf",)
    ENGINE = "compute"

    def load(self, device: str) -> None:
        from arm_runtime.vgf import Session

        self.session = Session(self.file.read_bytes(), engine=self.ENGINE)
        self.device = self.session.device.removesuffix(" (emulated)")

    def run(self) -> None:
        self.session.run(self.inputs)

    def memory(self) -> dict[str, float]:
        found = self.session.memory()
        saved = found.pop("saved")
        return {"memory_mib": sum(found.values()) / MIB, "saved_mib": saved / MIB}

    def device_ms(self, repeat: int) -> list[float]:
        self.session.profile()
        times = []
        for _ in range(repeat):
            self.run()
            times.append(sum(event.end - event.begin for event in self.session.profile() if event.on_device) / 1e6)
        return times


class Native(Compute):
    ENGINE = "native"


class Layer(Compute):
    """Arm's emulation layer, in our runtime; what it takes itself it does not tell."""

    ENGINE = "layer"

    def load(self, device: str) -> None:
        if (spec := find_spec("emulation_layer")) is not None:
            folder = Path(*spec.submodule_search_locations or (), "deploy/share/vulkan/explicit_layer.d")
            os.environ.setdefault("VK_LAYER_PATH", str(folder))  # the Vulkan loader looks there
        super().load(device)

    def memory(self) -> dict[str, float]:
        return {}


class Ncnn(Side):
    """ncnn with Vulkan; its default is fp16 where the device has it."""

    MODULES = ("ncnn",)
    VULKAN = True

    def load(self, device: str) -> None:
        import ncnn

        self.net = ncnn.Net()
        self.net.opt.num_threads = 1
        self.net.opt.use_vulkan_compute = self.VULKAN
        if self.VULKAN:
            ncnn.create_gpu_instance()
            names = [ncnn.get_gpu_info(i).device_name() for i in range(ncnn.get_gpu_count())]
            self.net.set_vulkan_device(_index(names, device))
            self.device = names[_index(names, device)]
        if self.scheme == "fp32":
            for option in ("fp16_packed", "fp16_storage", "fp16_arithmetic", "bf16_storage"):
                setattr(self.net.opt, f"use_{option}", False)
        for status in (self.net.load_param(f"{self.file}.param"), self.net.load_model(f"{self.file}.bin")):
            if status:
                raise RuntimeError(f"ncnn does not load {self.file}")
        self.arguments = [ncnn.Mat(array[0]).clone() for array in self.inputs]

    def run(self) -> None:
        with self.net.create_extractor() as extractor:
            for number, argument in enumerate(self.arguments):
                extractor.input(f"in{number}", argument)
            status, output = extractor.extract("out0")
            if status:
                raise RuntimeError(f"ncnn fails with status {status}")
            np.array(output)


class NcnnCpu(Ncnn):
    """ncnn on one thread."""

    VULKAN = False


class Iree(Side):
    """IREE."""

    MODULES = ("iree.runtime",)
    DRIVER = "vulkan"

    def load(self, device: str) -> None:
        import iree.runtime as iree

        driver = iree.get_driver(self.DRIVER)
        found = driver.query_available_devices()
        names = [str(each["name"]) for each in found]
        index = _index(names, device) if self.DRIVER == "vulkan" else 0
        self.device = names[index]
        config = iree.Config(device=driver.create_device(found[index]["device_id"]))
        context = iree.SystemContext(config=config)
        context.add_vm_module(iree.VmModule.mmap(context.instance, str(self.file)))
        self.main = context.modules.module.main

    def run(self) -> None:
        found = self.main(*self.inputs)
        for output in found if isinstance(found, tuple) else (found,):
            output.to_host()


class IreeCpu(Iree):
    """IREE on the caller's thread."""

    DRIVER = "local-sync"


class Executorch(Side):
    """ExecuTorch, with the delegates of its own package."""

    MODULES = ("torch", "executorch.runtime")

    def load(self, device: str) -> None:
        import torch
        from executorch.runtime import Runtime

        self.program = Runtime.get().load_program(self.file)  # a method lives no longer than its program
        self.method = self.program.load_method("forward")
        self.arguments = [torch.from_numpy(array) for array in self.inputs]

    def run(self) -> None:
        self.method.execute(self.arguments)


class EthosU(Side):
    """Our functional model of Ethos-U: loops in C++."""

    MODULES = ("arm_runtime.ethosu",)

    def load(self, device: str) -> None:
        self.model = import_module("arm_runtime.ethosu")
        self.payload = self.file.read_bytes()

    def run(self) -> None:
        self.model.run(self.payload, self.inputs)


class ReferenceModel(Side):
    """The TOSA reference model."""

    MODULES = ("arm_tosa_core.tosa.reference_model",)

    def load(self, device: str) -> None:
        self.model = import_module("arm_tosa_core.tosa.reference_model")
        self.graph = self.file.read_bytes()

    def run(self) -> None:
        self.model.run(self.graph, self.inputs)


def _index(names: list[str], wanted: str) -> int:
    """Which of a peer's devices is the one that ours ran on."""
    for index, name in enumerate(names):
        if wanted in name:
            return index
    raise RuntimeError(f"no device {wanted!r} among {', '.join(names) or 'none'}")


#: Sides by name; a worker is told one.
SIDES: dict[str, type[Side]] = {
    "compute": Compute,
    "native": Native,
    "layer": Layer,
    "ncnn": Ncnn,
    "ncnn-cpu": NcnnCpu,
    "iree": Iree,
    "iree-cpu": IreeCpu,
    "xnnpack": Executorch,
    "ethosu_model": EthosU,
    "reference_model": ReferenceModel,
}
