/** Example states of the scatter view. */
import type { ScatterState } from '../../src/protocol';
import type { Example } from './tools';
import { digit, floats, head, HOSTILE, normal, random } from './tools';

const DIGITS = ['zero', 'one', 'two', 'three', 'four', 'five', 'six', 'seven', 'eight', 'nine'];

interface Options {
  readonly count: number;
  readonly dims: 2 | 3;
  readonly sprites?: boolean;
  readonly more?: Partial<ScatterState>;
  readonly names?: readonly string[];
  readonly wrong?: boolean;
}

function make({ count, dims, sprites = false, more = {}, names = DIGITS, wrong = false }: Options): Example {
  const next = random(21);
  const centres = names.map((_, index) => [
    Math.cos(index * 2.4) * (2 + (index % 3)),
    Math.sin(index * 2.4) * (2 + (index % 2) * 1.5),
    Math.sin(index * 1.3) * 3
  ]);
  const positions = new Float32Array(count * dims);
  const categories = new Uint16Array(count);
  for (let point = 0; point < count; point++) {
    const category = point % names.length;
    categories[point] = category;
    for (let axis = 0; axis < dims; axis++) {
      positions[point * dims + axis] =
        centres[category]![axis]! + normal(next) * (0.5 + (category % 3) * 0.18);
    }
  }
  if (wrong) {
    positions[0] = Number.NaN;
    positions[dims] = Infinity;
  }
  const columns = Math.ceil(Math.sqrt(count));
  const rows = Math.ceil(count / columns);
  const buffers = [floats(positions), new DataView(categories.buffer)];
  if (sprites) {
    const drawn = Array.from({ length: 100 }, (_, index) => digit(index % 10, Math.floor(index / 10)));
    const image = new Uint8Array(rows * 28 * columns * 28);
    for (let point = 0; point < count; point++) {
      const picture = drawn[(point % 10) + 10 * (Math.floor(point / 10) % 10)]!;
      const left = (point % columns) * 28;
      const top = Math.floor(point / columns) * 28;
      for (let cell = 0; cell < 784; cell++) {
        image[(top + Math.floor(cell / 28)) * columns * 28 + left + (cell % 28)] = picture[cell]! * 255;
      }
    }
    buffers.push(new DataView(image.buffer));
  }
  const state: ScatterState = {
    kind: 'scatter',
    head: head('penultimate activations', { source: 'cell 14' }),
    method: 'PCA',
    count,
    total: Math.max(count, 10000),
    dims,
    positions_buffer: 0,
    positions_coding: 'float32',
    low: [],
    high: [],
    explained: [0.213, 0.148, 0.0912],
    categories: [...names],
    category_buffer: 1,
    label_name: 'digit',
    sprite: sprites ? { image_buffer: 2, height: 28, width: 28, columns, rows } : null,
    columns: ['digit', 'file'],
    rows: [],
    selected: [],
    metric: 'cosine',
    neighbours: [],
    refusal: null,
    ...more
  };
  return { state, buffers };
}

const chosen: Partial<ScatterState> = {
  selected: [137],
  rows: [['seven', 'test/00137.png']],
  neighbours: [147, 157, 167, 177, 187, 197, 207, 217].map((index, at) => ({
    index,
    distance: 0.0213 * (at + 1)
  }))
};

/** Example states of the scatter view, by name. */
export const states: Record<string, () => Example> = {
  usual: () => make({ count: 4000, dims: 3, sprites: true }),
  selected: () => make({ count: 4000, dims: 3, sprites: true, more: chosen }),
  flat: () => make({ count: 2000, dims: 2, more: { method: 't-SNE', explained: [] } }),
  ten: () => make({ count: 10000, dims: 3, sprites: true }),
  huge: () => make({ count: 100000, dims: 3, more: { total: 250000 } }),
  wrong: () =>
    make({
      count: 300,
      dims: 3,
      wrong: true,
      more: { refusal: { request: 'select_points', reason: 'point 400 does not exist; there are 300' } }
    }),
  hostile: () =>
    make({
      count: 60,
      dims: 3,
      sprites: true,
      names: [HOSTILE, HOSTILE + '2'],
      more: {
        head: head(HOSTILE),
        method: HOSTILE,
        label_name: HOSTILE,
        columns: [HOSTILE],
        rows: [[HOSTILE]],
        selected: [3],
        neighbours: [{ index: 5, distance: 0.1 }],
        refusal: { request: HOSTILE, reason: HOSTILE }
      }
    }),
  wordy: () =>
    make({
      count: 60,
      dims: 3,
      sprites: true,
      more: {
        selected: [3],
        columns: [
          'a column of metadata with a very long name that nobody reads',
          ...Array.from({ length: 11 }, (_, index) => `column${index}`)
        ],
        rows: [[`value${' of many words'.repeat(12)}`, 'x'.repeat(190), ...Array<string>(10).fill('short')]]
      }
    }),
  nothing: () => make({ count: 0, dims: 3, names: [] })
};
