"""Files that are written: onnx finds them legal, and onnxruntime computes what the workbench does."""

from __future__ import annotations

import io
import warnings
from typing import Any

import numpy as np
import pytest

import workbench as wb
from tests.onnx_files.test_save import BRANCHES, MODELS, PACKED, TURNS, flat, saved
from tests.peers.onnx_db.written import SKIPPED, WITHOUT, WORKS
from tests.peers.saturation import exact
from workbench.base.quantized_array import QuantizedArray
from workbench.core.op import table
from workbench.core.value import new
from workbench.onnx.writing.table import RULES

onnx = pytest.importorskip("onnx")
onnxruntime = pytest.importorskip("onnxruntime")

OPS = {one.name: one for one in table()}


def session(data: bytes) -> Any:
    """Return what runs a file, once the file was found legal and its shapes inferred strictly."""
    onnx.checker.check_model(onnx.load_from_string(data), full_check=True)
    onnx.shape_inference.infer_shapes(
        onnx.load_from_string(data), check_type=True, strict_mode=True, data_prop=True
    )
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    # Left to itself it quantizes what meets a weight of 4 bits.
    options.add_session_config_entry("session.qdq_matmulnbits_accuracy_level", "1")
    return onnxruntime.InferenceSession(data, options)


def close(found: np.ndarray, wanted: np.ndarray) -> None:
    assert (found.shape, found.dtype) == (wanted.shape, wanted.dtype)
    # Relative to the greatest: what is nearly zero is a difference of what is not.
    least = 1e-4 * max(np.abs(wanted).max(initial=0), 1e-3)
    assert np.abs(found - wanted).max(initial=0) <= least


@pytest.mark.parametrize("opset", [13, 17, 18, 22])
@pytest.mark.parametrize("name", MODELS)
def test_a_model_runs_in_onnxruntime(name, opset):
    make, inputs = MODELS[name]
    model = make().eval()
    run = session(saved(model, *inputs(2), opset=opset))
    for count in (2, 1, 3):
        given = inputs(count)
        with wb.no_grad():
            wanted = [one.numpy() for one in flat(model(*given))]
        found = run.run(
            None, dict(zip([one.name for one in run.get_inputs()], map(_array, given), strict=True))
        )
        for one, other in zip(found, wanted, strict=True):
            close(one, other)


@pytest.mark.parametrize("name", PACKED)
def test_packed_sequences_run_in_onnxruntime(name):
    model, x = PACKED[name]().eval(), wb.randn(5, 4, 4)
    run = session(saved(model, x))
    found = run.run(None, {run.get_inputs()[0].name: x.numpy()})
    for one, other in zip(found, model(x), strict=True):
        close(one, other.detach().numpy())


@pytest.mark.parametrize("make", [wb.models.resnet50, wb.models.minilm], ids=["resnet50", "minilm"])
def test_a_large_model_runs_in_onnxruntime(make):
    model = make().eval()
    x = wb.randn(1, 3, 64, 64) if make is wb.models.resnet50 else wb.randint(0, 1000, (2, 7))
    run = session(saved(model, x))
    with wb.no_grad():
        wanted = model(x).numpy()
    close(run.run(None, {run.get_inputs()[0].name: x.numpy()})[0], wanted)


def _array(value: Any) -> np.ndarray:
    if isinstance(value.payload, QuantizedArray):
        codes: np.ndarray = value.payload.codes
        return codes
    array: np.ndarray = value.detach().numpy()
    return array


def _samples(op: Any) -> Any:
    for sample in op.samples():
        given = [
            wb.from_numpy(np.array(one)) if isinstance(one, np.ndarray) else one for one in sample.inputs
        ]
        # onnxruntime has many operators for float32 alone.
        yield [_single(one) for one in given], {key: _single(one) for key, one in sample.params.items()}


def _single(one: Any) -> Any:
    if isinstance(one, QuantizedArray):
        return new(exact(one))
    if isinstance(one, wb.Tensor) and one.dtype == wb.float64:
        return one.float()
    return np.dtype(np.float32) if isinstance(one, np.dtype) and one == np.float64 else one


def _written(graph: Any) -> bytes:
    """Return a file of a graph: with open sizes where it can have them, and for a later version where it needs one."""
    wanted = ({}, {"dynamic": False}, {"opset": 21})
    for i, more in enumerate(wanted):
        data = io.BytesIO()
        try:
            wb.onnx.save(graph, data, **{"opset": 18, **more})
        except wb.onnx.OnnxError:
            if i + 1 == len(wanted):
                raise
        else:
            return data.getvalue()
    raise AssertionError


def _judged(op: Any, given: list[Any], params: dict[str, Any]) -> None:
    # What codes stand for is no part of a type: codes are held.
    places = [i for i, one in enumerate(given) if isinstance(one, wb.Tensor) and not one.is_quantized]

    def call(*tensors: Any) -> Any:
        inputs = list(given)
        for place, one in zip(places, tensors, strict=True):
            inputs[place] = one
        results = op(*inputs, **params)
        return results[: WORKS.get(op.name, len(results))] if isinstance(results, tuple) else results

    tensors = [given[i] for i in places]
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        wanted = list(flat(call(*tensors)))
        graph = wb.graph.trace(call, *tensors)
    run = session(_written(graph))
    found = run.run(
        None, {one.name: _array(tensor) for one, tensor in zip(graph.inputs, tensors, strict=True)}
    )
    for one, other in zip(found, wanted, strict=True):
        value = _array(other)
        assert (one.shape, one.dtype) == (value.shape, value.dtype)
        np.testing.assert_allclose(one, value, rtol=1e-4, atol=1e-5 if value.dtype.kind == "f" else 0)


