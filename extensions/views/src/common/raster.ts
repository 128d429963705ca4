/** Arrays as pixels: one value or one colour a cell, drawn without smoothing. */
import { colourTable, mapRange, NAN_COLOUR, tableIndex, type MapName, type Rgb } from './colours';

/** How an array becomes pixels. */
export interface RasterStyle {
  readonly map: MapName;
  readonly low: number;
  readonly high: number;
  readonly signed: boolean;
  readonly dark: boolean;
  readonly paper: Rgb;
}

/** Paints `[height, width, channels]` values, from `offset` on, into pixels; not-a-number gets its own colour. */
export function paint(
  values: Float32Array,
  offset: number,
  shape: { readonly height: number; readonly width: number; readonly channels: number },
  style: RasterStyle
): ImageData {
  const { height, width, channels } = shape;
  const image = new ImageData(width, height);
  const table = colourTable(style.map, style.dark, style.paper);
  const [low, high] = mapRange(style.low, style.high, style.signed);
  const pixels = image.data;
  for (let cell = 0; cell < height * width; cell++) {
    const start = offset + cell * channels;
    const to = cell * 4;
    pixels[to + 3] = 255;
    if (channels >= 3) {
      paintColour(values, start, channels, pixels, to, low, high);
      continue;
    }
    const value = values[start]!;
    if (Number.isNaN(value)) {
      pixels.set(NAN_COLOUR, to);
    } else {
      const entry = tableIndex(value, low, high) * 3;
      pixels[to] = table[entry]!;
      pixels[to + 1] = table[entry + 1]!;
      pixels[to + 2] = table[entry + 2]!;
    }
  }
  return image;
}

function paintColour(
  values: Float32Array,
  start: number,
  channels: number,
  pixels: Uint8ClampedArray,
  to: number,
  low: number,
  high: number
): void {
  let missing = false;
  for (let channel = 0; channel < 3; channel++) {
    const value = values[start + channel]!;
    missing ||= Number.isNaN(value);
    pixels[to + channel] = tableIndex(value, low, high);
  }
  if (channels === 4) {
    pixels[to + 3] = tableIndex(values[start + 3]!, low, high);
  }
  if (missing) {
    pixels.set(NAN_COLOUR, to);
    pixels[to + 3] = 255;
  }
}

/** Pixels on a canvas of their own, to be drawn at any size. */
export function bitmap(image: ImageData): HTMLCanvasElement {
  const canvas = document.createElement('canvas');
  canvas.width = image.width;
  canvas.height = image.height;
  canvas.getContext('2d')?.putImageData(image, 0, 0);
  return canvas;
}

/** Gives a canvas its size in CSS pixels, with as many real pixels as the screen has; returns its context. */
export function fitCanvas(
  canvas: HTMLCanvasElement,
  width: number,
  height: number
): CanvasRenderingContext2D {
  // Nobody sees more than three to a pixel, and memory grows with their square.
  const ratio = Math.min(3, globalThis.devicePixelRatio || 1);
  const wide = Math.max(1, Math.round(width * ratio));
  const tall = Math.max(1, Math.round(height * ratio));
  // Setting the size clears a canvas and takes new memory, even where it stays the same.
  if (canvas.width !== wide || canvas.height !== tall) {
    canvas.width = wide;
    canvas.height = tall;
    canvas.style.width = `${width}px`;
    canvas.style.height = `${height}px`;
  }
  const context = canvas.getContext('2d');
  if (!context) {
    throw new Error('the browser gives no 2-D canvas');
  }
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, width, height);
  context.imageSmoothingEnabled = false;
  return context;
}

/** A colour map as a CSS gradient, from its low end on. */
export function gradient(map: MapName, direction: string, dark: boolean, paper: Rgb): string {
  const table = colourTable(map, dark, paper);
  const stops: string[] = [];
  for (let index = 0; index <= 16; index++) {
    const entry = Math.min(255, index * 16) * 3;
    stops.push(`rgb(${table[entry]}, ${table[entry + 1]}, ${table[entry + 2]})`);
  }
  return `linear-gradient(${direction}, ${stops.join(', ')})`;
}

/** How tiles lie in the space there is. */
export interface TileLayout {
  readonly columns: number;
  readonly rows: number;
  /** CSS pixels a cell. */
  readonly scale: number;
  readonly gap: number;
  readonly width: number;
  readonly height: number;
}

/** The largest tiles that fit, in rows as equal as can be. */
export function layoutTiles(
  tiles: number,
  height: number,
  width: number,
  available: number,
  tallest: number
): TileLayout {
  const gap = tiles > 1 ? 3 : 0;
  const largest = tiles > 1 ? 96 : tallest;
  const build = (scale: number): TileLayout => {
    const most = Math.max(1, Math.floor((available + gap) / (width * scale + gap)));
    const rows = Math.ceil(tiles / Math.min(tiles, most));
    const columns = Math.ceil(tiles / rows);
    return {
      columns,
      rows,
      scale,
      gap,
      width: columns * (width * scale + gap) - gap,
      height: rows * (height * scale + gap) - gap
    };
  };
  let best: TileLayout | null = null;
  const top = Math.max(1, Math.floor(largest / Math.max(height, 1)));
  for (let scale = Math.min(tiles > 1 ? 24 : 56, top); scale >= 1; scale--) {
    const layout = build(scale);
    if (layout.width <= available && layout.height <= tallest) {
      best = layout;
      break;
    }
  }
  const shrunk = Math.min(1, available / width, tallest / height);
  return best ?? build(shrunk > 0 ? shrunk : 1);
}
