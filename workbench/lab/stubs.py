"""Typed stubs of what people call: ``python -m workbench.lab.stubs`` writes the ``.pyi`` files beside the modules.

The functions of the table are entered into their modules when these are imported, where neither an editor nor a type
checker can see them. A stub says the same in a form that they read: every function with the signature, the types and
the overloads that it has at its definition, and the first sentence of its documentation. Nothing is guessed here: what
an annotation does not say, the stub does not know. A test compares the files with what is written here.
"""

from __future__ import annotations

import ast
import builtins
import inspect
import sys
import types
import typing
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import workbench
from workbench import fft, linalg, nn, ops, sparse, special
from workbench.base.memory_formats import Layout, MemoryFormat
from workbench.base.quantized_array import QScheme
from workbench.core import typing as aliases
from workbench.tensor.legacy_types import LEGACY_TYPES

__all__ = ["Stub", "main", "stubs"]

PACKAGE = Path(inspect.getfile(workbench)).parent

HEADER = '''"""{doc}"""

# Written by `python -m workbench.lab.stubs`; change the functions, then run `make format`.
'''

FACTORIES = ("workbench.tensor.factories", "workbench.tensor.random")
"""Modules whose functions are made by others: their source does not show their signatures."""


class Stub:
    """The text of one stub: functions as they are added, and the imports that their annotations need.

    Every name is imported with an underscore before it: a stub has functions called `float`, `bool` and `type`.
    """

    def __init__(self) -> None:
        self.imports: set[str] = set()
        self.parts: list[str] = []

    def text(self, doc: str, before: str = "") -> str:
        """Return the whole file."""
        imports = "\n".join(sorted(self.imports, key=lambda one: (not one.startswith("from builtins"), one)))
        return f"{HEADER.format(doc=doc)}\n{imports}\n{before}\n" + "\n".join(self.parts)

    def word(self, name: str, scope: Mapping[str, Any]) -> str:
        """Return a name of an annotation as the stub spells it, and import it there."""
        # The module's own names first: it may call something of its own `float`.
        found = scope[name] if name in scope else vars(builtins).get(name, _MISSING)
        if found is _MISSING:
            raise KeyError(f"an annotation says {name!r}, which its module does not know")
        if name == "Tensor":
            module = "workbench.tensor.tensor"
        elif name in aliases.__all__ and found is getattr(aliases, name):
            module = aliases.__name__
        elif inspect.ismodule(found):
            self.imports.add(f"import {found.__name__} as _{name}")
            return f"_{name}"
        else:
            module = getattr(found, "__module__", "typing")
        # With an underscore: under its own name the stub would seem to offer it.
        self.imports.add(f"from {module} import {name} as _{name}")
        return f"_{name}"

    def annotation(self, given: Any, scope: Mapping[str, Any]) -> str:
        """Return an annotation in the words of the stub."""
        if given is inspect.Parameter.empty:
            given = "Any"
        tree = ast.parse(given if isinstance(given, str) else given.__name__, mode="eval")
        for node in ast.walk(tree):
            if isinstance(node, ast.Name):
                # The words that factories share are written where these are known, see `ops.shape.creation_words`.
                node.id = self.word(node.id, {"Any": Any, **_SHARED, **scope})
        return ast.unparse(tree)

    def function(self, name: str, function: Callable[..., Any], *, method: bool = False) -> str:
        """Return the stub of one function, or of a method made from it: each of its overloads."""
        own: Any = inspect.unwrap(function)
        out = "out" in inspect.signature(function).parameters
        forms = typing.get_overloads(own)
        if not forms:
            return self._form(
                name,
                function,
                own.__globals__,
                out=out,
                method=method,
                doc=function,
            )
        self.imports.add("from typing import overload as _overload")
        return "".join(
            "@_overload\n"
            + self._form(
                name, form, own.__globals__, out=out, method=method, doc=function if i == 0 else None
            )
            for i, form in enumerate(forms)
        )

    def _form(
        self, name: str, form: Any, scope: Mapping[str, Any], *, out: bool, method: bool, doc: Any
    ) -> str:
        signature = inspect.signature(form)
        result = self.annotation(signature.return_annotation, scope)
        # The signature has it from the decorator, and without a type.
        parameters = [one for one in signature.parameters.values() if one.name != "out"]
        if out:
            several = "Sequence[Tensor]" if _is_tuple(signature.return_annotation, scope) else "Tensor"
            keyword = inspect.Parameter.KEYWORD_ONLY
            written = inspect.Parameter("out", keyword, default=None, annotation=f"{several} | None")
            # Names of dims, as keywords of any name, come last.
            last = bool(parameters) and parameters[-1].kind is inspect.Parameter.VAR_KEYWORD
            parameters.insert(len(parameters) - last, written)
            scope = {**scope, "Tensor": aliases.Tensor, "Sequence": typing.get_origin(typing.Sequence[int])}
        parts: list[str] = []
        starred = False
        for i, parameter in enumerate(parameters):
            kind = parameter.kind
            if method and i == 0:
                parts.append("self")
            else:
                text = f"{parameter.name}: {self.annotation(parameter.annotation, scope)}"
                if kind is parameter.VAR_POSITIONAL:
                    text, starred = "*" + text, True
                elif kind is parameter.VAR_KEYWORD:
                    text = "**" + text
                elif kind is parameter.KEYWORD_ONLY and not starred:
                    parts.append("*")
                    starred = True
                if parameter.default is not parameter.empty:
                    text += f" = {_default(parameter.default)}"
                parts.append(text)
            last = i + 1 == len(parameters) or parameters[i + 1].kind is not kind
            if kind is parameter.POSITIONAL_ONLY and last:
                parts.append("/")
        head = f"def {name}({', '.join(parts)}) -> {result}:"
        return f"{head} ...\n" if doc is None else f"{head}\n    {_sentence(doc)}\n"

    def add(self, offered: Mapping[str, Any], *, skip: Iterable[str] = ()) -> None:
        """Add functions; classes are imported under their own names."""
        for name, one in sorted(offered.items()):
            if inspect.isclass(one):
                self.imports.add(f"from {one.__module__} import {name} as {name}")
            elif inspect.isfunction(one) and name not in skip:
                self.parts.append(self.function(name, one))


