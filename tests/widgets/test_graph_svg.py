"""Graphs written to files by Python: text is text, nothing from data is markup, nothing lies over another node."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable
from pathlib import Path

import pytest

import workbench as wb
from workbench.models import DigitsNet, resnet18, vit_small
from workbench.widgets.graph import graph
from workbench.widgets.graph_layout import Placed, place, tree
from workbench.widgets.graph_picture import GraphPicture
from workbench.widgets.graph_svg import graph_svg

SVG = "{http://www.w3.org/2000/svg}"
MODELS: dict[str, tuple[Callable[[], wb.nn.Module], dict[str, int]]] = {
    "digits": (DigitsNet, {"N": 2, "C": 1, "H": 28, "W": 28}),
    "resnet18": (resnet18, {"N": 1, "C": 3, "H": 64, "W": 64}),
    "vit": (vit_small, {"N": 1, "C": 3, "H": 32, "W": 32}),
}


def words(svg: str) -> list[str]:
    return [one.text or "" for one in ElementTree.fromstring(svg).iter(f"{SVG}text")]


def test_a_graph_is_written_with_its_names_shapes_and_parameters(tmp_path: Path) -> None:
    widget = graph(DigitsNet().eval(), {"N": 2, "C": 1, "H": 28, "W": 28})
    path = tmp_path / "digits.SVG"
    widget.save(path)
    found = words(path.read_text(encoding="utf-8"))
    assert "conv2d" in found
    assert "f32[N 2, C 1, H 28, W 28]" in found
    assert any(one.startswith("weight  f32[out_channels 32") for one in found)
    widget.close()


def test_what_is_alike_is_drawn_once_with_its_count() -> None:
    model = wb.nn.Sequential(*[wb.nn.Sequential(wb.nn.Linear(4, 4), wb.nn.ReLU()) for _ in range(5)])
    svg = graph_svg(wb.graph.trace(model, wb.ones(N=2, C=4)))
    assert any(one.endswith("×5") for one in words(svg))
    assert words(svg).count("linear") == 1


@pytest.mark.parametrize("name", MODELS)
def test_nothing_lies_over_another(name: str) -> None:
    make, sizes = MODELS[name]
    picture = GraphPicture(wb.graph.trace(make().eval(), sizes))
    root, _ = tree(picture.nodes, picture.scopes)
    placed, width, height = place(root, picture.edges, {node.id: (60.0, 30.0) for node in picture.nodes})
    nodes = [one for one in placed if one.item.node is not None]
    assert nodes

    def apart(a: Placed, b: Placed) -> bool:
        beside = a.x + a.item.width <= b.x or b.x + b.item.width <= a.x
        return beside or a.y + a.item.height <= b.y or b.y + b.item.height <= a.y

    for index, one in enumerate(nodes):
        assert 0 <= one.x <= width - one.item.width + 0.1
        assert 0 <= one.y <= height - one.item.height + 0.1
        assert all(apart(one, other) for other in nodes[index + 1 :])


def test_no_data_is_markup() -> None:
    traced = wb.graph.trace(lambda x: x + 1, wb.ones(2))
    traced.name = "<script>"
    traced.inputs[0].name = '"><img onerror=x>\x00'
    traced.nodes[0].scope = ("<i>]]>",)
    svg = graph_svg(traced)
    assert not re.search(r"<(script|img|i)\b", svg)
    assert any("<img" in one for one in words(svg))


def test_other_files_are_refused_with_what_works(tmp_path: Path) -> None:
    widget = graph(wb.graph.trace(lambda x: x + 1, wb.ones(2)))
    for name in ("x.png", "x"):
        with pytest.raises(ValueError, match=r"Python writes graphs as SVG, .*save to 'x\.svg'"):
            widget.save(tmp_path / name)
    assert not list(tmp_path.iterdir())
    widget.close()


def test_blocks_functions_and_nothing_at_all_can_be_written() -> None:
    looped = wb.graph.parse(
        """net(%x : f32[N:4], %n : int):
  %a : f32[N:4] = loop(%n, True, %x):
    body(%i : int, %p : f32[N:4]):
      %q : f32[N:4] = mul(%p, 2.0)
      return True, %q
  return %a"""
    )
    assert "body" in words(graph_svg(looped))
    empty = wb.graph.Graph(name="nothing")
    assert ElementTree.fromstring(graph_svg(empty)).tag == f"{SVG}svg"
