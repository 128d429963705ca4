"""Brings the rooms that every script needs, in one go, while Python's collector of cycles rests."""

from __future__ import annotations

import importlib

from workbench.base.collector import collector_at_rest

__all__: list[str] = []

_ROOMS = ("ops", "autograd", "nn", "optim")


with collector_at_rest():
    for _room in _ROOMS:
        importlib.import_module(f"workbench.{_room}")
