"""What every test shares: repeatable hypothesis runs, a fixed seed, and a folder for artefacts."""

from __future__ import annotations

import atexit
import gc
import os
import random
import shutil
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, settings

ROOT = Path(__file__).resolve().parent.parent

# Examples are drawn the same way in every run: a failure on one machine is a failure on all.
settings.register_profile(
    "workbench",
    deadline=None,
    derandomize=True,
    max_examples=50,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile(
    "search", parent=settings.get_profile("workbench"), derandomize=False, max_examples=1000
)
settings.load_profile(os.environ.get("WORKBENCH_HYPOTHESIS", "workbench"))


# What is measured here is kept for this run, its workers and the processes that it starts; not for the user's.
if "WORKBENCH_CACHE" not in os.environ:
    os.environ["WORKBENCH_CACHE"] = tempfile.mkdtemp(prefix="workbench-")
    atexit.register(shutil.rmtree, os.environ["WORKBENCH_CACHE"], ignore_errors=True)

# A run started in the background of a shell ignores interrupts, and all its children would, too: tests send them.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(trylast=True)
def pytest_collection_finish() -> None:
    """Leave tens of thousands of collected tests out of garbage collection: each would read all of them."""
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True)
def seeded() -> None:
    """Give every test the same random numbers, whichever tests ran before it."""
    random.seed(0)
    np.random.seed(0)
    # Where it was imported: some tests ask what importing a part of it brings.
    own = sys.modules.get("workbench.base.random")
    if own is not None:
        own.manual_seed(0)


def figures_begun() -> list[threading.Thread]:
    """What measures a quantized model in the background, or will in a while."""
    return [thread for thread in threading.enumerate() if thread.name == "workbench-figures"]


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    """Let what a test started in the background end with it: the next would hear what is published."""
    yield
    # Not joined: a thread that another has begun, or a timer begins, is listed before it has started.
    end = time.monotonic() + 30
    while (begun := figures_begun()) and time.monotonic() < end:
        for thread in begun:
            if isinstance(thread, threading.Timer):
                thread.cancel()
        time.sleep(0.005)
    # What was shown and selected stands for the whole process; a test that shows nothing never imports the room.
    live = sys.modules.get("workbench.live")
    if live is not None:
        for model in live.models():
            live.withdraw(model)
        live.selection.clear()


@pytest.fixture(scope="session")
def root() -> Path:
    """Folder of the repository."""
    return ROOT


@pytest.fixture(scope="session")
def artefacts() -> Path:
    """Folder for what a person may want to look at after a run: screenshots, logs. Not committed."""
    folder = ROOT / "artefacts"
    folder.mkdir(exist_ok=True)
    return folder
