/** The layers over time: a row a layer, a column a look, one number a cell. */
import type { TrainingStrip } from '../protocol';
import { float32, StateError } from '../common/buffers';
import type { MapName } from '../common/colours';
import { h, Listeners, setText } from '../common/dom';
import { exact, figure, grouped, percent } from '../common/numbers';
import { bitmap, fitCanvas, gradient, paint } from '../common/raster';
import { clamp, Scale } from '../common/scales';
import { middleOut, textWidth } from '../common/text';
import type { Theme } from '../common/theme';
import { stepTicks } from './axis';
import { RIGHT } from './marks';
import { nearest } from './series';
import type { Steps } from './window';

const MOST_CELLS = 1 << 20;
const TALLEST = 400;
const LINE = 11;
const BOTTOM = 18;
const MAP: MapName = 'viridis';

/** What a strip tells, in a sentence. */
const WORDS: Readonly<Record<TrainingStrip['name'], string>> = {
  'update / weight':
    'How far a step moves the weights of a layer, as a part of their size: about 0.001 is usual.',
  'gradient norm': 'Size of the gradient of a layer, as the optimizer gets it.',
  'dead units': 'Part of the units of a ReLU that give 0 for a whole batch: they learn nothing from it.'
};

/** A strip with its values. */
export interface Layers {
  readonly strip: TrainingStrip;
  readonly values: Float32Array;
}

/** A strip with its buffer. */
export function decodeStrip(strip: TrainingStrip, buffers: readonly DataView[]): Layers {
  const cells = strip.layers.length * strip.steps.length;
  if (cells > MOST_CELLS) {
    throw new StateError(`a strip of ${grouped(cells)} cells cannot be drawn`);
  }
  return { strip, values: float32(buffers, strip.values_buffer, cells, `the strip ${strip.name}`) };
}

/** The range of the colours, and the values on it; `log` where they range over orders of magnitude. */
export function toned({ strip, values }: Layers): {
  readonly low: number;
  readonly high: number;
  readonly log: boolean;
  readonly values: Float32Array;
} {
  if (strip.name === 'dead units') {
    return { low: 0, high: 1, log: false, values };
  }
  // Typed arrays are sorted as numbers; only others are sorted as text.
  const positive = values.filter(value => value > 0).sort();
  const low = positive[Math.floor(positive.length / 100)] ?? 1e-6;
  const high = positive.at(-1) ?? 1;
  // At least a decade, or noise would look like a difference.
  const from = Math.log10(Math.min(low, high / 10));
  // 0 is the lowest colour, and what was not measured has none.
  const logs = values.map(value => (value > 0 ? Math.log10(value) : value === 0 ? from : Number.NaN));
  return { low: from, high: Math.log10(high), log: true, values: logs };
}

/** Names of layers; where they are long, without what all have in common at their ends. */
export function shortNames(names: readonly string[]): {
  readonly names: readonly string[];
  /** What was left out, with a star for the rest: `encoder.layers.*.out_proj`; empty where nothing was. */
  readonly around: string;
} {
  const parts = names.map(name => name.split('.'));
  const fewest = Math.min(...parts.map(one => one.length));
  if (names.length < 2 || Math.max(...names.map(name => name.length)) <= 26) {
    return { names, around: '' };
  }
  const same = (at: number): boolean => parts.every(one => one.at(at) === parts[0]!.at(at));
  let front = 0;
  while (front < fewest - 1 && same(front)) {
    front += 1;
  }
  let back = 0;
  while (back < fewest - 1 - front && same(-1 - back)) {
    back += 1;
  }
  if (front + back === 0) {
    return { names, around: '' };
  }
  const first = parts[0]!;
  const around = [...first.slice(0, front), '*', ...first.slice(first.length - back)].join('.');
  return { names: parts.map(one => one.slice(front, one.length - back).join('.')), around };
}

/** The heat strip, with names on its left and a colour bar below. */
export class Strip {
  readonly element: HTMLElement;
  private readonly canvas = h('canvas', { role: 'img', tabindex: 0, 'data-testid': 'wb-strip' });
  private readonly words = h('span', { class: 'wb-quiet', 'data-testid': 'wb-strip-words' });
  private readonly around = h('code', { class: 'wb-quiet', hidden: true });
  private readonly bar = h('i');
  private readonly ends = [h('span'), h('span')] as const;
  private readonly listeners = new Listeners();
  private layers: Layers | null = null;
  private names: readonly string[] = [];
  private image: { readonly key: string; readonly canvas: HTMLCanvasElement } | null = null;
  private x = new Scale(0, 1, 0, 1);
  private rowHeight = 1;
  private left = 0;
  private row: number | null = null;
  private step: number | null = null;

