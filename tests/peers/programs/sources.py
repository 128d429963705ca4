"""The sources of public programs: cloned beside the project where they can be had, and never part of it."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from tests.peers.programs.listing import REVISIONS

ROOT = Path(__file__).resolve().parents[3]
FOLDER = Path(os.environ.get("WORKBENCH_PROGRAMS", ROOT / "build" / "programs"))
"""A folder per repository, ``owner+name``."""
LONGEST = 60
"""Seconds that one repository may take to come."""


def fetch() -> dict[str, str]:
    """Fetch what is not there yet; return for each repository that cannot be had why."""
    missing: dict[str, str] = {}
    for repository, revision in REVISIONS.items():
        folder = FOLDER / repository.replace("/", "+")
        if not folder.is_dir():
            why = _fetched(repository, revision, folder)
            if why:
                missing[repository] = why
                # Who has no network has none for the next, either.
                missing |= {one: why for one in REVISIONS if not (FOLDER / one.replace("/", "+")).is_dir()}
                break
    return missing


def _fetched(repository: str, revision: str, folder: Path) -> str:
    """Fetch one revision of a repository into a folder; return why it could not be."""
    part = folder.with_name(folder.name + ".part")
    part.mkdir(parents=True, exist_ok=True)
    url = f"https://github.com/{repository}"
    steps = (
        ("init", "--quiet"),
        ("fetch", "--quiet", "--depth=1", url, revision),
        ("checkout", "--quiet", "FETCH_HEAD"),
    )
    for step in steps:
        try:
            done = subprocess.run(
                ["git", *step],
                cwd=part,
                capture_output=True,
                text=True,
                timeout=LONGEST,
                check=False,
                # Nobody is there to type a password.
                env={**os.environ, "GIT_TERMINAL_PROMPT": "0"},
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            return f"git {step[0]}: {error}"
        if done.returncode:
            return f"git {step[0]}: {done.stderr.strip()[:200]}"
    part.rename(folder)
    return ""
