/** The histogram with the range over it. The handles stay the same elements for ever, so that a drag survives redraws. */
import type { Candidate, ObserverDetail } from '../protocol';
import { categoryColour, translucent } from '../common/colours';
import { h, replace, s, setAttributes } from '../common/dom';
import { exact, figure, percent, si } from '../common/numbers';
import { clamp, Scale, ticks, tickText } from '../common/scales';
import type { Theme } from '../common/theme';
import { clipped, domain, levels, whyNot, type Range } from './range';

/** Which end of the range. */
export type End = 'low' | 'high';

/** What the plot is to show. */
export interface PlotState {
  readonly detail: ObserverDetail;
  readonly counts: Float32Array;
  readonly range: Range;
  readonly log: boolean;
  readonly around: 'all' | 'range';
  readonly preview: Candidate | null;
  readonly stale: boolean;
}

/** What the plot reports. */
export interface PlotEvents {
  /** An end was moved to a value; `done` at the end of a drag. */
  move(end: End, value: number, done: boolean): void;
  /** The range now, which may be ahead of the one drawn last. */
  current(): Range;
}

const LEFT = 40;
const RIGHT = 12;
const TOP = 26;
const BOTTOM = 34;

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

  /** Whether a person holds a handle. */
  get held(): boolean {
    return this.dragging !== null;
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
    this.drawAxis(width, height, theme);
    this.drawBars(height, theme);
    this.drawZones(width, height, theme);
    this.drawLevels(height, theme);
    this.drawMarks(height, theme);
    this.place('low', height, theme);
    this.place('high', height, theme);
  }

  private handle(end: End): RangePlot['ends']['low'] {
    const line = s('line', { 'stroke-width': 2 });
    const grip = s('rect', { class: 'wb-grip', width: 10, height: 28, rx: 4 });
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
    const edge =
      end === 'low'
        ? { Home: Math.min(detail.observed_low, range.low), End: range.high - least }
        : { Home: range.low + least, End: Math.max(detail.observed_high, range.high) };
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

  private drawAxis(width: number, height: number, theme: Theme): void {
    const base = height - BOTTOM;
    const { low, high } = this.x;
    const values = ticks(low, high, Math.max(2, Math.floor(width / 90)));
    for (const tick of values) {
      const at = this.x.at(tick);
      this.under.append(
        s(
          'text',
          { x: at, y: height - 6, 'text-anchor': 'middle', fill: theme.quiet, 'font-size': 10 },
          tickText(tick, values)
        )
      );
    }
    this.under.append(
      s('line', {
        x1: LEFT,
        x2: width - RIGHT,
        y1: base + 0.5,
        y2: base + 0.5,
        stroke: theme.quiet,
        'stroke-opacity': 0.6
      })
    );
    if (low < 0 && high > 0) {
      this.under.append(
        s('line', {
          x1: this.x.at(0),
          x2: this.x.at(0),
          y1: TOP,
          y2: base,
          stroke: theme.line,
          'stroke-width': 1
        })
      );
    }
  }

  private drawBars(height: number, theme: Theme): void {
    const { counts, detail, log, range } = this.state!;
    const base = height - BOTTOM;
    const most = counts.reduce((a, b) => Math.max(a, b), 0);
    const size = (count: number): number => (log ? Math.log10(1 + count) : count);
    const y = new Scale(0, size(most) || 1, base, TOP + 8);
    const label = (count: number): void => {
      const at = y.at(size(count));
      this.under.append(
        s('line', { x1: LEFT, x2: this.x.to, y1: at, y2: at, stroke: theme.line, 'stroke-dasharray': '1 3' }),
        s(
          'text',
          { x: LEFT - 5, y: at + 3, 'text-anchor': 'end', fill: theme.quiet, 'font-size': 10 },
          si(count)
        )
      );
    };
    const marks = log
      ? [1, 2, 3, 4, 5, 6, 7, 8, 9].map(power => 10 ** power).filter(count => count < most)
      : ticks(0, most, 3).filter(count => count > 0);
    marks.forEach(label);
    const width = (detail.observed_high - detail.observed_low) / Math.max(1, counts.length);
    const inside = this.bars(
      counts,
      width,
      y,
      size,
      base,
      value => value >= range.low && value <= range.high
    );
    const outside = this.bars(counts, width, y, size, base, value => value < range.low || value > range.high);
    const blue = theme.dark ? '#4aa3df' : '#0072b2';
    this.under.append(
      s('path', { d: inside, fill: blue, 'fill-opacity': 0.85 }),
      s('path', { d: outside, fill: theme.quiet, 'fill-opacity': 0.5 })
    );
  }

  private bars(
    counts: Float32Array,
    width: number,
    y: Scale,
    size: (count: number) => number,
    base: number,
    taken: (middle: number) => boolean
  ): string {
    const { observed_low: start } = this.state!.detail;
    // Bins narrower than a pixel are joined; the highest of them is drawn.
    const pixels = Math.abs(this.x.at(start + width) - this.x.at(start));
    const group = Math.max(1, Math.floor(1 / Math.max(1e-6, pixels)));
    let path = '';
    for (let bin = 0; bin < counts.length; bin += group) {
      let count = 0;
      for (let index = bin; index < Math.min(counts.length, bin + group); index++) {
        count = Math.max(count, counts[index]!);
      }
      const middle = start + (bin + group / 2) * width;
      if (count <= 0 || !taken(middle)) {
        continue;
      }
      const left = clamp(this.x.at(start + bin * width), LEFT, this.x.to);
      const right = clamp(this.x.at(start + (bin + group) * width), LEFT, this.x.to);
      if (right > left) {
        const gap = right - left > 3 ? 0.6 : 0;
        const top = Math.min(base - 0.8, y.at(size(count)));
        path += `M${left.toFixed(2)} ${base}V${top.toFixed(2)}H${(right - gap).toFixed(2)}V${base}z`;
      }
    }
    return path;
  }

  /** The parts that are clipped away: shaded, hatched, with how much is in them. */
  private drawZones(width: number, height: number, theme: Theme): void {
    const { detail, counts, range, stale } = this.state!;
    const observed = { low: detail.observed_low, high: detail.observed_high };
    const local = clipped(counts, observed, range);
    const fractions = stale ? local : { low: detail.clip_low, high: detail.clip_high };
    const base = height - BOTTOM;
    const draw = (end: End, from: number, to: number): void => {
      const left = clamp(from, LEFT, width - RIGHT);
      const right = clamp(to, LEFT, width - RIGHT);
      if (right - left < 1) {
        return;
      }
      let hatch = '';
      for (let at = left - (base - TOP); at < right; at += 8) {
        const start = Math.max(at, left);
        const stop = Math.min(at + (base - TOP), right);
        if (stop > start) {
          hatch += `M${start} ${base - (start - at)}L${stop} ${base - (stop - at)}`;
        }
      }
      this.over.append(
        s('rect', {
          x: left,
          y: TOP,
          width: right - left,
          height: base - TOP,
          fill: theme.ink,
          'fill-opacity': 0.045
        }),
        s('path', { d: hatch, stroke: theme.quiet, 'stroke-opacity': 0.22, fill: 'none' })
      );
      this.zoneText(end, left, right, base, fractions[end], theme, width);
    };
    draw('low', LEFT, this.x.at(range.low));
    draw('high', this.x.at(range.high), width - RIGHT);
  }

  private zoneText(
    end: End,
    left: number,
    right: number,
    base: number,
    fraction: number,
    theme: Theme,
    width: number
  ): void {
    const text = `clip ${percent(fraction)}`;
    const room = right - left > 66;
    const y = base - 8;
    const x = room ? (left + right) / 2 : end === 'low' ? Math.min(right + 6, width - RIGHT) : left - 6;
    const anchor = room ? 'middle' : end === 'low' ? 'start' : 'end';
    this.over.append(
      s(
        'text',
        {
          x,
          y,
          'text-anchor': anchor,
          'font-size': 11,
          'font-weight': 600,
          fill: theme.ink,
          stroke: `rgb(${theme.paper.join()})`,
          'stroke-width': 3,
          'paint-order': 'stroke',
          'data-testid': `wb-clip-${end}`,
          'data-fraction': fraction
        },
        text
      )
    );
  }

  /** The values that the quantization can tell apart, as ticks below and, where they are few, as lines over the bars. */
  private drawLevels(height: number, theme: Theme): void {
    const { detail, range } = this.state!;
    if (whyNot(range) !== '') {
      return;
    }
    const pixels = (this.x.to - this.x.from) / (this.x.high - this.x.low);
    const count = detail.quant_max - detail.quant_min;
    const { values, every } = levels(range, count, pixels, 4);
    const base = height - BOTTOM;
    const inside = values
      .map(value => this.x.at(value))
      .filter(at => at >= LEFT - 0.5 && at <= this.x.to + 0.5);
    const path = inside.map(at => `M${at.toFixed(1)} ${base + 1}v5`).join('');
    this.over.append(s('path', { d: path, stroke: theme.ink, 'stroke-opacity': 0.55, fill: 'none' }));
    const spacing = ((range.high - range.low) / Math.max(1, count)) * pixels;
    if (spacing >= 10) {
      const lines = inside.map(at => `M${at.toFixed(1)} ${TOP + 8}V${base}`).join('');
      this.over.append(s('path', { d: lines, stroke: theme.ink, 'stroke-opacity': 0.16, fill: 'none' }));
    }
    const words = every === 1 ? `${count + 1} levels` : `${count + 1} levels, every ${every}th ticked`;
    this.over.append(
      s(
        'text',
        { x: this.x.to, y: base + 16, 'text-anchor': 'end', 'font-size': 10, fill: theme.quiet },
        words
      )
    );
  }

  private drawMarks(height: number, theme: Theme): void {
    const { detail, preview } = this.state!;
    detail.candidates.forEach((candidate, index) => {
      const colour = categoryColour(index + 1, theme.dark);
      const active = preview?.name === candidate.name;
      for (const value of [candidate.low, candidate.high]) {
        const at = this.x.at(value);
        if (at < LEFT - 4 || at > this.x.to + 4) {
          continue;
        }
        this.over.append(
          s(
            'path',
            { d: `M${at - 4} ${TOP - 1}h8l-4 6z`, fill: colour },
            s('title', {}, `${candidate.name}: ${figure(candidate.low)} to ${figure(candidate.high)}`)
          )
        );
        if (active) {
          this.over.append(
            s('line', {
              x1: at,
              x2: at,
              y1: TOP,
              y2: height - BOTTOM,
              stroke: colour,
              'stroke-width': 2,
              'stroke-dasharray': '4 3'
            })
          );
        }
      }
    });
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
    const both = Math.abs(this.x.at(range.high) - this.x.at(range.low)) < 96;
    const anchor = both ? (end === 'low' ? 'end' : 'start') : 'middle';
    setAttributes(text, {
      x: clamp(at, 18, this.x.to - 6),
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
