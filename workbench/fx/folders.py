"""A `GraphModule` as a folder with a Python package: code that can be read and edited, and its tensors beside it.

Nothing in it is pickled: layers are written as the calls that make them, which is tried before anything is written.
"""

from __future__ import annotations

import os
import re
import sys
import types
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from workbench import nn
from workbench.fx.codegen import PythonCode
from workbench.fx.naming import qualified_name

if TYPE_CHECKING:
    from workbench.fx.graph_module import GraphModule

__all__ = ["write_folder"]


def write_folder(module: GraphModule, folder: str | os.PathLike[str], name: str) -> None:
    """Write the package; see `GraphModule.to_folder`."""
    if not name.isidentifier():
        raise ValueError(f"{name!r} cannot be what a class is called")
    code = module.graph.python_code()
    tensors = {path: _array(path, one) for path, one in _tensors(module).items()}
    head = "\n".join(["from pathlib import Path", "", "import numpy", *_imports(code)])
    body = "\n".join(f"        {line}" for line in _made(module, "self"))
    forward = "\n".join(f"    {line}" if line.strip() else "" for line in code.src.strip("\n ").split("\n"))
    text = (
        f"{head}\n\n\nclass {name}(workbench.nn.Module):\n    def __init__(self):\n        super().__init__()\n{body}\n"
        '        with numpy.load(Path(__file__).parent / "state_dict.npz") as held:\n'
        "            self.load_state_dict({name: workbench.from_numpy(held[name]) for name in held})\n"
        f"        self.train({module.training})\n\n{forward}\n"
    )
    # Everything above is known by now: what cannot be written leaves no half of a folder.
    place = Path(folder)
    place.mkdir(exist_ok=True, parents=True)
    np.savez(place / "state_dict.npz", **tensors)  # type: ignore[arg-type]
    (place / "module.py").write_text(text)
    (place / "__init__.py").write_text(f"from .module import {name}\n")


def _made(module: Any, path: str) -> Iterator[str]:
    """Yield the lines that put into a module what it has: layers, modules in modules, tensors without numbers."""
    for name, child in module.named_children():
        if type(child) in _HOLDERS:
            yield f"{path}.add_module({name!r}, workbench.nn.{_HOLDERS[type(child)]}())"
            yield from _made(child, _at(path, name))
            continue
        written = _constructor(child)
        if written is None:
            raise TypeError(
                f"{_at(path, name)} is a {type(child).__name__}, which its representation does not make again: trace "
                "into it, with a Tracer whose is_leaf_module is False for it, so that its code is in the graph"
            )
        yield f"{path}.add_module({name!r}, {written})"
    for name, tensor in module.named_parameters(recurse=False):
        like = f"workbench.empty({list(tensor.shape)}, dtype={tensor.dtype!r})"
        yield f"{path}.register_parameter({name!r}, workbench.nn.Parameter({like}, {tensor.requires_grad}))"
    for name, tensor in module.named_buffers(recurse=False):
        yield f"{path}.register_buffer({name!r}, workbench.empty({list(tensor.shape)}, dtype={tensor.dtype!r}))"


def _tensors(module: Any, path: str = "") -> dict[str, Any]:
    """Return the state of a module, with buffers that are no part of it: in the code they stand as all others."""
    own = {f"{path}{name}": one for name, one in module.named_buffers(recurse=False)}
    for name, child in module.named_children():
        if type(child) in _HOLDERS:
            own |= _tensors(child, f"{path}{name}.")
    return own if path else {**own, **module.state_dict()}


def _array(path: str, tensor: Any) -> np.ndarray[Any, Any]:
    """Return the numbers of a tensor in a type of NumPy's own; those of 16 bits that it has not are the same in 32."""
    if type(tensor.payload) is not np.ndarray:
        raise TypeError(f"{path} is no plain tensor of the CPU, and the folder holds those")
    array: np.ndarray[Any, Any] = tensor.payload
    return array if array.dtype.isbuiltin == 1 else np.asarray(tensor.detach().float().payload)


_HOLDERS = {
    nn.Module: "Module",
    nn.Sequential: "Sequential",
    nn.ModuleList: "ModuleList",
    nn.ModuleDict: "ModuleDict",
}
"""Modules that are nothing but what is in them."""


def _at(path: str, name: str) -> str:
    return f"{path}.{name}" if name.isidentifier() else f"getattr({path}, {name!r})"


def _constructor(module: Any) -> str | None:
    """Return the call that makes a layer like this one, as its representation says it; None where it does not."""
    kind = type(module)
    if getattr(nn, kind.__name__, None) is not kind or kind in _HOLDERS:
        return None
    written = re.sub(r"\s+", " ", repr(module))
    try:
        made = eval(written, dict(vars(nn)))
    except (SyntaxError, NameError, TypeError, ValueError, AttributeError):  # it is no call
        return None
    if type(made) is not kind or repr(made) != repr(module) or _state(made) != _state(module):
        return None
    return f"workbench.nn.{written}"


def _state(module: Any) -> dict[str, Any]:
    return {name: (tuple(one.shape), one.dtype) for name, one in module.state_dict().items()}


def _imports(code: PythonCode) -> Iterator[str]:
    """Yield the lines that give names what the code needs from outside."""
    yield "import workbench"
    for name, value in sorted(code.globals.items()):
        if name == "workbench":
            _check_own(value, sys.modules[name], name)
            continue
        if isinstance(value, float):
            yield f'{name} = float("{value}")'
            continue
        room, _, word = qualified_name(value).rpartition(".") if callable(value) else ("", "", "")
        found = getattr(sys.modules.get(room), word, None) if room else None
        if found is not value:
            raise TypeError(
                f"the code uses {name}, a {type(value).__name__} that no module has under its name: keep it in a "
                "module that can be imported"
            )
        yield f"from {room} import {word} as {name}"


def _check_own(names: Any, place: Any, path: str) -> None:
    """Refuse code that calls what stands under no public path of the package."""
    for name, one in vars(names).items():
        found = getattr(place, name, None)
        if isinstance(one, types.SimpleNamespace):
            _check_own(one, found, f"{path}.{name}")
        elif found is not one:
            raise TypeError(
                f"the code calls {path}.{name}, which a program cannot import: it runs here alone"
            )
