/** Small tools for making example data by rule. */
import type { Head, ViewName, Views } from '../../src/protocol';

/** A state and its buffers. */
export interface Example {
  readonly state: Views[ViewName]['state'];
  readonly buffers: readonly DataView[];
}

/** Text that would do harm if it were read as markup. */
export const HOSTILE = '<img src=x onerror="window.hacked=true">';

/** A stream of numbers from 0 to 1 that is the same in every run. */
export function random(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}

/** A normally distributed number from a stream. */
export function normal(next: () => number): number {
  return Math.sqrt(-2 * Math.log(next() + 1e-12)) * Math.cos(2 * Math.PI * next());
}

/** Numbers as a buffer. */
export function floats(values: Float32Array | readonly number[]): DataView {
  const array = Float32Array.from(values);
  return new DataView(array.buffer);
}

/** A head made `age` seconds ago. */
export function head(title: string, more: Partial<Head> = {}): Head {
  return {
    title,
    source: 'cell 4',
    updated: Date.now() / 1000,
    live: false,
    code: `wb.show(${JSON.stringify(title)})`,
    ...more
  };
}

/** A digit as 28 × 28 grey values from 0 to 1. */
export function digit(value: number, seed: number): Float32Array {
  const canvas = document.createElement('canvas');
  canvas.width = canvas.height = 28;
  const context = canvas.getContext('2d')!;
  const next = random(seed * 7919 + value);
  context.fillStyle = '#000';
  context.fillRect(0, 0, 28, 28);
  context.translate(14, 15);
  context.rotate((next() - 0.5) * 0.5);
  context.scale(0.9 + next() * 0.25, 0.9 + next() * 0.25);
  context.fillStyle = '#fff';
  context.strokeStyle = '#fff';
  context.lineWidth = next() * 1.6;
  context.font = `${next() > 0.5 ? 'italic ' : ''}22px serif`;
  context.textAlign = 'center';
  context.textBaseline = 'middle';
  context.fillText(String(value), 0, 0);
  context.strokeText(String(value), 0, 0);
  const pixels = context.getImageData(0, 0, 28, 28).data;
  return Float32Array.from({ length: 784 }, (_, index) => pixels[index * 4]! / 255);
}

/** Counts of values in equal bins. */
export function histogram(values: ArrayLike<number>, low: number, high: number, bins: number): number[] {
  const counts = new Array<number>(bins).fill(0);
  for (let index = 0; index < values.length; index++) {
    const value = values[index]!;
    if (value >= low && value <= high) {
      const bin = Math.min(bins - 1, Math.floor(((value - low) / (high - low)) * bins));
      counts[bin] = counts[bin]! + 1;
    }
  }
  return counts;
}
