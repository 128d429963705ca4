/** An axis for values, straight or logarithmic. */
import { figure } from '../common/numbers';
import { clamp, Scale, ticks, tickText } from '../common/scales';

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

  /** Round values with their texts, about `count` of them. */
  ticks(count: number): (readonly [number, string])[] {
    if (!this.log) {
      const values = ticks(this.low, this.high, count);
      return values.map(value => [value, tickText(value, values)]);
    }
    return logTicks(this.low, this.high, count).map(value => [value, logText(value)]);
  }
}

function logText(value: number): string {
  return value >= 1e-3 && value < 1e5
    ? figure(value)
        .replace(/(\.\d*?)0+$/, '$1')
        .replace(/\.$/, '')
    : power(value);
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
