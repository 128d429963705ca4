/** Straight scales and round ticks. */
import { figure } from './numbers';

/** A straight map from values to pixels, and back. */
export class Scale {
  constructor(
    readonly low: number,
    readonly high: number,
    readonly from: number,
    readonly to: number
  ) {}

  /** The pixel of a value. */
  at(value: number): number {
    const span = this.high - this.low || 1;
    return this.from + ((value - this.low) / span) * (this.to - this.from);
  }

  /** The value at a pixel. */
  invert(pixel: number): number {
    const span = this.to - this.from || 1;
    return this.low + ((pixel - this.from) / span) * (this.high - this.low);
  }
}

/** The distance between round ticks: 1, 2 or 5 times a power of ten. */
export function tickStep(low: number, high: number, count: number): number {
  const raw = (high - low) / Math.max(1, count);
  if (!(raw > 0) || !Number.isFinite(raw)) {
    return 1;
  }
  const power = 10 ** Math.floor(Math.log10(raw));
  const ratio = raw / power;
  return power * (ratio < 1.5 ? 1 : ratio < 3.5 ? 2 : ratio < 7.5 ? 5 : 10);
}

/** Round values inside [low, high], about `count` of them. */
export function ticks(low: number, high: number, count: number): number[] {
  const step = tickStep(low, high, count);
  // A little more than nothing, so that rounding does not cost the tick at an end.
  const first = Math.ceil(low / step - 1e-9);
  const last = Math.floor(high / step + 1e-9);
  const values: number[] = [];
  for (let index = first; index <= last && values.length < 1000; index++) {
    // Through a decimal text, so that 3 × 0.1 is written 0.3.
    values.push(Number((index * step).toPrecision(12)));
  }
  return values;
}

/** A tick in as many decimals as its neighbours need. */
export function tickText(value: number, all: readonly number[]): string {
  const step = all.length > 1 ? Math.abs(all[1]! - all[0]!) : Math.abs(value) || 1;
  const largest = Math.max(...all.map(Math.abs), Math.abs(value));
  if (largest >= 1e5 || (largest > 0 && largest < 1e-3)) {
    return figure(value);
  }
  const decimals = Math.max(0, -Math.floor(Math.log10(step) + 1e-9));
  return value.toFixed(Math.min(6, decimals)).replace('-', '−');
}

/** A value between two bounds. */
export function clamp(value: number, low: number, high: number): number {
  return Math.min(high, Math.max(low, value));
}
