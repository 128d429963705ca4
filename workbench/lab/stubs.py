"""Typed stubs of what people call: ``python -m workbench.lab.stubs`` writes the ``.pyi`` files beside the modules.

The functions of the table are entered into their modules when these are imported, where neither an editor nor a type
checker can see them. A stub says the same in a form that they read: every function with its signature, real types
where they are known, and the first sentence of its documentation. A test compares the files with what is written here.
"""

from __future__ import annotations

import ast
import inspect
import re
import sys
import typing
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import workbench
from workbench import fft, linalg, nn, ops, return_types, special
from workbench.base.quantized_array import QScheme
from workbench.ops.elementwise.device import move_or_cast
from workbench.tensor import alike
from workbench.tensor import random as random_tensors

__all__ = ["main", "stubs"]

PACKAGE = Path(inspect.getfile(workbench)).parent

RESULT_TYPES: list[str] = sorted(vars(return_types)["__all__"])

HEADER = '''"""{doc}"""

# Written by `python -m workbench.lab.stubs`; change the functions, then run `make format`.
'''
ALIASES = """
from builtins import bool as _bool
from builtins import complex as _complex
from builtins import dict as _dict
from builtins import float as _float
from builtins import int as _int
from builtins import list as _list
from builtins import str as _str
from builtins import tuple as _tuple
from builtins import type as _type
from collections.abc import Callable as _Callable
from collections.abc import Sequence as _Sequence
from typing import Any as _Any
from typing import overload as _overload

import numpy as _np

from workbench import return_types as _return_types
from workbench.base.devices import Device as _Device
from workbench.base.dtypes import DType as _DType
from workbench.base.quantized_array import QScheme as _QScheme
from workbench.base.random import Generator as _Generator
from workbench.tensor.tensor import Tensor as _Tensor

_Number = _bool | _int | _float | _complex
_Dim = _int | _str
_Dims = _int | _str | _Sequence[_int | _str]
_Size = _int | _Sequence[_int]
_DTypeLike = _DType | _str | _type[_Any] | _np.dtype[_Any]
_Operand = _Tensor | _Number | _np.ndarray[_Any, _Any] | _np.generic
"""

TENSORS = """
    A B L LD LU LU_data LU_pivots anchor batch1 batch2 bias bias_k bias_v boundaries condition grid in_proj_bias
    in_proj_weight indices input1 input2 input_lengths key key_padding_mask linear_bias linear_weight log_probs logits
    mask mat mat1 mat2 negative offsets out_proj_bias out_proj_weight per_sample_weights pivots pos_weight positive
    query running_mean running_var sorted_sequence static_k static_v target target_lengths tau theta var vec vec1 vec2
    weight weights x1 x2 attn_mask bias_k bias_v k_proj_weight q_proj_weight v_proj_weight fweights aweights imag angle
""".split()  # noqa: SIM905
"""Names of parameters that are tensors wherever they stand."""

NAMED = {
    **dict.fromkeys(TENSORS, "_Tensor"),
    "input": "_Tensor",
    "tensor": "_Tensor",
    "real": "_Tensor",
    "abs": "_Tensor",
    "index": "_Any",
    "other": "_Tensor | _Number",
    "exponent": "_Tensor | _Number",
    "value": "_Tensor | _Number",
    "tensors": "_Sequence[_Tensor]",
    "matrices": "_Tensor",
    "dim": "_Dims",
    "dims": "_Dims",
    "kernel_size": "_Size",
    "dilation": "_Size",
    "output_size": "_Any",
    "output_padding": "_Size",
    "normalized_shape": "_Size",
    "dtype": "_DTypeLike",
    "device": "_Device | _str",
    "alpha": "_Number",
    "fill_value": "_Number",
    "names": "_Sequence[_str | None]",
    "size": "_Size",
}
"""Types of parameters whose annotation leaves it open, by their names."""

