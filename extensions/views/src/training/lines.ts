/** Curves as they are drawn: which colour, smoothed or not, and their paths. */
import { categoryColour } from '../common/colours';
import { figure, si } from '../common/numbers';
import { clamp, type Scale } from '../common/scales';
import type { Axis, Write } from './axis';
import { isFine, smooth, type Line } from './series';

/** A curve as it is drawn. */
export interface Drawn {
  readonly line: Line;
  readonly colour: string;
  /** Steps and values of the loud curve. */
  readonly steps: Float64Array;
  readonly values: Float64Array;
  /** Whether the raw values are drawn behind it. */
  readonly raw: boolean;
  /** Dashes, where the colour says which run it is and cannot say which part. */
  readonly dashes: string | null;
}

/** Colours of runs that are compared: neighbours differ in lightness, too. */
const RUNS = [0, 1, 2, 5, 4, 6, 7, 3] as const;

/** The colour of a run among several; behind the first eight the hues come again, darker or lighter. */
export function runColour(run: number, dark: boolean): string {
  const turn = Math.floor(run / RUNS.length);
  return categoryColour(RUNS[run % RUNS.length]! + turn * RUNS.length, dark);
}

/** The colour of a curve of the only run. */
export function colourOf(line: Pick<Line, 'kind' | 'part'>, dark: boolean): string {
  if (line.part === 'validation') {
    return categoryColour(3, dark);
  }
  // What was set and not measured is grey.
  return categoryColour({ loss: 0, metric: 0, rate: 7, norm: 2, throughput: 4, scalar: 0 }[line.kind], dark);
}

/** How values of a curve are written: sizes with SI prefixes. */
export function writing(kind: Line['kind']): Write {
  return kind === 'throughput' ? value => (Math.abs(value) >= 1000 ? si(value) : figure(value)) : figure;
}

/**
 * The loud curve: smoothed where there is a value a step, as it is elsewhere. Raw values stay behind the run that others
 * are compared with, or behind all that are `equal`.
 */
export function prepare(line: Line, weight: number, dark: boolean, compared: boolean, equal = false): Drawn {
  const colour = compared ? runColour(line.run, dark) : colourOf(line, dark);
  const dashes = compared && line.part === 'validation' ? '5 3' : null;
  const plain = line.kind === 'rate' || line.ends.length === 0 || (weight === 0 && isFine(line));
  return plain
    ? { line, colour, dashes, steps: line.steps, values: line.values, raw: false }
    : { line, colour, dashes, steps: line.ends, values: smooth(line, weight), raw: line.run === 0 || equal };
}

/** A path through points; it breaks where there is no value, and stays inside the rim. */
export function pathOf(steps: Float64Array, values: Float64Array, x: Scale, y: Axis): string {
  const parts: string[] = [];
  let pen = 'M';
  for (let index = 0; index < steps.length; index++) {
    const down = y.at(values[index]!);
    if (Number.isNaN(down)) {
      pen = 'M';
      continue;
    }
    // Far outside the picture browsers draw wrongly; the clip hides the rest.
    const across = clamp(x.at(steps[index]!), -20_000, 20_000);
    parts.push(`${pen}${across.toFixed(1)} ${clamp(down, -2000, 2000).toFixed(1)}`);
    pen = 'L';
  }
  return parts.join('');
}