  constructor(private readonly point: (step: number | null, words: string) => void) {
    const scale = h('span', { class: 'wb-strip-scale' }, this.ends[0], this.bar, this.ends[1]);
    this.element = h(
      'div',
      { class: 'wb-strip' },
      this.around,
      this.canvas,
      h('div', { class: 'wb-strip-foot' }, this.words, scale)
    );
    this.listeners.on(this.canvas, 'pointermove', event => {
      const row = Math.floor(event.offsetY / this.rowHeight);
      const inside = event.offsetX >= this.left && row < (this.layers?.strip.layers.length ?? 0);
      this.go(inside ? this.x.invert(event.offsetX) : null, row);
    });
    this.listeners.on(this.canvas, 'pointerleave', () => this.go(null, 0));
    this.listeners.on(this.canvas, 'blur', () => this.go(null, 0));
    this.listeners.on(this.canvas, 'keydown', event => this.key(event));
  }

  /** Takes other values. */
  accept(layers: Layers): void {
    const { strip } = layers;
    this.layers = layers;
    const short = shortNames(strip.layers);
    this.names = short.names;
    setText(this.around, short.around);
    this.around.hidden = short.around === '';
    this.image = null;
    if (this.row !== null && this.row >= strip.layers.length) {
      this.row = null;
    }
    if (this.row === null) {
      this.explain('');
    }
    this.canvas.setAttribute(
      'aria-label',
      `${strip.name} of ${strip.layers.length} layers at ${strip.steps.length} steps. Arrow keys read values.`
    );
  }

  /** Draws at a width, over the steps of the charts; the last look stands until the step `end`. */
  draw(width: number, { low, high }: Steps, end: number, theme: Theme): void {
    const { layers } = this;
    if (!layers) {
      return;
    }
    const { strip } = layers;
    const rows = strip.layers.length;
    // Whole pixels, while there are enough of them.
    this.rowHeight = clamp(Math.floor(TALLEST / rows) || TALLEST / rows, 1, 17);
    const longest = Math.max(...this.names.map(name => textWidth(middleOut(name, 28), 10.5)));
    this.left = Math.round(clamp(longest + 8, 46, width * 0.36));
    this.x = new Scale(low, high, this.left, width - RIGHT);
    const tall = rows * this.rowHeight;
    const context = fitCanvas(this.canvas, width, Math.ceil(tall) + BOTTOM);
    const image = this.painted(layers, theme);
    context.save();
    context.beginPath();
    context.rect(this.left, 0, this.x.to - this.left, tall);
    context.clip();
    strip.steps.forEach((step, column) => {
      const from = this.x.at(step);
      const until = this.x.at(strip.steps[column + 1] ?? Math.max(end, step + 1));
      // A look stands until the next one, but no wider than can be told from a stripe.
      context.drawImage(image, column, 0, 1, rows, from, 0, Math.max(1, until - from), tall);
    });
    context.restore();
    this.drawNames(context, theme);
    this.drawSteps(context, tall, theme);
    this.drawCursor(context, tall, theme);
    this.drawScale(layers, theme);
  }

  /** The canvas, for the export. */
  get picture(): HTMLCanvasElement {
    return this.canvas;
  }

  /** Puts the cursor at a step that is pointed at elsewhere. */
  show(step: number | null): void {
    this.step = step;
  }

  /** Lets go. */
  destroy(): void {
    this.listeners.release();
  }

  private painted(layers: Layers, theme: Theme): HTMLCanvasElement {
    const key = `${theme.dark} ${theme.paper.join()}`;
    if (this.image?.key !== key) {
      const { low, high, values } = toned(layers);
      const { layers: names, steps } = layers.strip;
      const style = { map: MAP, low, high, signed: false, dark: theme.dark, paper: theme.paper };
      const image = paint(values, 0, { height: names.length, width: steps.length, channels: 1 }, style);
      for (let cell = 0; cell < values.length; cell++) {
        if (Number.isNaN(values[cell]!)) {
          image.data[cell * 4 + 3] = 0; // nothing was measured: paper
        }
      }
      this.image = { key, canvas: bitmap(image) };
    }
    return this.image.canvas;
  }

