/** The curves of a log as numbers: decoded, put over steps or times, and made ready for a chart. */
import type { RunsChart } from '../protocol';
import { float64, StateError } from '../common/buffers';
import type { ChartData, Line } from '../training/series';
import type { Steps } from '../training/window';
import type { Over } from './across';

const MOST_POINTS = 100_000;

/** A tag of a run. */
export interface Curve {
  readonly run: number;
  readonly missing: number;
  readonly of: number;
  readonly step: number;
  readonly steps: Float64Array;
  readonly values: Float64Array;
  readonly times: Float64Array;
  readonly ends: Float64Array;
  readonly means: Float64Array;
  readonly counts: Float64Array;
  readonly endTimes: Float64Array;
}

/** A tag of several runs. */
export interface Curves {
  readonly tag: string;
  readonly curves: readonly Curve[];
}

/** The curves of a chart with their buffers. */
export function decode({ tag, lines }: RunsChart, buffers: readonly DataView[]): Curves {
  const curves = lines.map((line): Curve => {
    const { points, stretches } = line;
    // Written so that what is no number is refused, too.
    if (!(points >= 0 && points <= MOST_POINTS && stretches >= 0 && stretches <= MOST_POINTS)) {
      throw new StateError(`a curve of ${points} points and ${stretches} stretches cannot be drawn`);
    }
    const all = float64(buffers, line.points_buffer, 3 * points, `the curve ${tag}`);
    const parts = float64(buffers, line.means_buffer, 4 * stretches, `the means of ${tag}`);
    const row = (array: Float64Array, index: number, count: number): Float64Array =>
      array.subarray(index * count, (index + 1) * count);
    return {
      run: line.run,
      missing: line.missing,
      of: line.of,
      step: line.step,
      steps: row(all, 0, points),
      values: row(all, 1, points),
      times: row(all, 2, points),
      ends: row(parts, 0, stretches),
      means: row(parts, 1, stretches),
      counts: row(parts, 2, stretches),
      endTimes: row(parts, 3, stretches)
    };
  });
  return { tag, curves };
}

/** Puts several lists into the order of the first, where that does not rise. */
function ordered(across: Float64Array, ...others: readonly Float64Array[]): Float64Array[] {
  if (across.every((value, index) => index === 0 || value >= across[index - 1]!)) {
    return [across, ...others];
  }
  const order = Array.from(across.keys()).sort((a, b) => across[a]! - across[b]!);
  return [across, ...others].map(list => Float64Array.from(order, index => list[index]!));
}

/** Curves as a chart draws them, over steps or over time. */
export function chartOf({ tag, curves }: Curves, over: Over, kind: Line['kind']): ChartData {
  const lines = curves
    .filter(curve => curve.steps.length > 0)
    .map((curve): Line => {
      // A run begins with the first that it wrote under this tag.
      const start = over === 'relative' ? curve.times.reduce((a, b) => Math.min(a, b), Infinity) : 0;
      const at = (steps: Float64Array, times: Float64Array): Float64Array =>
        over === 'step' ? steps : over === 'wall' ? times : times.map(time => time - start);
      const [steps, values] = ordered(at(curve.steps, curve.times), curve.values);
      const [ends, means, counts] = ordered(at(curve.ends, curve.endTimes), curve.means, curve.counts);
      return {
        run: curve.run,
        name: tag,
        kind,
        part: '',
        missing: curve.missing,
        steps: steps!,
        values: values!,
        ends: ends!,
        means: means!,
        counts: counts!
      };
    });
  return { key: tag, title: tag, kind, lines };
}

/** From where to where the curves of a chart reach that are not put away. */
export function reach({ lines }: ChartData, hidden: ReadonlySet<number>): Steps {
  const shown = lines.filter(line => !hidden.has(line.run));
  const ends = (shown.length > 0 ? shown : lines).flatMap(line => [line.steps[0]!, line.steps.at(-1)!]);
  const finite = ends.filter(Number.isFinite);
  return finite.length > 0 ? { low: Math.min(...finite), high: Math.max(...finite) } : { low: 0, high: 1 };
}
