"""Gathers what the judge of the op database says, from all processes that run tests, and writes the coverage page."""

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
