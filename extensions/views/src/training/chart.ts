/** One chart: curves over the steps, with the raw values behind the smoothed ones, marks, a cursor, and a zoom. */
import type { TrainingMark, TrainingSpike } from '../protocol';
import { h, Listeners, replace, s, setAttributes, setText } from '../common/dom';
import { exact, figure, grouped } from '../common/numbers';
import { clamp, Scale } from '../common/scales';
import { middleOut } from '../common/text';
import type { Theme } from '../common/theme';
import { Axis, type Across } from './axis';
import { Legend, labelOf } from './legend';
import { pathOf, prepare, writing, type Drawn } from './lines';
import {
  BOTTOM,
  cursorLine,
  drawAxes,
  drawEpochs,
  drawFailure,
  drawMissing,
  drawSpikes,
  LEFT,
  RIGHT,
  topOf,
  type Field
} from './marks';
import { Brush } from './brush';
import { extent, nearest, within, type ChartData, type Kind, type Line } from './series';
import type { Steps } from './window';

const MOST_DOTS = 60;
/** Curves that are named in a sentence. */
const MOST_SAID = 8;
/** Pixels within which a click is at a curve. */
const NEAR = 12;
/** Pixels that a letter of a title takes, about; a title takes two lines at most. */
const LETTER = 8;

/** What is the same for all charts of a picture. */
export interface Setting extends Steps {
  readonly weight: number;
  readonly log: boolean;
  readonly marks: readonly TrainingMark[];
  readonly spikes: readonly TrainingSpike[];
  /** The step at which training failed. */
  readonly failed: number | null;
  /** Names of the runs that are compared; empty where there is one. */
  readonly runs: readonly string[];
  /** Runs that are put away. */
  readonly hidden: ReadonlySet<number>;
  /** Runs that stand out, if any do: the others are pale. */
  readonly picked: ReadonlySet<number>;
  /** Whether no run is the one that the others are compared with. */
  readonly equal: boolean;
  /** With more curves than this the legend only counts them. */
  readonly legend: number;
  readonly across: Across;
}

/** What a chart tells the view it stands in. */
export interface ChartHost {
  /** A step is pointed at, or none; `down` is where in the chart, unless that was done by keys. */
  point(step: number | null, chart: Chart, down: number | null): void;
  /** A part of the steps was marked, or all are wanted again. */
  zoom(part: Steps | null): void;
  /** More or fewer steps are wanted around one. */
  scale(factor: number, around: number): void;
  /** What was shown before is wanted again. */
  undo(): void;
  /** The curve of a run was clicked. */
  pick?(run: number): void;
}

/** Nine digits: they tell every float32 from every other. */
function precise(value: number | undefined): string {
  return exact(value === undefined || Number.isNaN(value) ? null : Number(value.toPrecision(9)));
}

/** What may range over orders of magnitude. */
function hasLog(kind: Kind): boolean {
  return kind !== 'metric' && kind !== 'throughput';
}

// Bundles that share a page each count from 1: the page must tell their clips apart.
const page = Math.random().toString(36).slice(2, 8);
let serial = 0;

/** A chart with its title, its legend and a cursor. */
export class Chart {
  readonly element: HTMLElement;
  readonly svg = s('svg', { class: 'wb-svg', tabindex: 0, role: 'application' });
  private readonly title = h('b', {});
  private readonly legend = new Legend();
  private readonly listeners = new Listeners();
  private readonly clip = `wb-training-clip-${page}-${(serial += 1)}`;
  private readonly cursor = s('g', { 'pointer-events': 'none' });
  private readonly brush: Brush;
  private data: ChartData | null = null;
  private drawn: Drawn[] = [];
  private field: Field | null = null;
  private seen: number | null = null;
  private spikes: readonly number[] = [];
  private runs: readonly string[] = [];
  /** Whether the pointer has just marked a part: the click behind that is none. */
  private marked = false;

  constructor(
    key: string,
    private readonly host: ChartHost
  ) {
    this.element = h(
      'figure',
      { class: 'wb-chart', 'data-testid': 'wb-chart', 'data-chart': key },
      h('figcaption', {}, this.title, this.legend.element),
      this.svg as unknown as HTMLElement
    );
    this.brush = new Brush(this.svg, {
      step: across => this.field?.x.invert(across) ?? 0,
      done: part => {
        this.marked = true;
        this.host.zoom(part);
      }
    });
    this.listeners.on(this.svg, 'pointermove', event => {
      const across = event.clientX - this.svg.getBoundingClientRect().left;
      const down = event.clientY - this.svg.getBoundingClientRect().top;
      this.host.point(this.snap(this.field?.x.invert(across) ?? 0), this, down);
    });
    this.listeners.on(this.svg, 'pointerleave', () => this.host.point(null, this, null));
    this.listeners.on(this.svg, 'blur', () => this.host.point(null, this, null));
    this.listeners.on(this.svg, 'click', event => this.click(event));
    this.listeners.on(this.svg, 'dblclick', () => this.host.zoom(null));
    this.listeners.on(this.svg, 'keydown', event => this.key(event));
  }

