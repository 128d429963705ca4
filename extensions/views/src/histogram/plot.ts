/** The histogram with the range over it. The handles stay the same elements for ever, so that a drag survives redraws. */
import { translucent } from '../common/colours';
import { h, replace, s, setAttributes } from '../common/dom';
import { exact, figure } from '../common/numbers';
import { clamp, Scale } from '../common/scales';
import type { Theme } from '../common/theme';
import { BOTTOM, drawGround, LEFT, RIGHT, TOP, type End, type PlotState } from './ground';
import { domain, whyNot, type Range } from './range';

/** What the plot reports. */
export interface PlotEvents {
  /** An end was moved to a value; `done` at the end of a drag. */
  move(end: End, value: number, done: boolean): void;
  /** The range now, which may be ahead of the one drawn last. */
  current(): Range;
}

/** Height of the plot in pixels. */
export function plotHeight(width: number): number {
  return width < 420 ? 190 : 236;
}

/** The histogram with its two handles. */
export class RangePlot {
  readonly element = h('figure', { 'data-testid': 'wb-plot' });
  readonly svg = s('svg', {
    class: 'wb-svg',
    role: 'group',
    'aria-label': 'Histogram of the observed values with the quantization range'
  });
  private readonly under = s('g', { 'aria-hidden': 'true' });
  private readonly over = s('g', { 'aria-hidden': 'true' });
  private readonly ends: Record<
    End,
    {
      readonly group: SVGGElement;
      readonly line: SVGLineElement;
      readonly grip: SVGRectElement;
      readonly zone: SVGRectElement;
      readonly text: SVGTextElement;
    }
  >;
  private x = new Scale(0, 1, LEFT, 100);
  private state: PlotState | null = null;
  private frozen: Range | null = null;
  private dragging: End | null = null;
  private offset = 0;

  constructor(private readonly events: PlotEvents) {
    this.ends = { low: this.handle('low'), high: this.handle('high') };
    this.svg.append(this.under, this.over, this.ends.low.group, this.ends.high.group);
    this.element.append(this.svg);
  }

  /** Lets go without telling: the observer under the hand is no longer the one that was grabbed. */
  release(): void {
    this.dragging = null;
    this.frozen = null;
  }

  /** Draws everything. */
  draw(state: PlotState, width: number, theme: Theme): void {
    this.state = state;
    const height = plotHeight(width);
    const { detail, range } = state;
    const observed = { low: detail.observed_low, high: detail.observed_high };
    // While a handle is held the picture under it must not move.
    const shown = this.frozen ?? domain(observed, { low: detail.low, high: detail.high }, state.around);
    const wide = this.frozen
      ? shown
      : { low: Math.min(shown.low, range.low), high: Math.max(shown.high, range.high) };
    this.x = new Scale(wide.low, wide.high, LEFT, width - RIGHT);
    setAttributes(this.svg, { width, height, viewBox: `0 0 ${width} ${height}` });
    replace(this.under);
    replace(this.over);
    drawGround({ state, across: this.x, width, height, theme, under: this.under, over: this.over });
    this.place('low', height, theme);
    this.place('high', height, theme);
  }

  private handle(end: End): RangePlot['ends']['low'] {
    const line = s('line', { 'stroke-width': 2 });
    const grip = s('rect', { class: 'wb-grip', width: 10, height: 28, rx: 4 });
    // Wider than the line that is seen, for a hand.
    const zone = s('rect', { width: 24, fill: 'transparent' });
    const text = s('text', { 'font-size': 11, 'font-weight': 600, 'text-anchor': 'middle' });
    const group = s(
      'g',
      {
        class: 'wb-handle',
        role: 'slider',
        tabindex: 0,
        'aria-orientation': 'horizontal',
        'aria-label': `${end} end of the range`,
        'data-testid': `wb-handle-${end}`
      },
      line,
      zone,
      grip,
      text
    );
    group.addEventListener('pointerdown', event => this.down(end, event));
    group.addEventListener('pointermove', event => this.moved(end, event));
    group.addEventListener('pointerup', event => this.up(end, event));
    group.addEventListener('pointercancel', event => this.up(end, event));
    group.addEventListener('keydown', event => this.key(end, event));
    // A key that is held repeats: the movement ends when it is let go.
    group.addEventListener('keyup', event => {
      if (this.state && /^(Arrow|Page|Home|End)/.test(event.key)) {
        this.events.move(end, this.events.current()[end], true);
      }
    });
    return { group, line, grip, zone, text };
  }

