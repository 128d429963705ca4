"""What lies over something else in a picture of a graph, asked of the page."""

from __future__ import annotations

__all__ = ["CROWDED"]

CROWDED = """field => {
  const all = '[data-testid=wb-node], .wb-g-folded, [data-testid=wb-edge-label]';
  const groups = [...field.querySelectorAll(all)];
  const rects = groups.map(group => [group.textContent, group.querySelector('rect').getBoundingClientRect()]);
  const found = [];
  rects.forEach(([name, a], index) => rects.slice(index + 1).forEach(([other, b]) => {
    const across = Math.min(a.right, b.right) - Math.max(a.left, b.left);
    const down = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
    if (across > 0.5 && down > 0.5) found.push(`${name} | ${other}`);
  }));
  groups.forEach((group, index) => {
    const box = rects[index][1];
    for (const text of group.querySelectorAll('text')) {
      const one = text.getBoundingClientRect();
      const wide = one.left < box.left - 0.5 || one.right > box.right + 0.5;
      const tall = one.top < box.top - 1 || one.bottom > box.bottom + 1;
      if (wide || tall) found.push(`${text.textContent} leaves its box`);
      // Between the first and the last of a stack there are dots, too, with space around them.
      if (/\\S…|…\\S/.test(text.textContent)) found.push(`${text.textContent} is cut`);
    }
  });
  return found;
}"""
"""Whatever lies over something else, leaves its box, or is cut."""
