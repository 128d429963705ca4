/** The metadata of the points: columns of categories, numbers and texts, as they arrived. */
import type { ScatterColumn } from '../protocol';
import { float32, float64, StateError, uint16, uint32, uint8 } from '../common/buffers';
import { exact } from '../common/numbers';

/** A point without a category. */
export const NONE = 65_535;

/** One column, ready to be read by points. */
export type Column =
  | {
      readonly kind: 'category';
      readonly name: string;
      readonly note: string;
      /** The place of each point's value in `values`. */
      readonly codes: Uint16Array;
      readonly values: readonly string[];
      /** How many points have each value. */
      readonly sizes: readonly number[];
    }
  | {
      readonly kind: 'number';
      readonly name: string;
      readonly note: string;
      readonly numbers: Float32Array | Float64Array;
      readonly low: number;
      readonly high: number;
      /** How many points have no number. */
      readonly missing: number;
    }
  | {
      readonly kind: 'text';
      readonly name: string;
      readonly note: string;
      readonly bytes: Uint8Array;
      readonly ends: Uint32Array;
    }
  | { readonly kind: 'offered' | 'away'; readonly name: string; readonly note: string };

export type Category = Extract<Column, { kind: 'category' }>;
export type Numeric = Extract<Column, { kind: 'number' }>;

const decoder = new TextDecoder();

/** Decodes one column; `weights` say how many points each of the drawn stands for, where that is not one. */
export function readColumn(
  told: ScatterColumn,
  buffers: readonly DataView[],
  count: number,
  weights: Uint32Array | null = null
): Column {
  const { name, note, kind } = told;
  const what = `the column ${name}`;
  if (told.buffer === null || kind === 'offered' || kind === 'away') {
    return { kind: kind === 'offered' ? 'offered' : 'away', name, note };
  }
  if (kind === 'category') {
    const codes = uint16(buffers, told.buffer, count, what).subarray(0, count);
    const sizes = new Array<number>(told.values.length).fill(0);
    codes.forEach((code, point) => {
      if (code < sizes.length) {
        sizes[code]! += weights?.[point] ?? 1;
      }
    });
    return { kind, name, note, codes, values: told.values, sizes };
  }
  if (kind === 'number') {
    const wide = (buffers[told.buffer]?.byteLength ?? 0) >= count * 8 && count > 0;
    const numbers = (wide ? float64 : float32)(buffers, told.buffer, count, what).subarray(0, count);
    return { kind, name, note, numbers, ...reach(numbers) };
  }
  const bytes = uint8(buffers, told.buffer, 0, what);
  const ends = uint32(buffers, told.ends_buffer ?? -1, count, what);
  if (count > 0 && ends[count - 1]! > bytes.length) {
    throw new StateError(`${what}: its texts end at byte ${ends[count - 1]} and ${bytes.length} arrived`);
  }
  return { kind, name, note, bytes, ends };
}

/** The least and the greatest of the finite numbers, and how many are none. */
export function reach(numbers: Float32Array | Float64Array): {
  readonly low: number;
  readonly high: number;
  readonly missing: number;
} {
  let [low, high, missing] = [Infinity, -Infinity, 0];
  for (const value of numbers) {
    if (Number.isFinite(value)) {
      low = Math.min(low, value);
      high = Math.max(high, value);
    } else {
      missing += 1;
    }
  }
  return low <= high ? { low, high, missing } : { low: 0, high: 0, missing };
}

/** What a column says of a point, as text; empty where it says nothing. */
export function textOf(column: Column, point: number): string {
  if (column.kind === 'category') {
    return column.values[column.codes[point]!] ?? '';
  }
  if (column.kind === 'number') {
    const value = column.numbers[point];
    return value === undefined || Number.isNaN(value) ? '' : plainNumber(value);
  }
  if (column.kind === 'text') {
    const from = point === 0 ? 0 : column.ends[point - 1]!;
    return decoder.decode(column.bytes.subarray(from, column.ends[point]));
  }
  return '';
}

/** A number as a person would write it: float32 has no more than eight digits that mean anything. */
function plainNumber(value: number): string {
  return Number.isInteger(value) ? String(value) : exact(Number(value.toPrecision(8)));
}

/** Whether a column has arrived, so that it can be read. */
export function isHere(column: Column | undefined): column is Exclude<Column, { kind: 'offered' | 'away' }> {
  return column !== undefined && column.kind !== 'offered' && column.kind !== 'away';
}
