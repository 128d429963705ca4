/** What stands on and around the curves of a chart: axes, ends of epochs, spikes, what is no number, a failure. */
import type { TrainingMark, TrainingSpike } from '../protocol';
import { categoryColour, hex, NAN_COLOUR } from '../common/colours';
import { s, type Attributes } from '../common/dom';
import { exact, figure, grouped } from '../common/numbers';
import { clamp, type Scale } from '../common/scales';
import { textWidth } from '../common/text';
import type { Theme } from '../common/theme';
import type { Across, Axis, Write } from './axis';
import type { Drawn } from './lines';

/** Left of every chart, so that steps lie below each other. */
export const LEFT = 52;
/** Right of every chart. */
export const RIGHT = 10;
/** Below the axis of steps. */
export const BOTTOM = 20;
const TALL = 130;
const MOST_CROSSES = 200;

/** Where a chart is drawn. */
export interface Field {
  readonly svg: SVGSVGElement;
  readonly x: Scale;
  readonly y: Axis;
  readonly width: number;
  readonly height: number;
  /** Where the curves begin, from above. */
  readonly top: number;
  readonly theme: Theme;
  readonly across: Across;
}

/** From where to where something reaches across. */
export type Span = readonly [number, number];

/** Room above the curves: a tall chart has the numbers of its epochs there. */
export function topOf(height: number): number {
  return height > TALL ? 16 : 8;
}

/** The least of 1, 2, 5, 10, 20 … that is no less than a number. */
export function roundUp(number: number): number {
  const power = 10 ** Math.floor(Math.log10(Math.max(1, number)));
  return power * ([1, 2, 5, 10].find(digit => digit * power >= number) ?? 10);
}

/** Lets text stand out from the curves behind it. */
function halo(theme: Theme): Attributes {
  return { stroke: `rgb(${theme.paper.join()})`, 'stroke-width': 3, 'paint-order': 'stroke' };
}

/** Whether a step lies in what is shown. */
function shown({ x }: Field, step: number): boolean {
  return step >= x.low && step <= x.high;
}

/** Both axes. */
export function drawAxes(field: Field, write?: Write): void {
  const { svg, x, y, width, height, theme, across } = field;
  const base = height - BOTTOM;
  const text = { 'font-size': 10, fill: theme.quiet };
  for (const [value, words] of y.ticks(height > TALL ? 5 : 3, write)) {
    const down = y.at(value);
    svg.append(
      s('line', { x1: LEFT, x2: width - RIGHT, y1: down, y2: down, stroke: theme.line }),
      s('text', { x: LEFT - 6, y: down + 3.5, 'text-anchor': 'end', ...text }, words)
    );
  }
  svg.append(s('text', { x: LEFT - 6, y: height - 5, 'text-anchor': 'end', ...text }, across.word));
  for (const [value, words] of across.ticks(x.low, x.high, clamp(width / 80, 2, 8))) {
    const half = textWidth(words, 10) / 2;
    const at = clamp(x.at(value), LEFT, width - half - 1);
    svg.append(
      s('line', { x1: x.at(value), x2: x.at(value), y1: base, y2: base + 3, stroke: theme.quiet }),
      s('text', { x: at, y: height - 5, 'text-anchor': 'middle', ...text }, words)
    );
  }
}

/** Ends of epochs, at round numbers where there are many; the numbers stand over large charts. */
export function drawEpochs(field: Field, all: readonly TrainingMark[]): void {
  const { svg, x, top, height, theme } = field;
  const marks = all.filter(mark => shown(field, mark.step));
  const first = marks[0];
  const last = marks.at(-1);
  if (!first || !last) {
    return;
  }
  const apart = (x.at(last.step) - x.at(first.step)) / Math.max(1, last.epoch - first.epoch);
  const room = 14 + textWidth(String(last.epoch), 9.5);
  const numbered = marks.filter(mark => mark.epoch % (marks.length > 1 ? roundUp(room / apart) : 1) === 0);
  let lines = '';
  for (const mark of apart >= 14 || marks.length === 1 ? marks : numbered) {
    lines += `M${x.at(mark.step).toFixed(1)} ${top}V${height - BOTTOM}`;
  }
  const stroke = { stroke: theme.quiet, 'stroke-opacity': 0.6, 'stroke-dasharray': '1 3' };
  svg.append(s('path', { d: lines, ...stroke, 'data-mark': 'epochs' }));
  let named = false;
  for (const mark of height > TALL ? numbered : []) {
    const at = x.at(mark.step);
    const words = !named && at - textWidth('epoch 00', 9.5) > 0 ? `epoch ${mark.epoch}` : String(mark.epoch);
    named = true;
    svg.append(s('text', { x: at, y: 10, 'font-size': 9.5, fill: theme.quiet, 'text-anchor': 'end' }, words));
  }
}

