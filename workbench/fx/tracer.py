"""`Tracer`: makes a graph of a module or function by running it once on proxies."""

from __future__ import annotations

import contextlib
import inspect
import math
import sys
import types
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from workbench.base.public import words
from workbench.fx.graph import Graph
from workbench.fx.graph_module import GraphModule
from workbench.fx.interception import TRACING, intercepted, is_fx_tracing, patched, reading
from workbench.fx.node import Node
from workbench.fx.proxies import ParameterProxy, Proxy, TraceError, told
from workbench.fx.proxy import TracerBase
from workbench.nn import Module, Parameter, Sequential
from workbench.tensor import Tensor

__all__ = ["PH", "Tracer", "is_fx_tracing", "symbolic_trace", "wrap"]

_wrapped: dict[tuple[int, str], dict[str, Any]] = {}
"""Names of functions that are kept whole, with the names of the module that said so."""


def wrap(fn_or_name: Any) -> Any:
    """Have calls of a function stay calls: a trace records them and does not look inside. Returns what it is given.

    To be called where a module begins, with the function or its name, or as a decorator there. Raises RuntimeError
    inside a function or class, whose names come and go.

    >>> import workbench as wb
    >>> wb.fx.wrap("len")
    'len'
    """
    name = fn_or_name if isinstance(fn_or_name, str) else getattr(fn_or_name, "__name__", None)
    if not isinstance(name, str) or not (isinstance(fn_or_name, str) or callable(fn_or_name)):
        raise RuntimeError(
            f"Unsupported type for global function! Must be either a callable or string name, not {fn_or_name!r}"
        )
    frame = inspect.currentframe()
    caller = None if frame is None else frame.f_back
    if caller is None or caller.f_code.co_name != "<module>":
        raise RuntimeError(
            f"wrap must be called at the top level of a module: write wb.fx.wrap({name!r}) there, behind the imports"
        )
    _wrapped[id(caller.f_globals), name] = caller.f_globals
    return fn_or_name


def _kept_whole() -> tuple[list[Any], list[tuple[dict[str, Any], str, Any]]]:
    """Return the functions that `wrap` named, and where those stand that have no Python code."""
    functions, places = [], []
    for (_, name), room in _wrapped.items():
        # The name may have been given to another function since, or be one of Python's own.
        function = room.get(name, getattr(sys.modules["builtins"], name, None))
        if isinstance(function, types.FunctionType):
            functions.append(function)
        elif function is not None:
            places.append((room, name, function))
    return functions, places


