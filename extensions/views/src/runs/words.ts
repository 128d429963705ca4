/** What is pointed at, in words. */
import { exact, figure, grouped } from '../common/numbers';
import { middleOut } from '../common/text';
import { nearest, type ChartData } from '../training/series';
import { moment, type Over } from './across';
import type { Curves } from './lines';

/** What a run has at a place: exactly, and when it was written. Empty where it has nothing. */
export function wordsOf(
  data: ChartData,
  curves: Curves | undefined,
  run: number,
  at: number,
  name: string,
  over: Over | 'recall'
): string {
  const line = data.lines.find(one => one.run === run);
  const curve = curves?.curves.find(one => one.run === run);
  if (!line || !curve) {
    return '';
  }
  const here = nearest(line.steps, at);
  const value = line.values[here]!;
  const said = Number.isNaN(value) ? 'not finite' : exact(Number(value.toPrecision(9)));
  const who = middleOut(name, 40);
  if (over === 'recall') {
    return `${who} precision ${said}, threshold ${figure(curve.times[here])}, step ${grouped(curve.step)}`;
  }
  // By its value: over time the order may be another.
  const place = curve.values.findIndex(
    (one, index) => Object.is(one, value) && (over !== 'step' || curve.steps[index] === line.steps[here])
  );
  const step = over === 'step' ? '' : `, step ${grouped(curve.steps[place]!)}`;
  return `${who} ${said}${step}, ${moment(curve.times[place]!)}`;
}
