/** Example states of the scatter view. */
import type { ScatterColumn, ScatterMethod, ScatterSetting, ScatterState } from '../../src/protocol';
import type { Example } from './tools';
import { digit, floats, head, HOSTILE, normal, random } from './tools';

const DIGITS = ['zero', 'one', 'two', 'three', 'four', 'five', 'six', 'seven', 'eight', 'nine'];

const METHODS: ScatterMethod[] = [
  {
    name: 'pca',
    title: 'PCA',
    note: 'the directions of largest variance, exactly',
    settings: [
      setting('components', 'components', 'text', '0, 1, 2', 'Which components are drawn, from 0.'),
      setting(
        'sphereize',
        'sphereize',
        'truth',
        'False',
        'Centre the points and scale each to length 1 first.'
      )
    ]
  },
  {
    name: 'tsne',
    title: 't-SNE',
    note: 'keeps neighbours together; distances between groups mean little',
    settings: [
      setting('perplexity', 'perplexity', 'number', '30', 'About how many neighbours count.'),
      setting('iterations', 'steps', 'whole', '750', 'How many steps are taken.'),
      setting('learning_rate', 'learning rate', 'text', 'auto', 'How far a step goes.'),
      setting('initialization', 'starts from', 'choice', 'pca', 'Where points stand at first.', [
        'pca',
        'random'
      ])
    ]
  },
  { name: 'axes', title: 'custom axes', note: 'directions between words or points', settings: [] }
];

function setting(
  name: string,
  label: string,
  kind: ScatterSetting['kind'],
  value: string,
  note: string,
  choices: string[] = []
): ScatterSetting {
  return { name, label, kind, value, choices, note };
}

function column(
  name: string,
  kind: ScatterColumn['kind'],
  buffer: number | null,
  more: Partial<ScatterColumn> = {}
): ScatterColumn {
  return { name, kind, note: '', values: [], buffer, ends_buffer: null, ...more };
}

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
  const sure = Float32Array.from({ length: count }, (_, point) => 1 - 0.9 * next() ** (1 + (point % 5)));
  sure[0] = Number.NaN;
  const files = Array.from({ length: count }, (_, point) => `test/${String(point).padStart(5, '0')}.png`);
  const texts = new TextEncoder().encode(files.join(''));
  const ends = Uint32Array.from({ length: count }, (_, point) => (point + 1) * files[0]!.length);
  const buffers = [
    floats(positions),
    new DataView(categories.buffer),
    floats(sure),
    new DataView(texts.buffer),
    new DataView(ends.buffer)
  ];
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
    window: null,
    explained: [0.213, 0.148, 0.0912],
    facts: '',
    quality: null,
    judges: false,
    label_name: 'digit',
    columns: [
      column('digit', 'category', 1, { values: [...names] }),
      column('confidence', 'number', 2),
      column('file', 'text', 3, { ends_buffer: 4 }),
      column('trustworthiness', 'offered', null, {
        note: 'how far the neighbours in the picture are those of the space, by point'
      })
    ],
    sprite: sprites ? { image_buffer: 5, channels: 1, height: 28, width: 28, columns, rows } : null,
    selected: [],
    metric: 'cosine',
    k: 12,
    neighbours: [],
    projections: ['pca'],
    projection: 'pca',
    frames: [],
    methods: METHODS,
    asked: 'pca',
    work: null,
    resumes: false,
    others: [],
    comparison: null,
    bookmarks: [],
    arrangement: null,
    sounds: false,
    clip: null,
    published: '',
    refusal: null,
    ...more
  };
  return { state, buffers };
}

/** A cloud that is too large to travel: cells that stand for many points. */
function dense(count: number, total: number): Example {
  const { state: plain, buffers } = make({ count, dims: 2, names: DIGITS.slice(0, 6) });
  const state = plain as ScatterState;
  const places = new Float32Array(buffers[0]!.buffer);
  const [low, high] = [
    [-6, -6],
    [6, 6]
  ];
  const next = random(5);
  const weights = Uint32Array.from({ length: count }, () => Math.ceil(next() * ((2 * total) / count)));
  const inside = weights.reduce((sum, weight) => sum + weight, 0);
  const window = {
    ...{ low, high, whole_low: low, whole_high: high, inside, weights_buffer: 2 },
    ...{ cell: [0.05, 0.05], numbers_buffer: null }
  };
  return {
    state: {
      ...state,
      method: 'UMAP',
      explained: [],
      total: inside,
      columns: state.columns.slice(0, 1),
      window
    },
    buffers: [
      floats(places.map(value => Math.round(value / 0.05) * 0.05)),
      buffers[1]!,
      new DataView(weights.buffer)
    ]
  };
}

