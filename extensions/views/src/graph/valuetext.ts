/** A value in words: its data type and its dims, over as many rows as they take, placed before anything is drawn. */
import type { Dim } from '../protocol';
import { dimensionColour } from '../common/colours';
import { s, setAttributes } from '../common/dom';
import { dimensionText } from '../common/parts';
import { middleOut, textWidth } from '../common/text';

/** How high a row is. */
export const ROW = 16;

const SIZE = 10;
/** Of rows behind the first. */
const INDENT = 12;
/** Longer words than this lose their middle; dims are called by words, which are shorter. */
const LONGEST = 40;

/** What can be written out. */
export interface Written {
  readonly dtype: string;
  readonly dims: readonly Dim[];
  /** What the sizes are in any run; empty where they are those of the dims. */
  readonly sizes: readonly string[];
}

interface Part {
  readonly text: string;
  readonly x: number;
  readonly row: number;
  readonly width: number;
  /** Whose colour it has; null for what is no dim. */
  readonly dim: Dim | null;
}

/** A value in words, placed. */
export interface ValueText {
  readonly parts: readonly Part[];
  readonly width: number;
  readonly height: number;
}

/** `C 64`; or with `symbols` what the size is in any run, `N n`. */
export function sizeText(value: Written, index: number, symbols: boolean): string {
  const dim = value.dims[index]!;
  const size = symbols ? value.sizes[index] : undefined;
  if (size === undefined || size === String(dim.size)) {
    return dimensionText(dim);
  }
  return dim.name === null ? size : `${dim.name} ${size}`;
}

/** Places the words of a value in rows of at most `most` pixels, each dim whole. */
export function valueText(
  value: Written,
  symbols: boolean,
  most: number,
  lead: readonly string[] = [value.dtype]
): ValueText {
  const parts: Part[] = [];
  let [x, row, width] = [0, 0, 0];
  const put = (text: string, wide: number, dim: Dim | null): void => {
    if (x > 0 && x + wide > most) {
      x = INDENT;
      row += 1;
    }
    parts.push({ text, x, row, width: wide, dim });
    x += wide + 2;
    width = Math.max(width, x - 2);
  };
  lead.forEach(text => put(middleOut(text, LONGEST), textWidth(middleOut(text, LONGEST), SIZE) + 6, null));
  value.dims.forEach((dim, index) => {
    const text = middleOut(sizeText(value, index, symbols), LONGEST);
    put(text, textWidth(text, SIZE) + 10, dim);
  });
  return { parts, width, height: (row + 1) * ROW };
}

/** Draws a value in words, from the point 0, 0 on. */
export function drawValue(value: ValueText, dark: boolean): SVGElement[] {
  return value.parts.flatMap(part => {
    const top = part.row * ROW;
    if (part.dim === null) {
      return [s('text', { class: 'wb-g-lead', x: part.x + 1, y: top + 12 }, part.text)];
    }
    const colour = dimensionColour(part.dim.name, dark);
    const ground = s('rect', { x: part.x, y: top + 1, width: part.width, height: 14, rx: 3 });
    setAttributes(ground, { style: `fill: ${colour}; fill-opacity: ${dark ? 0.34 : 0.22}` });
    const side = s('rect', { x: part.x, y: top + 1, width: 2.5, height: 14 });
    setAttributes(side, { style: `fill: ${colour}` });
    const middle = part.x + part.width / 2 + 1;
    return [
      ground,
      side,
      s('text', { class: 'wb-g-dim', x: middle, y: top + 12, 'text-anchor': 'middle' }, part.text)
    ];
  });
}
