/** What can be computed of a range without asking Python: checks, clipping, previews, where levels lie. */
import type { CurvePoint } from '../protocol';
import { figure } from '../common/numbers';

/** A range of values. */
export interface Range {
  readonly low: number;
  readonly high: number;
}

/** Why a range cannot be one; empty if it can. */
export function whyNot({ low, high }: Range): string {
  if (!Number.isFinite(low) || !Number.isFinite(high)) {
    return `a range needs two finite numbers; this one is ${figure(low)} to ${figure(high)}`;
  }
  if (low >= high) {
    return `the low end ${figure(low)} is not below the high end ${figure(high)}; move one of them past the other`;
  }
  return '';
}

/** The fractions of the counted values below and above a range; a bin that is cut counts in part. */
export function clipped(
  counts: ArrayLike<number>,
  observed: Range,
  range: Range
): { readonly low: number; readonly high: number } {
  const width = (observed.high - observed.low) / counts.length;
  let total = 0;
  let below = 0;
  let above = 0;
  for (let bin = 0; bin < counts.length; bin++) {
    const count = counts[bin]!;
    const start = observed.low + bin * width;
    total += count;
    if (width > 0) {
      below += count * Math.min(1, Math.max(0, (range.low - start) / width));
      above += count * Math.min(1, Math.max(0, (start + width - range.high) / width));
    }
  }
  return total > 0 ? { low: below / total, high: above / total } : { low: 0, high: 0 };
}

/** The error curve read at the width of a range; null where it does not reach. */
export function previewSqnr(curve: readonly CurvePoint[], range: Range): number | null {
  const width = range.high - range.low;
  const points = curve
    .filter((point): point is CurvePoint & { sqnr: number } => point.sqnr !== null)
    .map(point => [point.high - point.low, point.sqnr] as const)
    .sort((a, b) => a[0] - b[0]);
  for (let index = 1; index < points.length; index++) {
    const [left, from] = points[index - 1]!;
    const [right, to] = points[index]!;
    if (width >= left && width <= right && right > left) {
      return from + ((width - left) / (right - left)) * (to - from);
    }
  }
  return null;
}

/** A range with what it gives. */
interface Judged extends Range {
  readonly sqnr: number | null;
}

/**
 * The best range that is known: of the curve, of the candidates, and the one in force, which lie between the points of
 * the curve. So the layer's own figure is never above what is called the optimum.
 */
export function optimum(
  detail: Judged & { readonly curve: readonly Judged[]; readonly candidates: readonly Judged[] }
): (Range & { readonly sqnr: number }) | null {
  let best: (Range & { readonly sqnr: number }) | null = null;
  for (const { low, high, sqnr } of [...detail.curve, ...detail.candidates, detail]) {
    if (sqnr !== null && sqnr > (best?.sqnr ?? -Infinity)) {
      best = { low, high, sqnr };
    }
  }
  return best;
}

/** Which levels of the quantization get a tick, so that ticks stay at least `least` pixels apart. */
export function levels(
  range: Range,
  count: number,
  pixelsPerUnit: number,
  least: number
): { readonly values: number[]; readonly every: number } {
  const step = (range.high - range.low) / Math.max(1, count);
  let every = 1;
  while (step * every * pixelsPerUnit < least && every < count) {
    every *= 2;
  }
  const values: number[] = [];
  for (let index = 0; index <= count; index += every) {
    values.push(range.low + index * step);
  }
  return { values, every };
}

/** Whether one bin towers so high that linear counts would show nothing else. */
export function spiky(counts: ArrayLike<number>): boolean {
  const filled = Array.from(counts)
    .filter(count => count > 0)
    .sort((a, b) => b - a);
  // The mean of the larger half of the others: what a person would want to see beside the spike.
  const others = filled.slice(1, Math.max(2, Math.ceil(filled.length / 2)));
  const mean = others.reduce((sum, count) => sum + count, 0) / Math.max(1, others.length);
  return filled.length > 2 && filled[0]! > 25 * mean;
}

/** The values that a picture of a range must reach: everything seen, and the range itself. */
export function domain(observed: Range, range: Range, around: 'all' | 'range'): Range {
  const low = around === 'range' ? range.low : Math.min(observed.low, range.low);
  const high = around === 'range' ? range.high : Math.max(observed.high, range.high);
  const pad = (high - low || 1) * (around === 'range' ? 0.18 : 0.06);
  return { low: low - pad, high: high + pad };
}
