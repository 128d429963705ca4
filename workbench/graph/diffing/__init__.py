"""The difference of two graphs by structure: matched, compared, and told."""

from __future__ import annotations

from workbench.graph.diffing.diff import diff
from workbench.graph.diffing.result import SIGNS, GraphDiff, NodeDiff, Status

__all__ = ["SIGNS", "GraphDiff", "NodeDiff", "Status", "diff"]
