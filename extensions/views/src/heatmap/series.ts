/** An input that is a series: a line for each row, over columns in the colour of their attributions. */
import { colourTable, NAN_COLOUR } from '../common/colours';
import { h, Listeners, replace } from '../common/dom';
import { chip } from '../common/parts';
import { fitCanvas } from '../common/raster';
import { keyed, labelOf, partName, type Cell, type PartData, type PartPicture, type Sight } from './part';
import { mapFor, mapped, type Tone } from './tone';

/** Height of the band of one row, in CSS pixels. */
const BAND = 64;
const SCALE_ROOM = 62;
const GAP = 3;

/** Lines of one part, a canvas for each model. */
export class SeriesPart implements PartPicture {
  readonly element = h('div', { class: 'wb-heat-lines' });
  cursor: Cell | null = null;
  private readonly listeners = new Listeners();
  private readonly axes = h('span', { class: 'wb-chips' });
  private data: PartData | null = null;
  private layout = '';
  private shown: HTMLCanvasElement[] = [];

  constructor(private readonly moved: () => void) {}

  accept(data: PartData): void {
    this.data = data;
    const { part } = data;
    const maps = data.maps.length > 0 ? data.maps : [{ name: 'series', kind: 'map' as const }];
    const layout = JSON.stringify([part.name, ...maps.map(map => map.name)]);
    if (layout !== this.layout) {
      this.layout = layout;
      this.listeners.release();
      this.shown = maps.map(map => this.canvas(map.kind));
      const figures = this.shown.map((canvas, at) =>
        h('figure', {}, h('figcaption', {}, maps[at]!.name, at === 0 ? this.axes : null), canvas)
      );
      replace(this.element, partName(part), ...figures);
    }
    this.shown.forEach((canvas, at) => canvas.setAttribute('aria-label', labelOf(maps[at]!.name, part)));
    if (this.cursor && (this.cursor.row >= part.height || this.cursor.column >= part.width)) {
      this.cursor = null;
    }
  }

  draw(sight: Sight): void {
    const { data } = this;
    if (!data) {
      return;
    }
    const width = Math.max(120, sight.width - SCALE_ROOM);
    this.shown.forEach((canvas, at) => this.drawOne(data, canvas, at, width, sight));
    const { part } = data;
    replace(this.axes, chip(part.row_dim, sight.theme.dark), chip(part.column_dim, sight.theme.dark));
  }

  canvases(): readonly HTMLCanvasElement[] {
    return this.shown;
  }

  destroy(): void {
    this.listeners.release();
  }

  private canvas(kind: string): HTMLCanvasElement {
    const canvas = h('canvas', { role: 'img', tabindex: 0, 'data-testid': `wb-heat-${kind}` });
    this.listeners.on(canvas, 'pointermove', event => this.point(event, canvas));
    this.listeners.on(canvas, 'pointerleave', () => this.go(null));
    this.listeners.on(canvas, 'blur', () => this.go(null));
    this.listeners.on(canvas, 'keydown', event => {
      const cell = this.data ? keyed(event, this.cursor, this.data.part) : undefined;
      if (cell !== undefined) {
        this.go(cell);
        event.preventDefault();
        event.stopPropagation();
      }
    });
    return canvas;
  }

  private drawOne(data: PartData, canvas: HTMLCanvasElement, at: number, width: number, sight: Sight): void {
    const { part, values } = data;
    const map = data.maps[at];
    const context = fitCanvas(canvas, width, part.height * (BAND + GAP) - GAP);
    const { dark, paper } = sight.theme;
    const tone: Tone = map?.kind === 'difference' ? { ...sight.tone, sign: 'all' } : sight.tone;
    const table = colourTable(mapFor(tone), dark, paper);
    const wide = width / part.width;
    const reach = part.input_high - part.input_low || 1;
    for (let row = 0; row < part.height; row++) {
      const top = row * (BAND + GAP);
      for (let column = 0; column < part.width; column++) {
        const value = map?.values[row * part.width + column];
        if (value !== undefined) {
          const { entry } = Number.isNaN(value) ? { entry: 0 } : mapped(value, tone, sight.reach);
          const colour = Number.isNaN(value) ? NAN_COLOUR : table.subarray(entry * 3, entry * 3 + 3);
          context.globalAlpha = tone.blend;
          context.fillStyle = `rgb(${colour[0]}, ${colour[1]}, ${colour[2]})`;
          // A little over, or columns of a fraction of a pixel would leave stripes.
          context.fillRect(column * wide, top, wide + 0.5, BAND);
          context.globalAlpha = 1;
        }
      }
      context.beginPath();
      for (let column = 0; column < part.width; column++) {
        const value = values[(row * part.width + column) * part.channels]!;
        const y = top + BAND - 4 - ((value - part.input_low) / reach) * (BAND - 8);
        context.lineTo((column + 0.5) * wide, y);
      }
      // Light below dark, so that the line is seen on any colour.
      context.lineJoin = 'round';
      context.strokeStyle = dark ? '#000000' : '#ffffff';
      context.lineWidth = 3.5;
      context.stroke();
      context.strokeStyle = dark ? '#ffffff' : '#1c1e21';
      context.lineWidth = 1.3;
      context.stroke();
    }
    if (this.cursor) {
      context.strokeStyle = dark ? '#ffffff' : '#000000';
      context.lineWidth = 1;
      const { row, column } = this.cursor;
      context.strokeRect(column * wide - 0.5, row * (BAND + GAP) + 0.5, Math.max(3, wide + 1), BAND - 1);
    }
  }

  private point(event: PointerEvent, canvas: HTMLCanvasElement): void {
    const part = this.data?.part;
    if (!part) {
      return;
    }
    const column = Math.floor((event.offsetX / canvas.clientWidth) * part.width);
    const row = Math.floor(event.offsetY / (BAND + GAP));
    const inside = row >= 0 && column >= 0 && row < part.height && column < part.width;
    this.go(inside ? { row, column } : null);
  }

  private go(cell: Cell | null): void {
    this.cursor = cell;
    this.moved();
  }
}
