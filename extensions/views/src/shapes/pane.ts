/** The pictures inside the tensor cell: a grid of images or a heatmap, with a cursor and a readout. */
import type { Picture as PictureState } from '../protocol';
import { h, Listeners, replace, type Child } from '../common/dom';
import { exact, figure, ordinal } from '../common/numbers';
import { chip, dimensionText, type Named } from '../common/parts';
import {
  bitmap,
  fitCanvas,
  gradient,
  layoutTiles,
  paint,
  type RasterStyle,
  type TileLayout
} from '../common/raster';
import { clamp } from '../common/scales';
import { textWidth } from '../common/text';
import type { Theme } from '../common/theme';
import type { Exports } from '../common/exporting';
import { csv } from '../common/exporting';

/** Something that can be drawn in the tensor cell. */
export interface Pane {
  readonly element: HTMLElement;
  draw(width: number, theme: Theme): void;
  /** Moves the cursor to the next cell that is not a finite number. */
  nextWrong(): void;
  exports(): Exports;
  destroy(): void;
}

interface Cell {
  readonly tile: number;
  readonly row: number;
  readonly column: number;
}

const TALLEST = 280;

/** The entry of a dim that a cell shows: of a large dim only every so manieth entry is drawn. */
export function entryOf(cell: number, drawn: number, size: number): number {
  return drawn > 0 && drawn < size ? Math.min(size - 1, cell * Math.ceil(size / drawn)) : cell;
}

function axis(dim: Named, theme: Theme, vertical: boolean): HTMLElement {
  const line = (): HTMLElement => h('i', {});
  const element = h(
    'div',
    { class: vertical ? 'wb-frame-row' : 'wb-frame-column' },
    '0',
    line(),
    chip(dim, theme.dark),
    line(),
    String(Math.max(0, dim.size - 1))
  );
  element.style.setProperty('--wb-dim', chip(dim, theme.dark).style.getPropertyValue('--wb-dim'));
  return element;
}

/** Images side by side, or one heatmap with named axes. */
export class RasterPane implements Pane {
  readonly element: HTMLElement;
  private readonly canvas = h('canvas', { tabindex: 0, role: 'img', 'data-testid': 'wb-raster' });
  private readonly readout = h('div', {
    class: 'wb-readout',
    'aria-live': 'polite',
    'data-testid': 'wb-readout'
  });
  private readonly frame = h('div', { class: 'wb-frame' });
  private readonly listeners = new Listeners();
  private tilesDrawn: HTMLCanvasElement[] = [];
  private drawnFor = '';
  private layout: TileLayout | null = null;
  private cursor: Cell | null = null;
  private readonly wrongCells: readonly number[];
  private lastWrong = -1;
  private rowAxis: HTMLElement | null = null;
  private scaleElement: HTMLElement | null = null;

  constructor(
    private readonly picture: PictureState,
    private readonly values: Float32Array,
    private readonly firstTile: number,
    private readonly redraw: () => void
  ) {
    const wrong: number[] = [];
    // Enough to walk through; a tensor full of NaN is not to fill the memory.
    for (let index = 0; index < values.length && wrong.length < 10_000; index++) {
      if (!Number.isFinite(values[index])) {
        wrong.push(index);
      }
    }
    this.wrongCells = wrong;
    this.canvas.setAttribute('aria-label', this.describe());
    this.element = h('div', {}, this.frame, this.readout);
    this.listeners.on(this.canvas, 'pointermove', event => this.point(event));
    this.listeners.on(this.canvas, 'pointerleave', () => this.moveTo(null));
    this.listeners.on(this.canvas, 'keydown', event => this.key(event));
    this.listeners.on(this.canvas, 'blur', () => this.moveTo(null));
  }