  /** What is drawn. */
  get name(): string {
    return this.data?.title ?? '';
  }

  /** Title, legend and picture where they stand, from a corner on: for a file. */
  copy(left: number, top: number, theme: Theme): SVGElement[] {
    const box = this.element.getBoundingClientRect();
    const picture = this.svg.getBoundingClientRect();
    const down = { y: picture.top - top - 6, 'font-size': 12 };
    const legend = this.drawn.flatMap((one, index) => [
      s('tspan', { fill: one.colour }, `${index > 0 ? '\u2003' : ''}● `),
      s('tspan', { fill: theme.ink }, `${this.label(one)} ${writing(one.line.kind)(one.values.at(-1)!)}`)
    ]);
    const copy = this.svg.cloneNode(true) as SVGSVGElement;
    setAttributes(copy, { x: picture.left - left, y: picture.top - top, class: null, tabindex: null });
    const right = box.right - left - RIGHT;
    return [
      s('text', { ...down, x: box.left - left, 'font-weight': 600, fill: theme.ink }, this.name),
      s('text', { ...down, x: right, 'text-anchor': 'end' }, ...legend),
      copy
    ];
  }

  /** Takes other curves. */
  accept(data: ChartData): void {
    this.data = data;
    this.title.title = data.title;
  }

  /** Draws at a size. */
  draw(width: number, height: number, setting: Setting, theme: Theme): void {
    const { data, svg } = this;
    if (!data) {
      return;
    }
    const lines = data.lines.filter(line => !setting.hidden.has(line.run)).sort((a, b) => a.run - b.run);
    this.runs = setting.runs;
    this.spikes = setting.spikes.map(spike => spike.step);
    const compared = setting.runs.length > 0;
    this.drawn = lines.map(line => prepare(line, setting.weight, theme.dark, compared, setting.equal));
    const log = setting.log && this.takesLog();
    const [low, high] = this.range(setting, log);
    const top = topOf(height);
    const x = new Scale(setting.low, setting.high, LEFT, width - RIGHT);
    const y = new Axis(low, high, log, height - BOTTOM, top);
    const field = { svg, x, y, width, height, top, theme, across: setting.across };
    this.field = field;
    setAttributes(svg, { width, height, viewBox: `0 0 ${width} ${height}` });
    const box = {
      x: LEFT,
      y: top - 1,
      width: Math.max(0, width - RIGHT - LEFT),
      height: Math.max(0, height - top - BOTTOM + 2)
    };
    replace(svg, s('clipPath', { id: this.clip }, s('rect', box)));
    drawAxes(field, data.kind === 'throughput' ? writing(data.kind) : undefined);
    drawEpochs(field, setting.marks);
    // This run is drawn last, over those it is compared with; and those that are picked, over all.
    const depth = ({ line }: Drawn): number => (setting.picked.has(line.run) ? -1 : line.run);
    for (const one of [...this.drawn].sort((a, b) => depth(b) - depth(a))) {
      this.drawLine(field, one, setting);
    }
    const told = data.kind === 'loss';
    const taken = setting.failed === null ? [] : drawFailure(field, setting.failed, told);
    if (told) {
      drawSpikes(field, setting.spikes, taken);
    }
    svg.append(this.brush.element, this.cursor);
    this.brush.fit(field);
    setText(this.title, middleOut(data.title, Math.max(16, Math.floor((2 * width) / LETTER))));
    const straight = setting.log && !log && hasLog(data.kind);
    if (this.drawn.length > setting.legend) {
      this.legend.count(
        `${grouped(this.drawn.length)} runs${straight ? ' · linear: nothing is above 0' : ''}`
      );
    } else {
      this.legend.draw(this.drawn, setting.runs, log, straight ? 'linear: nothing is above 0' : '');
    }
    this.describe();
    this.show(this.seen);
  }

