"""Where a model is put: what cannot be had is refused in words, the rest reaches the native parameters."""

from __future__ import annotations

import ctypes
from pathlib import Path

import llama_cpp as lib
import pytest

from localrag.engine.client import WorkerModel
from localrag.engine.llama import Model, start_backend
from localrag.engine.offload import SPLIT_MODES, Device, Offload, devices, place
from localrag.engine.options import EngineOptions
from localrag.errors import SettingsError

CPU = Device("CPU", "a processor", "cpu", 100)
GPUS = (CPU, Device("CUDA0", "a card", "gpu", 200), Device("CUDA1", "a card", "gpu", 300))


def test_the_build_tells_its_devices() -> None:
    start_backend()
    found = devices()
    assert [device.kind for device in found if device.name == "CPU"] == ["cpu"]
    assert all(device.handle for device in found)


def test_nothing_asked_is_the_processor() -> None:
    params = lib.llama_model_default_params()
    place(Offload(), [CPU], 16).write(params)
    assert (params.n_gpu_layers, params.split_mode, params.main_gpu) == (0, lib.LLAMA_SPLIT_MODE_LAYER, 0)
    assert not params.devices
    assert not params.tensor_split


def test_a_choice_reaches_the_native_parameters() -> None:
    params = lib.llama_model_default_params()
    wanted = Offload(12, ("cuda1", "CUDA0"), "row", (3.0, 1.0), 1)
    placement = place(wanted, GPUS, 16)
    placement.write(params)
    assert (params.n_gpu_layers, params.split_mode, params.main_gpu) == (12, lib.LLAMA_SPLIT_MODE_ROW, 1)
    handles = ctypes.cast(params.devices, ctypes.POINTER(ctypes.c_void_p))
    assert [handles[i] for i in range(3)] == [300, 200, None]
    assert [params.tensor_split[i] for i in range(4)] == [3.0, 1.0, 0.0, 0.0]
    assert len(placement.shares) == 16


@pytest.mark.parametrize(
    ("wanted", "there", "said"),
    [
        (Offload(4), [CPU], "gpu_layers is 4, but this build"),
        (Offload(tensor_split=(1.0, 1.0)), [CPU], "cannot be split"),
        (Offload(split_mode="tensor"), [CPU], "cannot be split"),
        (Offload(devices=("CUDA0",)), [CPU], "names CUDA0, which is not there"),
        (Offload(-1, devices=("CUDA7",)), GPUS, "names CUDA7, which is not there"),
        (Offload(-1, devices=("CPU",)), GPUS, "names CPU, which is no GPU"),
        (Offload(-1, split_mode="none", main_gpu=2), GPUS, "main_gpu is 2, and 2 devices"),
        (Offload(-1, ("CUDA0",), "none", (), 1), GPUS, "main_gpu is 1, and 1 devices"),
        (Offload(-1, tensor_split=(1.0, 1.0, 1.0)), GPUS, "3 shares, and 2 devices"),
        (Offload(split_mode="half"), GPUS, "no split mode half"),
    ],
)
def test_what_cannot_be_had_is_refused(wanted: Offload, there: list[Device], said: str) -> None:
    with pytest.raises(SettingsError, match=said) as caught:
        place(wanted, there, 16)
    assert caught.value.hint


def test_as_much_as_there_is_may_be_nothing_but_is_said() -> None:
    placement = place(Offload(-1), [CPU], 16)
    assert placement.layers == 0
    assert "no GPU back end" in placement.note
    assert place(Offload(-1), GPUS, 16).note == ""


@pytest.mark.parametrize("mode", SPLIT_MODES)
def test_every_split_mode_is_the_librarys(mode: str) -> None:
    assert place(Offload(-1, split_mode=mode), GPUS, 16).split_mode == SPLIT_MODES[mode]


@pytest.mark.skipif(lib.llama_supports_gpu_offload(), reason="not here: this build has a GPU")
def test_the_worker_refuses_and_notes_by_the_build_that_it_has(random_gguf: Path) -> None:
    with pytest.raises(SettingsError, match="gpu_layers is 2"):
        Model(random_gguf, offload=Offload(2))
    refused = WorkerModel(random_gguf, EngineOptions(gpu_layers=2))
    with pytest.raises(SettingsError, match="no GPU back end"):
        refused.describe()
    worker = WorkerModel(random_gguf, EngineOptions(n_ctx=1024, sequences=1, threads=1, gpu_layers=-1))
    try:
        [note] = worker.describe().notes
        assert "no GPU back end" in note
    finally:
        worker.close()