const chosen: Partial<ScatterState> = {
  selected: [137],
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
        facts: HOSTILE,
        label_name: HOSTILE,
        columns: [
          column(HOSTILE, 'category', 1, { values: [HOSTILE, HOSTILE + '2'], note: HOSTILE }),
          column(HOSTILE + '3', 'away', null, { note: HOSTILE })
        ],
        selected: [3],
        neighbours: [{ index: 5, distance: 0.1 }],
        methods: [
          {
            name: HOSTILE,
            title: HOSTILE,
            note: HOSTILE,
            settings: [setting(HOSTILE, HOSTILE, 'text', HOSTILE, HOSTILE)]
          }
        ],
        asked: HOSTILE,
        projections: [HOSTILE, 'other'],
        projection: HOSTILE,
        others: [HOSTILE],
        comparison: { name: HOSTILE, k: 10, kept: 0.5, lost: [2], gained: [4] },
        work: { what: HOSTILE, done: 1, total: 2, seconds: 1, unit: HOSTILE, stops: true },
        published: HOSTILE,
        refusal: { request: HOSTILE, reason: HOSTILE }
      }
    }),
  running: () =>
    make({
      count: 2000,
      dims: 2,
      more: {
        head: head('penultimate activations', { live: true }),
        method: 't-SNE',
        explained: [],
        facts: 'step 320 of 750, KL divergence 1.83',
        asked: 'tsne',
        projections: ['pca', 'tsne'],
        projection: 'tsne',
        work: { what: 't-SNE', done: 320, total: 750, seconds: 4.1, unit: 'steps', stops: true }
      }
    }),
  everything: () =>
    make({
      count: 4000,
      dims: 3,
      sprites: true,
      more: {
        ...chosen,
        facts: 'epoch 3',
        quality: { trustworthiness: 0.934, continuity: 0.951, k: 10, judged: 2000, points: 4000 },
        projections: ['pca', 'epoch 1', 'epoch 2', 'epoch 3'],
        projection: 'epoch 3',
        frames: ['epoch 1', 'epoch 2', 'epoch 3'],
        others: ['fc1', 'int8'],
        comparison: { name: 'int8', k: 10, kept: 0.83, lost: [157, 187], gained: [227, 237] },
        bookmarks: [
          {
            name: 'the lonely sevens',
            arrangement: {
              projection: 'epoch 3',
              camera: [0.2, 0.1, 2, 0, 0, 0],
              label: 'digit',
              colour: 'confidence',
              hidden: [{ column: 'digit', values: ['one'] }],
              ranges: [{ column: 'confidence', low: 0.5, high: 0.9 }],
              isolated: null,
              selected: [17, 27],
              metric: 'cosine',
              k: 12
            }
          }
        ]
      }
    }),
  wordy: () => {
    const given = make({ count: 60, dims: 3, sprites: true, more: { selected: [3] } });
    const texts = new TextEncoder().encode(`value${' of many words'.repeat(12)}`.repeat(60));
    const each = texts.length / 60;
    const ends = Uint32Array.from({ length: 60 }, (_, point) => (point + 1) * each);
    const first = given.buffers.length;
    const long = (name: string): ScatterColumn => column(name, 'text', first, { ends_buffer: first + 1 });
    const state = given.state as ScatterState;
    return {
      state: {
        ...state,
        columns: [
          state.columns[0]!,
          long('a column of metadata with a very long name that nobody reads'),
          ...Array.from({ length: 11 }, (_, index) => long(`column${index}`))
        ]
      },
      buffers: [...given.buffers, new DataView(texts.buffer), new DataView(ends.buffer)]
    };
  },
  one: () => make({ count: 1, dims: 3, names: ['alone'] }),
  equal: () => {
    const same = make({ count: 50, dims: 3 });
    return { ...same, buffers: [floats(new Float32Array(150).fill(7)), ...same.buffers.slice(1)] };
  },
  kinds: () => make({ count: 1200, dims: 2, names: Array.from({ length: 20 }, (_, at) => `kind ${at + 1}`) }),
  density: () => dense(20_000, 10_000_000),
  nothing: () => make({ count: 0, dims: 3, names: [] })
};
