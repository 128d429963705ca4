"""The command ``workbench``: ``lab`` opens JupyterLab, ``doctor`` says what was found on this machine."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from importlib import metadata
from pathlib import Path
from urllib.parse import quote

from workbench.lab import doctor, operations

__all__ = ["lab_arguments", "main"]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="workbench", description="A notebook-first workbench for tensors, gradients and quantization."
    )
    version = metadata.version("tensor-workbench")
    parser.add_argument("--version", action="version", version=f"tensor-workbench {version}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")

    lab = commands.add_parser("lab", help="open JupyterLab with the workbench's panels")
    lab.add_argument("notebook", nargs="?", type=Path, help="the notebook to open (default: the launcher)")
    lab.epilog = "Everything else is handed to `jupyter lab`, e.g. --no-browser --port=8889."

    check = commands.add_parser(
        "doctor", help="say what was found: kernels, CPU, front end, browser, optional parts"
    )
    check.add_argument(
        "--ops",
        nargs="*",
        metavar="NAME",
        help="print every op and which of its rules exist instead; all about those named, as in --ops '*pool*'",
    )
    return parser


def lab_arguments(notebook: Path | None, rest: Sequence[str], *, root: bool) -> list[str]:
    """The command line of ``jupyter lab`` that opens `notebook`.

    Raises FileNotFoundError if the notebook does not exist.

    >>> lab_arguments(None, ["--no-browser"], root=False)
    ['--no-browser']
    """
    arguments = list(rest)
    # Jupyter refuses to serve root unless told to; containers have no one else.
    if root and "--allow-root" not in arguments:
        arguments.append("--allow-root")
    if notebook is not None:
        if not notebook.is_file():
            raise FileNotFoundError(
                f"there is no notebook {str(notebook)!r} in {Path.cwd()}; `workbench lab` alone opens the launcher"
            )
        place, here = notebook.resolve(), Path.cwd()
        folder = here if place.is_relative_to(here) else place.parent
        # A default address rather than a file to run: the address that a server prints opens it too.
        address = quote(place.relative_to(folder).as_posix())
        arguments += [f"--ServerApp.root_dir={folder}", f"--LabApp.default_url=/lab/tree/{address}"]
    return arguments


def _serve(notebook: Path | None, rest: Sequence[str]) -> int:
    root = hasattr(os, "geteuid") and os.geteuid() == 0
    try:
        arguments = lab_arguments(notebook, rest, root=root)
    except FileNotFoundError as error:
        print(f"workbench lab: {error}", file=sys.stderr)
        return 2
    # The server takes over this process, so that signals and exit codes are its own.
    os.execv(sys.executable, [sys.executable, "-m", "jupyterlab", *arguments])


def _operations(names: Sequence[str]) -> int:
    try:
        page = operations.detail(names) if names else operations.report()
    except ValueError as error:
        print(f"workbench doctor: {error}", file=sys.stderr)
        return 2
    sys.stdout.write(page)
    return 0


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return the exit code: 0 done or healthy, 1 something is broken, 2 wrong usage."""
    parser = _parser()
    known, rest = parser.parse_known_args(arguments)
    if known.command == "lab":
        return _serve(known.notebook, rest)
    # What is left over is an error for all commands but `lab`, which hands it on.
    if rest:
        parser.error(f"unrecognized arguments: {' '.join(rest)}")
    if known.ops is not None:
        return _operations(known.ops)
    findings = doctor.examine()
    sys.stdout.write(doctor.report(findings, colour=sys.stdout.isatty()))
    return 0 if doctor.healthy(findings) else 1