  draw(width: number, theme: Theme): void {
    const { picture } = this;
    this.rasterize(theme);
    const axes = picture.kind === 'heatmap';
    const layout = (this.layout = this.fit(width, axes));
    if (this.scaleElement) {
      this.scaleElement.style.height = `${clamp(layout.height, 48, 180)}px`;
    }
    const context = fitCanvas(this.canvas, layout.width, layout.height);
    // A picture that must shrink is smoothed: dropping every other row would show what is not there.
    context.imageSmoothingEnabled = layout.scale < 1;
    this.tilesDrawn.forEach((tile, index) => {
      const [x, y] = this.corner(index);
      context.drawImage(tile, x, y, picture.width * layout.scale, picture.height * layout.scale);
    });
    this.drawMarks(context, theme);
    this.showReadout();
  }

  /** The size of the picture; a name that is longer than the picture is tall lies flat beside it. */
  private fit(width: number, axes: boolean): TileLayout {
    const { picture } = this;
    const inside = (taken: number): TileLayout =>
      layoutTiles(picture.tiles, picture.height, picture.width, Math.max(40, width - taken), TALLEST);
    if (!axes) {
      return inside(picture.channels < 3 ? 60 : 0);
    }
    const name = picture.row_dim ? textWidth(dimensionText(picture.row_dim), 12) + 24 : 0;
    const upright = inside(96);
    const flat = upright.height < name + 40;
    this.rowAxis?.classList.toggle('wb-frame-flat', flat);
    return flat ? inside(74 + name) : upright;
  }

  nextWrong(): void {
    if (this.wrongCells.length === 0) {
      return;
    }
    const { channels } = this.picture;
    // By cells: a pixel of which three channels are wrong is one place.
    const start = (index: number): number => Math.floor(index / channels) * channels;
    const next = this.wrongCells.find(index => start(index) > this.lastWrong) ?? this.wrongCells[0]!;
    this.lastWrong = start(next);
    this.canvas.focus();
    this.moveTo(this.cellAt(next));
  }

  exports(): Exports {
    return { canvas: () => this.canvas, csv: () => this.csv(), caption: () => [this.describe()] };
  }

  destroy(): void {
    this.listeners.release();
  }

  private describe(): string {
    const { picture } = this;
    const rows = picture.row_dim ? dimensionText(picture.row_dim) : String(picture.height);
    const columns = picture.column_dim ? dimensionText(picture.column_dim) : String(picture.width);
    const what =
      picture.kind === 'images' ? `${picture.tiles} image${picture.tiles === 1 ? '' : 's'}` : 'heatmap';
    return `${what}, rows ${rows}, columns ${columns}, from ${figure(picture.low)} to ${figure(picture.high)}`;
  }

  private rasterize(theme: Theme): void {
    const key = `${theme.dark}${theme.paper.join()}`;
    if (this.drawnFor === key) {
      return;
    }
    this.drawnFor = key;
    // Only now, and not at every frame: a canvas that is moved loses the focus.
    this.arrange(this.picture.kind === 'heatmap', theme);
    const { picture, values } = this;
    const style: RasterStyle = { ...this.colours(theme), low: picture.low, high: picture.high };
    const size = picture.height * picture.width * picture.channels;
    this.tilesDrawn = Array.from({ length: picture.tiles }, (_, tile) =>
      bitmap(paint(values, tile * size, picture, style))
    );
  }

  private colours(theme: Theme): Omit<RasterStyle, 'low' | 'high'> {
    const { picture } = this;
    const plain = picture.kind === 'images' && !picture.signed;
    const map = picture.signed ? 'signed' : plain ? 'grey' : 'viridis';
    return { map, signed: picture.signed && picture.channels < 3, dark: theme.dark, paper: theme.paper };
  }

  private arrange(axes: boolean, theme: Theme): void {
    const { picture } = this;
    const children: Child[] = [];
    if (axes && picture.column_dim) {
      children.push(axis(picture.column_dim, theme, false));
    }
    if (axes && picture.row_dim) {
      this.rowAxis = axis(picture.row_dim, theme, true);
      children.push(this.rowAxis);
    }
    children.push(h('div', { class: 'wb-frame-canvas' }, this.canvas));
    if (picture.channels < 3) {
      this.scaleElement = this.scale(theme);
      children.push(this.scaleElement);
    }
    replace(this.frame, ...children);
  }

