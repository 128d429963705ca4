/** Where points lie: decoded from what travelled, centred, and scaled into the box from −1 to 1. */
import type { ScatterState } from '../protocol';
import { float32, StateError, uint32 } from '../common/buffers';

/** Of how many bits a packed coordinate is. */
export const BITS = 21;

/** How many steps it counts from the least to the greatest. */
const STEPS = 2 ** BITS - 1;

/** Points in the box, and the way back to their coordinates. */
export interface Places {
  /** x, y, z by turns, from −1 to 1; not a number where a point has no place. */
  readonly positions: Float32Array;
  /** How many points have no place. */
  readonly lost: number;
  /** The coordinates that lie in the middle of the box. */
  readonly middle: readonly [number, number, number];
  /** A coordinate is its place in the box times this, from the middle on; the same along all axes. */
  readonly reach: number;
  /** The coordinates themselves, [count, dims]; null where they travelled in steps. */
  readonly exact: Float32Array | null;
}

/** Decodes the positions of a state. */
export function readPlaces(state: ScatterState, buffers: readonly DataView[]): Places {
  const { count, dims, positions_buffer: at } = state;
  // A part of a cloud lies where it does in the whole.
  const whole = state.window ? box(state.window.whole_low, state.window.whole_high) : null;
  if (state.positions_coding === 'float32') {
    return normalise(float32(buffers, at, count * dims, 'the positions'), count, dims, whole);
  }
  if (dims !== 3 || state.low.length !== 3 || state.high.length !== 3) {
    throw new StateError(`packed positions have 3 dims with two bounds each, not ${dims}`);
  }
  return unpack(uint32(buffers, at, count * 2, 'the positions'), count, state.low, state.high, whole);
}

/** What becomes the box from −1 to 1. */
type Box = Pick<Places, 'middle' | 'reach'>;

/** The box around bounds: its middle, and half of its longest side. */
function box(low: readonly number[], high: readonly number[]): Box {
  const middle: [number, number, number] = [0, 0, 0];
  let reach = 0;
  low.forEach((least, axis) => {
    const most = high[axis]!;
    if (most >= least) {
      middle[axis] = (least + most) / 2;
      reach = Math.max(reach, (most - least) / 2);
    }
  });
  return { middle, reach: reach > 0 ? reach : 1 };
}

/** Decodes points of two words each; see `encode_places` in Python. */
export function unpack(
  packed: Uint32Array,
  count: number,
  low: readonly number[],
  high: readonly number[],
  whole: Box | null = null
): Places {
  const { middle, reach } = whole ?? box(low, high);
  const [ax, ay, az] = low.map((least, axis) => (least - middle[axis]!) / reach) as [number, number, number];
  const [bx, by, bz] = low.map((least, axis) => (high[axis]! - least) / STEPS / reach) as [
    number,
    number,
    number
  ];
  const positions = new Float32Array(count * 3);
  let lost = 0;
  for (let point = 0; point < count; point++) {
    const first = packed[point * 2]!;
    const second = packed[point * 2 + 1]!;
    const at = point * 3;
    if (second >>> 31 === 1) {
      positions[at] = positions[at + 1] = positions[at + 2] = Number.NaN;
      lost += 1;
    } else {
      positions[at] = ax + bx * (first & STEPS);
      positions[at + 1] = ay + by * ((first >>> 21) | ((second & 0x3ff) << 11));
      positions[at + 2] = az + bz * ((second >>> 10) & STEPS);
    }
  }
  return { positions, lost, middle, reach, exact: null };
}

/** How far a coordinate along an axis may be off that travelled in steps, and was rounded in the box. */
export function roundingOf(
  { middle, reach }: Box,
  low: readonly number[],
  high: readonly number[],
  axis: number
): number {
  const half = (high[axis]! - low[axis]!) / STEPS / 2;
  return half + reach * 2 ** -22 + (Math.abs(middle[axis]!) + reach) * 2 ** -24;
}

/** Centres a cloud and scales it into the box from −1 to 1, with the same scale along all axes. */
export function normalise(raw: Float32Array, count: number, dims: number, whole: Box | null = null): Places {
  const { middle, reach } = whole ?? box(...boundsOf(raw, count, dims));
  const positions = new Float32Array(count * 3);
  let lost = 0;
  for (let point = 0; point < count; point++) {
    let finite = true;
    for (let axis = 0; axis < dims; axis++) {
      const value = (raw[point * dims + axis]! - middle[axis]!) / reach;
      positions[point * 3 + axis] = value;
      finite &&= Number.isFinite(value);
    }
    // One coordinate that is not finite takes the place from the whole point.
    if (!finite) {
      positions.fill(Number.NaN, point * 3, point * 3 + 3);
      lost += 1;
    }
  }
  return { positions, lost, middle, reach, exact: raw };
}

function boundsOf(raw: Float32Array, count: number, dims: number): readonly [number[], number[]] {
  const low = new Array<number>(dims).fill(Infinity);
  const high = new Array<number>(dims).fill(-Infinity);
  for (let index = 0; index < count * dims; index++) {
    const value = raw[index]!;
    if (Number.isFinite(value)) {
      const axis = index % dims;
      low[axis] = Math.min(low[axis]!, value);
      high[axis] = Math.max(high[axis]!, value);
    }
  }
  return [low, high];
}
