/** The nearest points, exactly, where no kernel can be asked: as `workbench.embedding.neighbours` finds them. */
import type { Neighbour, ScatterState } from '../protocol';
import { uint32 } from '../common/buffers';
import { pointOf } from './cloud';

/** The `k` nearest to a point among vectors of `size` numbers each, row by row; none where it has no distance, or is none. */
export function nearest(
  vectors: Float32Array,
  size: number,
  point: number,
  k: number,
  metric: ScatterState['metric']
): Neighbour[] {
  const count = Math.floor(vectors.length / size);
  // Of a point that is not there nothing is known.
  if (!(point >= 0 && point < count)) {
    return [];
  }
  const own = vectors.subarray(point * size, (point + 1) * size);
  const length = Math.sqrt(dot(own, own));
  const found: Neighbour[] = [];
  for (let index = 0; index < count; index++) {
    const other = vectors.subarray(index * size, (index + 1) * size);
    const distance =
      metric === 'euclidean'
        ? apart(own, other)
        : Math.min(2, Math.max(0, 1 - dot(own, other) / (length * Math.sqrt(dot(other, other)))));
    if (index !== point && Number.isFinite(distance)) {
      found.push({ index, distance });
    }
  }
  // A stable order: of points equally far the one with the lower index comes first.
  return found.sort((a, b) => a.distance - b.distance || a.index - b.index).slice(0, k);
}

/** As `nearest`, of points that are known by their `numbers`, ascending; null where these count from 0. */
export function nearestIn(
  vectors: Float32Array,
  size: number,
  numbers: Uint32Array | null,
  point: number,
  k: number,
  metric: ScatterState['metric']
): Neighbour[] {
  const count = Math.floor(vectors.length / size);
  const own = pointOf({ count, numbers, weights: null }, point);
  const found = nearest(vectors, size, own, k, metric);
  return numbers ? found.map(({ index, distance }) => ({ index: numbers[index]!, distance })) : found;
}

/** The numbers of the points that are drawn; null where all are. */
export function shownNumbers(state: ScatterState, buffers: readonly DataView[]): Uint32Array | null {
  const at = state.window?.numbers_buffer ?? null;
  return at === null ? null : uint32(buffers, at, state.count, "the points' numbers");
}

function dot(a: Float32Array, b: Float32Array): number {
  let sum = 0;
  for (let at = 0; at < a.length; at++) {
    sum += a[at]! * b[at]!;
  }
  return sum;
}

function apart(a: Float32Array, b: Float32Array): number {
  let sum = 0;
  for (let at = 0; at < a.length; at++) {
    sum += (a[at]! - b[at]!) ** 2;
  }
  return Math.sqrt(sum);
}
