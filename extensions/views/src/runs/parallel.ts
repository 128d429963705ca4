/** Parallel coordinates: an axis a column, a line a run; brushes on the axes keep runs. */
import type { RunsTable } from '../protocol';
import { Listeners, replace, s, setAttributes } from '../common/dom';
import { figure } from '../common/numbers';
import { clamp } from '../common/scales';
import { shorten } from '../common/text';
import type { Theme } from '../common/theme';
import { runColour } from '../training/lines';
import type { Brushed, ColumnAxis } from './columns';

const TOP = 34;
const BOTTOM = 30;
const HEIGHT = 250;
/** Least distance between two axes; more of them than fit are scrolled to. */
const APART = 92;
const SIDE = 46;
/** Less than this part of an axis is a click, which takes the brush away. */
const LEAST = 0.02;
const STEP = 0.05;

/** Whom the picture tells. */
export interface ParallelHost {
  brush(name: string, range: Brushed | null): void;
  pick(row: number): void;
  say(words: string): void;
}

/** What is drawn. */
export interface Drawing {
  readonly table: RunsTable;
  readonly names: readonly string[];
  readonly axes: readonly ColumnAxis[];
  readonly brushes: ReadonlyMap<string, Brushed>;
  readonly kept: ReadonlySet<number>;
  readonly picked: ReadonlySet<number>;
}

/** The picture. */
export class Parallel {
  readonly svg = s('svg', { class: 'wb-svg wb-runs-parallel', 'data-testid': 'wb-parallel', role: 'group' });
  private readonly listeners = new Listeners();
  private drawing: Drawing | null = null;
  private drag: { readonly name: string; readonly from: number; to: number } | null = null;

  constructor(private readonly host: ParallelHost) {
    setAttributes(this.svg, { 'aria-label': 'Parallel coordinates of hyperparameters and figures' });
    this.listeners.on(this.svg, 'pointerdown', event => this.press(event));
    this.listeners.on(this.svg, 'pointermove', event => this.move(event));
    this.listeners.on(this.svg, 'pointerup', () => this.release());
    this.listeners.on(this.svg, 'pointercancel', () => {
      this.drag = null;
    });
    this.listeners.on(this.svg, 'pointerleave', () => this.host.say(''));
    this.listeners.on(this.svg, 'click', event => {
      const row = (event.target as Element).closest('[data-row]')?.getAttribute('data-row');
      if (row) {
        this.host.pick(Number(row));
      }
    });
    this.listeners.on(this.svg, 'keydown', event => this.key(event));
  }

  /** Draws at a width. */
  draw(drawing: Drawing, width: number, theme: Theme): void {
    this.drawing = drawing;
    const { table, axes, brushes, kept, picked, names } = drawing;
    const wide = Math.max(width, 2 * SIDE + APART * Math.max(1, axes.length - 1));
    setAttributes(this.svg, { width: wide, height: HEIGHT, viewBox: `0 0 ${wide} ${HEIGHT}` });
    replace(this.svg);
    const apart = axes.length > 1 ? (wide - 2 * SIDE) / (axes.length - 1) : wide;
    const x = (column: number): number =>
      axes.length > 1 ? SIDE + (column * (wide - 2 * SIDE)) / (axes.length - 1) : wide / 2;
    // Those that are left out lie behind, those that are picked in front.
    const order = [...table.rows.keys()].sort((a, b) => rank(a, kept, picked) - rank(b, kept, picked));
    for (const row of order) {
      const { run, cells } = table.rows[row]!;
      let path = '';
      axes.forEach((axis, column) => {
        path += `${column > 0 ? 'L' : 'M'}${x(column).toFixed(1)} ${down(axis.at(cells[column] ?? null)).toFixed(1)}`;
      });
      const out = !kept.has(row);
      const quiet = out || (picked.size > 0 && !picked.has(row));
      const look = {
        d: path,
        fill: 'none',
        stroke: out ? theme.line : runColour(run, theme.dark),
        'stroke-width': picked.has(row) ? 2.5 : 1.4,
        'stroke-opacity': out ? 0.7 : quiet ? 0.3 : 0.85,
        'stroke-linejoin': 'round'
      };
      const group = s('g', { 'data-row': row, 'data-kept': String(!out) });
      group.append(s('path', look));
      if (!out) {
        group.append(
          s('title', {}, names[run] ?? ''),
          s('path', { d: path, fill: 'none', stroke: 'transparent', 'stroke-width': 9, class: 'wb-runs-hit' })
        );
      }
      this.svg.append(group);
    }
    axes.forEach((axis, column) =>
      this.drawAxis(axis, x(column), brushes.get(axis.name), theme, [wide, apart])
    );
  }

  /** Lets go. */
  destroy(): void {
    this.listeners.release();
  }

