"""Compiled dispatch meets what is malformed, unusual or interrupted: it raises, and leaves everything as it was."""

from __future__ import annotations

import copy
import dataclasses
import gc
import pickle
import random
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import workbench as wb
from workbench.autograd import engine
from workbench.core import dispatch
from workbench.core.bases import eager
from workbench.core.op import Op, _table, ops
from workbench.core.tape import Call, Node

pytestmark = pytest.mark.skipif(eager is None, reason="the compiled module was not built")

Make = Callable[..., Op]


@pytest.fixture
def make() -> Iterator[Make]:
    """Make ops that are like neg but for what is given; they leave the table at the end."""
    made: list[str] = []

    def op(forward: Any = np.negative, **fields: Any) -> Op:
        own = {field.name: getattr(ops.neg, field.name) for field in dataclasses.fields(Op) if field.init}
        made.append(f"of_a_test_{len(made)}")
        return Op(
            **{
                **own,
                "name": made[-1],
                "forward": forward,
                "kernel": None,
                "small": None,
                "properties": frozenset(),
                **fields,
            }
        )

    yield op
    for name in made:
        del _table[name]


def junk() -> list[Any]:
    x = wb.zeros(2, 3)
    empty, odd, cut = (eager.new_value(one) for one in (None, "text", np.zeros(3, object)))
    return [
        x, wb.ones(3, requires_grad=True), wb.zeros(N=2, C=3), (x * 2.0).detach(), empty, odd, cut,
        eager.ValueBase(), eager.NodeBase(), eager.CallBase(), Call, Node, wb.Tensor, int, object(), ops.add,
        None, 1, 2.5, 2**70, float("nan"), "a", b"b", (), (1,), (-1, 2**70), {}, slice(None), True,
        [x], [(x, x)], [(x, 1)], [(1, x)], [x, None], np.zeros((2, 3)), np.float32(1),
        (wb.ones(2, requires_grad=True) * 2.0).grad_fn, lambda *given: given, lambda *given: 1 / 0,
    ]  # fmt: skip


@pytest.mark.parametrize("seed", range(20))
def test_nothing_that_python_can_pass_ends_the_process(seed: int) -> None:
    chance = random.Random(seed)
    given = junk()
    called = [
        eager.recall, eager.walk, eager.new_value, eager.stretched, eager.use_value_type, eager.call_directly,
        eager.connect, ops.add, ops.relu, ops.neg, ops.sum, ops.sum_to, ops.expand, ops.relu_gradient, ops.index,
        ops.amax, ops.where, ops.permute, ops.softmax, ops.matmul,
    ]  # fmt: skip
    words = ("dim", "keepdim", "sizes", "key", "other")
    for _ in range(400):
        function = chance.choice(called)
        arguments = [chance.choice(given) for _ in range(chance.choice((0, 1, 1, 2, 2, 3, 8, 9, 40)))]
        named = (
            {word: chance.choice(given) for word in words if chance.random() < 0.2}
            if isinstance(function, Op)
            else {}
        )
        try:
            function(*arguments, **named)
        except Exception as error:
            str(error)
    eager.use_value_type(wb.Tensor)
    assert (wb.ones(2) + 1.0).tolist() == [2.0, 2.0]


@pytest.mark.parametrize(
    ("kind", "field"),
    [
        ("ValueBase", "_owner"),
        ("ValueBase", "_grad_fn"),
        ("NodeBase", "inputs"),
        ("NodeBase", "saved"),
        ("NodeBase", "versions"),
    ],
)
def test_fields_that_are_followed_take_nothing_else(kind: str, field: str) -> None:
    one = getattr(eager, kind)()
    with pytest.raises(TypeError, match=f"{field} must be"):
        setattr(one, field, 3)
    assert getattr(one, field) is None
    setattr(one, field, None)
    delattr(one, field)
    assert getattr(one, field) is None


def test_small_calls_with_arguments_of_others_are_refused() -> None:
    x = wb.ones(2, 3)
    for call in (
        lambda: ops.neg(x, x), lambda: ops.relu(x, 1.0), lambda: ops.add(x, sizes=(3,)), lambda: ops.add(x, x, x),
        lambda: ops.sum_to(x, x), lambda: ops.sum(x, x), lambda: ops.add(x),
        lambda: ops.sum(x, dim=(0, 0), keepdim=False),
        lambda: ops.sum_to(x, keepdim=(3,)), lambda: ops.add(x, x, other=1), lambda: ops.relu(),
    ):  # fmt: skip
        with pytest.raises((TypeError, ValueError, IndexError)):
            call()


