"""Scripts whose control flow only a run decides: their files give in onnxruntime what the scripts give."""

from __future__ import annotations

import io

import numpy as np
import pytest

import workbench as wb
from tests.onnx_files.scripted_programs import CASES, arrays, script_of

onnx = pytest.importorskip("onnx")
onnxruntime = pytest.importorskip("onnxruntime")


def _session(data: bytes):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    return onnxruntime.InferenceSession(data, options)


@pytest.mark.parametrize("opset", [13, 17, 21])
@pytest.mark.parametrize("name", CASES)
def test_a_script_gives_in_onnxruntime_what_it_gives(name, opset):
    script, file, again = script_of(name), io.BytesIO(), io.BytesIO()
    if (name, opset) == ("numbers_in_lists", 13):
        with pytest.raises(wb.onnx.OnnxError, match="which it can from version 14 on: pass opset=14"):
            wb.onnx.save(script, file, *CASES[name][0], opset=opset)
        return
    wb.onnx.save(script, file, *CASES[name][0], opset=opset)
    onnx.checker.check_model(onnx.load_from_string(file.getvalue()), full_check=True)
    wb.onnx.save(wb.onnx.load(file.getvalue()), again)
    for data in (file.getvalue(), again.getvalue()):
        session = _session(data)
        for case in CASES[name]:
            given = {one.name: x.numpy() for one, x in zip(session.get_inputs(), case, strict=True)}
            wanted, found = arrays(script(*case)), session.run(None, given)
            assert len(found) == len(wanted)
            for want, one in zip(wanted, found, strict=True):
                assert isinstance(want, list) == isinstance(one, list)
                pairs = zip(want, one, strict=True) if isinstance(want, list) else [(want, one)]
                for a, b in pairs:
                    assert np.shape(a) == np.shape(b) and np.asarray(a).dtype == np.asarray(b).dtype
                    np.testing.assert_allclose(b, a, rtol=1e-4, atol=1e-5)


def test_sizes_have_the_names_of_dims():
    def script(x: wb.Tensor) -> wb.Tensor:
        for i in range(x.shape[0]):
            x = x * i
        return x

    file = io.BytesIO()
    wb.onnx.save(wb.jit.script(script), file, wb.ones(T=3, C=2))
    graph = onnx.load_from_string(file.getvalue()).graph
    for one in (graph.input[0], graph.output[0]):
        assert [dim.dim_param for dim in one.type.tensor_type.shape.dim] == ["T", "C"]
