"""Finding a Chromium: the browser that the tests drive, and that `workbench doctor` reports."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

__all__ = ["browser_version", "find_browser"]

VARIABLE = "WORKBENCH_BROWSER"
"""Environment variable that names a browser and is believed before anything else."""

_COMMANDS = (
    "chromium",
    "chromium-browser",
    "google-chrome-stable",
    "google-chrome",
    "chrome",
    "microsoft-edge",
)
_PLACES = {
    "darwin": (
        "/Applications/Chromium.app/Contents/MacOS/Chromium",
        "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
    ),
    "win32": (
        r"C:\Program Files\Google\Chrome\Application\chrome.exe",
        r"C:\Program Files (x86)\Microsoft\Edge\Application\msedge.exe",
    ),
}
_DOWNLOADED = (
    "chromium-*/chrome-linux*/chrome",
    "chromium-*/chrome-mac*/Chromium.app/Contents/MacOS/Chromium",
    "chromium-*/chrome-win*/chrome.exe",
)


def _downloads() -> Path:
    """The folder in which Playwright keeps the browsers that it downloaded."""
    if chosen := os.environ.get("PLAYWRIGHT_BROWSERS_PATH"):
        return Path(chosen)
    home = Path.home()
    if sys.platform == "darwin":
        return home / "Library" / "Caches" / "ms-playwright"
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA", str(home))) / "ms-playwright"
    return home / ".cache" / "ms-playwright"


def find_browser() -> Path | None:
    """The Chromium to use, or None: one named by ``WORKBENCH_BROWSER``, the system's, then Playwright's own.

    Raises FileNotFoundError if ``WORKBENCH_BROWSER`` names a file that does not exist.
    """
    # An empty variable is as good as none.
    if named := os.environ.get(VARIABLE):
        path = Path(named)
        if not path.is_file():
            raise FileNotFoundError(
                f"{VARIABLE} is {named!r}, which is not a file; "
                "set it to the path of a Chromium or Chrome, or unset it"
            )
        return path
    for command in _COMMANDS:
        if found := shutil.which(command):
            return Path(found)
    for place in _PLACES.get(sys.platform, ()):
        if Path(place).is_file():
            return Path(place)
    for pattern in _DOWNLOADED:
        if found_all := list(_downloads().glob(pattern)):
            return max(found_all, key=_revision)
    return None


def _revision(path: Path) -> tuple[int, Path]:
    """Return the revision in the name of a download's folder, as a number: 1140 is newer than 999."""
    folder = path.relative_to(_downloads()).parts[0]
    digits = folder.rpartition("-")[2]
    return (int(digits) if digits.isdecimal() else -1), path


def browser_version(path: Path) -> str | None:
    """What ``--version`` prints, e.g. ``Chromium 140.0.7339.80``; None if the program does not start."""
    try:
        done = subprocess.run(
            [str(path), "--version"], capture_output=True, text=True, timeout=30, check=True
        )
    # It does not start, or hangs.
    except (OSError, subprocess.SubprocessError):
        return None
    lines = [line.strip() for line in done.stdout.splitlines() if line.strip()]
    # Wrappers print warnings first; the version is the line with a number in it.
    return next((line for line in reversed(lines) if any(letter.isdigit() for letter in line)), None)