_MISSING = object()
_SHARED = {
    **{name: getattr(aliases, name) for name in aliases.__all__},
    **{one.__name__: one for one in (Layout, MemoryFormat)},
}


def _is_tuple(annotation: Any, scope: Mapping[str, Any]) -> bool:
    """Say whether a result is several values: a tuple, or a class of named ones."""
    word = str(annotation).partition("[")[0]
    found = scope.get(word, vars(builtins).get(word))
    return inspect.isclass(found) and issubclass(found, tuple)


def _default(value: Any) -> str:
    plain = (
        value is None or isinstance(value, bool | int | str) or (isinstance(value, float) and value == value)
    )
    if isinstance(value, tuple):
        plain = all(isinstance(one, int) for one in value)
    # What cannot be written back, such as an object or infinity, is said to have a default.
    return repr(value) if plain and "inf" not in repr(value) else "..."


def _sentence(function: Any) -> str:
    """Return the first sentence of a function's documentation as a docstring of one line."""
    text = " ".join((inspect.getdoc(function) or "").partition("\n\n")[0].split())
    quote = "'''" if '"""' in text or text.endswith('"') else '"""'
    prefix = "r" if "\\" in text else ""
    return f"{prefix}{quote}{text}{quote}"


def _indented(text: str) -> str:
    return "".join(f"    {line}\n" if line else "\n" for line in text.splitlines())


def _tensor_methods() -> str:
    """Return the stub of what the tensor has from the table: methods, and Python's operators."""
    stub = Stub()
    body = []
    for name, one in sorted(ops.METHODS.items()):
        if isinstance(one, property):
            body.append(f"@property\ndef {name}(self) -> _Tensor:\n    {_sentence(one)}\n")
        elif inspect.isfunction(one) and name not in OWN:
            body.append(stub.function(name, one, method=True))
    stub.imports |= {
        "from workbench.core.typing import Operand as _Operand",
        "from workbench.core.value import Value",
        "from workbench.tensor.tensor import Tensor as _Tensor",
    }
    signs = "add sub mul truediv floordiv mod pow matmul and or xor lshift rshift".split()  # noqa: SIM905
    for sign in signs:
        # No in-place matmul: its result has other sizes. PyTorch has none either.
        body += [
            f"def __{side}{sign}__(self, other: _Operand) -> _Tensor: ...\n"
            for side in ("", "r", "i")[: 2 if sign == "matmul" else 3]
        ]
    # `object` has both, with bool as their result.
    body += [
        f"def __{sign}__(self, other: _Operand) -> _Tensor: ...  # type: ignore[override]\n"
        for sign in ("eq", "ne")
    ]
    body += [f"def __{sign}__(self, other: _Operand) -> _Tensor: ...\n" for sign in ("lt", "le", "gt", "ge")]
    body += [f"def __{sign}__(self) -> _Tensor: ...\n" for sign in ("neg", "pos", "abs", "invert")]
    stub.parts = ["class Methods(Value):\n" + _indented("\n".join(body))]
    return stub.text("What a tensor has from the table: methods, and Python's operators.")


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
    stub = Stub()
    before = ""
    imported = set()
    factories: dict[str, Any] = {}
    for node in tree.body:
        if isinstance(node, ast.ImportFrom) and node.module != "__future__":
            for alias in node.names:
                name = alias.asname or alias.name
                # Made by other functions, so their signatures come from the objects.
                if node.module in FACTORIES:
                    factories[name] = getattr(workbench, name)
                elif not name.startswith("_"):
                    imported.add(name)
                    before += f"from {node.module} import {alias.name} as {name}\n"
    before += "".join(f"from workbench import {room} as {room}\n" for room in vars(workbench)["_LATER"])
    later = vars(workbench)["_LATER_FROM"]
    before += "".join(f"from {module} import {name} as {name}\n" for name, module in later.items())
    stub.imports |= {
        "from builtins import str as _str",
        "from workbench.base.quantized_array import QScheme as _QScheme",
        "from workbench.tensor.legacy_types import LegacyType as _LegacyType",
    }
    schemes = [one.value for one in QScheme]
    before += "\n__version__: _str\n" + "".join(f"{name}: _QScheme\n" for name in schemes)
    before += "".join(f"{name}: _LegacyType\n" for name in LEGACY_TYPES)
    stub.add({**ops.FUNCTIONS, **factories}, skip=imported)
    return stub.text((workbench.__doc__ or "").partition("\n")[0], before)


def _namespace(module: types.ModuleType, offered: Mapping[str, Any]) -> str:
    stub = Stub()
    stub.add(offered)
    return stub.text((module.__doc__ or "").partition("\n")[0])


def stubs() -> dict[str, str]:
    """Return the text of every stub, by its path within the package."""
    return {
        "__init__.pyi": _package(),
        "fft.pyi": _namespace(fft, ops.FFT),
        "linalg.pyi": _namespace(linalg, ops.LINALG),
        "nn/functional.pyi": _namespace(nn.functional, _public(nn.functional)),
        "special.pyi": _namespace(special, ops.SPECIAL),
        "sparse.pyi": _namespace(sparse, ops.SPARSE),
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