def test_an_op_without_a_record_is_refused() -> None:
    with pytest.raises(AttributeError):
        eager.OpBase()(wb.ones(2))
    with pytest.raises(AttributeError):
        Op.__new__(Op)(wb.ones(2))


def test_rules_that_give_other_than_gradients_are_refused(make: Make) -> None:
    x = wb.ones(3, requires_grad=True)
    for given, words in [
        (lambda c, g: (g, g), "gave 2 gradients for 1 inputs"),
        (lambda c, g: (), "gave 0 gradients for 1 inputs"),
        (lambda c, g: g, "gave a single value"),
        (lambda c, g: (1.0,), "gave float as the gradient of input 0"),
        (lambda c, g: (np.ones(3),), "gave numpy.ndarray as the gradient"),
    ]:
        with pytest.raises(RuntimeError, match=words):
            make(vjp=given)(x).sum().backward()
    for wrong in (None, 3, 1.5):
        with pytest.raises(TypeError, match="not iterable"):
            make(vjp=lambda c, g, wrong=wrong: wrong)(x).sum().backward()
    assert x.grad is None


def test_a_rule_may_change_the_call_that_it_is_given(make: Make) -> None:
    def careless(call: Any, gradient: Any) -> tuple[Any]:
        call.inputs = call.needs = None
        return (gradient,)

    x = wb.ones(3, requires_grad=True)
    make(vjp=careless)(x).sum().backward()
    assert x.grad is not None and x.grad.tolist() == [1.0, 1.0, 1.0]


def test_dims_rules_that_give_too_few_are_refused(make: Make) -> None:
    two = make(lambda x: (x, x), outputs=2, dims=lambda x: (x,))
    with pytest.raises((RuntimeError, ValueError)):
        two(wb.ones(2))
    assert dispatch.grad_enabled()


def test_an_op_has_outputs(make: Make) -> None:
    with pytest.raises(ValueError, match="one output or more"):
        make(outputs=0)(wb.ones(2))


def test_values_with_an_impossible_place_on_the_tape_are_refused() -> None:
    y = wb.ones(2, requires_grad=True) * 2.0
    for output in (1, -1, 2**31 - 1):
        z = eager.new_value(y.payload)
        z._grad_fn, z._output, z._requires_grad = y._grad_fn, output, True
        with pytest.raises(RuntimeError, match="is output"):
            z.sum().backward()
    stray = eager.new_value(y.payload)
    stray._grad_fn, stray._requires_grad = eager.NodeBase(), True
    with pytest.raises(AttributeError):
        stray.sum().backward()


def test_calls_of_one_number_are_two_calls() -> None:
    x = wb.ones(2, requires_grad=True)
    a, b = x * 2.0, x * 3.0
    a._grad_fn.serial = b._grad_fn.serial
    (a + b).sum().backward()
    assert x.grad is not None and x.grad.tolist() == [5.0, 5.0]


def test_interrupts_come_through_and_are_not_tried_again(make: Make) -> None:
    tries = []

    def interrupted(x: Any) -> Any:
        tries.append(x)
        raise KeyboardInterrupt

    warnings = np.geterr()
    with pytest.raises(KeyboardInterrupt):
        make(interrupted)(wb.ones(2))
    assert len(tries) == 1
    assert np.geterr() == warnings
    rule = make(vjp=lambda c, g: interrupted(g))
    with pytest.raises(KeyboardInterrupt):
        rule(wb.ones(2, requires_grad=True)).sum().backward()
    assert engine.current_walk.get() is None


def test_hooks_that_fail_or_give_too_much() -> None:
    for given, error in [(lambda g: 1 / 0, ZeroDivisionError), (lambda g: (g[0], g[0]), RuntimeError)]:
        x = wb.ones(2, requires_grad=True)
        y = x * 2.0
        y.grad_fn.register_prehook(given)
        with pytest.raises(error):
            y.sum().backward()
        assert x.grad is None
        (x * 3.0).sum().backward()
        assert x.grad.tolist() == [3.0, 3.0]
    x = wb.ones(2, requires_grad=True)
    y = x * 2.0
    y.grad_fn.register_hook(lambda inputs, outputs: (inputs[0], None, None))
    with pytest.raises(RuntimeError, match="got 3, but expected 2"):
        y.sum().backward()


def test_a_rule_may_walk_the_tape_itself(make: Make) -> None:
    inner = wb.ones(2, requires_grad=True)

    def rule(call: Any, gradient: Any) -> tuple[Any]:
        with dispatch.enable_grad():
            (inner * inner).sum().backward()
        return (gradient * 5.0,)

    x = wb.ones(2, requires_grad=True)
    y = make(vjp=rule)(x)
    (y + y * 2.0).sum().backward()
    assert x.grad is not None and x.grad.tolist() == [15.0, 15.0]
    assert inner.grad is not None and inner.grad.tolist() == [2.0, 2.0]