  private drawNames(context: CanvasRenderingContext2D, theme: Theme): void {
    context.font = `10.5px ${theme.font}`;
    context.textAlign = 'right';
    context.textBaseline = 'middle';
    const every = Math.ceil(LINE / this.rowHeight);
    const fits = Math.floor((this.left - 6) / 5.5);
    const write = (row: number, down: number): void => {
      context.fillStyle = row === this.row ? theme.ink : theme.quiet;
      context.fillText(middleOut(this.names[row]!, Math.min(28, fits)), this.left - 6, down, this.left - 8);
    };
    const place = (row: number): number => Math.max(LINE / 2, (row + 0.5) * this.rowHeight);
    const kept = this.row === null ? null : place(this.row);
    let last = -LINE;
    // Where not every row has its name, the first one that has it is a little below the top.
    for (let row = every >> 1; row < this.names.length; row += every) {
      const down = place(row);
      if (down - last >= LINE - 0.5 && (kept === null || Math.abs(down - kept) >= LINE - 0.5)) {
        write(row, down);
        last = down;
      }
    }
    if (kept !== null) {
      write(this.row!, kept);
    }
  }

  private drawSteps(context: CanvasRenderingContext2D, tall: number, theme: Theme): void {
    context.fillStyle = theme.quiet;
    context.font = `10px ${theme.font}`;
    context.textBaseline = 'alphabetic';
    context.textAlign = 'right';
    context.fillText('step', this.left - 6, tall + 13);
    context.textAlign = 'center';
    for (const [value, words] of stepTicks(this.x.low, this.x.high, clamp(this.x.to / 80, 2, 8))) {
      const half = textWidth(words, 10) / 2;
      context.fillText(words, clamp(this.x.at(value), this.left, this.x.to + RIGHT - half), tall + 13);
    }
  }

  private drawCursor(context: CanvasRenderingContext2D, tall: number, theme: Theme): void {
    if (this.step === null || this.step < this.x.low || this.step > this.x.high) {
      return;
    }
    const at = this.x.at(this.step);
    context.strokeStyle = theme.dark ? '#ffffff' : '#000000';
    context.lineWidth = 1;
    context.setLineDash([2, 2]);
    context.beginPath();
    context.moveTo(at, 0);
    context.lineTo(at, tall);
    context.stroke();
    context.setLineDash([]);
    if (this.row !== null) {
      context.strokeRect(
        this.left + 0.5,
        this.row * this.rowHeight + 0.5,
        this.x.to - this.left - 1,
        this.rowHeight - 1
      );
    }
  }

  private drawScale(layers: Layers, theme: Theme): void {
    const { low, high, log } = toned(layers);
    const write = (value: number): string => (log ? figure(10 ** value) : percent(value));
    setText(this.ends[0], write(low));
    setText(this.ends[1], write(high));
    this.bar.style.background = gradient(MAP, 'to right', theme.dark, theme.paper);
  }

  private go(step: number | null, row: number): void {
    const { layers } = this;
    if (!layers || step === null) {
      this.row = null;
      this.explain('');
      this.point(null, '');
      return;
    }
    const { strip, values } = layers;
    let column = nearest(strip.steps, step);
    if (column > 0 && strip.steps[column]! > step) {
      column -= 1; // a look stands until the next one
    }
    this.row = clamp(row, 0, strip.layers.length - 1);
    const value = values[this.row * strip.steps.length + column];
    const words =
      strip.name === 'dead units'
        ? percent(value)
        : exact(value === undefined || Number.isNaN(value) ? null : Number(value.toPrecision(7)));
    const said = `${strip.layers[this.row]} · ${strip.name} ${words}`;
    const at = strip.steps[column]!;
    this.explain(`step ${grouped(at)} · ${said}`);
    this.point(at, said);
  }

  /** Says below the strip what is pointed at; what the strip tells, where nothing is. */
  private explain(pointed: string): void {
    const strip = this.layers?.strip;
    if (strip) {
      const left = strip.left_out > 0 ? ` ${grouped(strip.left_out)} more layers are not drawn.` : '';
      setText(this.words, pointed || WORDS[strip.name] + left);
    }
  }

  private key(event: KeyboardEvent): void {
    const strip = this.layers?.strip;
    if (!strip || strip.steps.length === 0) {
      return;
    }
    const last = strip.steps.length - 1;
    const column = this.step === null || this.row === null ? last : nearest(strip.steps, this.step);
    const row = this.row ?? 0;
    const far = event.shiftKey ? 5 : 1;
    const started = this.row === null ? 0 : far;
    const next = {
      ArrowLeft: [column - started, row],
      ArrowRight: [column + started, row],
      ArrowUp: [column, row - started],
      ArrowDown: [column, row + started],
      Home: [0, row],
      End: [last, row]
    }[event.key];
    if (next) {
      this.go(strip.steps[clamp(next[0]!, 0, last)]!, next[1]!);
    } else if (event.key === 'Escape' && this.row !== null) {
      this.go(null, 0);
    } else {
      return;
    }
    event.preventDefault();
    event.stopPropagation();
  }
}
