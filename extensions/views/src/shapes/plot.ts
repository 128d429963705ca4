/** The picture of a tensor with one dimension: a line, with a cursor and a readout. */
import type { Picture as PictureState } from '../protocol';
import { dimensionColour } from '../common/colours';
import { h, Listeners, replace, s } from '../common/dom';
import { csv, type Exports } from '../common/exporting';
import { exact, figure } from '../common/numbers';
import { dimensionText } from '../common/parts';
import { clamp, Scale, ticks, tickText } from '../common/scales';
import type { Theme } from '../common/theme';
import type { Pane } from './pane';

const HEIGHT = 150;
const LEFT = 46;
const BOTTOM = 24;
const TOP = 6;

/** A path through values; where several fall on one pixel it goes from their least to their greatest. */
export function linePath(values: Float32Array, x: Scale, y: Scale): string {
  const pixels = Math.max(1, Math.abs(x.to - x.from));
  const group = Math.max(1, Math.floor(values.length / (pixels * 2)));
  let path = '';
  let pen = 'M';
  for (let start = 0; start < values.length; start += group) {
    let least = Infinity;
    let greatest = -Infinity;
    for (let index = start; index < Math.min(values.length, start + group); index++) {
      const value = values[index]!;
      if (Number.isFinite(value)) {
        least = Math.min(least, value);
        greatest = Math.max(greatest, value);
      }
    }
    if (least > greatest) {
      // A gap where nothing is finite: a line across it would invent values.
      pen = 'M';
      continue;
    }
    const at = x.at(start).toFixed(1);
    path += `${pen}${at} ${y.at(greatest).toFixed(1)}`;
    path += least < greatest ? `L${at} ${y.at(least).toFixed(1)}` : '';
    pen = 'L';
  }
  return path;
}

/** A line over one dimension. */
export class LinePane implements Pane {
  readonly element: HTMLElement;
  private readonly readout = h('div', {
    class: 'wb-readout',
    'aria-live': 'polite',
    'data-testid': 'wb-readout'
  });
  private readonly svg = s('svg', {
    class: 'wb-svg wb-line-plot',
    tabindex: 0,
    role: 'img',
    height: HEIGHT,
    'data-testid': 'wb-line'
  });
  private readonly listeners = new Listeners();
  private cursor: number | null = null;
  private lastWrong = -1;
  private x = new Scale(0, 1, 0, 1);

  constructor(
    private readonly picture: PictureState,
    private readonly values: Float32Array,
    private readonly redraw: () => void
  ) {
    this.element = h('div', {}, this.svg as unknown as HTMLElement, this.readout);
    const dim = picture.column_dim ? dimensionText(picture.column_dim) : `${values.length} values`;
    this.svg.setAttribute(
      'aria-label',
      `line over ${dim}, from ${figure(picture.low)} to ${figure(picture.high)}`
    );
    this.listeners.on(this.svg, 'pointermove', event => {
      const box = this.svg.getBoundingClientRect();
      this.moveTo(Math.round(this.x.invert(event.clientX - box.left)));
    });
    this.listeners.on(this.svg, 'pointerleave', () => this.moveTo(null));
    this.listeners.on(this.svg, 'blur', () => this.moveTo(null));
    this.listeners.on(this.svg, 'keydown', event => this.key(event));
  }

