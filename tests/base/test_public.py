"""Completion shows what a room offers and nothing else, and a word that is not there says which is the nearest."""

from __future__ import annotations

import contextlib
import multiprocessing
from types import ModuleType

import pytest

import workbench as wb
from workbench import ops
from workbench.base.errors import AbsentWordError, UnavailableError


def rooms() -> dict[str, ModuleType]:
    """Return every module that a person gets to by completion alone, from ``wb.`` on."""
    found: dict[str, ModuleType] = {}
    pending: list[tuple[str, ModuleType]] = [("wb", wb)]
    while pending:
        path, module = pending.pop()
        if module.__name__ in {one.__name__ for one in found.values()}:
            continue
        found[path] = module
        for name in dir(module):
            # Some need a library that is not installed everywhere.
            with contextlib.suppress(ImportError):
                inner = getattr(module, name)
                if isinstance(inner, ModuleType) and inner.__name__.startswith("workbench"):
                    pending.append((f"{path}.{name}", inner))
    return found


ROOMS = rooms()
PATHS = sorted(ROOMS)


def test_all_rooms_are_looked_at() -> None:
    assert {"wb.nn", "wb.nn.functional", "wb.train", "wb.widgets", "wb.attribution", "wb.cuda.amp"} <= set(
        PATHS
    )
    assert len(PATHS) > 70


@pytest.mark.parametrize("path", PATHS)
def test_only_what_the_library_offers_is_shown(path: str) -> None:
    shown = dir(ROOMS[path])
    assert not [name for name in shown if name.startswith("_")]
    # What a file imports for itself: other libraries, and rooms that are reached from elsewhere.
    pythons = multiprocessing.__all__ if path == "wb.multiprocessing" else ()
    for name in set(shown) - set(pythons):
        with contextlib.suppress(ImportError):
            one = getattr(ROOMS[path], name)
            assert not isinstance(one, ModuleType) or one.__name__.startswith("workbench"), name
    assert not {"annotations", "np", "Any", "TypeVar", "Callable"} & set(shown)


@pytest.mark.parametrize("path", PATHS)
def test_everything_that_is_exported_can_be_had(path: str) -> None:
    room = ROOMS[path]
    missing = [name for name in room.__all__ if not hasattr(room, name)]
    assert missing == []


@pytest.mark.parametrize("path", PATHS)
def test_a_misspelt_word_is_told_with_the_nearest(path: str) -> None:
    room = ROOMS[path]
    long = [name for name in dir(room) if len(name) > 6]
    for name in long[:3]:
        wrong = name[:3] + "q" + name[4:]
        with pytest.raises(
            AbsentWordError, match=f"'{room.__name__}' has no attribute '{wrong}': did you mean"
        ):
            getattr(room, wrong)
    with pytest.raises(AbsentWordError, match=r"no attribute 'qzqzqz'$"):
        room.qzqzqz  # noqa: B018


def test_twins_settings_and_layers_functions_are_there_and_not_shown() -> None:
    hidden = set(wb.__all__) - set(dir(wb))
    assert {
        "abs_",
        "view_copy" if hasattr(wb, "view") else "diagonal_copy",
        "cross_entropy",
        "conv2d",
    } <= hidden
    assert "set_float32_matmul_precision" not in dir(wb) and wb.get_float32_matmul_precision() == "highest"
    assert {"nn", "train", "widgets", "tensor", "relu", "softmax", "zeros", "embedding", "Tensor"} <= set(
        dir(wb)
    )
    assert all(hasattr(wb, name) for name in ops.FUNCTIONS)


def test_modules_that_are_functions_too() -> None:
    rows = wb.embedding(wb.eye(3), wb.tensor([2, 0]))
    assert rows.tolist() == [[0, 0, 1], [1, 0, 0]]
    assert wb.embedding.Embedding.__name__ == "Embedding"
    assert isinstance(wb.backends(), dict)
    assert wb.backends.cudnn.enabled is True


def test_what_is_only_there_to_be_named_refuses_to_be_called() -> None:
    with pytest.raises(UnavailableError, match=r"distributed\.barrier: there is one process here"):
        wb.distributed.barrier()
    with pytest.raises(UnavailableError, match=r"hub\.load: needs a network"):
        wb.hub.load("a/b", "c")
    with pytest.raises(RuntimeError, match="A lambda cannot be scripted"):
        wb.jit.script(lambda x: x)