  /** Puts the cursor of all charts at a step, or away. */
  show(step: number | null): void {
    const { field } = this;
    this.seen = step;
    if (!field) {
      return;
    }
    replace(this.cursor);
    const inside = step !== null && step >= field.x.low && step <= field.x.high;
    for (const one of this.drawn) {
      const at = step === null ? one.steps.length - 1 : nearest(one.steps, step);
      const value = one.values[at];
      this.legend.write(one, value);
      if (inside && value !== undefined && Number.isFinite(field.y.at(value))) {
        const place = { cx: field.x.at(one.steps[at]!), cy: field.y.inside(value) };
        const rim = { stroke: `rgb(${field.theme.paper.join()})`, 'stroke-width': 1.5 };
        this.cursor.append(s('circle', { ...place, r: 3.5, fill: one.colour, ...rim }));
      }
    }
    if (inside) {
      this.cursor.prepend(...cursorLine(field, step));
    }
  }

  /** The run whose curve is nearest to a place, if one is within `most` pixels of it. */
  closest(step: number, down: number, most: number): number | null {
    const { field } = this;
    let best: number | null = null;
    let least = most;
    for (const { line, steps, values } of field ? this.drawn : []) {
      const value = values[nearest(steps, step)];
      const far = value === undefined ? Number.NaN : Math.abs(field!.y.inside(value) - down);
      if (far < least) {
        [best, least] = [line.run, far];
      }
    }
    return best;
  }

  /** What the curves are at a step, exactly, in words. */
  read(step: number): string[] {
    return this.drawn.map(one => {
      const { line, steps, values, raw } = one;
      const at = nearest(line.steps, step);
      const there = line.steps[at]!;
      const label = this.drawn.length > 1 ? this.label(one) : this.name;
      const across = this.field!.across;
      const place = there === step ? '' : ` at ${across.word} ${across.write(there)}`;
      const smoothed = raw ? `, smoothed ${precise(values[nearest(steps, step)])}` : '';
      const value = line.values[at];
      const said = value !== undefined && Number.isNaN(value) ? 'not finite' : precise(value);
      return `${label} ${said}${smoothed}${place}`;
    });
  }

  /** Rows for a table: curve, part, step and value, and the run where several are compared. */
  rows(): (string | number)[][] {
    return (this.data?.lines ?? []).flatMap(line =>
      Array.from(line.steps, (step, index) => [
        this.name,
        line.part,
        step,
        String(line.values[index]),
        ...(this.runs.length > 0 ? [this.runs[line.run] ?? ''] : [])
      ])
    );
  }

  /** Lets go. */
  destroy(): void {
    this.brush.destroy();
    this.listeners.release();
  }

  private label(one: Drawn): string {
    return labelOf(one, this.runs);
  }

  /** Only what ranges over orders of magnitude is drawn that way, and only where something is above zero. */
  private takesLog(): boolean {
    const { data } = this;
    return (
      data !== null && hasLog(data.kind) && data.lines.some(line => line.values.some(value => value > 0))
    );
  }

  /** Least and greatest value to draw of what is shown. */
  private range(setting: Setting, log: boolean): readonly [number, number] {
    const apart = new Set(this.spikes);
    const loud = this.drawn.map(one => within(one.steps, one.values, setting));
    // Spikes of the curve behind may leave the picture: they would flatten all the rest.
    const quiet = this.drawn.flatMap(({ line, raw }) => {
      const calm = line.values.map((value, index) => (apart.has(line.steps[index]!) ? Number.NaN : value));
      return raw ? Array.from(within(line.steps, calm, setting)) : [];
    });
    return extent(loud, quiet, log);
  }

  private drawLine(field: Field, one: Drawn, { picked, equal }: Setting): void {
    const { line, colour, steps, values, raw, dashes } = one;
    const { svg, x, y } = field;
    const pale = picked.size > 0 && !picked.has(line.run);
    const common = {
      fill: 'none',
      stroke: colour,
      'stroke-linejoin': 'round',
      'clip-path': `url(#${this.clip})`,
      opacity: pale ? 0.18 : null,
      'data-run': line.run === 0 && !equal ? null : line.run
    };
    if (raw) {
      const d = pathOf(line.steps, line.values, x, y);
      svg.append(
        s('path', { d, ...common, 'stroke-opacity': 0.32, 'data-curve': `${line.part || 'run'} raw` })
      );
    }
    const d = pathOf(steps, values, x, y);
    const wide = picked.has(line.run) ? 2.5 : line.run === 0 && !equal ? 1.75 : equal ? 1.5 : 1.25;
    const part = line.part || 'run';
    svg.append(
      s('path', { d, ...common, 'stroke-width': wide, 'stroke-dasharray': dashes, 'data-curve': part })
    );
    // A value an epoch is a point, and a value by itself makes no line.
    if ((line.ends.length === 0 && steps.length <= MOST_DOTS) || steps.length === 1) {
      for (let index = 0; index < steps.length; index++) {
        const across = x.at(steps[index]!);
        if (Number.isFinite(y.at(values[index]!)) && across >= x.from - 0.5 && across <= x.to + 0.5) {
          svg.append(s('circle', { cx: across, cy: y.inside(values[index]!), r: 2.5, fill: colour }));
        }
      }
    }
    if (line.missing > 0) {
      drawMissing(field, one);
    }
  }

