/** One chart: curves over the steps, with the raw values behind the smoothed ones, marks, and a cursor. */
import type { TrainingMark, TrainingSpike } from '../protocol';
import { categoryColour } from '../common/colours';
import { h, Listeners, replace, s, setAttributes, setText, type Attributes } from '../common/dom';
import { exact, figure, grouped, si } from '../common/numbers';
import { clamp, Scale, ticks } from '../common/scales';
import { textWidth } from '../common/text';
import type { Theme } from '../common/theme';
import { Axis } from './axis';
import { extent, isFine, nearest, smooth, type ChartData, type Line } from './series';

/** Left of every chart, so that steps lie below each other. */
export const LEFT = 52;
/** Right of every chart. */
export const RIGHT = 10;
const TALL = 130;
const BOTTOM = 20;
const MOST_DOTS = 60;

/** What is the same for all charts of a picture. */
export interface Setting {
  readonly low: number;
  readonly high: number;
  readonly weight: number;
  readonly log: boolean;
  readonly marks: readonly TrainingMark[];
  readonly spikes: readonly TrainingSpike[];
  /** The step at which training failed. */
  readonly failed: number | null;
}

/** From where to where something reaches across. */
type Span = readonly [number, number];

/** A curve as it is drawn. */
interface Drawn {
  readonly line: Line;
  readonly colour: string;
  /** Steps and values of the loud curve. */
  readonly steps: Float64Array;
  readonly values: Float64Array;
  /** Whether the raw values are drawn behind it. */
  readonly raw: boolean;
}

/** The colour of a curve. */
export function colourOf(line: Pick<Line, 'kind' | 'part'>, dark: boolean): string {
  if (line.part === 'validation') {
    return categoryColour(3, dark);
  }
  return categoryColour({ loss: 0, metric: 0, rate: 5, norm: 2, throughput: 4 }[line.kind], dark);
}

/** A path through points; it breaks where there is no value, and stays inside the rim. */
export function pathOf(steps: Float64Array, values: Float64Array, x: Scale, y: Axis): string {
  const parts: string[] = [];
  let pen = 'M';
  for (let index = 0; index < steps.length; index++) {
    const down = y.at(values[index]!);
    if (Number.isNaN(down)) {
      pen = 'M';
      continue;
    }
    // Far outside the picture browsers draw wrongly; the clip hides the rest.
    parts.push(`${pen}${x.at(steps[index]!).toFixed(1)} ${clamp(down, -2000, 2000).toFixed(1)}`);
    pen = 'L';
  }
  return parts.join('');
}

/** The least of 1, 2, 5, 10, 20 … that is no less than a number. */
export function roundUp(number: number): number {
  const power = 10 ** Math.floor(Math.log10(Math.max(1, number)));
  return power * ([1, 2, 5, 10].find(digit => digit * power >= number) ?? 10);
}

/** Nine digits: they tell every float32 from every other. */
function precise(value: number | undefined): string {
  return exact(value === undefined || Number.isNaN(value) ? null : Number(value.toPrecision(9)));
}

/** Lets text stand out from the curves behind it. */
function halo(theme: Theme): Attributes {
  return { stroke: `rgb(${theme.paper.join()})`, 'stroke-width': 3, 'paint-order': 'stroke' };
}

let serial = 0;

/** A chart with its title, its legend and a cursor. */
export class Chart {
  readonly element: HTMLElement;
  readonly svg = s('svg', { class: 'wb-svg', tabindex: 0, role: 'img' });
  private readonly title = h('b', {});
  private readonly legend = h('span', { class: 'wb-chart-legend' });
  private readonly listeners = new Listeners();
  private readonly clip = `wb-training-clip-${(serial += 1)}`;
  private readonly cursor = s('g', { 'pointer-events': 'none' });
  private readonly values = new Map<Drawn, HTMLElement>();
  private data: ChartData | null = null;
  private drawn: Drawn[] = [];
  private x = new Scale(0, 1, 0, 1);
  private y = new Axis(0, 1, false, 1, 0);
  private height = 0;
  private top = 0;
  private seen: number | null = null;
  private spikes: readonly number[] = [];

