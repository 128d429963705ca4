/** The rows as one drawing, for files: what the list shows, folded as it is there. */
import type { Theme } from '../common/theme';
import { s } from '../common/dom';
import { shorten } from '../common/text';
import { nodeOf, SIGNS, type Item } from './rows';
import { LINE, WHAT } from './row';

const MOST = 400;
const WIDTH = 860;

/** The colours of what is marked, as the style sheet has them. */
const COLOURS = {
  light: { added: '#0072b2', removed: '#d55e00', changed: '#a24b86', moved: '#00795a' },
  dark: { added: '#4aa3df', removed: '#f07f3c', changed: '#d48abd', moved: '#26bf93' }
} as const;

/** Draws at most so many rows, and says how many there are besides. */
export function sheet(
  items: readonly Item[],
  titles: readonly [string, string],
  theme: Theme
): SVGSVGElement {
  const picture = s('svg', { class: 'wb-svg' });
  const half = WIDTH / 2;
  let y = 18;
  const text = (x: number, at: number, words: string, more: Record<string, string | number> = {}): void =>
    void picture.append(s('text', { x, y: at, 'font-size': 12, fill: theme.ink, ...more }, words));
  titles.forEach((title, side) =>
    text(8 + side * half, y, shorten(title, half - 24, 12), { 'font-weight': 600 })
  );
  y += 10;
  const colours = COLOURS[theme.dark ? 'dark' : 'light'];
  for (const item of items.slice(0, MOST)) {
    if (item.kind === 'fold') {
      text(24, y + 17, shorten(item.text, WIDTH - 40, 12), { fill: theme.quiet });
      y += LINE;
      continue;
    }
    const { row } = item;
    (['before', 'after'] as const).forEach((side, index) => {
      const node = nodeOf(row, side);
      const status = row.status === 'replaced' ? (index === 0 ? 'removed' : 'added') : row.status;
      if (!node) {
        return;
      }
      const colour = status === 'same' || status === 'follows' ? null : colours[status];
      if (colour) {
        const box = { x: index * half, y, height: LINE - 2, fill: colour };
        picture.append(
          s('rect', { ...box, width: half - 12, 'fill-opacity': 0.14 }),
          s('rect', { ...box, width: 3 })
        );
      }
      const words = [SIGNS[status], node.op, node.place].filter(Boolean).join('  ');
      text(10 + index * half, y + 17, shorten(words, half - 30, 12));
    });
    for (const line of row.what) {
      text(32, y + LINE + 10, shorten(line, WIDTH - 48, 11), { 'font-size': 11, fill: theme.quiet });
      y += WHAT;
    }
    y += LINE;
  }
  if (items.length > MOST) {
    text(24, y + 17, `${(items.length - MOST).toLocaleString('en')} more rows`, { fill: theme.quiet });
    y += LINE;
  }
  picture.setAttribute('viewBox', `0 0 ${WIDTH} ${y + 8}`);
  return picture;
}
