"""A compiled function: traced once for all sizes, lowered for each set of them, and asked each time if it holds."""

from __future__ import annotations

import threading
from collections import Counter, OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from workbench.base.dtypes import half_width
from workbench.base.errors import DimensionError
from workbench.compiler.arguments import NotPlain, taken_apart
from workbench.compiler.backends import BackendPlan
from workbench.compiler.chain_groups import fuse_chains
from workbench.compiler.effects import refused_effects, unwritten
from workbench.compiler.groups import fuse_layers
from workbench.compiler.lowering import Plan, lowered
from workbench.compiler.results import form_of
from workbench.compiler.rules import rule_of
from workbench.compiler.training import Trained
from workbench.compiler.untrained import untrained
from workbench.compiler.watch import Reached, Watch
from workbench.core import scope
from workbench.core.backend import Backend
from workbench.core.stack import IN_FORCE, are_parameters_fixed, enable_grad
from workbench.core.views import asks
from workbench.graph.binding import Binding
from workbench.graph.blocks import GraphError, Value
from workbench.graph.ir import Graph
from workbench.graph.passes import (
    channels_last,
    common_subexpressions,
    dead_code,
    freeze,
    fuse_codes,
    fuse_conv_batch_norm,
    inline,
    lower_precision,
    normal_forms,
    peephole,
    permute_later,
    pool_before_relu,
)
from workbench.graph.tracing import followed
from workbench.kernels import available, get_num_threads, reason
from workbench.kernels.loader import native
from workbench.kernels.processor import multiplies_bfloat16
from workbench.ops.quantized.engines import engine
from workbench.tensor import Tensor

__all__ = ["Compiled", "Version"]

PASSES = (
    inline, untrained, fuse_conv_batch_norm, peephole, common_subexpressions, normal_forms, peephole, dead_code,
)  # fmt: skip
"""What a traced and frozen graph goes through before it is lowered."""

TRAINING_PASSES = (
    inline, peephole, common_subexpressions, normal_forms, permute_later, peephole, pool_before_relu, dead_code,
)  # fmt: skip
"""What goes before the gradients: parameters stay what they are, since each step changes them."""

FIXED_PASSES = (
    inline, fuse_conv_batch_norm, peephole, common_subexpressions, normal_forms, permute_later, peephole,
    pool_before_relu, dead_code,
)  # fmt: skip
"""The same where gradients of arguments alone are asked for."""

MOST_VERSIONS = 64
"""Kinds of arguments that something is made for: a number that is another one in each call would make one of each."""

FEW_ROWS = 4
"""So few rows are computed by the program for their gradient, too, where those alone are asked for."""

MOST_PLANS = 16
"""Sets of sizes that are kept: of more, the one that was not used for longest goes."""


@dataclass
class Version:
    """What was made for one kind of arguments: the graph for all sizes, and the plans for those that came."""

    graph: Graph | None
    form: Any = None
    """What makes the graph's result that of the function, where they are put together otherwise."""
    refusal: str = ""
    """Why there is no graph: calls run as they are written."""
    store: Any = None
    plans: OrderedDict[Any, Plan | BackendPlan] = field(default_factory=OrderedDict)


@dataclass
class TrainedVersion:
    """The same while gradients are recorded."""

    trained: Trained | None
    form: Any = None
    refusal: str = ""