  constructor(
    key: string,
    private readonly point: (step: number | null, chart: Chart) => void
  ) {
    this.element = h(
      'figure',
      { class: 'wb-chart', 'data-testid': 'wb-chart', 'data-chart': key },
      h('figcaption', {}, this.title, this.legend),
      this.svg as unknown as HTMLElement
    );
    this.listeners.on(this.svg, 'pointermove', event => {
      const across = event.clientX - this.svg.getBoundingClientRect().left;
      this.point(this.snap(this.x.invert(across)), this);
    });
    this.listeners.on(this.svg, 'pointerleave', () => this.point(null, this));
    this.listeners.on(this.svg, 'blur', () => this.point(null, this));
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
      s('tspan', { fill: theme.ink }, `${one.line.part} ${figure(one.values.at(-1))}`)
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
    setText(this.title, data.title);
  }

  /** Draws at a size. */
  draw(width: number, height: number, setting: Setting, theme: Theme): void {
    const { data, svg } = this;
    if (!data) {
      return;
    }
    this.height = height;
    this.top = height > TALL ? 16 : 8;
    this.spikes = setting.spikes.map(spike => spike.step);
    this.drawn = data.lines.map(line => prepare(line, setting.weight, theme));
    const apart = new Set(setting.spikes.map(spike => spike.step));
    const quiet = this.drawn.flatMap(({ line, raw }) =>
      raw ? Array.from(line.values).filter((_, index) => !apart.has(line.steps[index]!)) : []
    );
    const log = setting.log && this.takesLog();
    const [low, high] = extent(
      this.drawn.map(one => one.values),
      quiet,
      log
    );
    this.x = new Scale(setting.low, setting.high, LEFT, width - RIGHT);
    this.y = new Axis(low, high, log, height - BOTTOM, this.top);
    setAttributes(svg, { width, height, viewBox: `0 0 ${width} ${height}` });
    const box = {
      x: LEFT,
      y: this.top - 1,
      width: Math.max(0, width - RIGHT - LEFT),
      height: height - this.top - BOTTOM + 2
    };
    replace(svg, s('clipPath', { id: this.clip }, s('rect', box)));
    this.drawAxes(width, setting, theme);
    for (const one of this.drawn) {
      this.drawLine(one);
    }
    const told = data.kind === 'loss';
    const taken = setting.failed === null ? [] : [this.drawFailure(setting.failed, told, theme)];
    if (told) {
      this.drawSpikes(width, setting.spikes, taken, theme);
    }
    svg.append(this.cursor);
    this.drawLegend();
    this.show(this.seen, theme);
  }

  /** Puts the cursor of all charts at a step, or away. */
  show(step: number | null, theme: Theme): void {
    this.seen = step;
    replace(this.cursor);
    for (const one of this.drawn) {
      const at = step === null ? one.steps.length - 1 : nearest(one.steps, step);
      const value = one.values[at];
      const field = this.values.get(one);
      if (field) {
        setText(field, figure(value));
        field.title = exact(value);
      }
      if (step !== null && value !== undefined && Number.isFinite(this.y.at(value))) {
        const place = { cx: this.x.at(one.steps[at]!), cy: this.y.inside(value) };
        const paper = `rgb(${theme.paper.join()})`;
        this.cursor.append(
          s('circle', { ...place, r: 3.5, fill: one.colour, stroke: paper, 'stroke-width': 1.5 })
        );
      }
    }
    if (step !== null) {
      const across = this.x.at(step);
      const line = { x1: across, x2: across, y1: this.top, y2: this.height - BOTTOM };
      this.cursor.prepend(s('line', { ...line, stroke: theme.quiet, 'stroke-dasharray': '2 2' }));
    }
  }

  /** What the curves are at a step, exactly, in words. */
  read(step: number): string[] {
    return this.drawn.map(({ line, steps, values, raw }) => {
      const at = nearest(line.steps, step);
      const there = line.steps[at]!;
      const label = this.drawn.length > 1 ? line.part : this.name;
      const place = there === step ? '' : ` at step ${grouped(there)}`;
      const smoothed = raw ? `, smoothed ${precise(values[nearest(steps, step)])}` : '';
      return `${label} ${precise(line.values[at])}${smoothed}${place}`;
    });
  }

  /** Rows for a table: curve, part, step and value. */
  rows(): (string | number)[][] {
    return (this.data?.lines ?? []).flatMap(line =>
      Array.from(line.steps, (step, index) => [this.name, line.part, step, String(line.values[index])])
    );
  }

  /** Lets go. */
  destroy(): void {
    this.listeners.release();
  }

  /** Only what ranges over orders of magnitude is drawn that way. */
  private takesLog(): boolean {
    return this.data !== null && this.data.kind !== 'metric' && this.data.kind !== 'throughput';
  }