WORDS = {
    "Tensor": "_Tensor",
    "Scalar": "_Number",
    "Order": "_int | _float | _str | None",
    "Dim": "_Dims | None",
    "Generator": "_Generator",
    "QScheme": "_QScheme",
    "LinearCrossEntropyOptions": "LinearCrossEntropyOptions",
    "DType": "_DType",
    "np": "_np",
    "Callable": "_Callable",
    "Sequence": "_Sequence",
    "Any": "_Any",
    "None": "None",
    **{
        word: f"_{word}"
        for word in ("bool", "int", "float", "str", "complex", "tuple", "dict", "list", "type")
    },
}
"""Words of annotations as the stubs spell them: a stub has functions called `float` and `bool`."""

ANY_RESULT = frozenset({
    "adaptive_max_pool1d", "adaptive_max_pool2d", "adaptive_max_pool3d", "atleast_1d", "atleast_2d", "atleast_3d",
    "fractional_max_pool2d", "fractional_max_pool3d", "max_pool1d", "max_pool2d", "max_pool3d", "nonzero", "stride",
    "type", "unique", "unique_consecutive",
})  # fmt: skip
"""Functions whose result depends on how they are called."""
RESULTS = {
    "broadcast_tensors": "_tuple[_Tensor, ...]",
    "chunk": "_tuple[_Tensor, ...]",
    "multi_head_attention_forward": "_tuple[_Tensor, _Tensor | None]",
}
"""Results that no annotation states and that are not one tensor."""

PICKING = """
@_overload
def {name}({first}) -> _Tensor:
    {doc}
@_overload
def {name}({first}, dim: _Dim, keepdim: _bool = False{out}) -> _return_types.ValuesIndices: ...
"""
EXTREME = (
    PICKING
    + """
@_overload
def {name}({first}, dim: _Tensor{one}) -> _Tensor: ...
@_overload
def {name}({first}, *, other: _Tensor{one_more}) -> _Tensor: ...
"""
)
FACTORIES = ("workbench.tensor.factories", "workbench.tensor.random")
"""Modules whose functions are made by others: their source does not show their signatures."""
OVERLOADS = {"max": EXTREME, "min": EXTREME, "median": PICKING, "nanmedian": PICKING}
"""Functions that return one tensor, or values with indices where a dim is given."""


def _translate(annotation: str) -> str:
    """Return an annotation in the words of the stubs."""

    def word(found: re.Match[str]) -> str:
        name = found[0]
        if name in RESULT_TYPES:
            return f"_return_types.{name}"
        if name not in WORDS:
            raise KeyError(f"an annotation says {name!r}, which `workbench/lab/stubs.py` does not know")
        return WORDS[name]

    return re.sub(r"(?<![\w.])[A-Za-z_]\w*", word, annotation)


def _annotation(parameter: inspect.Parameter, beside: Iterable[str], name: str) -> str:
    given = parameter.annotation
    text = given if isinstance(given, str) else getattr(given, "__name__", "Any")
    if parameter.name == "out":
        return "_Tensor | None"
    if given is inspect.Parameter.empty or text == "Any":
        found = NAMED.get(parameter.name, "_Any")
        if parameter.kind is parameter.VAR_POSITIONAL and parameter.name == "tensors":
            found = "_Tensor | _Sequence[_Tensor]"
        if parameter.name == "targets":  # of a loss; what `to` takes is nearly anything
            found = "_Any" if name == "to" else "_Tensor"
        if parameter.kind is parameter.VAR_POSITIONAL and parameter.name in (
            "sizes",
            "size",
            "shape",
            "order",
        ):
            found = "_Dims" if parameter.name == "order" else "_Size"
        if parameter.name == "input" and ("other" in beside or "exponent" in beside) and name != "equal":
            found = "_Tensor | _Number"
        if parameter.default is None and found != "_Any":
            found += " | None"
        return found
    return _translate(text)


def _default(value: Any) -> str:
    plain = (
        value is None or isinstance(value, bool | int | str) or (isinstance(value, float) and value == value)
    )
    if isinstance(value, tuple):
        plain = all(isinstance(one, int) for one in value)
    return repr(value) if plain and "inf" not in repr(value) else "..."


def _result(name: str, signature: inspect.Signature) -> str:
    if name in RESULTS:
        return RESULTS[name]
    if name in ANY_RESULT:
        return "_Any"
    text = signature.return_annotation
    text = text if isinstance(text, str) else getattr(text, "__name__", "Any")
    if text == "Any":
        return "_Tensor"
    return _translate(text.replace("Any", "Tensor") if text.startswith("tuple") else text)


