"""axe-core over a part of a page: what it finds, in words, whatever its severity."""

from __future__ import annotations

from pathlib import Path

from playwright.sync_api import Page

__all__ = ["findings"]

AXE = Path(__file__).resolve().parents[2] / "extensions" / "node_modules" / "axe-core" / "axe.min.js"

# A rule that fails in a hundred rows is one fault: three of its places are enough to find it.
RUN = """async parts => {
  const found = await axe.run({ include: parts.map(part => [part]) }, { resultTypes: ['violations'] });
  return found.violations.flatMap(rule => rule.nodes.slice(0, 3).map(
    node => `${rule.id} (${rule.impact}): ${node.html.slice(0, 160)}\\n    ${node.failureSummary}`));
}"""


def findings(page: Page, *parts: str) -> list[str]:
    """Return what axe-core finds in the elements that the selectors `parts` name, of any severity."""
    if not page.evaluate("() => 'axe' in window"):
        if not AXE.is_file():
            raise FileNotFoundError(f"axe-core is not installed at {AXE}; run `npm ci` in extensions")
        # Evaluated, as a page may allow no scripts but its own.
        page.evaluate(AXE.read_text(encoding="utf-8"))
    found: list[str] = page.evaluate(RUN, list(parts))
    return found
