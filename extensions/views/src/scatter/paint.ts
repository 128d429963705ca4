/** The colour of every point, by a column. */
import { categoryColour, colourTable, rgb, tableIndex, type Rgb } from '../common/colours';
import type { Column } from './columns';
import { categoryShape } from './shapes';

/** Drawn where a column says nothing of a point. */
const NOTHING_LIGHT = '#a9aeb5';
const NOTHING_DARK = '#6b7078';

/** The colour of what has no value. */
export function nothingColour(dark: boolean): string {
  return dark ? NOTHING_DARK : NOTHING_LIGHT;
}

/** The last colours of a column, by theme: a state of a million points brings no others with every pick. */
const PAINTED = new WeakMap<Column, { readonly dark: boolean; readonly colours: Uint8Array | null }>();

/**
 * Red, green, blue and shape of each point by turns; null where a column tells nothing by colour, and points have one.
 * Eight categories have colours that anybody can tell apart; further ones are shapes besides.
 */
export function coloursBy(column: Column | undefined, dark: boolean): Uint8Array | null {
  if (!column) {
    return null;
  }
  const known = PAINTED.get(column);
  if (known?.dark === dark) {
    return known.colours;
  }
  const colours = painted(column, dark);
  PAINTED.set(column, { dark, colours });
  return colours;
}

function painted(column: Column, dark: boolean): Uint8Array | null {
  const none = word(rgb(nothingColour(dark)), 0);
  if (column.kind === 'category') {
    const { codes, values } = column;
    const table = Uint32Array.from(values, (_, index) =>
      word(rgb(categoryColour(index, dark)), categoryShape(index))
    );
    return fill(codes.length, point => table[codes[point]!] ?? none);
  }
  if (column.kind === 'number') {
    const map = colourTable('viridis');
    const table = Uint32Array.from({ length: 256 }, (_, entry) =>
      word([map[entry * 3]!, map[entry * 3 + 1]!, map[entry * 3 + 2]!], 0)
    );
    const { low, high, numbers } = column;
    // A column of one value has the middle of the map, and not a division by zero.
    const [from, to] = high > low ? [low, high] : [low - 1, low + 1];
    return fill(numbers.length, point => {
      const value = numbers[point]!;
      return Number.isFinite(value) ? table[tableIndex(value, from, to)]! : none;
    });
  }
  return null;
}

/** Four bytes as this machine writes a word: a million points are painted by words. */
function word([red, green, blue]: Rgb, shape: number): number {
  return new Uint32Array(Uint8Array.of(red, green, blue, shape).buffer)[0]!;
}

function fill(count: number, colour: (point: number) => number): Uint8Array {
  const words = new Uint32Array(count);
  for (let point = 0; point < count; point++) {
    words[point] = colour(point);
  }
  return new Uint8Array(words.buffer);
}