class Tracer(TracerBase):
    """Makes a graph of a module or function by running it once on proxies.

    Modules for which `is_leaf_module` says so are called whole; all others are run through. `autowrap_modules` are
    modules of Python's of whose functions calls are recorded, `autowrap_functions` are functions of the program's own.
    With `param_shapes_constant` shapes of parameters are numbers while tracing.

    >>> import workbench as wb
    >>> class Through(wb.fx.Tracer):
    ...     def is_leaf_module(self, m, module_qualified_name):
    ...         return False
    >>> [node.op for node in Through().trace(wb.nn.Sequential(wb.nn.ReLU())).nodes]
    ['placeholder', 'call_function', 'output']
    """

    def __init__(
        self,
        autowrap_modules: tuple[types.ModuleType, ...] = (math,),
        autowrap_functions: tuple[Callable[..., Any], ...] = (),
        param_shapes_constant: bool = False,
    ) -> None:
        self.autowrap_modules = autowrap_modules
        self.autowrap_functions = autowrap_functions
        self.param_shapes_constant = param_shapes_constant
        self.root: Module = Module()
        self.scope: tuple[str, ...] = ()
        self.submodule_paths: dict[Module, str] = {}
        self.tensor_attrs: dict[int, str] = {}
        self._parameters: dict[int, str] = {}
        self._buffers: dict[int, str] = {}
        self._read: dict[str, Proxy] = {}
        self._wanted: dict[int, Any] = {}
        self._known: set[Any] = set()
        """The classes and files that were looked into in this trace."""
        self._during = contextlib.ExitStack()
        """Ends with the trace."""

    # ------------------------------------------------------------------------------ what programs override

    def is_leaf_module(self, m: Module, module_qualified_name: str) -> bool:
        """Say whether a module is called whole: those of `workbench.nn` are, but for `Sequential`."""
        return _is_layer(m) and not isinstance(m, Sequential)

    def path_of_module(self, mod: Module) -> str:
        """Return the path of a module in the root. Raises NameError where it is not in there."""
        found = self.submodule_paths.get(mod)
        if found is None:
            raise NameError(
                f"module {type(mod).__name__} is not installed as a submodule: make it in __init__ "
                "and assign it to self, "
                "so that the graph can call it by its path"
            )
        return found

    def call_module(
        self, m: Module, forward: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        """Record a call of a leaf, or run through any other module by `forward`."""
        path = self.path_of_module(m)
        before, self.scope = self.scope, tuple(path.split("."))
        try:
            if not self.is_leaf_module(m, path):
                return (
                    forward(*args, **kwargs)
                    if not _is_layer(m)
                    else self._through_layer(m, path, forward, args, kwargs)
                )
            return self.create_proxy("call_module", path, args, kwargs)
        finally:
            self.scope = before

    def _through_layer(
        self, m: Module, path: str, forward: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        try:
            return forward(*args, **kwargs)
        except TraceError as error:
            raise TraceError(
                told(
                    f"{path}, a {type(m).__name__}, looks at sizes or types of what it is given and "
                    "cannot be run through: let "
                    "is_leaf_module say True for it, or call the function of torch.nn.functional in "
                    "a module of your own"
                )
            ) from error

    def getattr(self, attr: str, attr_val: Any, parameter_proxy_cache: dict[str, Proxy]) -> Any:
        """Return what a module's attribute is while tracing: a parameter of the root is a proxy."""
        path = self._parameters.get(id(attr_val))
        if path is None and self.proxy_buffer_attributes:
            path = self._buffers.get(id(attr_val))
        if path is None:
            return attr_val
        if path not in parameter_proxy_cache:
            make = None
            if self.param_shapes_constant:

                def make(node: Node) -> Proxy:
                    return ParameterProxy(self, node, path, attr_val)

            parameter_proxy_cache[path] = self.create_proxy("get_attr", path, (), {}, proxy_factory_fn=make)
        return parameter_proxy_cache[path]

    def create_arg(self, a: Any) -> Any:
        """Return an operand as the graph has it: tensors become attributes of the root, which the graph reads."""
        if isinstance(a, Tensor):
            return self.create_node("get_attr", self._path_of(a), (), {})
        if isinstance(a, Module) and a in self.submodule_paths:
            return self.create_node("get_attr", self.submodule_paths[a], (), {})
        return super().create_arg(a)

    # --------------------------------------------------------------------------------- called by the traps

    def called(
        self, module: Module, forward: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        """Answer a call of a module while tracing."""

        def through(*inputs: Any, **keywords: Any) -> Any:
            self._look_into(type(module), type(module).forward)
            return forward(*inputs, **keywords)

        return self.call_module(module, through, args, kwargs)

    def read(self, name: str, value: Any) -> Any:
        """Answer an attribute of a module that is a tensor."""
        return self.getattr(name, value, self._read)

    def create_node(
        self,
        kind: str,
        target: Any,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        name: str | None = None,
        type_expr: Any = None,
    ) -> Node:
        """Make a node, which knows in which module it was made."""
        node = super().create_node(kind, target, args, kwargs, name, type_expr)
        if self.scope:
            node.meta["scope"] = self.scope
        return node

    def _path_of(self, tensor: Any) -> str:
        if isinstance(tensor, Parameter) and id(tensor) not in self._parameters:
            raise NameError(
                "parameter is not a member of this module: assign it to self in __init__, so that the graph can read it"
            )
        for known in (self._parameters, self._buffers, self.tensor_attrs):
            if id(tensor) in known:
                return known[id(tensor)]
        count = 0
        while hasattr(self.root, f"_tensor_constant{count}"):
            count += 1
        path = f"_tensor_constant{count}"
        setattr(self.root, path, tensor)
        self.tensor_attrs[id(tensor)] = path
        return path

    # ------------------------------------------------------------------------------------------- a trace

    def trace(self, root: Module | Callable[..., Any], concrete_args: dict[str, Any] | None = None) -> Graph:
        """Return the graph of a module, or of a function; `self.root` is then the module that holds what it names.

        `concrete_args` gives arguments their values: the graph is for those, and says so in a check.
        Raises `TraceError` where the program asks for numbers, with its line and what to write.
        """
        if isinstance(root, Module):
            self.root = root
            function = getattr(type(root), self.traced_func_name)
        else:
            self.root, function = Module(), root
        self._begin()
        with contextlib.ExitStack() as stack:
            functions, places = _kept_whole()
            # Those two check a graph of concrete arguments, which may be traced again.
            functions += [*self.autowrap_functions, _assert, _assert_is_none]
            stack.enter_context(intercepted(tuple(functions)))
            self._wanted = self._without_code()
            stack.enter_context(patched([*places, *self._autowrapped(map(vars, self.autowrap_modules))]))
            self._during, self._known = stack, set()
            self._look_into(type(self.root), function)
            before, TRACING.tracer = TRACING.tracer, self
            stack.callback(setattr, TRACING, "tracer", before)
            called, inputs = self.create_args_for_root(function, isinstance(root, Module), concrete_args)
            result = self.create_arg(called(*inputs))
            returns = _annotations(inspect.unwrap(function)).get("return")
            self.create_node("output", "output", (result,), {}, type_expr=returns)
        return self.graph

    def _begin(self) -> None:
        root = self.root
        self.graph = Graph(tracer_cls=type(self))
        self.graph.owning_module = root
        self.scope, self._read = (), {}
        self.submodule_paths = {}
        self._parameters, self._buffers, self.tensor_attrs = {}, {}, {}
        # In one go: a large network has hundreds of modules.
        for path, module in root.named_modules():
            self.submodule_paths[module] = path
            for name, value in vars(module).items():
                if isinstance(value, Tensor):
                    named = (module._parameter_names, self._parameters), (module._buffer_names, self._buffers)
                    place = next((table for names, table in named if name in names), self.tensor_attrs)
                    place.setdefault(id(value), f"{path}.{name}" if path else name)

    def _look_into(self, kind: type, forward: Any) -> None:
        """Have modules of a class read their parameters as proxies, and calls in the file of its `forward` recorded."""
        if kind in self._known:
            return
        self._known.add(kind)
        self._during.enter_context(reading(kind))
        room = getattr(inspect.unwrap(forward), "__globals__", None)
        if room is not None and id(room) not in self._known:
            self._known.add(id(room))
            self._during.enter_context(patched(list(self._autowrapped([room]))))

    def _without_code(self) -> dict[int, Any]:
        """Return the functions that are to be recorded and have no Python code, by their identity."""
        found = [*self.autowrap_functions]
        for room in self.autowrap_modules:
            found += [one for name, one in vars(room).items() if callable(one) and not name.startswith("_")]
        return {id(one): one for one in found if not isinstance(one, types.FunctionType | type)}

    def _autowrapped(self, rooms: Iterable[dict[str, Any]]) -> Iterator[tuple[dict[str, Any], str, Any]]:
        """Yield where functions stand that have no Python code and are to be recorded."""
        for room in rooms:
            for name, value in list(room.items()):
                if id(value) in self._wanted:
                    yield room, name, value

    def create_args_for_root(
        self, root_fn: Callable[..., Any], is_module: bool, concrete_args: dict[str, Any] | None = None
    ) -> tuple[Callable[..., Any], list[Any]]:
        """Return what is to be called, and its arguments: a proxy for each that has no value in `concrete_args`."""
        analysed = inspect.unwrap(root_fn)
        code = getattr(analysed, "__code__", None)
        if code is None:
            raise TraceError(f"{root_fn!r} is no Python function, and cannot be run on proxies")
        signature = inspect.signature(analysed)
        parameters = list(signature.parameters.values())
        # `inspect` takes `self` of a bound method away, and the code has it.
        if isinstance(analysed, types.MethodType):
            root_fn, analysed = analysed, analysed.__func__
        arguments: list[Any] = []
        if is_module:
            if not parameters:
                raise RuntimeError("``self`` argument cannot be part of *args expansion!")
            parameters = parameters[1:]
            arguments.append(self.root)
        concrete = concrete_args or {}
        unknown = set(concrete) - {one.name for one in parameters}
        if unknown:
            raise TypeError(
                f"concrete_args names {sorted(unknown)}, and the function takes {[one.name for one in parameters]}"
            )
        # In the order in which the code has them: what is left over comes last.
        parameters.sort(key=lambda one: one.kind in (one.VAR_POSITIONAL, one.VAR_KEYWORD))
        arguments += [self._input(one, concrete, analysed) for one in parameters]
        kinds = {one.kind for one in parameters}
        if kinds & {
            inspect.Parameter.VAR_POSITIONAL,
            inspect.Parameter.VAR_KEYWORD,
            inspect.Parameter.KEYWORD_ONLY,
        }:
            return _flat(root_fn, analysed, is_module or inspect.ismethod(root_fn)), arguments
        return root_fn, arguments

    def _input(self, parameter: inspect.Parameter, concrete: dict[str, Any], function: Any) -> Any:
        name = parameter.name
        stars = "*" * (parameter.kind is parameter.VAR_POSITIONAL) + "**" * (
            parameter.kind is parameter.VAR_KEYWORD
        )
        default = () if parameter.default is parameter.empty else (parameter.default,)
        # Of what is left over no single value has the type.
        annotation = None if stars else _annotations(function).get(name)
        if name not in concrete:
            default = tuple(self.create_arg(one) for one in default)
            return self.create_proxy("placeholder", f"{stars}{name}", default, {}, type_expr=annotation)
        value = concrete[name]
        if _has_open(value):
            return self._opened(
                name, value, self.create_proxy("placeholder", name, (), {}, type_expr=annotation)
            )
        given = self.create_proxy("placeholder", f"{name}_1", (value,), {}) if _is_plain(value) else None
        if given is None:
            raise TraceError(
                f"concrete_args[{name!r}] is {type(value).__name__}: numbers, text and None can be "
                "put in the place of an "
                "argument; for others trace a function that calls yours with them"
            )
        self._hold_to(name, value, given)
        return value

    def _hold_to(self, name: str, value: Any, given: Any) -> None:
        """Have the graph check that it is given the value that it was traced with."""
        said = f"{name} has been specialized to have value {value} but got another value"
        if value is None:
            self.create_proxy("call_function", _assert_is_none, (given, said), {})
        else:
            self.create_proxy("call_function", _assert, (given == value, said), {})

    def _opened(self, name: str, value: Any, given: Any) -> Any:
        """Return an argument that is put together as `value` is, with parts of what is given where that says `PH`."""
        if isinstance(value, _Open):
            return given
        if isinstance(value, tuple | list | dict):
            keys = value if isinstance(value, dict) else range(len(value))
            parts = {key: self._opened(f"{name}_{key}", value[key], given[key]) for key in keys}
            if isinstance(value, dict):
                return parts
            return getattr(type(value), "_make", type(value))(parts.values())
        if not _is_plain(value):
            raise TraceError(
                f"concrete_args has {type(value).__name__} in {name}: numbers, text, None and fx.PH can be there"
            )
        self._hold_to(name, value, given)
        return value


def _is_layer(module: Module) -> bool:
    return type(module).__module__.startswith(("workbench.nn.", "workbench.quantization."))


def _annotations(function: Any) -> dict[str, Any]:
    """Return the annotations of a function of the program's; those of our own layers say nothing that is printed."""
    own = (getattr(function, "__module__", None) or "").startswith("workbench.")
    return {} if own else getattr(function, "__annotations__", {})


class _Open:
    """What stands in `concrete_args` for what a run is given."""

    def __repr__(self) -> str:
        return "PH"


PH = _Open()
"""In `concrete_args`, inside tuples, lists and dicts: what is here is an input, and what stands around it is fixed."""


def _has_open(value: Any) -> bool:
    if isinstance(value, tuple | list | dict):
        return any(map(_has_open, value.values() if isinstance(value, dict) else value))
    return isinstance(value, _Open)


def _is_plain(value: Any) -> bool:
    return value is None or isinstance(value, bool | int | float | str)


def _assert(condition: Any, message: str) -> None:
    """Raise AssertionError where a condition does not hold: what a graph of concrete arguments checks."""
    if not condition:
        raise AssertionError(message)


def _assert_is_none(value: Any, message: str) -> None:
    """Raise AssertionError where an argument is something else than None."""
    if value is not None:
        raise AssertionError(message)


def _flat(function: Any, analysed: types.FunctionType, bound: bool) -> Callable[..., Any]:
    """Return a function that takes all by position, ``*args`` and ``**kwargs`` as one value each."""
    code = analysed.__code__
    if (
        inspect.unwrap(function) is not function
        and function is not analysed
        and not inspect.ismethod(function)
    ):
        return function  # type: ignore[no-any-return]
    stars = bool(code.co_flags & inspect.CO_VARARGS) + bool(code.co_flags & inspect.CO_VARKEYWORDS)
    flags = code.co_flags & ~(inspect.CO_VARARGS | inspect.CO_VARKEYWORDS)
    total = code.co_argcount + code.co_kwonlyargcount + stars
    flat = code.replace(co_argcount=total, co_kwonlyargcount=0, co_posonlyargcount=0, co_flags=flags)
    made = types.FunctionType(flat, analysed.__globals__, analysed.__name__, None, analysed.__closure__)
    if inspect.ismethod(function):
        return types.MethodType(made, function.__self__)
    return made


def symbolic_trace(
    root: Module | Callable[..., Any], concrete_args: dict[str, Any] | None = None
) -> GraphModule:
    """Return a module that does what a module or function does, with its graph to be looked at and changed.

    >>> import workbench as wb
    >>> print(wb.fx.symbolic_trace(lambda x, scale=2.0: (x * scale).sum()).code.strip())
    def forward(self, x, scale = 2.0):
        mul = x * scale;  x = scale = None
        sum_1 = mul.sum();  mul = None
        return sum_1
    """
    tracer = Tracer()
    graph = tracer.trace(root, concrete_args)
    name = type(root).__name__ if isinstance(root, Module) else getattr(root, "__name__", type(root).__name__)
    return GraphModule(tracer.root, graph, name)


__getattr__, __dir__ = words(__name__, __all__)
