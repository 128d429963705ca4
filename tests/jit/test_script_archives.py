"""What an archive says of a script beside its graph: damaged, it is refused in words, and nothing else happens."""

from __future__ import annotations

import io
import json
from random import Random
from typing import Any

import pytest

import workbench as wb
from tests.jit.test_script_modules import Counting
from tests.jit.test_script_words import described
from workbench.interop.archive import read_archive, write_graph
from workbench.jit.writing import OWN

_STRANGE: list[Any] = [
    None, 1, -1, "x", "", [], {}, "a.b", "__class__", 1e300, True, ["x"], {"tuple": [1]}, {"list": {"list": "tensor"}},
    {"record": "class", "fields": ["x"], "items": ["int"]}, {"enum": "E", "members": {"mro": 1}, "value": "int"},
]  # fmt: skip


def damaged(random: Random, told: Any) -> Any:
    """Return what an archive says with something else in some places."""
    if random.random() < 0.08:
        return random.choice(_STRANGE)
    if isinstance(told, dict):
        keys = [
            key if random.random() > 0.03 else random.choice(["x", "forward", "_graphs", "", "a..b"])
            for key in told
        ]
        return dict(zip(keys, (damaged(random, one) for one in told.values()), strict=True))
    return [damaged(random, one) for one in told] if isinstance(told, list) else told


@pytest.mark.parametrize("which", ["module", "function"])
def test_what_is_damaged_is_refused_in_words(which: str) -> None:
    file = io.BytesIO()
    wb.jit.save(wb.jit.script(Counting() if which == "module" else described), file)
    graph, metadata = read_archive(io.BytesIO(file.getvalue()), file.tell())
    told = json.loads(metadata[OWN])
    refused = 0
    for seed in range(150):
        other = damaged(Random(seed), told)
        part = io.BytesIO()
        write_graph(graph, part, {OWN: json.dumps(other)})
        part.seek(0)
        try:
            wb.jit.load(part)
        except wb.WeightsError:
            refused += 1
    assert 50 < refused < 150


def test_parameters_come_back_in_the_order_of_the_module() -> None:
    # A bias is read before the weights that were registered before it; optimizers count parameters by their order.
    layer = wb.nn.MultiheadAttention(6, 2, kdim=3, vdim=3, add_bias_kv=True)
    file = io.BytesIO()
    wb.jit.save(wb.jit.script(layer), file)
    file.seek(0)
    assert list(wb.jit.load(file).state_dict()) == list(layer.state_dict())