  /** Says in words what the picture shows. */
  private describe(): void {
    const named = this.drawn
      .slice(0, MOST_SAID)
      .map(one => `${this.label(one)} ${figure(one.values.at(-1))}`);
    const more = this.drawn.length - named.length;
    const said = [...named, ...(more > 0 ? [`and ${grouped(more)} more`] : [])].join(', ');
    setAttributes(this.svg, {
      'aria-roledescription': 'chart',
      'aria-label': `${this.name} over ${this.field!.across.long}: ${said}. Arrow keys read values, plus and minus zoom.`
    });
  }

  private click(event: MouseEvent): void {
    const marked = this.marked;
    this.marked = false;
    if (marked || !this.field || !this.host.pick) {
      return;
    }
    const box = this.svg.getBoundingClientRect();
    const at = this.snap(this.field.x.invert(event.clientX - box.left));
    const run = at === null ? null : this.closest(at, event.clientY - box.top, NEAR);
    if (run !== null) {
      this.host.pick(run);
    }
  }

  private snap(step: number): number | null {
    const line = this.longest();
    const at = line ? nearest(line.steps, step) : -1;
    return at < 0 ? null : line!.steps[at]!;
  }

  /** The curve whose points the cursor goes along. */
  private longest(): Line | undefined {
    return this.drawn
      .map(one => one.line)
      .reduce<Line | undefined>(
        (best, line) => (best && best.steps.length >= line.steps.length ? best : line),
        undefined
      );
  }

  private key(event: KeyboardEvent): void {
    const line = this.longest();
    const { field } = this;
    if (!line || !field || line.steps.length === 0) {
      return;
    }
    const undo = event.key === 'z' && (event.ctrlKey || event.metaKey);
    const first = nearest(line.steps, field.x.low);
    const last = nearest(line.steps, field.x.high);
    const here = this.seen === null ? last : nearest(line.steps, this.seen);
    const far = event.shiftKey ? Math.max(1, Math.round((last - first) / 20)) : 1;
    const page = Math.max(1, Math.round((last - first) / 10));
    const next = {
      ArrowLeft: this.seen === null ? last : here - far,
      ArrowRight: here + far,
      PageUp: here - page,
      PageDown: here + page,
      Home: first,
      End: last
    }[event.key];
    const zoom = { '+': 0.5, '=': 0.5, '-': 2 }[event.key];
    const spike = this.spikes.find(step => step > (this.seen ?? -Infinity)) ?? this.spikes[0];
    if (undo) {
      this.host.undo();
      // With these, keys are the browser's.
    } else if (event.ctrlKey || event.metaKey || event.altKey) {
      return;
    } else if (event.key === 's' && spike !== undefined) {
      this.host.point(spike, this, null);
    } else if (event.key === 'n' && this.missing() !== null) {
      this.host.point(this.missing(), this, null);
    } else if (zoom !== undefined) {
      this.host.scale(zoom, this.seen ?? (field.x.low + field.x.high) / 2);
    } else if (event.key === '0') {
      this.host.zoom(null);
    } else if (next !== undefined) {
      this.host.point(line.steps[clamp(next, first, last)]!, this, null);
    } else if (event.key === 'Escape' && (this.brush.cancel() || this.seen !== null)) {
      this.host.point(null, this, null);
    } else {
      return;
    }
    event.preventDefault();
    event.stopPropagation();
  }

  /** The next step with a value that is no number; the first one after the last. */
  private missing(): number | null {
    const steps = this.drawn
      .flatMap(({ line }) => Array.from(line.steps).filter((_, at) => Number.isNaN(line.values[at]!)))
      .sort((a, b) => a - b);
    return steps.find(step => step > (this.seen ?? -Infinity)) ?? steps[0] ?? null;
  }
}