  private drawAxes(width: number, setting: Setting, theme: Theme): void {
    const { svg, x, y, height } = this;
    const base = height - BOTTOM;
    const text = { 'font-size': 10, fill: theme.quiet };
    for (const [value, words] of y.ticks(height > TALL ? 5 : 3)) {
      const down = y.at(value);
      svg.append(
        s('line', { x1: LEFT, x2: width - RIGHT, y1: down, y2: down, stroke: theme.line }),
        s('text', { x: LEFT - 6, y: down + 3.5, 'text-anchor': 'end', ...text }, words)
      );
    }
    svg.append(s('text', { x: LEFT - 6, y: height - 5, 'text-anchor': 'end', ...text }, 'step'));
    const across = ticks(x.low, x.high, clamp(width / 80, 2, 8)).filter(Number.isInteger);
    for (const value of across.length > 0 ? across : [x.low]) {
      const words = value >= 10_000 ? si(value) : grouped(value);
      const half = textWidth(words, 10) / 2;
      const at = clamp(x.at(value), LEFT, width - half - 1);
      svg.append(
        s('line', { x1: x.at(value), x2: x.at(value), y1: base, y2: base + 3, stroke: theme.quiet }),
        s('text', { x: at, y: height - 5, 'text-anchor': 'middle', ...text }, words)
      );
    }
    this.drawEpochs(setting.marks, theme);
  }

  /** Ends of epochs, at round numbers where there are many; the numbers stand over large charts. */
  private drawEpochs(marks: readonly TrainingMark[], theme: Theme): void {
    const first = marks[0];
    const last = marks.at(-1);
    if (!first || !last) {
      return;
    }
    const apart = (this.x.at(last.step) - this.x.at(first.step)) / Math.max(1, last.epoch - first.epoch);
    const room = 14 + textWidth(String(last.epoch), 9.5);
    const numbered = marks.filter(mark => mark.epoch % (marks.length > 1 ? roundUp(room / apart) : 1) === 0);
    let lines = '';
    for (const mark of apart >= 14 || marks.length === 1 ? marks : numbered) {
      lines += `M${this.x.at(mark.step).toFixed(1)} ${this.top}V${this.height - BOTTOM}`;
    }
    const stroke = { stroke: theme.quiet, 'stroke-opacity': 0.6, 'stroke-dasharray': '1 3' };
    this.svg.append(s('path', { d: lines, ...stroke, 'data-mark': 'epochs' }));
    let named = false;
    for (const mark of this.height > TALL ? numbered : []) {
      const at = this.x.at(mark.step);
      const words =
        !named && at - textWidth('epoch 00', 9.5) > 0 ? `epoch ${mark.epoch}` : String(mark.epoch);
      named = true;
      this.svg.append(
        s('text', { x: at, y: 10, 'font-size': 9.5, fill: theme.quiet, 'text-anchor': 'end' }, words)
      );
    }
  }

  private drawLine({ line, colour, steps, values, raw }: Drawn): void {
    const { svg, x, y } = this;
    const common = {
      fill: 'none',
      stroke: colour,
      'stroke-linejoin': 'round',
      'clip-path': `url(#${this.clip})`
    };
    if (raw) {
      const d = pathOf(line.steps, line.values, x, y);
      svg.append(s('path', { d, ...common, 'stroke-opacity': 0.32, 'data-curve': `${line.part} raw` }));
    }
    const d = pathOf(steps, values, x, y);
    svg.append(s('path', { d, ...common, 'stroke-width': 1.75, 'data-curve': line.part }));
    if ((line.ends.length === 0 && steps.length <= MOST_DOTS) || steps.length === 1) {
      for (let index = 0; index < steps.length; index++) {
        if (Number.isFinite(y.at(values[index]!))) {
          svg.append(
            s('circle', { cx: x.at(steps[index]!), cy: y.inside(values[index]!), r: 2.5, fill: colour })
          );
        }
      }
    }
  }

