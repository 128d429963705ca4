"""Writing models as files: `save`, and PyTorch's word `export` on it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from enum import Enum
from typing import Any, BinaryIO

from workbench.base.errors import short
from workbench.base.quantized_array import PackedArray, QuantizedArray
from workbench.base.size_expressions import Expression, Symbol
from workbench.graph import Graph, trace
from workbench.graph.types import TensorType
from workbench.nn import Module
from workbench.onnx.errors import OnnxError
from workbench.onnx.messages import Message
from workbench.onnx.module import OnnxModule
from workbench.onnx.scripts.scripted import is_script, scripted_graph
from workbench.onnx.signatures import Signature
from workbench.onnx.writing import families as _families  # noqa: F401
from workbench.onnx.writing.codes import GROUPS
from workbench.onnx.writing.graphs import Wanted, model_message
from workbench.onnx.writing.saving import put
from workbench.quantization.fake_quantize import FakeQuantizeBase
from workbench.quantization.observer_base import ObserverBase
from workbench.version import __version__

__all__ = ["OnnxProgram", "TrainingMode", "export", "save"]


class TrainingMode(Enum):
    """How a model is written: as it is used, as it stands, or as it is trained."""

    EVAL = 0
    PRESERVE = 1
    TRAINING = 2


def save(
    model: Module | Graph | Callable[..., Any],
    path: str | os.PathLike[str] | BinaryIO,
    *examples: Any,
    opset: int | None = None,
    input_names: Sequence[str] = (),
    output_names: Sequence[str] = (),
    dim_names: Mapping[str, Mapping[int, str]] | None = None,
    dynamic: bool = True,
    training: bool | None = False,
    external_data: bool | str | None = None,
    doc: str = "",
    metadata: Mapping[str, str] | None = None,
) -> None:
    """Write a model as an ONNX file: a graph, or a module or function, which is traced on `examples`.

    A script of `jit.script` keeps its control flow: what only a run decides becomes blocks of the file, and its lists
    sequences. Numbers among its examples are those numbers in the file; a tensor without dims in the place of one is an
    input.

    Sizes of inputs stay open, with the names of their dims where they have some; a size that the model needs as a
    number is one in the file. Parameters keep their names. Nodes are named by the modules that they come from.

    Args:
        model: what is written; a module is put into evaluation mode meanwhile, unless `training` says otherwise.
        path: a path, or a file that is open for writing bytes. What is there stays until the new file is whole.
        examples: inputs of the model; of a graph none.
        opset: which version of the operators the file is written for, 13 to 23. Where none is given: 17, or 21 for
            weights of 4 bits or in groups. A file that was opened, and is given without examples, is written node by
            node, for the version that it had.
        input_names: what the inputs are called in the file, the first ones first; the others as in the graph.
        output_names: the same for the outputs.
        dim_names: what sizes are called, by the name of the input and the place of the dim.
        dynamic: False for a file that takes the sizes of the examples alone.
        training: False for the model as it is used, True as it is trained, None as it stands.
        external_data: True, or the name of a file beside `path`, for values of large tensors; None where they need it.
        doc: what the file says of itself.
        metadata: more of that, by words.

    Raises:
        OnnxError: an op has no form in the format: each is named with its lines, and nothing is written.

    >>> import io
    >>> import workbench as wb
    >>> file = io.BytesIO()
    >>> wb.onnx.save(wb.nn.Linear(3, 2), file, wb.ones(N=4, in_features=3), output_names=["scores"])
    >>> print(wb.onnx.load(file.getvalue()).signature)
    (input : f32[N, 3]) → (scores : f32[N, 2])
    """
    put(_message(**locals()), path, external_data)


def _message(
    model: Any, examples: tuple[Any, ...], dynamic: bool, training: bool | None, dim_names: Any, opset: int | None,
    input_names: Sequence[str], output_names: Sequence[str], doc: str, metadata: Mapping[str, str] | None, **_: Any,
) -> Message:  # fmt: skip
    opened = isinstance(model, OnnxModule) and not examples
    ports = None
    if opened:
        ports = model.signature
        opset = model.versions.get("", 17) if opset is None else opset
        input_names = input_names or [one.name for one in ports.inputs]
        output_names = output_names or [one.name for one in ports.outputs]
        dim_names = {**_names_in(ports), **(dim_names or {})}
    metadata = dict(metadata or {})
    if is_script(model):
        with _mode(model, training):
            graph, raises = scripted_graph(model, examples)
        if raises:
            # A file computes on where the script would stop: whoever reads it is told.
            metadata.setdefault("raises", "\n".join(raises))
    else:
        graph = model.graph if opened else _graph_of(model, examples, training)
    named = _checked_dims(graph, input_names, dim_names or {})
    opset = _version_for(graph) if opset is None else opset
    fixed: dict[Symbol, int] = {} if dynamic else _of_today(graph, input_names, named)
    if type(opset) is not int:
        raise TypeError(f"opset is the number of a version of the operators, not {short(opset)}")
    wanted = Wanted(
        opset,
        input_names,
        output_names,
        named,
        fixed,
        bool(training),
        doc,
        metadata,
        ("workbench", __version__),
        ports,
    )
    return model_message(graph, wanted)


def _version_for(graph: Graph) -> int:
    """Return the version that a graph is written for where none is asked for."""
    payloads = (tensor.payload for tensor in graph.held().values())
    late = any(
        isinstance(one, PackedArray) or (isinstance(one, QuantizedArray) and one.group is not None)
        for one in payloads
    )
    return GROUPS if late else 17


def _names_in(ports: Signature) -> dict[str, dict[int, str]]:
    """Return what a file calls the sizes of its inputs."""
    return {
        one.name: {i: size for i, size in enumerate(one.sizes or ()) if isinstance(size, str)}
        for one in ports.inputs
    }


def _names_of(graph: Graph, input_names: Sequence[str]) -> list[str]:
    return [*input_names, *(one.name for one in graph.inputs[len(input_names) :])]


def _checked_dims(
    graph: Graph, input_names: Sequence[str], dim_names: Mapping[str, Any]
) -> dict[str, dict[int, str]]:
    """Return what sizes are called, with places counted from the front."""
    found: dict[str, dict[int, str]] = {}
    known = dict(zip(_names_of(graph, input_names), graph.inputs, strict=False))
    for name, dims in dim_names.items():
        if name not in known:
            # PyTorch's programs name dims of outputs, too: those follow from the inputs.
            continue
        kind = known[name].type
        rank = len(kind.sizes) if isinstance(kind, TensorType) else 0
        for place, word in dims.items():
            if not -rank <= place < rank:
                raise OnnxError(
                    f"the input {name!r} has {rank} dims, and dim {place} is to be called {word!r}"
                )
            found.setdefault(name, {})[place % rank] = str(word)
    return found


def _of_today(
    graph: Graph, input_names: Sequence[str], named: Mapping[str, Mapping[int, str]]
) -> dict[Symbol, int]:
    """Return the symbols that are numbers where no name says that they stay open."""
    fixed = {symbol: symbol.hint for symbol in graph.symbols()}
    for name, value in zip(_names_of(graph, input_names), graph.inputs, strict=False):
        for place in named.get(name, {}):
            size = value.type.sizes[place] if isinstance(value.type, TensorType) else 0
            if isinstance(size, Expression):
                for symbol in size.symbols():
                    fixed.pop(symbol, None)
    return fixed


def _graph_of(model: Any, examples: tuple[Any, ...], training: bool | None) -> Graph:
    if isinstance(model, Graph):
        if examples:
            raise TypeError("a graph is written as it is: examples are for what is traced")
        return model
    if not callable(model):
        raise TypeError(f"onnx.save writes a module, a function or a graph, not {type(model).__name__}")
    _check_converted(model)
    with _mode(model, training):
        return trace(model, *examples)


def _check_converted(model: Any) -> None:
    """Refuse a model that is prepared for quantization: what its observers saw has no place in a file."""
    inside = list(model.named_modules()) if isinstance(model, Module) else []
    watching = [name for name, one in inside if isinstance(one, ObserverBase)]
    # Fake quantization has observers, too, and is written as it rounds.
    if watching and not any(isinstance(one, FakeQuantizeBase) for _, one in inside):
        raise OnnxError(
            f"the model is prepared for quantization, and not converted: {len(watching)} observers watch it "
            f"({', '.join(watching[:3])}{', …' if len(watching) > 3 else ''}), and would be left away. Call "
            "quantization.convert(model), or convert_fx, and write what that gives"
        )


@contextmanager
def _mode(model: Any, training: bool | None) -> Iterator[None]:
    """Put a module and all in it into a mode, and each back into its own."""
    if training is None or not isinstance(model, Module):
        yield
        return
    before = [(one, one.training) for one in model.modules()]
    model.train(training)
    try:
        yield
    finally:
        for one, mode in before:
            one.training = mode


# ------------------------------------------------------------------------------------------------ PyTorch's word


class OnnxProgram:
    """A model as it is written: what `export` gives where no file is named."""

    def __init__(self, message: Message) -> None:
        self._message = message

    def save(
        self, destination: str | os.PathLike[str] | BinaryIO, *, external_data: bool | None = None, **_: Any
    ) -> None:
        """Write it to a file."""
        put(self._message, destination, external_data or None)


def export(
    model: Any,
    args: Any = (),
    f: str | os.PathLike[str] | BinaryIO | None = None,
    *,
    kwargs: Mapping[str, Any] | None = None,
    input_names: Sequence[str] | None = None,
    output_names: Sequence[str] | None = None,
    opset_version: int | None = None,
    dynamic_axes: Mapping[str, Any] | None = None,
    dynamic_shapes: Any = None,
    training: TrainingMode = TrainingMode.EVAL,
    dynamo: bool = True,
    external_data: bool = True,
    **others: Any,
) -> OnnxProgram | None:
    """Write a model as a file, as PyTorch's programs say it: sizes are numbers but for those that are named.

    What else such programs pass (``do_constant_folding``, ``export_params``, ``verbose`` …) says how PyTorch goes about
    it, and is taken. Returns the program where `dynamo` is true, as PyTorch does. Raises what `save` raises.

    >>> import io
    >>> import workbench as wb
    >>> file = io.BytesIO()
    >>> axes = {"x": {0: "batch"}}
    >>> _ = wb.onnx.export(wb.nn.Linear(3, 2), wb.ones(4, 3), file, input_names=["x"], dynamic_axes=axes)
    >>> print(wb.onnx.load(file.getvalue()).signature)
    (x : f32[batch, 3]) → (linear : f32[batch, 2])
    """
    unknown = sorted(set(others) - _TAKEN)
    if unknown:
        raise TypeError(f"export takes no argument {unknown[0]!r}")
    if others.get("export_params") is False or others.get("custom_translation_table"):
        raise OnnxError(
            "parameters are part of the file, and operators are written as the table here has them"
        )
    examples = args if isinstance(args, tuple) else (args,)
    if examples and isinstance(examples[-1], dict) and kwargs is None:
        *first, kwargs = examples
        examples = tuple(first)
    message = _message(
        model if not kwargs else _Bound(model, tuple(kwargs)),
        (*examples, *(kwargs or {}).values()),
        dynamic=False,
        training={TrainingMode.EVAL: False, TrainingMode.TRAINING: True}.get(training),
        dim_names=_axes(dynamic_axes, dynamic_shapes, input_names or ()),
        opset=18 if opset_version is None else opset_version,
        input_names=list(input_names or ()),
        output_names=list(output_names or ()),
        doc="",
        metadata=None,
    )
    if f is not None:
        put(message, f, None)
    return OnnxProgram(message) if dynamo else None


_TAKEN = frozenset(
    {
        "artifacts_dir", "autograd_inlining", "custom_opsets", "custom_translation_table", "do_constant_folding",
        "dump_exported_program", "export_modules_as_functions", "export_params", "fallback",
        "keep_initializers_as_inputs", "operator_export_type", "optimize", "profile", "report", "verbose", "verify",
    }
)  # fmt: skip


class _Bound(Module):
    """A model that is called by keywords, as one that is called by places."""

    def __init__(self, model: Any, names: tuple[str, ...]) -> None:
        super().__init__()
        self.model = model
        self._keywords = names

    def forward(self, *inputs: Any) -> Any:
        """Call the model."""
        count = len(inputs) - len(self._keywords)
        return self.model(*inputs[:count], **dict(zip(self._keywords, inputs[count:], strict=True)))


def _axes(axes: Any, shapes: Any, input_names: Sequence[str]) -> dict[str, dict[int, str]]:
    """Return names of dims as `save` takes them; a list of places names them by input and place."""
    found: dict[str, dict[int, str]] = {}
    if isinstance(shapes, tuple | list):
        shapes = dict(zip(input_names, shapes, strict=False))
    for name, dims in {**(axes or {}), **(shapes or {})}.items():
        if isinstance(dims, tuple):
            dims = {i: one for i, one in enumerate(dims) if one is not None}
        elif isinstance(dims, list):
            dims = dict.fromkeys(dims)
        for place, word in (dims or {}).items():
            word = word if word is None or isinstance(word, str) else getattr(word, "__name__", None)
            found.setdefault(name, {})[place] = word or f"{name}_dynamic_axes_{place + 1}"
    return found