  private scale(theme: Theme): HTMLElement {
    const { map, signed } = this.colours(theme);
    const reach = Math.max(Math.abs(this.picture.low), Math.abs(this.picture.high));
    const [low, high] = signed ? [-reach, reach] : [this.picture.low, this.picture.high];
    const bar = h('div', { class: 'wb-scale-bar' });
    bar.style.background = gradient(map, 'to top', theme.dark, theme.paper);
    return h(
      'div',
      { class: 'wb-scale', title: `${exact(low)} to ${exact(high)}` },
      bar,
      h(
        'div',
        { class: 'wb-scale-ends' },
        h('span', {}, figure(high)),
        signed ? h('span', {}, '0') : null,
        h('span', {}, figure(low))
      )
    );
  }

  private corner(tile: number): readonly [number, number] {
    const { picture } = this;
    const { columns, scale, gap } = this.layout!;
    return [
      (tile % columns) * (picture.width * scale + gap),
      Math.floor(tile / columns) * (picture.height * scale + gap)
    ];
  }

  /** Crosses on cells that are no finite number where there is room, and the cursor. */
  private drawMarks(context: CanvasRenderingContext2D, theme: Theme): void {
    const { scale } = this.layout!;
    if (scale >= 5) {
      context.strokeStyle = '#ffffff';
      context.lineWidth = 1.25;
      context.beginPath();
      for (const index of this.wrongCells.slice(0, 2000)) {
        const [x, y] = this.cellCorner(this.cellAt(index));
        context.moveTo(x + 1.5, y + 1.5);
        context.lineTo(x + scale - 1.5, y + scale - 1.5);
        context.moveTo(x + scale - 1.5, y + 1.5);
        context.lineTo(x + 1.5, y + scale - 1.5);
      }
      context.stroke();
    }
    if (this.cursor) {
      const [x, y] = this.cellCorner(this.cursor);
      const size = Math.max(scale, 5);
      const shift = (size - scale) / 2;
      // Colour on light or dark, so that it is seen on any cell.
      context.lineWidth = 3;
      context.strokeStyle = theme.dark ? '#000000' : '#ffffff';
      context.strokeRect(x - shift, y - shift, size, size);
      context.lineWidth = 1.5;
      context.strokeStyle = theme.accent;
      context.strokeRect(x - shift, y - shift, size, size);
    }
  }

  private cellCorner(cell: Cell): readonly [number, number] {
    const [x, y] = this.corner(cell.tile);
    return [x + cell.column * this.layout!.scale, y + cell.row * this.layout!.scale];
  }

  private cellAt(index: number): Cell {
    const { height, width, channels } = this.picture;
    const cell = Math.floor(index / channels);
    return {
      tile: Math.floor(cell / (height * width)),
      row: Math.floor(cell / width) % height,
      column: cell % width
    };
  }

  private offset(cell: Cell): number {
    const { height, width, channels } = this.picture;
    return ((cell.tile * height + cell.row) * width + cell.column) * channels;
  }

  private point(event: PointerEvent): void {
    if (!this.layout) {
      return;
    }
    const { picture, layout } = this;
    const pitchX = picture.width * layout.scale + layout.gap;
    const pitchY = picture.height * layout.scale + layout.gap;
    const across = Math.floor(event.offsetX / pitchX);
    const down = Math.floor(event.offsetY / pitchY);
    const tile = down * layout.columns + across;
    const column = Math.floor((event.offsetX - across * pitchX) / layout.scale);
    const row = Math.floor((event.offsetY - down * pitchY) / layout.scale);
    const inside = tile >= 0 && tile < picture.tiles && across < layout.columns;
    this.moveTo(
      inside && column < picture.width && row < picture.height && column >= 0 && row >= 0
        ? { tile, row, column }
        : null
    );
  }

