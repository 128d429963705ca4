"""What a pass did as a picture: one call for every pass, drawn and told, with nothing left out."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any

import pytest

import workbench as wb
from tests.graph.pass_cases import CASES, PASSES
from workbench.graph import passes
from workbench.live.encode import encode_snapshot
from workbench.live.registry import registry
from workbench.live.renderers import renderers
from workbench.widgets.pictures import html, mimebundle


@pytest.fixture(autouse=True)
def unbundled(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr("workbench.widgets.base.bundle", lambda view: "export default {}")
    yield
    for model in registry.models():
        registry.withdraw(model)


def test_each_pass_has_a_case() -> None:
    assert sorted(CASES) == PASSES, "for a new pass a small graph belongs into tests/graph/pass_cases.py"


def taken(name: str) -> passes.Step:
    graph, arguments = CASES[name]()
    return passes.step(graph, getattr(passes, name), *arguments)


@pytest.mark.parametrize("name", PASSES)
def test_each_pass_has_a_picture_of_before_and_after(name: str) -> None:
    made = taken(name)
    drawn: Any = encode_snapshot("diff", renderers.model_of(made).snapshot())[0]
    assert drawn["head"]["title"] == f"{made.before.name}: {name}"
    assert drawn["truncated"] == 0
    shown = [
        (row["status"], row["before"], row["after"], row["what"])
        for row in drawn["rows"]
        if row["status"] != "same"
    ]
    assert shown or drawn["notes"], "a pass that does something shows nothing"
    # A row of what changed says how; what is gone stands left, what is new right.
    for status, before, after, what in shown:
        assert (before is not None) == (status in ("removed", "replaced")) or status in (
            "changed",
            "moved",
            "follows",
        )
        assert (after is not None) == (status != "removed")
        assert what or status not in ("changed", "moved", "follows")
    # Every node of both graphs stands in some row.
    rows = drawn["rows"]
    own = {node.name for node, _ in made.after.walk()}
    assert own <= {row["after"]["id"] for row in rows if row["after"]}
    assert ("<tr" in html(made)) == bool(shown)
    widget = wb.widgets.graph_diff(made)
    assert widget.state["rows"] == drawn["rows"]
    widget.close()


def test_what_a_pass_only_moves_reads_what_it_read() -> None:
    for name in ("fuse_convolutions", "fuse_elementwise", "inline", "outline"):
        moved = taken(name).diff.moved
        assert moved
        assert [one.what[1:] for one in moved] == [()] * len(moved), name
    # That two sizes are held to be the same is no other type.
    assert not taken("differentiate").diff.changed


@pytest.mark.parametrize("name", PASSES)
def test_each_pass_says_what_it_did(name: str) -> None:
    made = taken(name)
    assert str(made).startswith(f"{name}: {made.before.name} → ")
    assert repr(made) == f"<step {name} of {made.before.name}: {made.diff.summary()}>"
    assert mimebundle(made)["text/plain"] == repr(made)


def test_steps_of_a_run_are_pictures_too_and_passes_may_have_arguments() -> None:
    graph, _ = CASES["unroll"]()
    steps = passes.run_passes(graph, [functools.partial(passes.unroll, most_turns=8), passes.peephole])
    assert [one.name for one in steps] == ["unroll", "peephole"]
    assert steps[1].before is steps[0].after
    assert steps[0].diff.removed and not steps[1].diff
    assert "no difference" in html(steps[1])


def test_a_pass_that_makes_nonsense_is_named() -> None:
    def broken(graph: wb.graph.Graph) -> wb.graph.Graph:
        made = graph.copy()
        made.nodes.reverse()
        return made

    graph, _ = CASES["peephole"]()
    with pytest.raises(wb.graph.GraphError):
        passes.step(graph, broken)