def _sentence(function: Any) -> str:
    """Return the first sentence of a function's documentation as a docstring of one line."""
    text = " ".join((inspect.getdoc(function) or "").partition("\n\n")[0].split())
    quote = "'''" if '"""' in text or text.endswith('"') else '"""'
    prefix = "r" if "\\" in text else ""
    return f"{prefix}{quote}{text}{quote}"


def function_stub(name: str, function: Callable[..., Any], *, method: bool = False) -> str:
    r"""Return the stub of one function, or of a method made from it.

    >>> print(function_stub("t", workbench.t).partition("\n")[0])
    def t(input: _Tensor) -> _Tensor:
    """
    signature = inspect.signature(function)
    parameters = list(signature.parameters.values())
    first = "self" if method else "input: _Tensor"
    if name in OVERLOADS:
        with_out = "out" in signature.parameters
        return OVERLOADS[name].format(
            name=name,
            first=first,
            doc=_sentence(function),
            out=", *, out: _tuple[_Tensor, _Tensor] | None = None" if with_out else "",
            one=", *, out: _Tensor | None = None" if with_out else "",
            one_more=", out: _Tensor | None = None" if with_out else "",
        )
    result = _result(name, signature)
    parts = []
    seen_star = False
    for i, parameter in enumerate(parameters):
        kind = parameter.kind
        if method and i == 0:
            parts.append("self")
            continue
        text = f"{parameter.name}: {_annotation(parameter, signature.parameters, name)}"
        if parameter.name == "out" and result.startswith(("_return_types", "_tuple")):
            text = "out: _Sequence[_Tensor] | None"
        if kind is parameter.VAR_POSITIONAL:
            text, seen_star = "*" + text, True
        elif kind is parameter.VAR_KEYWORD:
            text = "**" + text
        elif kind is parameter.KEYWORD_ONLY and not seen_star:
            parts.append("*")
            seen_star = True
        if parameter.default is not parameter.empty:
            text += f" = {_default(parameter.default)}"
        parts.append(text)
        if kind is parameter.POSITIONAL_ONLY and (
            i + 1 == len(parameters) or parameters[i + 1].kind is not kind
        ):
            parts.append("/")
    head = f"def {name}({', '.join(parts)}) -> {result}:"
    return f"{head}\n    {_sentence(function)}\n"


def _functions(offered: typing.Mapping[str, Any], *, skip: Iterable[str] = ()) -> Iterator[str]:
    for name, function in sorted(offered.items()):
        if inspect.isfunction(function) and name not in skip:
            yield function_stub(name, function)


def _indented(text: str) -> str:
    return "".join(f"    {line}\n" if line else "\n" for line in text.splitlines())


def _result_types() -> str:
    """Return the stub of the named tuples: their fields are tensors."""
    text = HEADER.format(doc=(return_types.__doc__ or "").strip())
    text += "\nfrom typing import Any, NamedTuple\n\nfrom workbench.tensor.tensor import Tensor\n"
    for name in RESULT_TYPES:
        fields = getattr(return_types, name)._fields
        text += f"\nclass {name}(NamedTuple):\n    {_sentence(getattr(return_types, name))}\n"
        text += "".join(f"    {field}: {'Any' if field == 'bin_edges' else 'Tensor'}\n" for field in fields)
    return text