  private valueAt(event: PointerEvent): number {
    const box = this.svg.getBoundingClientRect();
    // The view may be shown scaled (a zoomed page): go through its own pixels.
    const ratio = box.width > 0 ? this.svg.clientWidth / box.width || 1 : 1;
    const pixel = clamp((event.clientX - box.left) * ratio - this.offset, LEFT, this.x.to);
    return this.x.invert(pixel);
  }

  private down(end: End, event: PointerEvent): void {
    if (event.button !== 0 || !this.state) {
      return;
    }
    const box = this.svg.getBoundingClientRect();
    // Where it was taken hold of, so that the handle does not jump under the pointer.
    this.offset = event.clientX - box.left - this.x.at(this.events.current()[end]);
    this.dragging = end;
    this.frozen = { low: this.x.low, high: this.x.high };
    this.ends[end].group.setPointerCapture(event.pointerId);
    this.ends[end].group.focus({ preventScroll: true });
    event.preventDefault();
  }

  private moved(end: End, event: PointerEvent): void {
    if (this.dragging === end) {
      this.events.move(end, this.valueAt(event), false);
    }
  }

  private up(end: End, event: PointerEvent): void {
    if (this.dragging === end) {
      // A drag that the browser breaks off ends where it was.
      const value = event.type === 'pointerup' ? this.valueAt(event) : this.events.current()[end];
      this.release();
      this.events.move(end, value, true);
    }
  }

  private key(end: End, event: KeyboardEvent): void {
    if (!this.state) {
      return;
    }
    const { detail } = this.state;
    const range = this.events.current();
    const span = this.x.high - this.x.low;
    const step = (span / 200) * (event.shiftKey ? 10 : 1);
    const least = span / 200;
    // Of a symmetric range the other end comes along, to the middle and no further.
    const other = detail.settings?.symmetric ? { low: 0, high: 0 } : range;
    const edge =
      end === 'low'
        ? { Home: Math.min(detail.observed_low, range.low), End: other.high - least }
        : { Home: other.low + least, End: Math.max(detail.observed_high, range.high) };
    const value = {
      ArrowLeft: range[end] - step,
      ArrowDown: range[end] - step,
      ArrowRight: range[end] + step,
      ArrowUp: range[end] + step,
      PageDown: range[end] - span / 20,
      PageUp: range[end] + span / 20,
      ...edge
    }[event.key];
    if (value !== undefined) {
      this.events.move(end, value, false);
      event.preventDefault();
      event.stopPropagation();
    }
  }

  private place(end: End, height: number, theme: Theme): void {
    const { range } = this.state!;
    const { group, line, grip, zone, text } = this.ends[end];
    const at = this.x.at(range[end]);
    const base = height - BOTTOM;
    const wrong = whyNot(range) !== '';
    const colour = wrong ? (theme.dark ? '#ff8a80' : '#b3261e') : theme.accent;
    setAttributes(line, { x1: at, x2: at, y1: TOP - 8, y2: base, stroke: colour });
    setAttributes(grip, {
      x: at - 5,
      y: (TOP + base) / 2 - 14,
      fill: colour,
      stroke: `rgb(${theme.paper.join()})`,
      'stroke-width': 1.5
    });
    setAttributes(zone, { x: at - 12, y: TOP - 14, height: base - TOP + 14 });
    // Two texts that would meet stand apart.
    const both = Math.abs(this.x.at(range.high) - this.x.at(range.low)) < 96;
    const anchor = both ? (end === 'low' ? 'end' : 'start') : 'middle';
    const aside = both ? (end === 'low' ? -4 : 4) : 0;
    setAttributes(text, {
      x: clamp(at + aside, 18, this.x.to - 6),
      y: TOP - 13,
      fill: colour,
      'text-anchor': anchor
    });
    text.textContent = figure(range[end]);
    setAttributes(group, {
      'aria-valuenow': range[end],
      'aria-valuemin': end === 'low' ? this.x.low : range.low,
      'aria-valuemax': end === 'low' ? range.high : this.x.high,
      'aria-valuetext': exact(range[end]),
      'data-value': range[end]
    });
    grip.style.fill = translucent(colour.startsWith('#') && colour.length === 7 ? colour : '#1976d2', 1);
  }
}
