"""The table of messages is that of the package onnx, and each reads what the other writes."""

from __future__ import annotations

import pytest

from workbench.onnx.messages import KINDS
from workbench.onnx.wire import chunks, parsed

onnx = pytest.importorskip("onnx")

from tests.peers.onnx_db.models import MLP, mlp_weights, model  # noqa: E402

THEIRS = {
    "Model": onnx.ModelProto, "OperatorSet": onnx.OperatorSetIdProto, "Entry": onnx.StringStringEntryProto,
    "Graph": onnx.GraphProto, "Node": onnx.NodeProto, "Attribute": onnx.AttributeProto,
    "ValueInfo": onnx.ValueInfoProto, "Function": onnx.FunctionProto, "Tensor": onnx.TensorProto,
    "Segment": onnx.TensorProto.Segment,
    "SparseTensor": onnx.SparseTensorProto, "Type": onnx.TypeProto, "TensorType": onnx.TypeProto.Tensor,
    "ItemType": onnx.TypeProto.Sequence, "MapType": onnx.TypeProto.Map, "Shape": onnx.TensorShapeProto,
    "Dimension": onnx.TensorShapeProto.Dimension,
}  # fmt: skip
KIND_OF = {
    "int": ("TYPE_INT64", "TYPE_INT32", "TYPE_ENUM", "TYPE_UINT64"), "float": ("TYPE_FLOAT",),
    "double": ("TYPE_DOUBLE",), "text": ("TYPE_STRING",), "bytes": ("TYPE_BYTES",),
}  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_a_message_has_the_fields_of_the_format(kind):
    theirs = {one.number: one for one in THEIRS[kind].DESCRIPTOR.fields}
    for number, field in KINDS[kind].numbered.items():
        one = theirs[number]
        assert (one.name, one.is_repeated) == (field.name, field.many)
        if field.scalar:
            assert one.type in [getattr(one, name) for name in KIND_OF[field.kind]]
            assert field.many is False or one.is_packed == field.packed
        else:
            fields = {each.number: each.name for each in one.message_type.fields}
            assert {n: each.name for n, each in KINDS[field.kind].numbered.items()}.items() <= fields.items()


def test_bytes_go_either_way():
    data = model(MLP, **mlp_weights()).SerializeToString()
    ours = b"".join(chunks(parsed(data)))
    assert onnx.ModelProto.FromString(ours) == onnx.ModelProto.FromString(data)
