"""Which devices a model is put on: the devices of this build, and the choice turned into native parameters.

Runs in the worker process. What llama.cpp would answer with a NULL model, or would pass over in silence, is
refused or noted here before the call.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import llama_cpp as lib
from llama_cpp._ggml import libggml

from localrag.engine.options import EngineOptions
from localrag.errors import SettingsError

SPLIT_MODES: Final = {
    "none": lib.LLAMA_SPLIT_MODE_NONE,
    "layer": lib.LLAMA_SPLIT_MODE_LAYER,
    "row": lib.LLAMA_SPLIT_MODE_ROW,
    "tensor": lib.LLAMA_SPLIT_MODE_TENSOR,
}
"""Ways to split a model over several devices."""

ALL_LAYERS: Final = -1
"""Number of layers that stands for all of them."""

_KINDS: Final = {0: "cpu", 1: "gpu", 2: "integrated gpu", 3: "accelerator"}


@dataclass(frozen=True)
class Device:
    """A device that the native build can compute on."""

    name: str
    """Its name in settings, such as `CUDA0`."""

    description: str
    """What it is, for people."""

    kind: str
    """`cpu`, `gpu`, `integrated gpu` or `accelerator`."""

    handle: int
    """Address of the native device."""

    @property
    def takes_layers(self) -> bool:
        """Whether layers can be put there; the processor and its helpers work with any model anyway."""
        return self.kind in ("gpu", "integrated gpu")


@dataclass(frozen=True)
class Offload:
    """Where a model goes."""

    layers: int = 0
    """Layers put on GPUs; -1 all."""

    devices: tuple[str, ...] = ()
    """Names of the devices to use; empty takes all."""

    split_mode: str = "layer"
    """A key of `SPLIT_MODES`."""

    tensor_split: tuple[float, ...] = ()
    """Shares of the devices; empty splits by free memory."""

    main_gpu: int = 0
    """Number of the device used with split mode `none`, counted among those that are used."""

    @classmethod
    def of(cls, options: EngineOptions) -> Offload:
        """The part of a worker's options that says where the model goes."""
        return cls(
            layers=options.gpu_layers,
            devices=tuple(options.devices),
            split_mode=options.split_mode,
            tensor_split=tuple(options.tensor_split),
            main_gpu=options.main_gpu,
        )


@dataclass(frozen=True)
class Placement:
    """A checked `Offload`, ready for the native call."""

    layers: int
    """Layers put on GPUs; -1 all."""

    split_mode: int
    """Native number of the split mode."""

    main_gpu: int
    """Number of the device used with split mode `none`."""

    devices: Any = None
    """Array of native devices that ends with NULL, or None for all."""

    shares: Any = None
    """Array of shares, as long as the library reads, or None."""

    note: str = ""
    """What cannot be as it was asked for; empty if all can."""

    def write(self, params: Any) -> None:
        """Fill in model parameters. They borrow from this object: it has to live as long as they."""
        params.n_gpu_layers = self.layers
        params.split_mode = self.split_mode
        params.main_gpu = self.main_gpu
        if self.devices is not None:
            params.devices = ctypes.cast(self.devices, ctypes.c_void_p)
        if self.shares is not None:
            params.tensor_split = ctypes.cast(self.shares, ctypes.POINTER(ctypes.c_float))


def devices() -> list[Device]:
    """The devices of the native build, which has to be initialised."""
    count, get = _function("ggml_backend_dev_count", ctypes.c_size_t), _function("ggml_backend_dev_get")
    name = _function("ggml_backend_dev_name", ctypes.c_char_p)
    described = _function("ggml_backend_dev_description", ctypes.c_char_p)
    kind = _function("ggml_backend_dev_type", ctypes.c_int)
    found = []
    for index in range(count()):
        handle = get(ctypes.c_size_t(index))
        pointer = ctypes.c_void_p(handle)
        found.append(
            Device(
                (name(pointer) or b"").decode("utf-8", "replace"),
                (described(pointer) or b"").decode("utf-8", "replace").strip(),
                _KINDS.get(kind(pointer), "other"),
                int(handle or 0),
            )
        )
    return found


def place(wanted: Offload, there: Sequence[Device], most_devices: int) -> Placement:
    """Check a choice against the devices that are there.

    `most_devices` is how many shares the library reads. Raises `SettingsError` for what cannot be had: a
    device that is not there, layers for a GPU where the build has none, more shares than devices.
    """
    if wanted.split_mode not in SPLIT_MODES:
        raise SettingsError(
            f"There is no split mode {wanted.split_mode}.", f"There are: {', '.join(SPLIT_MODES)}."
        )
    usable = [device for device in there if device.takes_layers]
    chosen = [_named(name, there) for name in wanted.devices]
    if not usable and not chosen:
        return _without_gpu(wanted)
    used = chosen or usable
    if wanted.split_mode == "none" and wanted.main_gpu >= len(used):
        raise SettingsError(
            f"engine.main_gpu is {wanted.main_gpu}, and {len(used)} devices are used.",
            f"Give a number from 0 to {len(used) - 1}.",
        )
    if len(wanted.tensor_split) > min(len(used), most_devices):
        raise SettingsError(
            f"engine.tensor_split has {len(wanted.tensor_split)} shares, and {len(used)} devices are used.",
            "Give one share a device.",
        )
    return Placement(
        wanted.layers,
        SPLIT_MODES[wanted.split_mode],
        wanted.main_gpu,
        devices=(ctypes.c_void_p * (len(chosen) + 1))(*(d.handle for d in chosen), None) if chosen else None,
        shares=(ctypes.c_float * max(most_devices, 1))(*wanted.tensor_split) if wanted.tensor_split else None,
    )


def _without_gpu(wanted: Offload) -> Placement:
    """The placement on a build that has no GPU back end."""
    hint = "Build llama-cpp-python with one, or set engine.gpu_layers to 0."
    if wanted.layers > 0:
        raise SettingsError(
            f"engine.gpu_layers is {wanted.layers}, but this build of llama.cpp has no GPU back end.", hint
        )
    if wanted.tensor_split or wanted.split_mode == "tensor" or wanted.main_gpu:
        raise SettingsError("The model cannot be split: this build of llama.cpp has no GPU back end.", hint)
    note = ""
    if wanted.layers == ALL_LAYERS:
        note = "The model runs on the processor: this build of llama.cpp has no GPU back end."
    return Placement(0, SPLIT_MODES[wanted.split_mode], 0, note=note)


def _named(name: str, there: Sequence[Device]) -> Device:
    for device in there:
        if device.name.casefold() == name.casefold():
            if not device.takes_layers:
                raise SettingsError(
                    f"engine.devices names {name}, which is no GPU.", "Leave it out: it is used anyway."
                )
            return device
    names = ", ".join(device.name for device in there if device.takes_layers) or "none"
    raise SettingsError(f"engine.devices names {name}, which is not there.", f"There are: {names}.")


def _function(name: str, result: Any = ctypes.c_void_p) -> Any:
    """A function of the native library's device registry, for which the binding has no declaration."""
    function = getattr(libggml, name)
    function.restype = result
    return function
