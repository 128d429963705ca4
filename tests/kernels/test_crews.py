"""Programs on codes call their threads together once: any number of them, for several callers, beside forks."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import workbench as wb
from tests.kernels.callers import at_once
from workbench import kernels, nn
from workbench import quantization as q

THREADS = (1, 2, 3, 8)
"""More than there are processors, too: then whoever shares one with another is waited for, or does without."""


@pytest.fixture(autouse=True)
def as_many_threads_as_before() -> Iterator[None]:
    before = kernels.get_num_threads()
    yield
    kernels.set_num_threads(before)


def network() -> tuple[Any, Any]:
    """Return a network in codes, whose layers are shared out by rows, panels and pieces of these; and an input."""
    wb.manual_seed(0)
    model = nn.Sequential(
        nn.Conv2d(3, 64, 3, padding=1), nn.ReLU(), nn.MaxPool2d(3, 2, 1), nn.Conv2d(64, 256, 1), nn.ReLU(),
        nn.Conv2d(256, 128, 3, stride=4, padding=1), nn.ReLU(), nn.Conv2d(128, 256, 3, padding=1), nn.ReLU(),
        nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(256, 200),
    ).eval()  # fmt: skip
    x = wb.randn(1, 3, 48, 48)
    prepared = q.prepare_fx(model, q.get_default_qconfig_mapping("x86"), (x,))
    with wb.no_grad():
        prepared(x)
    return q.convert_fx(prepared), x


def found(model: Any, x: Any) -> Any:
    with wb.no_grad():
        return model(x).numpy()


def answers(model: Any, x: Any) -> bytes:
    return bytes(found(model, x).tobytes())


def test_codes_are_the_same_by_any_number_of_threads() -> None:
    model, x = network()
    kernels.set_num_threads(1)
    wanted = answers(model, x)
    for count in THREADS:
        kernels.set_num_threads(count)
        compiled = wb.compile(model)
        assert {answers(compiled, x) for _ in range(200)} == {wanted}, f"with {count} threads"
        assert wb.compiler.explain(compiled).calls == {"compiled": 200}


def test_several_callers_get_their_own_codes() -> None:
    model, x = network()
    kernels.set_num_threads(4)
    compiled = wb.compile(model)
    inputs = [x * (1 + i / 8) for i in range(5)]
    at_once([lambda one=one: [found(compiled, one)] for one in inputs], rounds=20)


_PROGRAM = """
import os, signal, sys, time, warnings
warnings.simplefilter("ignore")
import workbench as wb
from tests.kernels.test_crews import answers, network
wb.set_num_threads(3)
model, x = network()
compiled = wb.compile(model)
wanted = answers(compiled, x)
"""


def ran(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", _PROGRAM + code], capture_output=True, text=True, timeout=120
    )


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no forked children")
def test_a_forked_child_does_without_the_threads_it_has_not() -> None:
    done = ran("""
ends = []
for _ in range(3):
    child = os.fork()
    if child == 0:
        signal.alarm(30)
        os._exit(answers(compiled, x) != wanted)
    ends.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
print(ends, answers(compiled, x) == wanted)
""")
    assert done.stdout == "[0, 0, 0] True\n", done.stderr


@pytest.mark.parametrize("seconds", [0, 0.05], ids=["awake", "asleep"])
def test_a_process_ends_while_its_threads_wait(seconds: float) -> None:
    done = ran(f"time.sleep({seconds})\nprint('ends')\n")
    assert (done.returncode, done.stdout) == (0, "ends\n"), done.stderr


@pytest.mark.parametrize("channels", range(1, 6))
@pytest.mark.parametrize("plane", [(1, 1), (1, 3), (19, 27), (64, 65)], ids=str)
def test_images_become_codes_with_channels_last(channels: int, plane: tuple[int, int]) -> None:
    class Coded(nn.Module):
        def forward(self, x: Any) -> Any:
            return wb.quantize_per_tensor(x, 0.05, 100, wb.quint8)

    values = np.random.default_rng(channels).standard_normal((3, channels, *plane)).astype(np.float32) * 5
    values.flat[:3] = np.nan, np.inf, -np.inf
    for layout in (values, np.asarray(wb.tensor(values).contiguous(memory_format=wb.channels_last).numpy())):
        x = wb.from_numpy(layout)
        compiled = wb.compile(Coded())
        with wb.no_grad():
            expected, found = Coded()(x).int_repr().numpy(), compiled(x).int_repr().numpy()
        np.testing.assert_array_equal(found, expected)
        assert wb.compiler.explain(compiled).calls == {"compiled": 1}
