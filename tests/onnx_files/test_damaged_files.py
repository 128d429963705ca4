"""Files that are damaged or hostile: changes to good ones end in errors that say what is wrong, in bounded memory."""

from __future__ import annotations

import io
import random

import pytest

import workbench as wb
from tests.onnx_files.damage import outcomes
from workbench import nn
from workbench.onnx.messages import Message
from workbench.onnx.wire import chunks, parsed

FILES = 300
PARTS = 5
MOST_MEMORY = 1 << 19
"""Kilobytes by which all files together may let the process grow."""


def _saved(model, *examples, **options):
    file = io.BytesIO()
    wb.onnx.save(model, file, *examples, **options)
    return file.getvalue()


def _seeds():
    features = nn.Sequential(nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten())
    return [
        _saved(nn.Sequential(nn.Linear(4, 3), nn.Tanh(), nn.Linear(3, 2)), wb.ones(2, 4)),
        _saved(features, wb.ones(2, 1, 8, 8), dynamic=False),
        _saved(nn.LSTM(3, 2), wb.ones(4, 2, 3)),
        _saved(lambda x: x.reshape(x.shape[0] * 2, -1).softmax(1).cumsum(0)[:, -1], wb.ones(2, 4, 3)),
    ]


@pytest.mark.parametrize("part", range(PARTS))
def test_a_damaged_file_ends_in_an_error_that_says_so(part):
    opened, ran = outcomes(random.Random(part), _seeds(), FILES, MOST_MEMORY)
    # Some changes change nothing that matters: else nothing here would look behind the reading of bytes.
    assert 3 < ran < opened < FILES


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"dims": [1 << 40, 1 << 20]}, "claims the sizes"),
        ({"dims": [-1]}, "claims the sizes"),
        ({"dims": [1] * 200}, "claims the sizes"),
        ({"raw_data": b"123"}, "no whole number of values"),
        ({"data_type": 77}, "the data type number 77"),
        ({"location": "../secret"}, "by a path without"),
        ({"location": "/etc/passwd"}, "by a path without"),
        ({"location": "nothing.bin"}, "there is no such file"),
        ({"location": "weights.bin", "length": 1 << 50}, "is said to have"),
        ({"location": "weights.bin", "offset": -8}, "is said to have"),
    ],
    ids=lambda one: str(one)[:24],
)
def test_a_tensor_that_claims_what_is_not_so_is_refused(tmp_path, fields, words):
    model = parsed(_saved(nn.Linear(2, 2), wb.ones(2, 2)))
    tensor = model.graph.initializer[0]
    entries = {name: fields[name] for name in ("location", "length", "offset") if name in fields}
    for name, value in fields.items():
        if name not in entries:
            setattr(tensor, name, value)
    if entries:
        tensor.data_location = 1
        tensor.external_data = [Message("Entry", key=name, value=str(one)) for name, one in entries.items()]
    (tmp_path / "weights.bin").write_bytes(bytes(16))
    (tmp_path / "model.onnx").write_bytes(b"".join(chunks(model)))
    with pytest.raises(wb.onnx.OnnxError, match=words):
        wb.onnx.load(tmp_path / "model.onnx")


def test_a_link_leads_out_of_nowhere(tmp_path):
    folder = tmp_path / "model"
    folder.mkdir()
    (tmp_path / "secret").write_bytes(bytes(16))
    (folder / "weights.bin").symlink_to(tmp_path / "secret")
    model = parsed(_saved(nn.Linear(2, 2), wb.ones(2, 2)))
    tensor = model.graph.initializer[0]
    tensor.data_location = 1
    tensor.external_data = [Message("Entry", key="location", value="weights.bin")]
    (folder / "model.onnx").write_bytes(b"".join(chunks(model)))
    with pytest.raises(wb.onnx.OnnxError, match="there is no such file"):
        wb.onnx.load(folder / "model.onnx")


def test_a_circle_of_nodes_is_refused():
    model = parsed(_saved(lambda x: x.exp().relu(), wb.ones(2)))
    first, last = model.graph.node
    first.input = [*last.output]
    with pytest.raises(wb.onnx.OnnxError, match="which nothing before it makes"):
        wb.onnx.load(b"".join(chunks(model)))
