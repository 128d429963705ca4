/** The part of a very large cloud that is drawn: what can be seen is asked for, once a hand has come to rest. */
import type { ScatterState } from '../protocol';
import { uint32 } from '../common/buffers';
import { grouped } from '../common/numbers';
import { project, type Projection } from './camera';
import { pointOf, type Cloud } from './cloud';

/** A box of coordinates. */
export interface Bounds {
  readonly low: readonly number[];
  readonly high: readonly number[];
}

/** So long a hand must rest. */
const REST_MILLISECONDS = 250;

/** How much more than can be seen is asked for, on each side, so that a small shift needs nothing new. */
const MARGIN = 0.25;

/** Asks for closer looks. */
export class Window {
  private timer: ReturnType<typeof setTimeout> | undefined;
  private asked = '';
  private key = '';

  constructor(private readonly ask: (low: number[], high: number[]) => unknown) {}

  /** Takes in what the last picture showed. */
  seen(state: ScatterState, cloud: Cloud, at: Projection, width: number, height: number): void {
    const key = [...at.rows, at.unit, at.centerX, at.centerY, width, height].join();
    if (!state.window || key === this.key) {
      return;
    }
    const first = this.key === '';
    this.key = key;
    clearTimeout(this.timer);
    if (!first) {
      this.timer = setTimeout(() => this.rest(state, cloud, at, width, height), REST_MILLISECONDS);
    }
  }

  /** Forgets what it waits for. */
  destroy(): void {
    clearTimeout(this.timer);
  }

  private rest(state: ScatterState, cloud: Cloud, at: Projection, width: number, height: number): void {
    const visible = visibleBounds(state, cloud, at, width, height);
    const wanted = visible && wantedBounds(state, visible, cloud.weights !== null);
    const key = JSON.stringify(wanted);
    if (wanted && key !== this.asked) {
      this.asked = key;
      this.ask([...wanted.low], [...wanted.high]);
    }
  }
}

/** The coordinates that can be seen; null where nothing of the cloud can. */
export function visibleBounds(
  state: ScatterState,
  cloud: Cloud,
  at: Projection,
  width: number,
  height: number
): Bounds | null {
  const { dims } = state;
  const { middle, reach, positions, count, cell } = cloud;
  const low = new Array<number>(dims).fill(Infinity);
  const high = new Array<number>(dims).fill(-Infinity);
  if (at.perspective === 0 && dims === 2) {
    [low[0], high[0]] = [-at.centerX / at.unit, (width - at.centerX) / at.unit];
    [low[1], high[1]] = [(at.centerY - height) / at.unit, at.centerY / at.unit];
  } else {
    // Of a turned cloud what can be seen is no box: the box around what is seen of it is.
    for (let point = 0; point < count; point++) {
      const from = point * 3;
      const [x, y] = project(at, positions[from]!, positions[from + 1]!, positions[from + 2]!);
      if (x >= 0 && y >= 0 && x <= width && y <= height) {
        for (let axis = 0; axis < dims; axis++) {
          low[axis] = Math.min(low[axis]!, positions[from + axis]! - cell / 2);
          high[axis] = Math.max(high[axis]!, positions[from + axis]! + cell / 2);
        }
      }
    }
  }
  if (low.some((least, axis) => !(least <= high[axis]!))) {
    return null;
  }
  return {
    low: low.map((value, axis) => value * reach + middle[axis]!),
    high: high.map((value, axis) => value * reach + middle[axis]!)
  };
}

/** What to ask for, so that a person sees all there is of `visible`; null where what is drawn is as good. */
export function wantedBounds(state: ScatterState, visible: Bounds, cells: boolean): Bounds | null {
  const { low, high, whole_low: wholeLow, whole_high: wholeHigh } = state.window!;
  const clip = (value: number, axis: number): number =>
    Math.min(wholeHigh[axis]!, Math.max(wholeLow[axis]!, value));
  const seenLow = visible.low.map(clip);
  const seenHigh = visible.high.map(clip);
  const outside = seenLow.some((value, axis) => value < low[axis]! || seenHigh[axis]! > high[axis]!);
  const wantedLow = seenLow.map((value, axis) => clip(value - (seenHigh[axis]! - value) * MARGIN, axis));
  const wantedHigh = seenHigh.map((value, axis) => clip(value + (value - seenLow[axis]!) * MARGIN, axis));
  // Only where it tells much more: a third of what was looked at along an axis.
  const finer =
    cells && low.some((least, axis) => (wantedHigh[axis]! - wantedLow[axis]!) * 1.5 < high[axis]! - least);
  if (!outside && !finer) {
    return null;
  }
  const whole = wholeLow.every(
    (least, axis) => wantedLow[axis] === least && wantedHigh[axis] === wholeHigh[axis]
  );
  return whole ? { low: [], high: [] } : { low: wantedLow, high: wantedHigh };
}

/** A state whose points are known by their places among those that are drawn, instead of by their numbers. */
export function localised(state: ScatterState, buffers: readonly DataView[]): ScatterState {
  const { window, count } = state;
  if (!window || count === 0) {
    return state;
  }
  const at = window.numbers_buffer;
  const numbers = at === null ? null : uint32(buffers, at, count, "the points' numbers");
  const place = (number: number): number =>
    numbers === null ? -1 : pointOf({ numbers, count, weights: null }, number);
  return {
    ...state,
    selected: state.selected.map(place).filter(point => point >= 0),
    neighbours: state.neighbours.flatMap(({ index, distance }) =>
      place(index) >= 0 ? [{ index: place(index), distance }] : []
    )
  };
}

/**
 * What is drawn of how many, in words, where `lost` of those that came have no place; a page that stands `alone` has
 * nobody to ask for a closer look.
 */
export function pointsInWords(state: ScatterState, alone = false, lost = 0): string {
  const { window, count, total } = state;
  if (!window) {
    return `${grouped(count - lost)} of ${grouped(total)} points`;
  }
  if (window.weights_buffer === null) {
    return `${grouped(count)} of ${grouped(total)} points: all in this part`;
  }
  const of = window.inside < total ? `${grouped(window.inside)} of ` : '';
  return `${of}${grouped(total)} points as density${alone ? '' : '; zoom in to see points'}`;
}