/** A cross under the top at each value that is no number. */
export function drawMissing(field: Field, { line }: Drawn): void {
  const { svg, x, top } = field;
  let crosses = '';
  let count = 0;
  for (let index = 0; index < line.steps.length && count < MOST_CROSSES; index++) {
    if (!Number.isFinite(line.values[index]!) && shown(field, line.steps[index]!)) {
      crosses += `M${(x.at(line.steps[index]!) - 3).toFixed(1)} ${top + 1}l6 6m0 -6l-6 6`;
      count += 1;
    }
  }
  if (count > 0) {
    svg.append(
      s('path', { d: crosses, stroke: hex(NAN_COLOUR), 'stroke-width': 1.5, 'data-mark': 'missing' })
    );
  }
}

/** A triangle at each spike, with its step where there is room; the largest come first. */
export function drawSpikes(field: Field, spikes: readonly TrainingSpike[], taken: Span[]): void {
  const { svg, x, y, width, top, theme } = field;
  const colour = categoryColour(5, theme.dark);
  const bySize = spikes
    .filter(spike => shown(field, spike.step))
    // What is usual may be 0.
    .sort((a, b) => b.value / (b.usual || 1) - a.value / (a.usual || 1));
  for (const spike of bySize) {
    const at = x.at(spike.step);
    const down = Math.max(top + 7, y.inside(spike.value) - 3);
    const group = s(
      'g',
      { 'data-spike': spike.step },
      s(
        'title',
        {},
        `step ${grouped(spike.step)}: ${exact(spike.value)}, usual there is ${figure(spike.usual)}`
      ),
      s('path', { d: `M${at.toFixed(1)} ${down - 1}l-4 -7h8z`, fill: colour })
    );
    const words = grouped(spike.step);
    const wide = textWidth(words, 10) + 8;
    const others = bySize
      .filter(one => one !== spike)
      .map((one): Span => [x.at(one.step) - 5, x.at(one.step) + 5]);
    const isFree = (span: Span): boolean =>
      span[0] >= LEFT &&
      span[1] < width - RIGHT &&
      [...taken, ...others].every(([from, to]) => span[1] < from || span[0] > to);
    // Beside its own mark: another one that touches that from behind does not take the label's place.
    const sides: readonly Span[] = [
      [at + 5, at + wide],
      [at - wide, at - 5]
    ];
    const span = sides.find(isFree);
    if (span) {
      const right = span === sides[0];
      taken.push(span);
      const place = { x: right ? at + 6 : at - 6, y: down - 1, 'text-anchor': right ? 'start' : 'end' };
      const look = { 'font-size': 10, 'font-weight': 600, fill: colour, ...halo(theme) };
      group.append(s('text', { ...place, ...look }, words));
    }
    svg.append(group);
  }
}

/** Where a training failed; the step is told where `told`. Returns what its words take up, across. */
export function drawFailure(field: Field, step: number, told: boolean): Span[] {
  const { svg, x, top, height, theme } = field;
  if (!shown(field, step)) {
    return [];
  }
  const at = clamp(x.at(step), LEFT, x.to);
  const colour = theme.dark ? '#ff8a80' : '#b3261e';
  const line = { x1: at, x2: at, y1: top, y2: height - BOTTOM };
  svg.append(s('line', { ...line, stroke: colour, 'stroke-width': 1.5, 'data-mark': 'failed' }));
  const words = `✕ step ${grouped(step)}`;
  const wide = textWidth(words, 10) + 5;
  const left = at - wide > LEFT;
  if (told) {
    const place = { x: at + (left ? -5 : 5), y: top + 9, 'text-anchor': left ? 'end' : 'start' };
    const look = { ...halo(theme), 'font-size': 10, 'font-weight': 600, fill: colour };
    svg.append(s('text', { ...place, ...look }, words));
  }
  return [left ? [at - wide, at] : [at, at + wide]];
}

/** The line of the cursor, with its step on the axis. */
export function cursorLine(field: Field, step: number): SVGElement[] {
  const { x, top, height, width, theme, across } = field;
  const at = x.at(step);
  const words = across.write(step);
  const half = textWidth(words, 10) / 2 + 4;
  const middle = clamp(at, half, width - half);
  const paper = `rgb(${theme.paper.join()})`;
  return [
    s('line', {
      x1: at,
      x2: at,
      y1: top,
      y2: height - BOTTOM,
      stroke: theme.quiet,
      'stroke-dasharray': '2 2'
    }),
    s('rect', {
      x: middle - half,
      y: height - 15,
      width: 2 * half,
      height: 14,
      rx: 3,
      fill: paper,
      stroke: theme.quiet
    }),
    s(
      'text',
      {
        x: middle,
        y: height - 4.5,
        'text-anchor': 'middle',
        'font-size': 10,
        'font-weight': 600,
        fill: theme.ink
      },
      words
    )
  ];
}
