"""The command line, and what the JupyterLab extension needs from Python."""

from __future__ import annotations