  private drawAxis(
    axis: ColumnAxis,
    at: number,
    brush: Brushed | undefined,
    theme: Theme,
    [wide, apart]: readonly [number, number]
  ): void {
    const paper = `rgb(${theme.paper.join()})`;
    const halo = { stroke: paper, 'stroke-width': 3, 'paint-order': 'stroke' };
    const said = brush
      ? `from ${this.words(axis, brush.low)} to ${this.words(axis, brush.high)}`
      : 'all of it';
    const group = s('g', {
      class: 'wb-runs-axis',
      tabindex: 0,
      role: 'group',
      'aria-label': `${axis.name}: ${said}. Arrow up and down narrow it from below and above, with Shift widen it, Escape lets go.`,
      'data-testid': 'wb-axis',
      'data-column': axis.name
    });
    const anchor = at < SIDE + 4 ? 'start' : at > wide - SIDE - 4 ? 'end' : 'middle';
    const edge = anchor === 'start' ? 4 : anchor === 'end' ? wide - 4 : at;
    const name = {
      x: edge,
      y: 12,
      'text-anchor': anchor,
      'font-size': 11,
      'font-weight': 600,
      fill: theme.ink
    };
    group.append(
      s('title', {}, axis.name),
      s('rect', {
        x: at - 16,
        y: TOP - 6,
        width: 32,
        height: HEIGHT - TOP - BOTTOM + 12,
        fill: 'transparent'
      }),
      s('text', name, shorten(axis.name, apart - 8, 12)),
      s('line', { x1: at, x2: at, y1: TOP, y2: HEIGHT - BOTTOM, stroke: theme.quiet })
    );
    if (axis.log) {
      group.append(
        s('text', { ...name, y: 24, 'font-size': 9.5, 'font-weight': 400, fill: theme.quiet }, 'log')
      );
    }
    for (const [share, words] of axis.ticks(6)) {
      const place = down(share);
      group.append(
        s('line', { x1: at - 3, x2: at + 3, y1: place, y2: place, stroke: theme.quiet }),
        s(
          'text',
          {
            x: at + 6,
            y: place + 3.5,
            'font-size': 10,
            fill: theme.ink,
            ...halo,
            ...(at > wide - SIDE - 4 ? { x: at - 6, 'text-anchor': 'end' } : {})
          },
          shorten(words, apart - 16, 10)
        )
      );
    }
    if (this.missing(axis)) {
      group.append(
        s(
          'text',
          { x: at, y: HEIGHT - 6, 'font-size': 10, fill: theme.quiet, 'text-anchor': 'middle', ...halo },
          'none'
        )
      );
    }
    if (brush) {
      const [from, to] = [down(brush.high), down(brush.low)];
      group.append(
        s('rect', { x: at - 8, y: from, width: 16, height: Math.max(2, to - from), class: 'wb-chart-brush' })
      );
    }
    this.svg.append(group);
  }

  private missing(axis: ColumnAxis): boolean {
    const column = this.drawing!.axes.indexOf(axis);
    return this.drawing!.table.rows.some(row => axis.at(row.cells[column] ?? null) === null);
  }

  private words(axis: ColumnAxis, share: number): string {
    return axis.numbers
      ? figure(axis.value(share))
      : (axis.labels[Math.round(share * (axis.labels.length - 1))] ?? '');
  }

  private share(event: PointerEvent): number {
    const box = this.svg.getBoundingClientRect();
    return clamp((HEIGHT - BOTTOM - (event.clientY - box.top)) / (HEIGHT - TOP - BOTTOM), 0, 1);
  }

  private press(event: PointerEvent): void {
    const name = (event.target as Element).closest('[data-column]')?.getAttribute('data-column');
    if (event.button === 0 && name !== null && name !== undefined) {
      this.drag = { name, from: this.share(event), to: this.share(event) };
      this.svg.setPointerCapture(event.pointerId);
    }
  }

  private move(event: PointerEvent): void {
    if (this.drag) {
      this.drag.to = this.share(event);
      const { name, from, to } = this.drag;
      if (Math.abs(from - to) >= LEAST) {
        this.host.brush(name, { low: Math.min(from, to), high: Math.max(from, to) });
      }
      return;
    }
    const row = (event.target as Element).closest('[data-row]')?.getAttribute('data-row');
    if (!row || !this.drawing) {
      this.host.say('');
      return;
    }
    const { table, names, axes } = this.drawing;
    const { run, cells } = table.rows[Number(row)]!;
    const facts = axes.map((axis, column) => `${axis.name} ${written(cells[column] ?? null)}`);
    this.host.say(`${names[run]} — ${facts.join(' · ')}`);
  }

  private release(): void {
    const { drag } = this;
    this.drag = null;
    if (drag && Math.abs(drag.from - drag.to) < LEAST) {
      this.host.brush(drag.name, null);
    }
  }

  private key(event: KeyboardEvent): void {
    const name = (event.target as Element).closest('[data-column]')?.getAttribute('data-column');
    if (name === null || name === undefined || !this.drawing) {
      return;
    }
    const { low, high } = this.drawing.brushes.get(name) ?? { low: 0, high: 1 };
    const sign = event.shiftKey ? -1 : 1;
    if (event.key === 'Escape') {
      this.host.brush(name, null);
    } else if (event.key === 'ArrowUp') {
      this.host.brush(name, narrowed(clamp(low + sign * STEP, 0, high), high));
    } else if (event.key === 'ArrowDown') {
      this.host.brush(name, narrowed(low, clamp(high - sign * STEP, low, 1)));
    } else {
      return;
    }
    event.preventDefault();
    event.stopPropagation();
  }
}

/** A brush over all of an axis is none. */
function narrowed(low: number, high: number): Brushed | null {
  return low <= 0 && high >= 1 ? null : { low, high };
}

function rank(row: number, kept: ReadonlySet<number>, picked: ReadonlySet<number>): number {
  return picked.has(row) ? 2 : kept.has(row) ? 1 : 0;
}

/** The pixel of a share of an axis; what has no place lies below it. */
function down(share: number | null): number {
  return share === null ? HEIGHT - BOTTOM + 14 : HEIGHT - BOTTOM - share * (HEIGHT - TOP - BOTTOM);
}

/** A cell in words. */
export function written(cell: string | number | null): string {
  return typeof cell === 'number' ? figure(cell) : (cell ?? '–');
}
