"""What cannot be traced: each is refused at the program's own line, in words that say what to write."""

from __future__ import annotations

from typing import Any

import pytest

import workbench as wb
from workbench import fx


def branches(x: Any) -> Any:
    if x.sum() > 0:  # the line
        return x
    return -x


def loops(x: Any) -> Any:
    return sum(row for row in x)  # the line


def asserts(x: Any) -> Any:
    assert x.shape[0] == 2  # the line
    return x


def writes(x: Any) -> Any:
    x[0] = 1  # the line
    return x


CASES: list[tuple[str, Any, type[Exception], str]] = [
    ("if", branches, fx.TraceError, "cannot be used as inputs to control flow. Write torch.where"),
    ("while", lambda x: x if x else -x, fx.TraceError, "cannot be used as inputs to control flow"),
    ("assert", asserts, fx.TraceError, "cannot be used as inputs to control flow"),
    ("and", lambda x: x and 1, fx.TraceError, "cannot be used as inputs to control flow"),
    ("for", loops, fx.TraceError, "Proxy object cannot be iterated: .* `a, b = x` takes as many"),
    ("star", lambda x: [*x], fx.TraceError, "Proxy object cannot be iterated"),
    ("zip", lambda x: list(zip(x, x, strict=True)), fx.TraceError, "Proxy object cannot be iterated"),
    ("in", lambda x: 2 in x, fx.TraceError, r"`in` looks at each item: \(x == item\).any\(\)"),
    ("len", lambda x: len(x), RuntimeError, r"'len' is not supported .* Write x.shape\[0\]"),
    (
        "int",
        lambda x: int(x),
        TypeError,
        r"int\(\) argument must be .* x.item\(\) stays a value of the graph",
    ),
    ("float", lambda x: float(x.mean()), TypeError, r"float\(\) argument must be"),
    ("complex", lambda x: complex(x), TypeError, r"complex\(\) argument must be"),
    (
        "range",
        lambda x: range(x.shape[0]),
        TypeError,
        "cannot be interpreted as an integer: .*concrete_args",
    ),
    ("index", lambda x: [1, 2][x], TypeError, "cannot be interpreted as an integer"),
    ("setitem", writes, TypeError, "does not support item assignment: write what gives a new tensor"),
    ("key", lambda x: wb.relu({x: 1, "y": x}), fx.TraceError, r"Proxy\(x\) cannot be a key of a dict"),
    (
        "operand",
        lambda x: x + object(),
        fx.TraceError,
        "argument of type: <class 'object'> cannot stand in a graph",
    ),
]


@pytest.mark.parametrize(
    ("program", "kind", "words"), [one[1:] for one in CASES], ids=[one[0] for one in CASES]
)
def test_it_is_refused_at_the_line(program: Any, kind: type[Exception], words: str) -> None:
    with pytest.raises(fx.TraceError, match=f"(?s)^test_trace_errors.py:[0-9]+: .*{words}") as caught:
        fx.symbolic_trace(program)
    # The classes that PyTorch raises, so that what programs catch is caught.
    assert isinstance(caught.value, kind) and isinstance(caught.value, ValueError)


def test_the_line_is_that_of_the_program() -> None:
    line = branches.__code__.co_firstlineno + 1
    with pytest.raises(
        fx.TraceError, match=rf"^test_trace_errors.py:{line}: if x.sum\(\) > 0:  # the line\n"
    ):
        fx.symbolic_trace(branches)


def test_a_line_inside_of_modules() -> None:
    class Inner(wb.nn.Module):
        def forward(self, x: Any) -> Any:
            return branches(x)

    line = branches.__code__.co_firstlineno + 1
    with pytest.raises(fx.TraceError, match=rf"test_trace_errors.py:{line}: if x.sum\(\) > 0"):
        fx.symbolic_trace(wb.nn.Sequential(Inner()))


def test_a_text_with_a_value_in_it_warns() -> None:
    with pytest.warns(
        UserWarning,
        match=r"(?s)test_trace_errors.py:\d+: .*a text with Proxy\(x\) in it is made while tracing",
    ):
        fx.symbolic_trace(lambda x: (f"{x}", x)[1])


def test_what_is_not_a_python_function_is_refused() -> None:
    with pytest.raises(fx.TraceError, match="is no Python function, and cannot be run on proxies"):
        fx.symbolic_trace(len)


def test_a_tracer_may_answer_itself() -> None:
    class Positive(fx.Tracer):
        def to_bool(self, obj: fx.Proxy) -> bool:
            return True

        def iter(self, obj: fx.Proxy) -> Any:
            return iter([obj[0], obj[1]])

        def keys(self, obj: fx.Proxy) -> Any:
            return ["a"]

    assert str(Positive().trace(branches).output_node().args) == "(x,)"
    assert len(Positive().trace(lambda x: [one * 2 for one in x]).find_nodes(op="call_function")) == 4
    assert Positive().trace(lambda x: {**x}).output_node().args[0].keys() == {"a"}


def test_the_line_of_a_model_of_the_house() -> None:
    with pytest.raises(fx.TraceError, match=r"^bert.py:[0-9]+: if count > most:"):
        fx.symbolic_trace(wb.models.minilm())
