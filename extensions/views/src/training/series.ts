/** The curves of a training as numbers: decoded, smoothed, put together into charts, and read at a step. */
import type { TrainingCurve, TrainingMark } from '../protocol';
import { float64, StateError } from '../common/buffers';
import type { Steps } from './window';

const MOST_POINTS = 100_000;

/** What is drawn in one chart: of a training, or of a log, where it is any number. */
export type Kind = TrainingCurve['kind'] | 'scalar';

/** One curve. */
export interface Line {
  /** 0 for the run that the view belongs to, then those that it is compared with. */
  readonly run: number;
  readonly name: string;
  readonly kind: Kind;
  /** Empty where runs have no parts. */
  readonly part: TrainingCurve['part'] | '';
  readonly missing: number;
  /** Where the values lie across: at steps, or at whatever else the chart is drawn over, rising. */
  readonly steps: Float64Array;
  readonly values: Float64Array;
  /** Last step of each stretch; empty where there is a value an epoch. */
  readonly ends: Float64Array;
  readonly means: Float64Array;
  readonly counts: Float64Array;
}

/** Curves that are drawn over the same axes. */
export interface ChartData {
  readonly key: string;
  readonly title: string;
  readonly kind: Kind;
  readonly lines: readonly Line[];
}

/** A curve of a run with its buffers. */
export function decode(curve: TrainingCurve, buffers: readonly DataView[], run = 0): Line {
  const { points, stretches } = curve;
  // Written so that what is no number is refused, too.
  if (!(points >= 0 && points <= MOST_POINTS && stretches >= 0 && stretches <= MOST_POINTS)) {
    throw new StateError(`a curve of ${points} points and ${stretches} stretches cannot be drawn`);
  }
  const pairs = float64(buffers, curve.points_buffer, 2 * points, `the curve ${curve.name}`);
  const parts = float64(buffers, curve.means_buffer, 3 * stretches, `the means of ${curve.name}`);
  return {
    run,
    name: curve.name,
    kind: curve.kind,
    part: curve.part,
    missing: curve.missing,
    steps: pairs.subarray(0, points),
    values: pairs.subarray(points, 2 * points),
    ends: parts.subarray(0, stretches),
    means: parts.subarray(stretches, 2 * stretches),
    counts: parts.subarray(2 * stretches, 3 * stretches)
  };
}

const ORDER: readonly Kind[] = ['loss', 'metric', 'rate', 'norm', 'throughput'];

/** Charts in the order in which they are read: loss, metrics, then what explains them. */
export function arrange(lines: readonly Line[]): ChartData[] {
  const charts = new Map<string, { data: Omit<ChartData, 'lines'>; lines: Line[] }>();
  for (const line of lines.filter(one => one.steps.length > 0)) {
    const key = line.kind === 'metric' ? `metric ${line.name}` : line.kind;
    const unit = line.kind === 'throughput' ? ', samples/s' : '';
    const title = (line.kind === 'metric' ? line.name.replaceAll('_', ' ') : line.name) + unit;
    const chart = charts.get(key) ?? { data: { key, title, kind: line.kind }, lines: [] };
    chart.lines.push(line);
    charts.set(key, chart);
  }
  return [...charts.values()]
    .map(({ data, lines: own }) => ({ ...data, lines: own }))
    .sort((a, b) => ORDER.indexOf(a.kind) - ORDER.indexOf(b.kind));
}

/**
 * The running average at the end of each stretch, corrected for its start. `weight` is what stays from one
 * whole stretch to the next, so that it smooths a picture of a million steps as much as one of a hundred.
 */
export function smooth(line: Line, weight: number): Float64Array {
  const result = new Float64Array(line.ends.length);
  // The first one is whole; the last may be a part.
  const whole = line.counts[0] ?? 1;
  let total = 0;
  let mass = 0;
  for (let index = 0; index < result.length; index++) {
    const value = line.means[index]!;
    if (Number.isFinite(value)) {
      const stays = weight ** (line.counts[index]! / whole);
      total = stays * total + (1 - stays) * value;
      mass = stays * mass + (1 - stays);
    }
    result[index] = mass > 0 ? total / mass : Number.NaN;
  }
  return result;
}

/** Whether each stretch is one step: then the points are the means. */
export function isFine(line: Line): boolean {
  return line.ends.length === 0 || line.counts[0] === 1;
}

/** The position of the step nearest to `step`, by halving; −1 where there is none. */
export function nearest(steps: ArrayLike<number>, step: number): number {
  let low = 0;
  let high = steps.length - 1;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (steps[middle]! < step) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low > 0 && step - steps[low - 1]! <= steps[low]! - step ? low - 1 : steps.length > 0 ? low : -1;
}

/** The values of the steps that are shown, and one more at each side: curves go on to the rim. */
export function within(steps: Float64Array, values: Float64Array, shown: Steps): Float64Array {
  const first = nearest(steps, shown.low);
  const last = nearest(steps, shown.high);
  const from = first > 0 && steps[first]! > shown.low ? first - 1 : first;
  const until = last + 1 < steps.length && steps[last]! < shown.high ? last + 1 : last;
  return first < 0 ? values : values.subarray(from, until + 1);
}

/** The epoch that a step belongs to, in words; a range where not every epoch is marked. */
export function epochOf(step: number, marks: readonly TrainingMark[], completed: number): string {
  const next = marks.findIndex(mark => mark.step >= step);
  const before = (next < 0 ? marks.at(-1) : marks[next - 1])?.epoch ?? 0;
  const until = next < 0 ? completed + 1 : marks[next]!.epoch;
  return until - before <= 1 ? `epoch ${until}` : `epochs ${before + 1}–${until}`;
}

/** Least and greatest value to draw: what stands out does not flatten the rest. */
export function extent(
  loud: readonly ArrayLike<number>[],
  quiet: readonly number[],
  log: boolean
): readonly [number, number] {
  const drawn = (value: number): boolean => Number.isFinite(value) && (!log || value > 0);
  const inner = quiet.filter(drawn).sort((a, b) => a - b);
  const cut = Math.floor(inner.length / 100);
  const values = [...inner.slice(cut, inner.length - cut)];
  let low = values[0] ?? Infinity;
  let high = values.at(-1) ?? -Infinity;
  for (const line of loud) {
    for (let index = 0; index < line.length; index++) {
      const value = line[index]!;
      if (drawn(value)) {
        low = Math.min(low, value);
        high = Math.max(high, value);
      }
    }
  }
  if (!(low <= high)) {
    return log ? [0.1, 1] : [0, 1];
  }
  if (log) {
    const room = (high / low) ** 0.05 || 1;
    return high > low ? [low / room, high * room] : [low / 2, high * 2];
  }
  const pad = (high - low) * 0.06 || Math.abs(high) * 0.1 || 1;
  return [low - pad, high + pad];
}
