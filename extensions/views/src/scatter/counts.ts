/** How the values of a column are spread: over all points, over those that are shown, over those that are selected. */
import type { Category, Numeric } from './columns';

/** One bar: how many points of each kind have a value of it. */
export interface Bar {
  readonly all: number;
  readonly shown: number;
  readonly selected: number;
}

/** Bars over equal parts of the range of a column of numbers. */
export const BINS = 32;

/** The bars of a column of numbers; `shown` null stands for all points. */
export function numberBars(
  column: Numeric,
  shown: Uint8Array | null,
  selected: readonly number[],
  bins = BINS
): Bar[] {
  const { numbers, low, high } = column;
  const scale = high > low ? bins / (high - low) : 0;
  const place = (point: number): number => {
    const value = numbers[point]!;
    return Number.isFinite(value) ? Math.min(bins - 1, Math.floor((value - low) * scale)) : -1;
  };
  return tally(numbers.length, bins, place, shown, selected);
}

/** The bars of a column of categories, one a value. */
export function categoryBars(column: Category, shown: Uint8Array | null, selected: readonly number[]): Bar[] {
  const { codes, values } = column;
  const place = (point: number): number => (codes[point]! < values.length ? codes[point]! : -1);
  return tally(codes.length, values.length, place, shown, selected);
}

function tally(
  count: number,
  bins: number,
  place: (point: number) => number,
  shown: Uint8Array | null,
  selected: readonly number[]
): Bar[] {
  const all = new Uint32Array(bins);
  const seen = new Uint32Array(bins);
  const chosen = new Uint32Array(bins);
  for (let point = 0; point < count; point++) {
    const bin = place(point);
    if (bin >= 0) {
      all[bin]! += 1;
      if (shown === null || shown[point] === 1) {
        seen[bin]! += 1;
      }
    }
  }
  for (const point of selected) {
    const bin = point < count ? place(point) : -1;
    if (bin >= 0) {
      chosen[bin]! += 1;
    }
  }
  return Array.from(all, (total, bin) => ({ all: total, shown: seen[bin]!, selected: chosen[bin]! }));
}