def _tensor_methods() -> str:
    """Return the stub of what the tensor has from the table: methods, and Python's operators."""
    methods: dict[str, Any] = {
        name: one
        for name, one in {
            **ops.METHODS,
            **random_tensors.METHODS,
            **alike.METHODS,
            "to": move_or_cast,
        }.items()
        if inspect.isfunction(one) and name not in OWN
    }
    text = HEADER.format(doc="What a tensor has from the table: methods, and Python's operators.") + ALIASES
    text += "from workbench.core.value import Value\n\nclass Methods(Value):\n"
    body = [function_stub(name, one, method=True) for name, one in sorted(methods.items())]
    signs = "add sub mul truediv floordiv mod pow matmul and or xor lshift rshift".split()  # noqa: SIM905
    for sign in signs:
        body += [
            f"def __{side}{sign}__(self, other: _Operand) -> _Tensor: ...\n"
            for side in ("", "r", "i")[: 2 if sign == "matmul" else 3]
        ]
    body += [
        f"def __{sign}__(self, other: _Operand) -> _Tensor: ...  # type: ignore[override]\n"
        for sign in ("eq", "ne")
    ]
    body += [f"def __{sign}__(self, other: _Operand) -> _Tensor: ...\n" for sign in ("lt", "le", "gt", "ge")]
    body += [f"def __{sign}__(self) -> _Tensor: ...\n" for sign in ("neg", "pos", "abs", "invert")]
    return text + _indented("\n".join(body))


def _class_body(path: str, name: str) -> frozenset[str]:
    """Return what the class `name` in a file defines itself."""
    tree = ast.parse((PACKAGE / path).read_text(encoding="utf-8"))
    found = next(node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == name)
    return frozenset(node.name for node in found.body if isinstance(node, ast.FunctionDef))


OWN = _class_body("tensor/tensor.py", "Tensor")
"""Methods that stand in the tensor's class, where a type checker sees them."""


def _package() -> str:
    """Return the stub of `workbench`: what its source imports, and the functions of the table."""
    tree = ast.parse((PACKAGE / "__init__.py").read_text(encoding="utf-8"))
    text = HEADER.format(doc=(workbench.__doc__ or "").partition("\n")[0]) + ALIASES + "\n"
    imported = set()
    factories: dict[str, Any] = {}
    for node in tree.body:
        if isinstance(node, ast.ImportFrom) and node.module != "__future__":
            for alias in node.names:
                name = alias.asname or alias.name
                if node.module in FACTORIES:
                    factories[name] = getattr(workbench, name)
                elif not name.startswith("_"):
                    imported.add(name)
                    text += f"from {node.module} import {alias.name} as {name}\n"
    text += "".join(f"from workbench import {room} as {room}\n" for room in vars(workbench)["_LATER"])
    later = vars(workbench)["_LATER_FROM"]
    text += "".join(f"from {module} import {name} as {name}\n" for name, module in later.items())
    schemes = [one.value for one in QScheme]
    text += "\n__version__: _str\n" + "".join(f"{name}: _QScheme\n" for name in schemes) + "\n"
    return text + "\n".join(_functions({**ops.FUNCTIONS, **factories}, skip=imported))


def _namespace(module: Any, offered: typing.Mapping[str, Any]) -> str:
    text = HEADER.format(doc=(module.__doc__ or "").partition("\n")[0]) + ALIASES
    for name, one in sorted(offered.items()):
        if inspect.isclass(one):
            text += f"from {one.__module__} import {name} as {name}\n"
    return text + "\n" + "\n".join(_functions(offered))


def stubs() -> dict[str, str]:
    """Return the text of every stub, by its path within the package."""
    return {
        "__init__.pyi": _package(),
        "fft.pyi": _namespace(fft, ops.FFT),
        "linalg.pyi": _namespace(linalg, ops.LINALG),
        "nn/functional.pyi": _namespace(nn.functional, _public(nn.functional)),
        "return_types.pyi": _result_types(),
        "special.pyi": _namespace(special, ops.SPECIAL),
        "tensor/methods.pyi": _tensor_methods(),
    }


def _public(module: Any) -> dict[str, Any]:
    return {name: getattr(module, name) for name in module.__all__}


def main(arguments: list[str] | None = None) -> int:
    """Write the stubs; with ``--check`` only say which differ, and return 1 if any does."""
    given = sys.argv[1:] if arguments is None else arguments
    different = []
    for path, text in stubs().items():
        file = PACKAGE / path
        if not file.exists() or file.read_text(encoding="utf-8") != text:
            different.append(path)
            if "--check" not in given:
                file.write_text(text, encoding="utf-8")
    for path in different:
        print(f"{'differs' if '--check' in given else 'wrote'}: workbench/{path}")
    return int("--check" in given and bool(different))


if __name__ == "__main__":
    sys.exit(main())