  /** A triangle at each spike, with its step where there is room; the largest come first. */
  private drawSpikes(width: number, spikes: readonly TrainingSpike[], taken: Span[], theme: Theme): void {
    const colour = categoryColour(5, theme.dark);
    const bySize = [...spikes].sort((a, b) => b.value / (b.usual || 1) - a.value / (a.usual || 1));
    for (const spike of bySize) {
      const at = this.x.at(spike.step);
      const down = Math.max(this.top + 7, this.y.inside(spike.value) - 3);
      const group = s(
        'g',
        { 'data-spike': spike.step },
        s('title', {}, `step ${spike.step}: ${exact(spike.value)}, usual there is ${figure(spike.usual)}`),
        s('path', { d: `M${at.toFixed(1)} ${down - 1}l-4 -7h8z`, fill: colour })
      );
      const words = grouped(spike.step);
      const wide = textWidth(words, 10) + 8;
      const right = at + wide < width - RIGHT;
      const span: Span = right ? [at - 5, at + wide] : [at - wide, at + 5];
      if (taken.every(([from, to]) => span[1] < from || span[0] > to)) {
        taken.push(span);
        group.append(
          s(
            'text',
            {
              x: right ? at + 6 : at - 6,
              y: down - 1,
              'text-anchor': right ? 'start' : 'end',
              'font-size': 10,
              'font-weight': 600,
              fill: colour,
              ...halo(theme)
            },
            words
          )
        );
      }
      this.svg.append(group);
    }
  }

  private drawFailure(step: number, told: boolean, theme: Theme): Span {
    const at = clamp(this.x.at(step), LEFT, this.x.to);
    const colour = theme.dark ? '#ff8a80' : '#b3261e';
    const line = { x1: at, x2: at, y1: this.top, y2: this.height - BOTTOM };
    this.svg.append(s('line', { ...line, stroke: colour, 'stroke-width': 1.5, 'data-mark': 'failed' }));
    const words = `✕ step ${grouped(step)}`;
    const wide = textWidth(words, 10) + 5;
    const left = at - wide > LEFT;
    if (told) {
      const place = { x: at + (left ? -5 : 5), y: this.top + 9, 'text-anchor': left ? 'end' : 'start' };
      const look = { ...halo(theme), 'font-size': 10, 'font-weight': 600, fill: colour };
      this.svg.append(s('text', { ...place, ...look }, words));
    }
    return left ? [at - wide, at] : [at, at + wide];
  }

  private drawLegend(): void {
    this.values.clear();
    const several = this.drawn.length > 1 || this.drawn.some(one => one.line.part === 'validation');
    const entries = this.drawn.map(one => {
      const value = h('span', { class: 'wb-chart-value' });
      this.values.set(one, value);
      const swatch = h('i', { 'aria-hidden': 'true', 'data-part': one.line.part });
      swatch.style.background = one.colour;
      const missing = one.line.missing > 0 ? ` · ${grouped(one.line.missing)} not finite` : '';
      return h('span', {}, several ? swatch : null, several ? `${one.line.part} ` : null, value, missing);
    });
    replace(this.legend, ...entries);
    const said = this.drawn.map(one => `${one.line.part} ${figure(one.values.at(-1))}`).join(', ');
    setAttributes(this.svg, {
      'aria-label': `${this.name} over the steps: ${said}. Arrow keys read values.`
    });
  }

  private snap(step: number): number | null {
    const line = this.data?.lines[0];
    const at = line ? nearest(line.steps, step) : -1;
    return at < 0 ? null : line!.steps[at]!;
  }

  private key(event: KeyboardEvent): void {
    const line = this.data?.lines[0];
    if (!line || line.steps.length === 0) {
      return;
    }
    const last = line.steps.length - 1;
    const here = this.seen === null ? last : nearest(line.steps, this.seen);
    const far = event.shiftKey ? Math.max(1, Math.round(last / 20)) : 1;
    const page = Math.max(1, Math.round(last / 10));
    const next = {
      ArrowLeft: this.seen === null ? last : here - far,
      ArrowRight: here + far,
      PageUp: here - page,
      PageDown: here + page,
      Home: 0,
      End: last
    }[event.key];
    const spike = this.spikes.find(step => step > (this.seen ?? -Infinity)) ?? this.spikes[0];
    if (event.key === 's' && spike !== undefined) {
      this.point(spike, this);
    } else if (next !== undefined) {
      this.point(line.steps[clamp(next, 0, last)]!, this);
    } else if (event.key === 'Escape' && this.seen !== null) {
      this.point(null, this);
    } else {
      return;
    }
    event.preventDefault();
    event.stopPropagation();
  }
}

/** The loud curve: smoothed where there is a value a step, as it is elsewhere. */
function prepare(line: Line, weight: number, theme: Theme): Drawn {
  const colour = colourOf(line, theme.dark);
  const plain = line.kind === 'rate' || line.ends.length === 0 || (weight === 0 && isFine(line));
  return plain
    ? { line, colour, steps: line.steps, values: line.values, raw: false }
    : { line, colour, steps: line.ends, values: smooth(line, weight), raw: true };
}
