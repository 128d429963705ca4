/** The two pictures, input and heatmap, with one cursor over both. */
import type { HeatmapState } from '../protocol';
import { h, Listeners } from '../common/dom';
import { dimensionText } from '../common/parts';
import { bitmap, fitCanvas, paint } from '../common/raster';
import { clamp } from '../common/scales';
import type { Theme } from '../common/theme';
import { overlay, reachOf, type Tone } from './tone';

/** A cell of the input. */
export interface Cell {
  readonly row: number;
  readonly column: number;
}

const KEYS: Readonly<Record<string, readonly [number, number]>> = {
  ArrowUp: [-1, 0],
  ArrowDown: [1, 0],
  ArrowLeft: [0, -1],
  ArrowRight: [0, 1]
};

/** Input and heatmap side by side. */
export class HeatCanvases {
  readonly input = h('canvas', { role: 'img', tabindex: 0, 'data-testid': 'wb-heat-input' });
  readonly heat = h('canvas', { role: 'img', tabindex: 0, 'data-testid': 'wb-heat-map' });
  cursor: Cell | null = null;
  reach = 1;
  private readonly listeners = new Listeners();
  private state: HeatmapState | null = null;
  private values: Float32Array = new Float32Array();
  private attribution: Float32Array = new Float32Array();
  private inputImage: ImageData | null = null;
  private inputBitmap: HTMLCanvasElement | null = null;
  private heatBitmap: HTMLCanvasElement | null = null;
  private painted = '';
  private reachKey = '';
  private scale = 1;

  constructor(private readonly moved: () => void) {
    for (const canvas of [this.input, this.heat]) {
      this.listeners.on(canvas, 'pointermove', event => this.point(event));
      this.listeners.on(canvas, 'pointerleave', () => this.go(null));
      this.listeners.on(canvas, 'blur', () => this.go(null));
      this.listeners.on(canvas, 'keydown', event => this.key(event));
    }
  }

  /** Takes other arrays. */
  accept(state: HeatmapState, values: Float32Array, attribution: Float32Array): void {
    Object.assign(this, { state, values, attribution, painted: '', reachKey: '', inputImage: null });
    this.label(state);
    const { cursor } = this;
    if (cursor && (cursor.row >= state.height || cursor.column >= state.width)) {
      this.cursor = null;
    }
  }

  /** Says to people who listen what the pictures are; the readout below says the values. */
  private label(state: HeatmapState): void {
    const size = `${dimensionText(state.row_dim)} by ${dimensionText(state.column_dim)}`;
    this.input.setAttribute('aria-label', `input, ${size}: the arrow keys read values`);
    this.heat.setAttribute(
      'aria-label',
      `attribution to ${state.target}, ${size}: the arrow keys read values`
    );
  }

  /** Draws both at a size of `side` pixels at most. */
  draw(tone: Tone, side: number, theme: Theme): void {
    const { state } = this;
    if (!state) {
      return;
    }
    this.paint(state, tone, theme);
    const fit = Math.min(side / state.width, side / state.height);
    // Whole multiples, so that all cells are the same size; only what must shrink takes any scale.
    this.scale = fit >= 1 ? Math.max(1, Math.floor(fit)) : fit;
    const width = state.width * this.scale;
    const height = state.height * this.scale;
    for (const [canvas, image] of [
      [this.input, this.inputBitmap!],
      [this.heat, this.heatBitmap!]
    ] as const) {
      const context = fitCanvas(canvas, width, height);
      // Shrunk without smoothing, whole rows would be left out.
      context.imageSmoothingEnabled = this.scale < 1;
      context.drawImage(image, 0, 0, width, height);
      this.drawCursor(context, theme);
    }
  }

  /** What lies under the cursor. */
  read(cell: Cell): { readonly attribution: number; readonly input: number[] } {
    const { width, channels } = this.state!;
    const at = cell.row * width + cell.column;
    return {
      attribution: this.attribution[at]!,
      input: Array.from(this.values.subarray(at * channels, (at + 1) * channels))
    };
  }

  /** Both pictures side by side, for the export. */
  both(): HTMLCanvasElement {
    const canvas = h('canvas', {
      width: this.input.width + this.heat.width + 16,
      height: Math.max(this.input.height, this.heat.height)
    });
    const context = canvas.getContext('2d');
    context?.drawImage(this.input, 0, 0);
    context?.drawImage(this.heat, this.input.width + 16, 0);
    return canvas;
  }

  /** Lets go. */
  destroy(): void {
    this.listeners.release();
  }

  private paint(state: HeatmapState, tone: Tone, theme: Theme): void {
    const { dark, paper } = theme;
    const reachKey = `${tone.sign} ${tone.percentile}`;
    if (this.reachKey !== reachKey) {
      this.reachKey = reachKey;
      this.reach = reachOf(this.attribution, tone.sign, tone.percentile);
    }
    if (!this.inputImage) {
      const style = {
        map: 'grey',
        low: state.input_low,
        high: state.input_high,
        signed: false,
        dark,
        paper
      } as const;
      this.inputImage = paint(this.values, 0, state, style);
      this.inputBitmap = bitmap(this.inputImage);
    }
    const key = JSON.stringify([tone, dark, paper]);
    if (this.painted !== key) {
      this.painted = key;
      this.heatBitmap = bitmap(overlay(this.inputImage, this.attribution, tone, this.reach, dark, paper));
    }
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
    const { state } = this;
    const inside = state && row >= 0 && column >= 0 && row < state.height && column < state.width;
    this.go(inside ? { row, column } : null);
  }

  private key(event: KeyboardEvent): void {
    const { state } = this;
    const step = KEYS[event.key];
    if (!state) {
      return;
    }
    if (step) {
      // So that the first arrow to the right leads to the first column.
      const at = this.cursor ?? { row: 0, column: -step[1] };
      const far = event.shiftKey ? 5 : 1;
      this.go({
        row: clamp(at.row + step[0] * far, 0, state.height - 1),
        column: clamp(at.column + step[1] * far, 0, state.width - 1)
      });
    } else if (event.key === 'Home' || event.key === 'End') {
      this.go(
        event.key === 'Home' ? { row: 0, column: 0 } : { row: state.height - 1, column: state.width - 1 }
      );
    } else if (event.key === 'Escape' && this.cursor) {
      this.go(null);
    } else {
      return;
    }
    event.preventDefault();
    event.stopPropagation();
  }

  private go(cell: Cell | null): void {
    this.cursor = cell;
    this.moved();
  }
}
