"""The messages of the format: which fields each has, by their numbers. Reader and writer go by this one table.

A `Message` has fields as attributes: one that was never set is what the format says, and a row is an empty list.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

__all__ = ["KINDS", "Field", "Kind", "Message"]

_DEFAULTS: dict[str, Any] = {"int": 0, "float": 0.0, "double": 0.0, "text": "", "bytes": b""}


@dataclass(frozen=True)
class Field:
    """One field of a message."""

    number: int
    name: str
    kind: str
    """``int``, ``float``, ``double``, ``text``, ``bytes``, or what the message is called that stands there."""
    many: bool
    """True for a row of them."""
    packed: bool
    """True for a row of numbers that are written one behind the other, without what each is."""

    @property
    def scalar(self) -> bool:
        """True for what is no message."""
        return self.kind in _DEFAULTS


class Kind:
    """One kind of message: its fields by number and by name, and those of which one alone is set.

    In the text a star says that there is a row of them, two that it is packed.
    """

    def __init__(self, name: str, fields: str, one_of: str = "") -> None:
        self.name = name
        self.numbered: dict[int, Field] = {}
        for entry in filter(None, (one.strip() for one in fields.split(","))):
            number, kind, called = entry.split()
            plain, stars = kind.rstrip("*"), kind.count("*")
            self.numbered[int(number)] = Field(int(number), called, plain, stars > 0, stars > 1)
        self.named = {one.name: one for one in self.numbered.values()}
        self.one_of = frozenset(one_of.split())


def _kinds(*kinds: Kind) -> dict[str, Kind]:
    return {one.name: one for one in kinds}


KINDS = _kinds(
    Kind(
        "Model",
        "1 int ir_version, 8 OperatorSet* opset_import, 2 text producer_name, 3 text producer_version, 4 text domain, "
        "5 int model_version, 6 text doc_string, 7 Graph graph, 14 Entry* metadata_props, 25 Function* functions",
    ),
    Kind("OperatorSet", "1 text domain, 2 int version"),
    Kind("Entry", "1 text key, 2 text value"),
    Kind(
        "Graph",
        "1 Node* node, 2 text name, 5 Tensor* initializer, 15 SparseTensor* sparse_initializer, 10 text doc_string, "
        "11 ValueInfo* input, 12 ValueInfo* output, 13 ValueInfo* value_info, 16 Entry* metadata_props",
    ),
    Kind(
        "Node",
        "1 text* input, 2 text* output, 3 text name, 4 text op_type, 7 text domain, 8 text overload, "
        "5 Attribute* attribute, 6 text doc_string, 9 Entry* metadata_props",
    ),
    Kind(
        "Attribute",
        "1 text name, 21 text ref_attr_name, 13 text doc_string, 20 int type, 2 float f, 3 int i, 4 bytes s, "
        "5 Tensor t, 6 Graph g, 14 Type tp, 7 float* floats, 8 int* ints, 9 bytes* strings",
    ),
    Kind("ValueInfo", "1 text name, 2 Type type, 3 text doc_string"),
    Kind(
        "Function",
        "1 text name, 4 text* input, 5 text* output, 6 text* attribute, 11 Attribute* attribute_proto, 7 Node* node, "
        "8 text doc_string, 9 OperatorSet* opset_import, 10 text domain, 13 text overload",
    ),
    Kind(
        "Tensor",
        "1 int* dims, 2 int data_type, 3 Segment segment, 4 float** float_data, 5 int** int32_data, "
        "6 bytes* string_data, 7 int** int64_data, 8 text name, 12 text doc_string, 9 bytes raw_data, "
        "13 Entry* external_data, 14 int data_location, 10 double** double_data, 11 int** uint64_data",
    ),
    Kind("Segment", "1 int begin, 2 int end"),
    Kind("SparseTensor", "1 Tensor values, 2 Tensor indices, 3 int* dims"),
    Kind(
        "Type",
        "1 TensorType tensor_type, 4 ItemType sequence_type, 5 MapType map_type, 9 ItemType optional_type, "
        "8 TensorType sparse_tensor_type, 6 text denotation",
        "tensor_type sequence_type map_type optional_type sparse_tensor_type",
    ),
    Kind("TensorType", "1 int elem_type, 2 Shape shape"),
    Kind("ItemType", "1 Type elem_type"),
    Kind("MapType", "1 int key_type, 2 Type value_type"),
    Kind("Shape", "1 Dimension* dim"),
    Kind("Dimension", "1 int dim_value, 2 text dim_param, 3 text denotation", "dim_value dim_param"),
)  # fmt: skip
"""Every kind of message that is read or written; what a file has beside it is passed over."""


class Message:
    """One message: a model, a node, a tensor.

    >>> node = Message("Node", op_type="Relu", input=["x"])
    >>> node.op_type, node.output, node.HasField("name")
    ('Relu', [], False)
    """

    def __init__(self, kind: str, **fields: Any) -> None:
        self.__dict__["kind"] = KINDS[kind]
        for name, value in fields.items():
            setattr(self, name, value)

    def __setattr__(self, name: str, value: Any) -> None:
        kind: Kind = self.kind
        if name not in kind.named:
            raise AttributeError(f"{kind.name} has no field {name!r}")
        if name in kind.one_of:
            for other in kind.one_of:
                self.__dict__.pop(other, None)
        self.__dict__[name] = value

    def __getattr__(self, name: str) -> Any:
        # Only asked for what is not set. A copy asks before it has anything.
        kind: Kind | None = self.__dict__.get("kind")
        if kind is None:
            raise AttributeError(f"a message without a kind has no {name!r}")
        field = kind.named.get(name)
        if field is None:
            raise AttributeError(f"{kind.name} has no field {name!r}")
        if field.many:
            # Kept, so that what is added to the row is added to the message.
            return self.__dict__.setdefault(name, [])
        return _DEFAULTS[field.kind] if field.scalar else Message(field.kind)

    def HasField(self, name: str) -> bool:
        """Say whether a field was set."""
        return name in self.__dict__

    def WhichOneof(self, name: str = "value") -> str | None:
        """Return which of the fields is set of which one alone can be."""
        return next((one for one in self.kind.one_of if one in self.__dict__), None)

    def __repr__(self) -> str:
        own = ", ".join(f"{name}={value!r:.60}" for name, value in self.__dict__.items() if name != "kind")
        return f"Message({self.kind.name!r}, {own})"