@pytest.mark.parametrize("name", [one for one in OPS if one in RULES and one not in SKIPPED])
def test_an_op_gives_what_onnxruntime_gives(name):
    op, passed, refused = OPS[name], 0, []
    for given, params in _samples(op):
        try:
            _judged(op, given, params)
        except wb.onnx.OnnxError as error:
            refused.append(str(error))
            continue
        passed += 1
    assert passed, refused[:1]


def test_ops_without_a_form_are_those_that_are_declared():
    declared = {name for name in OPS if any(name.startswith(one) or name.endswith(one) for one in WITHOUT)}
    missing = {name for name in OPS if name not in RULES}
    assert sorted(missing - declared) == []
    assert all(any(name.startswith(one) or name.endswith(one) for name in missing) for one in WITHOUT)


def _converted(trained: bool) -> tuple[Any, Any, Any]:
    """Return a model with fake quantization, the one that it is converted to, and inputs."""
    wb.manual_seed(0)
    x = wb.randn(8, 1, 28, 28)
    model = wb.models.DigitsNet()
    model(x)
    if trained:
        prepared = wb.quantization.prepare(
            wb.quantization.fuse_automatically(model.eval(), x), wb.quantization.default_qat_qconfig
        )
        prepared.train()
        optimizer = wb.optim.SGD(prepared.parameters(), lr=0.01)
        for _ in range(2):
            optimizer.zero_grad()
            prepared(x).square().mean().backward()
            optimizer.step()
        prepared.eval()
    else:
        prepared = wb.quantization.prepare(wb.quantization.fuse_automatically(model.eval(), x))
        prepared(x)
    return prepared, wb.quantization.convert(prepared), x


def _round_biases(model: Any, x: Any) -> None:
    """Round biases to what a file has for them: codes of 32 bits."""
    known: dict[str, Any] = {}
    hooks = [
        layer.register_forward_pre_hook(
            lambda layer, given, name=name: known.update({name: given[0].q_scale()})
        )
        for name, layer in model.named_modules()
        if getattr(layer, "bias", None) is not None
    ]
    model(x)
    for hook in hooks:
        hook.remove()
    for name, scale in known.items():
        layer = model.get_submodule(name)
        step = np.float32(scale) * np.asarray(layer.weight.payload.scale, np.float32)
        layer.bias.copy_(
            wb.from_numpy(np.rint(layer.bias.numpy() / step.astype(np.float64)).astype(np.float32) * step)
        )


@pytest.mark.parametrize("trained", [False, True], ids=["calibrated", "trained"])
def test_a_quantized_model_gives_the_codes_that_onnxruntime_gives(trained):
    _, model, x = _converted(trained)
    _round_biases(model, x)
    step = [node for node in wb.graph.trace(model, x).nodes if "scale" in node.params][-1].params["scale"]
    data = saved(model, x)
    run, opened = session(data), wb.onnx.load(data)
    kinds = {one.data_type for one in onnx.load_from_string(data).graph.initializer}
    assert onnx.TensorProto.INT8 in kinds
    for given in (x, x[:1]):
        with wb.no_grad():
            wanted = model(given).numpy()
            again = opened(given).numpy()
        (found,) = run.run(None, {run.get_inputs()[0].name: given.numpy()})
        for one in (found, again):
            assert np.abs(one - wanted).max() <= 1.001 * step
            assert (one == wanted).mean() > 0.95


def test_a_model_that_only_rounds_is_written_as_pairs():
    prepared, _, x = _converted(True)
    run = session(saved(prepared, x))
    with wb.no_grad():
        wanted = prepared(x).numpy()
    (found,) = run.run(None, {run.get_inputs()[0].name: x.numpy()})
    assert np.abs(found - wanted).max() < 0.05 * np.abs(wanted).max()


def test_control_flow_of_the_house_runs_in_onnxruntime():
    graph = wb.graph.parse(BRANCHES)
    run = session(saved(graph))
    for x in (wb.randn(4, 2).abs(), -wb.randn(4, 2).abs()):
        np.testing.assert_array_equal(run.run(None, {"x": x.numpy()})[0], graph(x).numpy())
    graph = wb.graph.parse(TURNS)
    run, x = session(saved(graph)), wb.tensor([1.0, 2.0, 0.5, -1.0])
    for count in (0, 1, 5):
        (found,) = run.run(None, {"x": x.numpy(), "n": np.array(count)})
        np.testing.assert_array_equal(found, graph(x, count).numpy())


@pytest.mark.parametrize("dtype", [wb.float16, wb.bfloat16], ids=str)
@pytest.mark.parametrize("name", ["lenet", "vit_small", "transformer", "gru"])
def test_a_model_of_16_bits_runs_in_onnxruntime(name, dtype):
    make, inputs = MODELS[name]
    model, given = make().to(dtype).eval(), [one.to(dtype) for one in inputs(2)]
    # onnxruntime takes no bfloat16 from NumPy: a file of float32 is around it.
    run = session(
        saved(
            lambda *xs: next(one.float() for one in flat(model(*(x.to(dtype) for x in xs)))),
            *[one.float() for one in given],
        )
    )
    with wb.no_grad():
        wanted = next(flat(model(*given))).float().numpy()
    (found,) = run.run(
        None, {info.name: one.float().numpy() for info, one in zip(run.get_inputs(), given, strict=True)}
    )
    kinds = {one.data_type for one in onnx.load_from_string(saved(model, *given)).graph.initializer}
    assert (10 if dtype == wb.float16 else 16) in kinds
    assert np.abs(found - wanted).max() <= (0.01 if dtype == wb.float16 else 0.05) * np.abs(wanted).max()