  draw(width: number, theme: Theme): void {
    const { picture, values } = this;
    const wide = clamp(width, 120, 720);
    // A constant has no height of its own.
    const pad = (picture.high - picture.low) * 0.04 || 0.5;
    const x = (this.x = new Scale(0, Math.max(1, values.length - 1), LEFT, wide - 8));
    const y = new Scale(picture.low - pad, picture.high + pad, HEIGHT - BOTTOM, TOP);
    this.svg.setAttribute('viewBox', `0 0 ${wide} ${HEIGHT}`);
    this.svg.setAttribute('width', String(wide));
    const colour = dimensionColour(picture.column_dim?.name ?? null, theme.dark);
    replace(this.svg);
    const rows = ticks(picture.low, picture.high, 4);
    for (const tick of rows) {
      const at = y.at(tick);
      this.svg.append(
        s('line', { x1: LEFT, x2: wide - 8, y1: at, y2: at, stroke: theme.line, 'stroke-width': 1 }),
        s(
          'text',
          { x: LEFT - 6, y: at + 4, 'text-anchor': 'end', fill: theme.quiet, 'font-size': 10 },
          tickText(tick, rows)
        )
      );
    }
    const stroke = picture.column_dim?.name ? colour : theme.accent;
    this.svg.append(
      s('path', {
        d: linePath(values, x, y),
        fill: 'none',
        stroke,
        'stroke-width': 1.5,
        'stroke-linejoin': 'round'
      })
    );
    this.drawWrong(x);
    const label = picture.column_dim ? dimensionText(picture.column_dim) : '';
    this.svg.append(
      s(
        'text',
        { x: (LEFT + wide) / 2, y: HEIGHT - 6, 'text-anchor': 'middle', 'font-weight': 600, fill: theme.ink },
        label
      ),
      s('text', { x: LEFT, y: HEIGHT - 6, fill: theme.quiet, 'font-size': 10 }, '0'),
      s(
        'text',
        { x: wide - 8, y: HEIGHT - 6, 'text-anchor': 'end', fill: theme.quiet, 'font-size': 10 },
        String(values.length - 1)
      )
    );
    this.drawCursor(x, y, theme);
  }

  nextWrong(): void {
    const next = this.values.findIndex((value, index) => index > this.lastWrong && !Number.isFinite(value));
    const found = next >= 0 ? next : this.values.findIndex(value => !Number.isFinite(value));
    if (found >= 0) {
      this.lastWrong = found;
      this.svg.focus();
      this.moveTo(found);
    }
  }

  exports(): Exports {
    const name = this.picture.column_dim?.name ?? 'index';
    return {
      svg: () => this.svg,
      csv: () => csv([[name, 'value'], ...Array.from(this.values, (value, index) => [index, String(value)])])
    };
  }

  destroy(): void {
    this.listeners.release();
  }

  private drawWrong(x: Scale): void {
    let path = '';
    this.values.forEach((value, index) => {
      if (!Number.isFinite(value)) {
        const at = x.at(index).toFixed(1);
        path += `M${at} ${TOP}V${HEIGHT - BOTTOM}`;
      }
    });
    if (path) {
      this.svg.append(
        s('path', {
          d: path,
          stroke: '#e0007a',
          'stroke-width': 1.5,
          fill: 'none',
          'data-testid': 'wb-nan-marks'
        })
      );
    }
  }

  private drawCursor(x: Scale, y: Scale, theme: Theme): void {
    replace(this.readout);
    if (this.cursor === null) {
      return;
    }
    const value = this.values[this.cursor]!;
    const at = x.at(this.cursor);
    this.svg.append(
      s('line', {
        x1: at,
        x2: at,
        y1: TOP,
        y2: HEIGHT - BOTTOM,
        stroke: theme.quiet,
        'stroke-dasharray': '2 2'
      })
    );
    if (Number.isFinite(value)) {
      this.svg.append(s('circle', { cx: at, cy: y.at(value), r: 3.5, fill: theme.accent }));
    }
    const name = this.picture.column_dim?.name ?? 'index';
    replace(this.readout, `${name} ${this.cursor}   `, h('b', { title: exact(value) }, figure(value)));
  }

  private key(event: KeyboardEvent): void {
    const last = this.values.length - 1;
    const big = event.shiftKey ? Math.max(1, Math.round(last / 10)) : 1;
    const here = this.cursor ?? 0;
    const next = { ArrowLeft: here - big, ArrowRight: here + big, Home: 0, End: last }[event.key];
    if (next !== undefined) {
      this.moveTo(next);
      event.preventDefault();
      event.stopPropagation();
    }
  }

  private moveTo(index: number | null): void {
    this.cursor = index === null ? null : clamp(index, 0, this.values.length - 1);
    this.redraw();
  }
}
