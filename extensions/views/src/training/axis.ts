/** The axes: values, straight or logarithmic, and steps. */
import { figure, grouped, si } from '../common/numbers';
import { clamp, Scale, ticks, tickText } from '../common/scales';

/** How a value is written at an axis or beside a curve. */
export type Write = (value: number) => string;

/** What runs across a chart. */
export interface Across {
  /** At the end of the axis, and before a place on it. */
  readonly word: string;
  /** In a sentence: what curves go over. */
  readonly long: string;
  /** Less than this apart, two places are one. */
  readonly grain: number;
  /** Round places with their texts, about `count` of them. */
  ticks(low: number, high: number, count: number): (readonly [number, string])[];
  write(value: number): string;
}

/** Maps values to pixels. */
export class Axis {
  private readonly scale: Scale;

  constructor(
    readonly low: number,
    readonly high: number,
    readonly log: boolean,
    from: number,
    to: number
  ) {
    this.scale = log
      ? new Scale(Math.log10(low), Math.log10(high), from, to)
      : new Scale(low, high, from, to);
  }

  /** The pixel of a value; not a number where the axis has no place for it. */
  at(value: number): number {
    return this.scale.at(this.log ? Math.log10(value > 0 ? value : Number.NaN) : value);
  }

  /** The pixel of a value, at the rim if it lies beyond. */
  inside(value: number): number {
    const { from, to } = this.scale;
    return clamp(this.at(value), Math.min(from, to), Math.max(from, to));
  }

  /** Round values with their texts, about `count` of them; `write` for other texts than plain numbers. */
  ticks(count: number, write?: Write): (readonly [number, string])[] {
    if (this.log) {
      return logTicks(this.low, this.high, count).map(value => [value, (write ?? logText)(value)]);
    }
    const values = ticks(this.low, this.high, count);
    const largest = Math.max(...values.map(Math.abs));
    const plain = largest >= 1e5 || largest < 1e-3 ? brief : (value: number) => tickText(value, values);
    return values.map(value => [value, (write ?? plain)(value)]);
  }
}

/** Round steps with their texts, about `count` of them: all with an SI prefix, or none. */
export function stepTicks(low: number, high: number, count: number): (readonly [number, string])[] {
  const whole = ticks(low, high, count).filter(Number.isInteger);
  const values = whole.length > 0 ? whole : [low];
  const short = values.map(value => si(value));
  const fits = Math.max(...values) >= 10_000 && new Set(short).size === short.length;
  return values.map((value, index) => [value, fits ? short[index]! : grouped(value)]);
}

/** Steps run across most charts. */
export const STEPS: Across = { word: 'step', long: 'the steps', grain: 1, ticks: stepTicks, write: grouped };

/** A round value without zeros that say nothing: `0.0002`, `5e−5`. */
function brief(value: number): string {
  return figure(value)
    .replace(/(\.\d*?)0+(?=$|e)/, '$1')
    .replace(/\.(?=$|e)/, '');
}

function logText(value: number): string {
  return value >= 1e-3 && value < 1e5 ? brief(value) : power(value);
}

function power(value: number): string {
  const [digits, exponent] = value.toExponential(0).split('e');
  return `${digits}e${exponent!.replace('+', '').replace('-', '−')}`;
}

const DIGITS: readonly (readonly number[])[] = [[1, 2, 5], [1, 3], [1]];

/** Powers of ten, with others between them where there is room for about `count` values. */
export function logTicks(low: number, high: number, count: number): number[] {
  const powers = Array.from(
    { length: Math.ceil(Math.log10(high)) - Math.floor(Math.log10(low)) + 1 },
    (_, index) => Math.floor(Math.log10(low)) + index
  );
  const inside = (digits: readonly number[], every: number): number[] =>
    // Through text: 3 * 1e-5 is 0.000030000000000000004.
    powers
      .filter(power => power % every === 0)
      .flatMap(power => digits.map(digit => Number(`${digit}e${power}`)))
      .filter(value => value >= low * 0.999 && value <= high * 1.001);
  const found = DIGITS.map(digits => inside(digits, 1)).find(values => values.length <= count + 1);
  if (found && found.length > 1) {
    return found;
  }
  // Less than a decade, or very many of them.
  return found
    ? ticks(low, high, count).filter(value => value > 0)
    : inside([1], Math.ceil(powers.length / count));
}