  private key(event: KeyboardEvent): void {
    const steps: Record<string, readonly [number, number]> = {
      ArrowUp: [-1, 0],
      ArrowDown: [1, 0],
      ArrowLeft: [0, -1],
      ArrowRight: [0, 1]
    };
    const step = steps[event.key];
    const { picture } = this;
    const at = this.cursor ?? { tile: 0, row: 0, column: 0 };
    if (step && event.shiftKey) {
      const columns = this.layout?.columns ?? 1;
      this.moveTo({ ...at, tile: clamp(at.tile + step[0] * columns + step[1], 0, picture.tiles - 1) });
    } else if (step) {
      const row = clamp(at.row + step[0], 0, picture.height - 1);
      this.moveTo({ ...at, row, column: clamp(at.column + step[1], 0, picture.width - 1) });
    } else if (event.key === 'Home') {
      this.moveTo({ tile: 0, row: 0, column: 0 });
    } else if (event.key === 'End') {
      this.moveTo({ tile: picture.tiles - 1, row: picture.height - 1, column: picture.width - 1 });
    } else if (event.key === 'Escape') {
      this.moveTo(null);
      return;
    } else {
      return;
    }
    event.preventDefault();
    event.stopPropagation();
  }

  private moveTo(cell: Cell | null): void {
    this.cursor = cell;
    this.redraw();
  }

  private showReadout(): void {
    const { picture, cursor } = this;
    if (!cursor && picture.kind === 'heatmap') {
      replace(this.readout, this.thinned());
      return;
    }
    if (!cursor) {
      const part =
        picture.tile_dim && picture.tiles > 1
          ? `${picture.tiles} of ${dimensionText(picture.tile_dim)} · each `
          : '';
      const dims = [picture.row_dim, picture.column_dim].filter((dim): dim is Named => dim !== null);
      replace(this.readout, picture.kind === 'images' ? part + dims.map(dimensionText).join(' × ') : '');
      return;
    }
    const place = [
      picture.tile_dim && picture.kind === 'images'
        ? `${picture.tile_dim.name ?? '·'} ${this.firstTile + cursor.tile}`
        : '',
      `${picture.row_dim?.name ?? 'row'} ${entryOf(cursor.row, picture.height, picture.row_dim?.size ?? 0)}`,
      `${picture.column_dim?.name ?? 'column'} ${entryOf(cursor.column, picture.width, picture.column_dim?.size ?? 0)}`
    ].filter(Boolean);
    const start = this.offset(cursor);
    const values = Array.from(this.values.subarray(start, start + picture.channels));
    replace(
      this.readout,
      place.join(' · ') + '   ',
      h('b', { title: values.map(exact).join(', ') }, values.map(figure).join(', '))
    );
  }

  /** Says so where not every entry of a large tensor is drawn. */
  private thinned(): string {
    const { picture } = this;
    const note = (dim: Named | null, drawn: number): string =>
      dim && drawn < dim.size
        ? `every ${ordinal(Math.ceil(dim.size / drawn))} entry of ${dimensionText(dim)}`
        : '';
    const parts = [note(picture.row_dim, picture.height), note(picture.column_dim, picture.width)].filter(
      Boolean
    );
    return parts.length > 0 ? `drawn: ${parts.join(', ')}` : '';
  }

  private csv(): string {
    const { picture, values } = this;
    const rows: (string | number)[][] = [
      ['tile', 'row', 'column', ...Array.from({ length: picture.channels }, (_, c) => `value ${c}`)]
    ];
    for (let index = 0; index < picture.tiles * picture.height * picture.width; index++) {
      const { tile, row, column } = this.cellAt(index * picture.channels);
      const start = index * picture.channels;
      rows.push([tile, row, column, ...Array.from(values.subarray(start, start + picture.channels), String)]);
    }
    return csv(rows);
  }
}