def test_an_interpreter_in_a_rule_sees_what_the_rule_calls(make: Make) -> None:
    seen: list[str] = []

    class Watching:
        def process(self, op: Op, inputs: tuple[Any, ...], params: dict[str, Any]) -> Any:
            seen.append(op.name)
            return op(*inputs, **params)

    def rule(call: Any, gradient: Any) -> tuple[Any]:
        with dispatch.interpreting(Watching()):
            return (ops.mul(gradient, 2.0),)

    x = wb.ones(2, requires_grad=True)
    (make(vjp=rule)(x) + 1.0).sum().backward()
    assert seen == ["mul"]
    assert x.grad is not None and x.grad.tolist() == [2.0, 2.0]


def test_types_below_the_tensor_go_in_and_plain_ones_come_out() -> None:
    class Own(wb.Tensor):
        pass

    x = Own()
    x.payload = np.float32([1.0, 2.0])
    x.requires_grad_()
    y = x * 2.0
    assert isinstance(y, wb.Tensor)
    y.sum().backward()
    assert x.grad is not None and x.grad.tolist() == [2.0, 2.0]
    x.note = [x]  # type: ignore[attr-defined]  a cycle through its own dictionary
    del x, y
    gc.collect()


def test_copies_and_pickles() -> None:
    x = wb.ones(2, 3, names=("N", "C"), requires_grad=True)
    for other in (copy.deepcopy(x), pickle.loads(pickle.dumps(x))):
        assert (other.names, other.requires_grad, other.tolist()) == (x.names, True, x.tolist())
        (other * 2.0).sum().backward()
        assert other.grad is not None and x.grad is None
    assert pickle.loads(pickle.dumps(ops.add)) is ops.add


def test_cycles_through_calls_are_collected() -> None:
    died = []

    class Mark:
        def __del__(self) -> None:
            died.append(1)

    y = wb.ones(2, requires_grad=True) * 2.0
    mark = Mark()
    y.grad_fn.register_hook(lambda inputs, outputs, y=y, mark=mark: None)
    del y, mark
    gc.collect()
    assert died == [1]


def test_long_chains_are_freed_without_recursion() -> None:
    x = wb.ones((), requires_grad=True)
    y = x
    for _ in range(200_000):
        y = y * 1.0
    (y * 2.0).backward()
    assert x.grad is not None and x.grad.item() == 2.0
    y = x
    for _ in range(200_000):
        y = y * 1.0
    del y


@pytest.mark.parametrize("raising", [False, True])
def test_calls_keep_no_references(make: Make, raising: bool) -> None:
    x, y = wb.ones(4, 8, requires_grad=True), wb.ones(4, 8)
    fails = make(lambda x: 1 / 0)
    bad = make(vjp=lambda c, g: (1.0,))

    def good() -> None:
        ops.sum(ops.relu(ops.mul(x, y)), dim=(0, 1), keepdim=False).backward()
        ops.expand(ops.sum_to(y, sizes=(8,)), sizes=(4, 8))
        ops.permute(ops.softmax(y, dim=1), dim=(1, 0))
        x.grad = None

    def wrong() -> None:
        for call in (
            lambda: fails(y),
            lambda: ops.add(y, "a"),
            lambda: ops.add(y, wb.ones(3)),
            lambda: bad(x).sum().backward(),
        ):
            with pytest.raises((TypeError, RuntimeError, ZeroDivisionError)):
                call()

    once = wrong if raising else good
    watched = [x, y, x.payload, y.payload, ops.mul, ops.sum, fails, bad, Node, Call, wb.Tensor]
    for _ in range(20):
        once()
    gc.collect()
    before = [sys.getrefcount(one) for one in watched]
    for _ in range(200):
        once()
    gc.collect()
    after = [sys.getrefcount(one) for one in watched]
    assert max(abs(a - b) for a, b in zip(after, before, strict=True)) < 20


def test_memory_replaced_by_another_thread_stays_until_the_call_is_done() -> None:
    x = wb.ones(400, 400)
    stop = threading.Event()

    def replace() -> None:
        while not stop.is_set():
            x.payload = np.ones((400, 400), np.float32)

    other = threading.Thread(target=replace)
    other.start()
    try:
        for _ in range(200):
            assert float(ops.log2(x).payload[-1, -1]) == 0.0
            assert float(ops.exp2(x).payload[0, 0]) == 2.0
    finally:
        stop.set()
        other.join()
