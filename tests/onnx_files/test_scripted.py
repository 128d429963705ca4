"""Scripts as files: what a run decides is control flow there, and what has no form is refused at its line."""

from __future__ import annotations

import io
import re
from typing import Any

import numpy as np
import pytest

import workbench as torch
import workbench as wb
from tests.onnx_files.scripted_programs import CASES, arrays, script_of
from workbench import Tensor


def _saved(script: Any, *examples: Any, **options: Any) -> Any:
    file = io.BytesIO()
    wb.onnx.save(script, file, *examples, **options)
    return wb.onnx.load(file.getvalue())


@pytest.mark.parametrize("name", CASES)
def test_a_script_is_what_it_was(name: str) -> None:
    script = script_of(name)
    opened = _saved(script, *CASES[name][0])
    for case in CASES[name]:
        wanted, found = arrays(script(*case)), arrays(opened(*case))
        assert len(found) == len(wanted)
        for want, one in zip(wanted, found, strict=True):
            for a, b in zip(want, one, strict=True) if isinstance(want, list) else [(want, one)]:
                np.testing.assert_allclose(b, a, rtol=1e-4, atol=1e-5)


def _kinds(script: Any, *examples: Any) -> list[str]:
    opened = _saved(script, *examples)
    return [
        getattr(node.callee, "value", getattr(node.callee, "name", ""))
        for node, _ in wb.graph.walk(opened.graph)
    ]


def test_what_is_known_is_decided_and_what_a_run_decides_is_a_block() -> None:
    def script(x: Tensor, n: int, flag: bool) -> Tensor:
        for i in range(n):
            if flag:
                x = x + i
        return x

    made = wb.jit.script(script)
    assert "loop" not in _kinds(made, wb.ones(2), 3, True) and "if" not in _kinds(made, wb.ones(2), 3, True)
    assert _kinds(made, wb.ones(2), 100, True).count("loop") == 1
    assert _kinds(made, wb.ones(2), wb.tensor(3), True).count("loop") == 1
    assert _kinds(made, wb.ones(2), 3, wb.tensor(True)).count("if") == 3


def test_a_file_says_what_the_script_would_raise() -> None:
    opened = io.BytesIO()
    wb.onnx.save(script_of("raises"), opened, wb.ones(3))
    text = opened.getvalue()
    assert b"raises" in text and re.search(rb"scripted_programs.py:\d+: AssertionError: small", text)
    assert re.search(rb"scripted_programs.py:\d+: ValueError", text)


def test_a_script_that_raises_with_the_examples_is_refused() -> None:
    def script(x: Tensor, n: int) -> Tensor:
        if n < 0:
            raise ValueError("below")
        return x

    with pytest.raises(wb.onnx.OnnxError, match=r"test_scripted.py:\d+: ValueError: below"):
        _saved(wb.jit.script(script), wb.ones(2), -1)


def _types(x: Tensor) -> Tensor:
    y = x
    if x.sum() > 0:
        y = x.to(torch.int64)
    return y


def _ranks(x: Tensor) -> Tensor:
    for _ in range(x.shape[0]):
        x = x.unsqueeze(0)
    return x


def _keys(x: Tensor) -> Tensor:
    d: dict[str, Tensor] = {}
    if x.sum() > 0:
        d["a"] = x
    return d["a"]


def _nothing(x: Tensor) -> Tensor:
    y: Tensor | None = None
    if x.sum() > 0:
        y = x
    return x if y is None else y


def _sorted(x: Tensor) -> list[Tensor]:
    xs: list[Tensor] = []
    for i in range(x.shape[0]):
        xs.append(x * i)  # noqa: PERF401  a list that only a run knows
    xs.reverse()
    return xs


def _text(x: Tensor) -> Tensor:
    s = "a"
    if x.sum() > 0:
        s = "b"
    return x if s == "a" else -x


def _number(x: Tensor) -> Tensor:
    n = int(x.sum())
    return x * math_of(n)


def math_of(n: int) -> float:
    return float(str(n))


@pytest.mark.parametrize(
    ("program", "words"),
    [
        (_types, "what an if gives is workbench.int64 one way and workbench.float32 another: call x.to"),
        (_ranks, "what a loop carries has 1 dims one way and 2 another"),
        (_keys, "a dict gets or loses keys where only a run knows whether: let it have them from the start"),
        (_nothing, "None is carried where only a run decides"),
        (_sorted, "list.reverse of a list that only a run knows has no form in the format"),
        (_text, "'b' is carried where only a run decides"),
        (_number, "builtins.float looks into text of numbers that only a run knows"),
    ],
    ids=["types", "ranks", "keys", "nothing", "sorted", "text", "number"],
)
def test_what_has_no_form_is_refused_at_its_line(program: Any, words: str) -> None:
    with pytest.raises(wb.onnx.OnnxError, match=re.escape(words)) as caught:
        _saved(wb.jit.script(program), wb.ones(3))
    assert re.match(r".*test_scripted.py:\d+: ", str(caught.value))


def test_attributes_that_a_run_may_assign_are_refused_and_others_are_as_they_were() -> None:
    class Counter(wb.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.count = 2
            self.weight = wb.nn.Parameter(wb.ones(2))

        def forward(self, x: Tensor) -> Tensor:
            self.count += 1
            return x * self.count * self.weight

    script = wb.jit.script(Counter())
    opened = _saved(script, wb.ones(2))
    assert opened(wb.ones(2)).tolist() == [3, 3] and script.count == 2
    assert [name for name, _ in opened.named_parameters()] == ["weight"]

    class Sometimes(Counter):
        def forward(self, x: Tensor) -> Tensor:
            if x.sum() > 0:
                self.count += 1
            return x

    with pytest.raises(wb.onnx.OnnxError, match="count is assigned where only a run knows whether"):
        _saved(wb.jit.script(Sometimes()), wb.ones(2))


def test_what_comes_of_guesses_is_not_left_behind() -> None:
    def script(x: Tensor) -> Tensor:
        if x.shape[0] > 2:
            return x.reshape(1, -1)
        return x

    file = io.BytesIO()
    wb.onnx.save(wb.jit.script(script), file, wb.ones(3))
    # Two ranks are no one value: it is decided by the sizes of the example, and the file says so.
    assert b"x.shape[0] > 2" in file.getvalue()
    assert wb.onnx.load(file.getvalue())(wb.ones(5)).shape == (1, 5)
