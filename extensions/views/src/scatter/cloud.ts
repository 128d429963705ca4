/** The points themselves: where they are, what they are called, which are shown and how. */
import type { ScatterState, Sprite } from '../protocol';
import { StateError, uint32, uint8 } from '../common/buffers';
import { grouped } from '../common/numbers';
import type { Column } from './columns';
import { readPlaces, type Places } from './places';

const MOST_POINTS = 4_000_000;

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
  /** How many points each of the drawn stands for; null where it is one. */
  readonly weights: Uint32Array | null;
  /** The longest side of what each of the drawn stands for, in the box; 0 where it is a point. */
  readonly cell: number;
  /** The points' numbers, ascending, where not all points are drawn. */
  readonly numbers: Uint32Array | null;
}

/** What finds points by their numbers. */
export type Lookup = Pick<Cloud, 'count' | 'weights' | 'numbers'>;

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
        sprite.rows * sprite.height * sprite.columns * sprite.width * sprite.channels,
        'the thumbnails'
      )
    : null;
  const part = (buffer: number | null | undefined, what: string): Uint32Array | null =>
    buffer === null || buffer === undefined ? null : uint32(buffers, buffer, count, what);
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
    pixels,
    weights: part(state.window?.weights_buffer, 'the weights'),
    cell: Math.max(0, ...(state.window?.cell ?? [])) / places.reach,
    numbers: part(state.window?.numbers_buffer, "the points' numbers")
  };
}

/** The cloud with its points named by a column; the same one where it is named so already. */
export function named(cloud: Cloud, column: Column | undefined): Cloud {
  const [codes, names] = column?.kind === 'category' ? [column.codes, column.values] : [null, []];
  return codes === cloud.categories
    ? cloud
    : { ...cloud, categories: codes, names, ...summarise(cloud.positions, codes, names.length) };
}

/** How many points each category has, and where the middle of these is. */
function summarise(
  positions: Float32Array,
  categories: Uint16Array | null,
  count: number
): { readonly sizes: number[]; readonly middles: Float32Array } {
  const sizes = new Array<number>(count).fill(0);
  // Sums of a million are beyond what float32 adds up.
  const sums = new Float64Array(count * 3);
  for (let point = 0; categories !== null && point < categories.length; point++) {
    const category = categories[point]!;
    const x = positions[point * 3]!;
    if (category < count && !Number.isNaN(x)) {
      sizes[category]! += 1;
      sums[category * 3]! += x;
      sums[category * 3 + 1]! += positions[point * 3 + 1]!;
      sums[category * 3 + 2]! += positions[point * 3 + 2]!;
    }
  }
  const middles = Float32Array.from(sums, (sum, at) => sum / Math.max(1, sizes[Math.floor(at / 3)]!));
  return { sizes, middles };
}

/** The same points in other places. */
export function moved(cloud: Cloud, state: ScatterState, buffers: readonly DataView[]): Cloud {
  const places = readPlaces(state, buffers);
  return { ...cloud, ...places, ...summarise(places.positions, cloud.categories, cloud.names.length) };
}

/** The number of a point, by which Python and the other views know it. */
export function numberOf(cloud: Cloud, point: number): number {
  return cloud.numbers?.[point] ?? point;
}

/** The place of a point among those that are drawn, by its number; −1 where it is not among them. */
export function pointOf(cloud: Lookup, number: number): number {
  const { numbers } = cloud;
  if (numbers === null) {
    return number < cloud.count && cloud.weights === null ? number : -1;
  }
  let [low, high] = [0, numbers.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (numbers[middle]! < number) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return numbers[low] === number ? low : -1;
}

/** Numbers of points that are known by their places among the drawn. */
export function numbersOf(cloud: Cloud, points: readonly number[]): number[] {
  return points.map(point => numberOf(cloud, point));
}

/** Places among the drawn of points that are known by their numbers; those that are not drawn are left out. */
export function placesOf(cloud: Lookup, numbers: readonly number[]): number[] {
  return numbers.map(number => pointOf(cloud, number)).filter(point => point >= 0);
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
  const { channels } = sprite;
  for (let cell = 0; cell < sprite.width * sprite.height; cell++) {
    const from = ((top + Math.floor(cell / sprite.width)) * stride + left + (cell % sprite.width)) * channels;
    for (let channel = 0; channel < 3; channel++) {
      image.data[cell * 4 + channel] = pixels[from + (channels === 3 ? channel : 0)]!;
    }
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
