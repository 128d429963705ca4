/** Values of a layer before and after quantization, on the held batch, over its histogram. */
import type { ValuesBeforeAfter } from '../protocol';
import { h, replace, s } from '../common/dom';
import { decibels, exact, figure } from '../common/numbers';
import { Scale } from '../common/scales';
import type { Theme } from '../common/theme';

/** What was counted, with the counts themselves. */
export interface Overlay {
  readonly values: ValuesBeforeAfter;
  readonly float: Float32Array;
  readonly integer: Float32Array;
}

const WHOLE =
  'with all that comes before in codes, too; the layer’s own figure is of its own rounding alone, on all values seen';

/** The colours of the two: a line of ink, and orange. */
export function colours(theme: Theme): { readonly float: string; readonly integer: string } {
  return { float: theme.ink, integer: theme.dark ? '#f0a04b' : '#d55e00' };
}

/** A line of steps over the bins. */
export function steps(
  counts: ArrayLike<number>,
  from: number,
  width: number,
  across: Scale,
  height: (count: number) => number
): string {
  let path = '';
  for (let bin = 0; bin < counts.length; bin++) {
    const left = across.at(from + bin * width);
    const right = across.at(from + (bin + 1) * width);
    if (right >= across.from && left <= across.to) {
      const x = (value: number): string => Math.min(across.to, Math.max(across.from, value)).toFixed(1);
      path += `${path ? 'L' : 'M'}${x(left)} ${height(counts[bin]!).toFixed(1)}H${x(right)}`;
    }
  }
  return path;
}

/** Draws both over the bars, each as high as its highest bin. */
export function drawOverlay(
  over: SVGGElement,
  overlay: Overlay,
  across: Scale,
  base: number,
  top: number,
  log: boolean,
  theme: Theme
): void {
  const { values, float, integer } = overlay;
  const size = (count: number): number => (log ? Math.log10(1 + count) : count);
  const width = (values.high - values.low) / Math.max(1, values.bins);
  const most = (counts: Float32Array): number => counts.reduce((a, b) => Math.max(a, b), 0);
  const paint = colours(theme);
  const line = (counts: Float32Array, colour: string, name: string, dash: string): void => {
    // Each by itself: codes stand in few bins, which would leave nothing to be seen of the other.
    const y = new Scale(0, size(most(counts)) || 1, base, top);
    over.append(
      s('path', {
        d: steps(counts, values.low, width, across, count => y.at(size(count))),
        fill: 'none',
        stroke: colour,
        'stroke-width': 1.5,
        'stroke-dasharray': dash,
        'stroke-linejoin': 'round',
        'data-testid': `wb-values-${name}`
      })
    );
  };
  line(integer, paint.integer, 'integer', 'none');
  line(float, paint.float, 'float', '4 2');
}

/** What the two lines are, and how far they are apart. */
export class ValuesLegend {
  readonly element = h('div', { class: 'wb-values', 'data-testid': 'wb-values', hidden: true });

  /** Says it, or why there is nothing to say. */
  update(overlay: Overlay | null, asked: boolean, why: string, theme: Theme): void {
    this.element.hidden = !asked;
    const key = JSON.stringify([overlay?.values, asked, why, theme.dark]);
    if (!asked || key === this.element.dataset['key']) {
      return;
    }
    this.element.dataset['key'] = key;
    if (!overlay) {
      replace(
        this.element,
        h('span', { class: 'wb-quiet' }, why || 'running the held batch through both models …')
      );
      return;
    }
    const { sqnr, worst, shift } = overlay.values;
    const paint = colours(theme);
    const mark = (colour: string, dashed: boolean): HTMLElement => {
      const line = h('i', { 'aria-hidden': 'true', 'data-dashed': dashed || null });
      line.style.setProperty('--wb-mark', colour);
      return line;
    };
    replace(
      this.element,
      h('span', { class: 'wb-quiet' }, 'before and after:'),
      h('span', {}, mark(paint.float, true), 'float model'),
      h('span', {}, mark(paint.integer, false), 'integer model'),
      h('span', { title: `${exact(sqnr)}: ${WHOLE}` }, `SQNR ${decibels(sqnr)}`),
      h('span', { title: exact(worst) }, `at most ${figure(worst)} apart`),
      h('span', { title: exact(shift) }, `mean moved by ${figure(shift)}`)
    );
  }
}
