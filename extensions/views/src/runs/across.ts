/** What runs across a chart of a log: steps, time since each run began, the time of day, or recall. */
import { duration, figure } from '../common/numbers';
import { ticks, tickText } from '../common/scales';
import { STEPS, type Across } from '../training/axis';

/** What a person can choose. */
export type Over = 'step' | 'relative' | 'wall';

const MINUTE = 60;
const HOUR = 3600;
const DAY = 86_400;

/** Distances between ticks of time, in seconds. */
const ROUND = [1, 2, 5, 10, 15, 30]
  .flatMap(one => [one, one * MINUTE])
  .concat([1, 2, 3, 6, 12].map(one => one * HOUR))
  .concat([1, 2, 7, 14, 30, 90, 365].map(one => one * DAY))
  .sort((a, b) => a - b);

function timeStep(low: number, high: number, count: number): number {
  const wanted = (high - low) / Math.max(1, count);
  return ROUND.find(one => one >= wanted) ?? ROUND.at(-1)!;
}

/** Multiples of `step` in a range, shifted by `offset`. */
function multiples(low: number, high: number, step: number, offset = 0): number[] {
  const found: number[] = [];
  for (
    let at = Math.ceil((low + offset) / step) * step - offset;
    at <= high && found.length < 100;
    at += step
  ) {
    found.push(at);
  }
  return found;
}

const RELATIVE: Across = {
  word: 'time',
  long: 'time since each run began',
  grain: 1e-3,
  ticks: (low, high, count) => {
    if (high - low < count) {
      const values = ticks(low, high, count);
      return values.map(value => [value, `${tickText(value, values)} s`]);
    }
    const step = timeStep(low, high, count);
    const [size, unit] =
      step < MINUTE ? [1, 's'] : step < HOUR ? [MINUTE, 'min'] : step < DAY ? [HOUR, 'h'] : [DAY, 'd'];
    return multiples(low, high, step).map(value => [value, `${figure(value / size)} ${unit}`]);
  },
  write: duration
};

function two(value: number): string {
  return String(value).padStart(2, '0');
}

function clock(date: Date, seconds: boolean): string {
  const text = `${two(date.getHours())}:${two(date.getMinutes())}`;
  return seconds ? `${text}:${two(date.getSeconds())}` : text;
}

function day(date: Date): string {
  return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
}

/** A moment in the time of this place: `2026-11-27 14:03:20`. */
export function moment(seconds: number): string {
  const date = new Date(seconds * 1000);
  return Number.isNaN(date.getTime()) ? '–' : `${day(date)} ${clock(date, true)}`;
}

const WALL: Across = {
  word: 'clock',
  long: 'time of day',
  grain: 1e-3,
  ticks: (low, high, count) => {
    // Dates take more room than numbers.
    const step = timeStep(low, high, Math.max(1, count * 0.7));
    const offset = -new Date(low * 1000).getTimezoneOffset() * MINUTE;
    let before = '';
    return multiples(low, high, step, offset).map(value => {
      const date = new Date(value * 1000);
      const named = day(date).slice(5);
      const words = step >= DAY ? named : clock(date, step < MINUTE);
      const fresh = step < DAY && named !== before && before !== '';
      before = named;
      return [value, fresh ? `${named} ${words}` : words];
    });
  },
  write: moment
};

/** By what a person can choose. */
export const ACROSS: Readonly<Record<Over, Across>> = { step: STEPS, relative: RELATIVE, wall: WALL };

/** Across a curve of precision and recall. */
export const RECALL: Across = {
  word: 'recall',
  long: 'recall',
  grain: 1e-4,
  ticks: (low, high, count) => {
    const values = ticks(low, high, count);
    return values.map(value => [value, tickText(value, values)]);
  },
  write: figure
};
