/** An input that is a picture: itself and its heatmaps side by side, with one cursor over all. */
import { h, Listeners, replace } from '../common/dom';
import { chip } from '../common/parts';
import { bitmap, fitCanvas, paint } from '../common/raster';
import { clamp } from '../common/scales';
import type { Theme } from '../common/theme';
import { keyed, labelOf, partName, type Cell, type PartData, type PartPicture, type Sight } from './part';
import { overlay } from './tone';

/** The largest side of one picture, in CSS pixels. */
const LARGEST = 308;
/** Narrower than this, pictures stand one above the other, small enough that two are seen at once. */
const NARROW = 460;
const STACKED = 230;
const SMALLEST = 80;
const GAP = 16;
/** Narrower than this, four pictures are two rows of two. */
const FOUR_ABREAST = 800;
/** Room of the scale beside the last picture. */
const SCALE_ROOM = 62;

interface Shown {
  readonly canvas: HTMLCanvasElement;
  readonly figure: HTMLElement;
  bitmap: HTMLCanvasElement | null;
}

/** Input and heatmaps of one part. */
export class CanvasPart implements PartPicture {
  readonly element = h('div', { class: 'wb-heat-pair' });
  cursor: Cell | null = null;
  private readonly listeners = new Listeners();
  private readonly axes = h('span', { class: 'wb-chips' });
  private shown: Shown[] = [];
  private layout = '';
  private data: PartData | null = null;
  private inputImage: ImageData | null = null;
  private painted = '';
  private scale = 1;

  constructor(private readonly moved: () => void) {}

  accept(data: PartData): void {
    const { part, maps } = data;
    Object.assign(this, { data, painted: '', inputImage: null });
    const names = [...(part.channels > 0 ? ['input'] : []), ...maps.map(map => map.name)];
    const layout = JSON.stringify([part.name, names]);
    // Pictures of the same kind keep their elements, and with them the focus.
    if (layout !== this.layout) {
      this.layout = layout;
      this.build(data, names);
    }
    this.shown.forEach(({ canvas }, at) => canvas.setAttribute('aria-label', labelOf(names[at]!, part)));
    if (this.cursor && (this.cursor.row >= part.height || this.cursor.column >= part.width)) {
      this.cursor = null;
    }
  }

  draw(sight: Sight): void {
    const { data } = this;
    if (!data) {
      return;
    }
    this.paint(data, sight);
    const { height, width } = data.part;
    const side = this.side(sight.width);
    const fit = Math.min(side / width, side / height);
    // Whole multiples, so that all cells are the same size; only what must shrink takes any scale.
    this.scale = fit >= 1 ? Math.max(1, Math.floor(fit)) : fit;
    for (const { canvas, bitmap: image } of this.shown) {
      const context = fitCanvas(canvas, width * this.scale, height * this.scale);
      // Shrunk without smoothing, whole rows would be left out.
      context.imageSmoothingEnabled = this.scale < 1;
      context.drawImage(image!, 0, 0, width * this.scale, height * this.scale);
      this.drawCursor(context, sight.theme);
    }
    const { part } = data;
    replace(this.axes, chip(part.row_dim, sight.theme.dark), chip(part.column_dim, sight.theme.dark));
  }

  canvases(): readonly HTMLCanvasElement[] {
    return this.shown.map(one => one.canvas);
  }

  destroy(): void {
    this.listeners.release();
  }

  private side(width: number): number {
    const count = this.shown.length;
    if (width < NARROW) {
      return clamp(width - SCALE_ROOM, SMALLEST, STACKED);
    }
    // Side by side where there is room: models are compared at one glance, and nothing lies below the window's edge.
    const beside = count > 3 && width < FOUR_ABREAST ? 2 : count;
    return clamp((width - GAP * (beside - 1) - SCALE_ROOM) / beside, SMALLEST, LARGEST);
  }

  private build({ part, maps }: PartData, names: readonly string[]): void {
    this.listeners.release();
    const ids = [...(part.channels > 0 ? ['wb-heat-input'] : []), ...maps.map(map => `wb-heat-${map.kind}`)];
    this.shown = ids.map((id, at) => {
      const canvas = h('canvas', { role: 'img', tabindex: 0, 'data-testid': id });
      this.listeners.on(canvas, 'pointermove', event => this.point(event));
      this.listeners.on(canvas, 'pointerleave', () => this.go(null));
      this.listeners.on(canvas, 'blur', () => this.go(null));
      this.listeners.on(canvas, 'keydown', event => this.key(event));
      const caption = h('figcaption', {}, h('span', {}, names[at]!), at === 0 ? this.axes : null);
      return { canvas, bitmap: null, figure: h('figure', {}, caption, canvas) };
    });
    replace(this.element, partName(part), ...this.shown.map(one => one.figure));
  }

  private paint({ part, values, maps }: PartData, sight: Sight): void {
    const { dark, paper } = sight.theme;
    if (!this.inputImage) {
      // Without a picture the heatmap stands on its own.
      const plain = { map: 'grey', low: part.input_low, high: part.input_high, signed: false } as const;
      const channels = part.channels || 1;
      const ground = part.channels > 0 ? values : new Float32Array(part.height * part.width).fill(1);
      this.inputImage = paint(ground, 0, { ...part, channels }, { ...plain, dark, paper });
      if (part.channels > 0) {
        this.shown[0]!.bitmap = bitmap(this.inputImage);
      }
    }
    const { sign, map, blend } = sight.tone;
    const key = JSON.stringify([sign, map, blend, sight.reach, dark, paper]);
    if (this.painted === key) {
      return;
    }
    this.painted = key;
    const offset = part.channels > 0 ? 1 : 0;
    const tone = part.channels > 0 ? sight.tone : { ...sight.tone, blend: 1 };
    maps.forEach((one, at) => {
      // A difference has both signs, whichever of the attributions' are looked at.
      const own = one.kind === 'difference' ? { ...tone, sign: 'all' as const } : tone;
      this.shown[offset + at]!.bitmap = bitmap(
        overlay(this.inputImage!, one.values, own, sight.reach, dark, paper)
      );
    });
  }

  private drawCursor(context: CanvasRenderingContext2D, theme: Theme): void {
    if (!this.cursor) {
      return;
    }
    const size = Math.max(5, this.scale);
    const shift = (size - this.scale) / 2;
    const x = this.cursor.column * this.scale - shift;
    const y = this.cursor.row * this.scale - shift;
    // Light on dark, so that it is seen on any cell.
    context.lineWidth = 3;
    context.strokeStyle = '#000000';
    context.strokeRect(x, y, size, size);
    context.lineWidth = 1.5;
    context.strokeStyle = theme.dark ? '#ffffff' : '#ffe14d';
    context.strokeRect(x, y, size, size);
  }

  private point(event: PointerEvent): void {
    const column = Math.floor(event.offsetX / this.scale);
    const row = Math.floor(event.offsetY / this.scale);
    const part = this.data?.part;
    const inside = part && row >= 0 && column >= 0 && row < part.height && column < part.width;
    this.go(inside ? { row, column } : null);
  }

  private key(event: KeyboardEvent): void {
    const cell = this.data ? keyed(event, this.cursor, this.data.part) : undefined;
    if (cell !== undefined) {
      this.go(cell);
      event.preventDefault();
      event.stopPropagation();
    }
  }

  private go(cell: Cell | null): void {
    this.cursor = cell;
    this.moved();
  }
}
