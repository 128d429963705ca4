"""Our writer of logs against PyTorch's: every method, its parameters in their order, and their defaults."""

from __future__ import annotations

import inspect
from typing import Any

import pytest

import workbench as wb

tensorboard = pytest.importorskip("torch.utils.tensorboard")

OTHER: dict[tuple[str, str], str] = {
    ("add_image", "dataformats"): "named dims say what is what; where there are none it is CHW, as there",
    (
        "add_image_with_boxes",
        "dataformats",
    ): "named dims say what is what; where there are none it is CHW, as there",
}
"""Parameters that are something else by themselves, and why that comes to the same."""


def methods(kind: type) -> dict[str, Any]:
    """The public methods of a class, and how it is made."""
    found = inspect.getmembers(kind, inspect.isfunction)
    return {name: one for name, one in found if not name.startswith("_") or name == "__init__"}


ABSENT = {"add_onnx_graph": "a file is opened first: add_graph(wb.onnx.load(path))"}
"""What is not here, and what stands for it."""

THEIRS = methods(tensorboard.SummaryWriter)


@pytest.mark.parametrize("name", sorted(THEIRS.keys() - ABSENT.keys()))
def test_each_of_pytorchs_methods_takes_what_pytorchs_does(name: str) -> None:
    ours = methods(wb.tensorboard.SummaryWriter)
    assert name in ours
    wanted = list(inspect.signature(THEIRS[name]).parameters.values())
    given = list(inspect.signature(ours[name]).parameters.values())
    assert [one.name for one in given[: len(wanted)]] == [one.name for one in wanted]
    for own, theirs in zip(given, wanted, strict=False):
        if (name, own.name) not in OTHER:
            assert own.default == theirs.default, f"{name}({own.name})"
    assert all(one.default is not inspect.Parameter.empty for one in given[len(wanted) :]), "more is optional"
