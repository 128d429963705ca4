"""ONNX to the workbench and back: what is written again computes what the file did, node by node."""

from __future__ import annotations

import io

import numpy as np
import pytest

import workbench as wb
from tests.peers.onnx_db.cases import cases, compare, model_of, ours
from tests.peers.onnx_db.declared import DRAWN, reason
from tests.peers.onnx_db.models import IF, LOOP, model
from tests.peers.onnx_db.test_packages import MODELS, _file

onnx = pytest.importorskip("onnx")
onnxruntime = pytest.importorskip("onnxruntime")

PARTS = 8


def again(module, **options) -> bytes:
    file = io.BytesIO()
    wb.onnx.save(module, file, **options)
    return file.getvalue()


def session(source):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    return onnxruntime.InferenceSession(source, options)


@pytest.mark.parametrize("part", range(PARTS))
def test_every_node_test_is_written_again(part):
    wrong = {}
    for name in sorted(cases())[part::PARTS]:
        if reason(name) is not None or DRAWN.fullmatch(name):
            continue
        case = cases()[name]
        module = wb.onnx.load(model_of(case).SerializeToString())
        try:
            written = wb.onnx.load(again(module))
        except wb.onnx.OnnxError as error:
            wrong[name] = str(error)
            continue
        assert str(written.signature) == str(module.signature)
        with np.errstate(all="ignore"), wb.no_grad():
            for inputs, outputs in case.data_sets:
                found = written(*map(ours, inputs))
                compare(list(outputs), [found] if len(outputs) == 1 else list(found), case.rtol, case.atol)
    assert not wrong, wrong


@pytest.mark.parametrize("name", MODELS)
def test_a_model_of_a_package_is_what_it_was(name):
    package, path, inputs = MODELS[name]
    module = wb.onnx.load(_file(package, path))
    data = again(module)
    onnx.checker.check_model(onnx.load_from_string(data), full_check=True)
    wanted, found = session(_file(package, path)).run(None, inputs), session(data).run(None, inputs)
    for want, one in zip(wanted, found, strict=True):
        assert np.abs(one - want).max() <= 1e-5 * np.abs(want).max()
    assert str(wb.onnx.load(data).signature) == str(module.signature)


@pytest.mark.parametrize("name", ["classifier", "reader", "sentences", "voice-sequence"])
def test_a_model_of_a_package_is_written_as_ops(name):
    package, path, inputs = MODELS[name]
    module = wb.onnx.load(_file(package, path))
    given = [wb.from_numpy(inputs[one.name]) for one in module.signature.inputs]
    file = io.BytesIO()
    wb.onnx.save(module, file, *given, opset=18)
    run = session(file.getvalue())
    assert [one.name for one in run.get_inputs()] == [one.name for one in module.signature.inputs]
    wanted, found = session(_file(package, path)).run(None, inputs), run.run(None, inputs)
    for want, one in zip(wanted, found, strict=True):
        assert np.abs(one - want).max() <= 1e-4 * np.abs(want).max()


@pytest.mark.parametrize("text", [IF, LOOP], ids=["if", "loop"])
def test_control_flow_is_that_of_onnxruntime(text):
    weights = {"w": np.ones(2, np.float32)} if text is IF else {}
    data = model(text, **weights).SerializeToString()
    written = again(wb.onnx.load(data))
    onnx.checker.check_model(onnx.load_from_string(written), full_check=True)
    x = np.array([2.0, -1.0], np.float32)
    for other in ({"c": np.array(True)}, {"c": np.array(False)}) if text is IF else ({"n": np.array(3)},):
        for want, one in zip(
            session(data).run(None, {"x": x, **other}),
            session(written).run(None, {"x": x, **other}),
            strict=True,
        ):
            np.testing.assert_array_equal(one, want)


def test_another_version_has_other_operators():
    data = model("g (float[N, 4] x) => (float[N, 4] y) { y = Softmax<axis = 1>(x) }", 11).SerializeToString()
    module = wb.onnx.load(data)
    assert module.versions == {"": 11}
    assert onnx.load_from_string(again(module)).opset_import[0].version == 11
    with pytest.raises(
        wb.onnx.OnnxError, match="version 17 has another: pass the version that the file was written for"
    ):
        again(module, opset=17)
