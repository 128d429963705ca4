"""Writing files: what a graph becomes, its sizes, its nodes, and how the bytes come to a file."""

from __future__ import annotations
