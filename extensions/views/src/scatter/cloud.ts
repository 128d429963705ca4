/** The points themselves: where they are, what they are called, which are shown and how. */
import type { ScatterState, Sprite } from '../protocol';
import { StateError, uint8 } from '../common/buffers';
import { rgb } from '../common/colours';
import { grouped } from '../common/numbers';
import { project, type Projection } from './camera';
import type { Column } from './columns';
import { readPlaces, type Places } from './places';

const MOST_POINTS = 4_000_000;

/** How a point is shown; the numbers are what the shader reads. */
export const HIDDEN = 0;
export const DIM = 1;
export const PLAIN = 2;
export const BRIGHT = 3;

/** The points of one state, ready to draw. */
export interface Cloud extends Places {
  readonly count: number;
  readonly categories: Uint16Array | null;
  readonly names: readonly string[];
  readonly sizes: readonly number[];
  /** Middle of each category, x, y, z by turns. */
  readonly middles: Float32Array;
  readonly sprite: Sprite | null;
  readonly pixels: Uint8Array | null;
}

/** Decodes a state. */
export function readCloud(state: ScatterState, buffers: readonly DataView[]): Cloud {
  const { count, dims } = state;
  if (!Number.isInteger(count) || count < 0 || count > MOST_POINTS) {
    throw new StateError(`${grouped(count)} points are more than a view can show`);
  }
  if (dims !== 2 && dims !== 3) {
    throw new StateError(`positions have ${dims} dims; 2 or 3 can be drawn`);
  }
  const places = readPlaces(state, buffers);
  const { sprite } = state;
  const pixels = sprite
    ? uint8(
        buffers,
        sprite.image_buffer,
        sprite.rows * sprite.height * sprite.columns * sprite.width,
        'the thumbnails'
      )
    : null;
  if (sprite && sprite.rows * sprite.columns < count) {
    throw new StateError(
      `${grouped(sprite.rows * sprite.columns)} thumbnails arrived for ${grouped(count)} points`
    );
  }
  return {
    count,
    ...places,
    categories: null,
    names: [],
    ...summarise(places.positions, null, 0),
    sprite,
    pixels
  };
}

/** The cloud with its points named by a column; the same one where it is named so already. */
export function named(cloud: Cloud, column: Column | undefined): Cloud {
  const [codes, names] = column?.kind === 'category' ? [column.codes, column.values] : [null, []];
  return codes === cloud.categories
    ? cloud
    : { ...cloud, categories: codes, names, ...summarise(cloud.positions, codes, names.length) };
}

function summarise(
  positions: Float32Array,
  categories: Uint16Array | null,
  count: number
): { readonly sizes: number[]; readonly middles: Float32Array } {
  const sizes = new Array<number>(count).fill(0);
  const middles = new Float32Array(count * 3);
  categories?.forEach((category, point) => {
    const x = positions[point * 3]!;
    if (category < count && !Number.isNaN(x)) {
      sizes[category]! += 1;
      for (let axis = 0; axis < 3; axis++) {
        middles[category * 3 + axis]! += positions[point * 3 + axis]!;
      }
    }
  });
  sizes.forEach((size, category) => {
    for (let axis = 0; axis < 3; axis++) {
      middles[category * 3 + axis]! /= Math.max(1, size);
    }
  });
  return { sizes, middles };
}

/** What decides how points are shown. */
export interface Emphasis {
  /** One byte a point, 1 where it is shown; null where all are. */
  readonly shown: Uint8Array | null;
  /** Points that stand out; the others are dimmed while there are any. */
  readonly bright: ReadonlySet<number>;
  /** Red, green and blue of each point; null where all have one colour. */
  readonly colours: Uint8Array | null;
}

/** Colour and emphasis of every point: red, green, blue and one of the four ways to show it. */
export function stylePoints(cloud: Cloud, emphasis: Emphasis, plain: string): Uint8Array {
  const { shown, bright, colours } = emphasis;
  const styles = new Uint8Array(cloud.count * 4);
  const single = rgb(plain);
  const quiet = bright.size > 0 ? DIM : PLAIN;
  for (let point = 0; point < cloud.count; point++) {
    for (let part = 0; part < 3; part++) {
      styles[point * 4 + part] = colours ? colours[point * 3 + part]! : single[part]!;
    }
    const hidden = shown?.[point] === 0 || Number.isNaN(cloud.positions[point * 3]!);
    styles[point * 4 + 3] = hidden ? HIDDEN : quiet;
  }
  for (const point of bright) {
    if (point < cloud.count && styles[point * 4 + 3] !== HIDDEN) {
      styles[point * 4 + 3] = BRIGHT;
    }
  }
  return styles;
}

/** The point at a pixel: the nearest within `reach`, of those equally near the one in front. */
export function pick(
  cloud: Cloud,
  styles: Uint8Array,
  p: Projection,
  x: number,
  y: number,
  reach: number
): number | null {
  const { positions } = cloud;
  let best: number | null = null;
  let least = Infinity;
  for (let point = 0; point < cloud.count; point++) {
    if (styles[point * 4 + 3] === HIDDEN) {
      continue;
    }
    const [px, py, depth] = project(
      p,
      positions[point * 3]!,
      positions[point * 3 + 1]!,
      positions[point * 3 + 2]!
    );
    const away = Math.hypot(px - x, py - y);
    // What is in front, and what stands out, wins among near neighbours.
    const rank = away - depth * 1.5 - (styles[point * 4 + 3] === BRIGHT ? 3 : 0);
    if (away <= reach && rank < least) {
      least = rank;
      best = point;
    }
  }
  return best;
}

/** The points inside a rectangle of pixels. */
export function pickBox(
  cloud: Cloud,
  styles: Uint8Array,
  p: Projection,
  box: { readonly left: number; readonly top: number; readonly right: number; readonly bottom: number }
): number[] {
  const found: number[] = [];
  for (let point = 0; point < cloud.count; point++) {
    if (styles[point * 4 + 3] !== HIDDEN) {
      const [x, y] = project(
        p,
        cloud.positions[point * 3]!,
        cloud.positions[point * 3 + 1]!,
        cloud.positions[point * 3 + 2]!
      );
      if (x >= box.left && x <= box.right && y >= box.top && y <= box.bottom) {
        found.push(point);
      }
    }
  }
  return found;
}

/** The label of a point. */
export function nameOf(cloud: Cloud, point: number): string {
  return cloud.categories ? (cloud.names[cloud.categories[point]!] ?? '') : '';
}

/** The thumbnail of a point as a small canvas; null if there is none. */
export function thumbnail(cloud: Cloud, point: number, side: number): HTMLCanvasElement | null {
  const { sprite, pixels } = cloud;
  if (!sprite || !pixels) {
    return null;
  }
  const image = new ImageData(sprite.width, sprite.height);
  const left = (point % sprite.columns) * sprite.width;
  const top = Math.floor(point / sprite.columns) * sprite.height;
  const stride = sprite.columns * sprite.width;
  for (let cell = 0; cell < sprite.width * sprite.height; cell++) {
    const value = pixels[(top + Math.floor(cell / sprite.width)) * stride + left + (cell % sprite.width)]!;
    image.data.fill(value, cell * 4, cell * 4 + 3);
    image.data[cell * 4 + 3] = 255;
  }
  const canvas = document.createElement('canvas');
  canvas.width = sprite.width;
  canvas.height = sprite.height;
  canvas.getContext('2d')?.putImageData(image, 0, 0);
  canvas.className = 'wb-thumbnail';
  canvas.style.width = `${side}px`;
  canvas.style.height = `${(side * sprite.height) / sprite.width}px`;
  return canvas;
}
