"""Code generators of one's own, lines that are changed, and open places in arguments: as with `torch.fx`."""

from __future__ import annotations

import importlib
from typing import Any

import pytest

import workbench as wb

torch = pytest.importorskip("torch")
importlib.import_module("torch.fx")
BOTH = [(wb, wb.fx), (torch, torch.fx)]


def _listed(fx: Any) -> Any:
    class Listed(fx.CodeGen):  # type: ignore[name-defined,misc]
        def gen_fn_def(self, free_vars: list[str], maybe_return_annotation: str, **more: Any) -> str:
            names = [one.partition(":")[0] for one in free_vars if one != "self"]
            return (
                f"def forward(self, given: Many){maybe_return_annotation}:\n    {', '.join(names)}, = given"
            )

        def generate_output(self, output_args: Any, **more: Any) -> str:
            return f"return [{output_args!r}]"

        def additional_globals(self) -> list[tuple[str, Any]]:
            return [("Many", list)]

        def process_inputs(self, *inputs: Any) -> Any:
            (given,) = inputs
            return given

        def process_outputs(self, outputs: Any) -> Any:
            return [outputs]

    return Listed()


def test_a_code_generator_takes_and_gives_lists() -> None:
    found = []
    for lib, fx in BOTH:
        module = fx.symbolic_trace(lambda a, b: (a - b).relu())
        module.graph.set_codegen(_listed(fx))
        module.recompile()
        given = [lib.tensor([3.0, 1.0]), lib.tensor([1.0, 2.0])]
        found.append(
            (
                [one.tolist() for one in module(given)],
                [one.tolist() for one in fx.Interpreter(module).run(given)],
                "a, b, = given" in module.code and "return [relu]" in module.code,
            )
        )
    assert found[0] == found[1] == ([[2.0, 0.0]], [[2.0, 0.0]], True)


def test_lines_are_changed_by_one_after_the_other() -> None:
    found = []
    for _, fx in BOTH:
        module = fx.symbolic_trace(lambda x: x + 1)
        graph = module.graph
        graph.on_generate_code(lambda _: lambda body: ["first = 1\n", *body])
        with graph.on_generate_code(lambda now: lambda body: ["second = 2\n", *now(body)]):
            module.recompile()
            inside = [line.strip() for line in module.code.splitlines() if line.strip()][1:3]
        module.recompile()
        outside = [line.strip() for line in module.code.splitlines() if line.strip()][1:3]
        found.append((inside, outside[0]))
    assert found[0] == found[1] == (["second = 2", "first = 1"], "first = 1")


def test_a_place_in_an_argument_is_open() -> None:
    def function(d: Any, flag: bool) -> Any:
        return d["a"] * d["b"] + d["c"] if flag else d["a"]

    found = []
    for lib, fx in BOTH:
        module = fx.symbolic_trace(function, {"d": {"a": fx.PH, "b": fx.PH, "c": 3}, "flag": True})
        found.append(module({"a": lib.ones(2), "b": lib.ones(2) * 2, "c": 3}, True).tolist())
    assert found[0] == found[1] == [5.0, 5.0]