class Compiled:
    """A function, and what was made of it for the arguments that came so far."""

    def __init__(
        self,
        function: Callable[..., Any],
        eager: Callable[..., Any],
        fullgraph: bool,
        backend: Backend | None = None,
        precision: str = "float32",
    ) -> None:
        self.precision = precision
        """What was asked for; `computes_in` is what it is on this processor."""
        self.backend = backend
        """Whose programs it runs as; None for our own."""
        self.function = function
        self.eager = eager
        """How the function is called as it is written."""
        self.fullgraph = fullgraph
        self.versions: dict[Any, Version] = {}
        self.trained: dict[Any, TrainedVersion] = {}
        self.fixed: dict[Any, TrainedVersion] = {}
        """Trained with parameters that are what they are, for gradients of arguments alone."""
        self.watches: dict[bool, Watch | None] = {False: None, True: None}
        """What holds for what was made: to compute only, and to train."""
        self.ran: Counter[str] = Counter()
        """How often it ran in which way."""
        self.made_anew: Counter[str] = Counter()
        """How often all was thrown away, and why."""
        # Held while something is made, never while it runs: of two threads that need the same, one makes it.
        self._lock = threading.RLock()

    @property
    def computes_in(self) -> str:
        """The type in which programs compute what they may choose the type of."""
        return self.precision if multiplies_bfloat16() else "float32"

    @property
    def name(self) -> str:
        """What the function is called: a word that a text of a graph can have."""
        name = str(getattr(self.function, "__name__", type(self.function).__name__))
        return name if name.isidentifier() else "function"

    def __call__(self, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        """Return what the function returns."""
        state = IN_FORCE.get()
        if state.top is not None:
            return self._as_written(
                "something looks on: a trace, a transform or autocast", arguments, keywords
            )
        if self.backend is None and not available():
            return self._as_written(f"there are no compiled kernels: {reason()}", arguments, keywords)
        rebuild: Callable[[list[Any]], Any]
        if keywords or not all(isinstance(one, Tensor) for one in arguments):
            tensors: list[Any] = []
            try:
                key, rebuild = taken_apart((arguments, keywords), tensors)
            except NotPlain as refusal:
                return self._as_written(str(refusal), arguments, keywords)
        else:
            key, rebuild, tensors = len(arguments), _only_tensors, list(arguments)
        refused = _refusal(tensors)
        if refused:
            return self._as_written(refused, arguments, keywords)
        fixed = self.backend is None and are_parameters_fixed()
        # Asked once: it looks at every parameter.
        watch = self._watched(True) if state.grad and not fixed else None
        records = state.grad and self._records(tensors, watch)
        if records and self.backend is not None:
            return self._as_written(_RECORDED, arguments, keywords)
        watch = watch if watch is not None and records else self._watched(False)
        if watch.refusal:
            if self.fullgraph:
                raise GraphError(watch.refusal)
            return self._as_written(watch.refusal, arguments, keywords)
        if watch.hooked or scope.active:
            return self._as_written("hooks or others follow the calls of modules", arguments, keywords)
        # Sums become codes as the engine in force says it.
        key = (key, engine(), *[(one._names, one.payload.ndim, one.payload.dtype.str) for one in tensors])
        if records:
            asking = [one._requires_grad for one in tensors]
            versions = self.fixed if fixed else self.trained
            return self._trained(key, rebuild, tensors, arguments, keywords, versions, asking)
        version = self.versions.get(key)
        if version is None and fixed:
            if tensors[0].shape[:1] > (FEW_ROWS,):
                return self._as_written(_ENDS, arguments, keywords)
            # By the forward half for gradients: another program would hold other weights.
            asking = [one.payload.dtype.kind == "f" for one in tensors]
            with enable_grad():
                return self._trained(
                    key, rebuild, tensors, arguments, keywords, self.fixed, asking, records=False
                )
        if version is None and len(self.versions) >= MOST_VERSIONS:
            return self._as_written(_TOO_MANY, arguments, keywords)
        if version is None:
            version = self._made(key, rebuild, tensors)
        if version.graph is None:
            return self._as_written(version.refusal, arguments, keywords)
        payloads = [one.payload for one in tensors]
        sizes = (get_num_threads(), *[one.shape for one in payloads])
        plan = version.plans.get(sizes)
        if plan is None:
            plan = self._planned(key, version, sizes, rebuild, tensors)
            if plan is None:
                return self._as_written(self.versions[key].refusal, arguments, keywords)
        result = plan.run(payloads)
        if result is None:
            return self._as_written(_BEYOND, arguments, keywords)
        self.ran["compiled"] += 1
        return result if version.form is None else version.form(result)

    def _as_written(self, why: str, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        self.ran[why] += 1
        return self.eager(*arguments, **keywords)

    def _records(self, tensors: list[Any], watch: Watch | None) -> bool:
        """Say whether gradients are wanted: of an argument, or of a tensor that the function reaches by a watch."""
        # A view is told here where it is on the tape.
        asking = [asks(one) for one in tensors]
        return any(asking) or (watch is not None and watch.learns)

    def _watched(self, training: bool) -> Watch:
        """Return the watch over what the function reaches; throw away what was made where that has changed.

        While it is trained its numbers change at each call, and nothing that is made depends on them.
        """
        watch = self.watches[training]
        change = "" if watch is None else watch.holds()
        if watch is None or change:
            with self._lock:
                if self.watches[training] is watch:
                    made = self.trained if training else self.versions or self.fixed
                    self.made_anew.update([change] if change and made else [])
                    if training:
                        self.trained = {}
                    else:
                        self.versions, self.fixed = {}, {}
                    self.watches[training] = Watch(Reached(self.function), numbers=not training)
                watch = self.watches[training]
                assert watch is not None
        return watch

    def _trained(
        self,
        key: Any,
        rebuild: Callable[[list[Any]], Any],
        tensors: list[Any],
        arguments: tuple[Any, ...],
        keywords: dict[str, Any],
        versions: dict[Any, TrainedVersion],
        asking: list[bool],
        records: bool = True,
    ) -> Any:
        """Return what the function gives, on the tape if it `records`.

        `versions` are what was made, with parameters fixed or not; `asking` says which tensors ask for gradients.
        """
        key = (key, *asking)
        version = versions.get(key)
        if version is None:
            if len(versions) >= MOST_VERSIONS:
                return self._as_written(_TOO_MANY, arguments, keywords)
            version = self._made_to_train(key, rebuild, tensors, versions, asking)
        if version.trained is None:
            return self._as_written(version.refusal, arguments, keywords)
        try:
            result = version.trained.call(tensors, get_num_threads(), records)
        except DimensionError as refusal:
            # The function decides otherwise for these sizes. What is made now holds for them.
            with self._lock:
                if versions.get(key) is version:
                    self.made_anew[str(refusal).partition("\n")[0]] += 1
                    del versions[key]
                version = self._made_to_train(key, rebuild, tensors, versions, asking)
            if version.trained is None:
                return self._as_written(version.refusal, arguments, keywords)
            result = version.trained.call(tensors, get_num_threads(), records)
        self.ran["compiled"] += 1
        return result if version.form is None else version.form(result)

    # ----------------------------------------------------------------------------------------------- making

    def _made(self, key: Any, rebuild: Callable[[list[Any]], Any], tensors: list[Any]) -> Version:
        """Trace the function, and put what comes of it through the passes."""
        with self._lock:
            if key in self.versions:
                return self.versions[key]
            version = Version(None)
            try:
                version.graph, version.form = self._traced(rebuild, tensors)
                version.store = native.compiled.Store() if self.backend is None else None
            # Any error: the function is called as it is written, and raises it there, or does not.
            except Exception as error:
                if self.fullgraph:
                    raise
                version.refusal = f"it has no graph: {error}"
            self.versions[key] = version
            return version

    def _made_to_train(
        self,
        key: Any,
        rebuild: Callable[[list[Any]], Any],
        tensors: list[Any],
        versions: dict[Any, TrainedVersion],
        asked: list[bool],
    ) -> TrainedVersion:
        """Trace the function with what asks for gradients, and make both halves of it."""
        with self._lock:
            if key in versions:
                return versions[key]
            version = TrainedVersion(None)
            try:
                graph, version.form = self._graph_of(rebuild, tensors, asked)
                fixed = versions is self.fixed
                graph = self._with_fixed(graph) if fixed else graph
                for one in () if fixed else TRAINING_PASSES:
                    graph = one(graph)
                asking = [value.name for value, one in graph.parameters.items() if one._requires_grad]
                given = [value.name for value, asks in zip(graph.inputs, asked, strict=True) if asks]
                version.trained = Trained(graph, [*given, *asking], fixed)
            # Any error: the function is called as it is written, and raises it there, or does not.
            except Exception as error:
                if self.fullgraph:
                    raise
                version.refusal = f"it has no graph: {error}"
            versions[key] = version
            return version

    def _with_fixed(self, graph: Graph) -> Graph:
        """Return a graph whose parameters are what they are, normalisations put into layers."""
        if graph.updates or graph.seeds:
            raise GraphError(_DRAWS)
        graph = freeze(graph, copies=False)
        for one in FIXED_PASSES:
            graph = one(graph)
        # Given in each run, as those of what is trained: no program has a copy of its own.
        graph.parameters |= {value: tensor for value, tensor in graph.constants.items() if _is_weight(tensor)}
        graph.constants = {
            value: tensor for value, tensor in graph.constants.items() if value not in graph.parameters
        }
        return graph

    def _graph_of(
        self, rebuild: Callable[[list[Any]], Any], tensors: list[Any], asking: list[bool] | None
    ) -> tuple[Graph, Any]:
        """Trace the function, and refuse what a program could not do in its place.

        Where it is to have gradients, `asking` says which tensors ask for some.
        """
        training = asking is not None
        reached = Reached(self.function)
        before = Watch(reached)
        call = _Call(self, reached, rebuild, before)
        call.asking = asking or [False] * len(tensors)
        try:
            with refused_effects():
                tracer = followed(call, tensors)
        finally:
            # The call that follows changes it again.
            change = before.holds()
            if change:
                before.restore()
        graph = tracer.graph
        graph.name = self.name
        change = change or call.change
        if change:
            raise GraphError(f"a call changes more than its result: {change}")
        if not training and (graph.updates or graph.seeds):
            raise GraphError(_DRAWS)
        if training and tracer.reads_learning:
            raise GraphError(
                "it reads a tensor that asks for gradients and is no parameter of a module, nor named by the function: "
                "give it as an argument"
            )
        if any(True for node in graph.nodes if node.writes or node.blocks):
            raise GraphError("it changes memory that it was given")
        _check_results(graph)
        return graph, call.form

    def _traced(self, rebuild: Callable[[list[Any]], Any], tensors: list[Any]) -> tuple[Graph, Any]:
        graph, form = self._graph_of(rebuild, tensors, None)
        # The watch is asked before each call, and our programs pack what they need; of others that is not known.
        graph = freeze(graph, copies=self.backend is not None)
        for one in PASSES:
            graph = one(graph)
        unheld = [one for one in graph.constants.values() if not _is_finite(one)]
        if unheld:
            raise GraphError("a parameter has values that are not finite")
        # Other backends are given ops, and put them together themselves.
        if self.backend is None:
            graph = fuse_codes(channels_last(graph))
            if self.computes_in != "float32":
                graph = lower_precision(graph, self.computes_in)
            graph = fuse_chains(fuse_layers(graph))
        return graph, form

    def _planned(
        self, key: Any, version: Version, sizes: Any, rebuild: Callable[[list[Any]], Any], tensors: list[Any]
    ) -> Plan | BackendPlan | None:
        """Lower the graph for the sizes of these tensors; make another graph where a guard refuses them."""
        with self._lock:
            known = version.plans.get(sizes)
            if known is not None:
                return known
            assert version.graph is not None
            binding = Binding(version.graph, {})
            try:
                binding.begin(tensors)
            except DimensionError as refusal:
                self.made_anew[str(refusal).partition("\n")[0]] += 1
                # The function decides otherwise for these sizes. What is made now holds for them.
                fresh = Version(None)
                self.versions[key] = fresh
                del self.versions[key]
                fresh = self._made(key, rebuild, tensors)
                return None if fresh.graph is None else self._planned(key, fresh, sizes, rebuild, tensors)
            plan: Plan | BackendPlan
            if self.backend is None:
                plan = lowered(version.graph, binding.sizes, version.store, rule_of)
            else:
                plan = BackendPlan(version.graph, self.backend)
            version.plans[sizes] = plan
            while len(version.plans) > MOST_PLANS:
                version.plans.popitem(last=False)
            return plan


class _Call:
    """The function as a function of its tensors, with what it reaches in the place of a module."""

    def __init__(
        self, compiled: Compiled, reached: Reached, rebuild: Callable[[list[Any]], Any], watch: Watch
    ) -> None:
        self.compiled, self.rebuild, self.watch = compiled, rebuild, watch
        self.change = ""
        """What the call changed besides its result, which the trace has put back where it could."""
        self.named_modules = reached.named_modules
        self.named_parameters = reached.named_parameters
        self.named_buffers = reached.named_buffers
        self.form: Any = None
        self.asking: list[bool] = []
        """For each tensor, whether it asks for gradients."""

    def forward(self, *tensors: Any) -> Any:
        """Call the function."""
        for tensor, asking in zip(tensors, self.asking, strict=True):
            if asking:
                tensor.requires_grad_()
        arguments, keywords = self.rebuild(list(tensors))
        versions = [one._version for one in tensors]
        result = self.compiled.eager(*arguments, **keywords)
        unwritten(list(tensors), versions)
        self.change = self.watch.beside_tensors()
        self.form = form_of(result)
        return result

    __call__ = forward


_DRAWS = (
    "it draws random numbers or changes its buffers, as a model in training does; call model.eval() first"
)
_RECORDED = "gradients are recorded, and the backend makes no programs of them: call it under wb.no_grad()"
_ENDS = "gradients of arguments are asked for, and values beside them: no program with other weights is made for these"
_BEYOND = "a value is not finite, or so large that sums of it may not be"
_TOO_MANY = (
    f"more than {MOST_VERSIONS} kinds of arguments came, as by a number that changes: give it as a tensor"
)


def _only_tensors(given: list[Any]) -> Any:
    return given, {}


def _check_results(graph: Graph) -> None:
    """Refuse results that share memory with what is given or held, or with one another: a program's have their own."""
    owners = [_owner(one) for one in graph.returned()]
    if any(one.node is None for one in owners) or len(set(owners)) < len(owners):
        raise GraphError("a result is, or shows, what the function was given, or another result")


def _owner(value: Value) -> Value:
    """Return the value whose memory another may show."""
    while value.node is not None and value.node.op is not None and value.node.op.view:
        value = value.node.values[0]
    return value


def _refusal(tensors: list[Any]) -> str:
    """Return why a call with these tensors runs as it is written, or nothing."""
    for one in tensors:
        array = one.payload
        if type(array) is not np.ndarray:
            return "a tensor has no plain array: it is quantized, sparse, on another device or traced"
        if not array.size:
            return "a tensor is empty"
    return "" if tensors else "no argument is a tensor"


def _is_weight(tensor: Any) -> bool:
    array = tensor.payload
    return type(array) is np.ndarray and array.dtype == np.float32 and array.ndim > 1


def _is_finite(tensor: Any) -> bool:
    array = tensor.payload
    if type(array) is not np.ndarray or not (array.dtype.kind == "f" or half_width(array.dtype)):
        return True
    return bool(np.isfinite(array).all())
