/** The colour of every point, by a column. */
import { categoryColour, colourTable, rgb, tableIndex } from '../common/colours';
import type { Column } from './columns';

/** Drawn where a column says nothing of a point. */
const NOTHING_LIGHT = '#a9aeb5';
const NOTHING_DARK = '#6b7078';

/** The colour of what has no value. */
export function nothingColour(dark: boolean): string {
  return dark ? NOTHING_DARK : NOTHING_LIGHT;
}

/** Red, green and blue of each point by turns. Columns of texts tell nothing by colour: null, and points have one. */
export function coloursBy(column: Column | undefined, dark: boolean): Uint8Array | null {
  if (column?.kind === 'category') {
    const palette = column.values.map((_, index) => rgb(categoryColour(index, dark)));
    return fill(column.codes.length, dark, point => palette[column.codes[point]!]);
  }
  if (column?.kind === 'number') {
    const table = colourTable('viridis');
    const { low, high, numbers } = column;
    // A column of one value has the middle of the map, and not a division by zero.
    const [from, to] = high > low ? [low, high] : [low - 1, low + 1];
    return fill(numbers.length, dark, point => {
      const value = numbers[point]!;
      if (!Number.isFinite(value)) {
        return undefined;
      }
      const at = tableIndex(value, from, to) * 3;
      return [table[at]!, table[at + 1]!, table[at + 2]!];
    });
  }
  return null;
}

function fill(
  count: number,
  dark: boolean,
  colour: (point: number) => readonly [number, number, number] | undefined
): Uint8Array {
  const none = rgb(nothingColour(dark));
  const colours = new Uint8Array(count * 3);
  for (let point = 0; point < count; point++) {
    colours.set(colour(point) ?? none, point * 3);
  }
  return colours;
}
