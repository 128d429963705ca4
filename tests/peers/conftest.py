"""What tests against PyTorch share; and the op database's coverage page, gathered from all processes that run tests."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

_results: dict[str, Any] = {}
_version: list[str] = []


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    if report.when != "call" or not report.passed:
        return
    found = dict(report.user_properties)
    if "op_db" in found:
        name, counts, version = found["op_db"]
        _results[name] = counts
        _version[:] = [version]


@pytest.hookimpl(wrapper=True, trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> Iterator[None]:
    yield
    if not hasattr(session.config, "workerinput") and _results:
        from tests.peers.op_db.coverage import write

        write(_results, _version[0])


@pytest.fixture(scope="module")
def one_thread() -> Iterator[None]:
    """Tests run beside one another: threads within torch would only get in each other's way."""
    torch = pytest.importorskip("torch")
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)
