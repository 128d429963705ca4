/** Example states of the heatmap view: attributions, and boards. */
import type { BoardRow, BoardState, HeatmapControls, HeatmapPart, HeatmapState } from '../../src/protocol';
import type { Example } from './tools';
import { digit, floats, head, HOSTILE, normal, random } from './tools';

const PART: HeatmapPart = {
  name: '',
  form: 'picture',
  height: 28,
  width: 28,
  channels: 1,
  input_buffer: 0,
  input_low: 0,
  input_high: 1,
  attribution_buffer: 1,
  other_buffer: null,
  row_dim: { name: 'H', size: 28 },
  column_dim: { name: 'W', size: 28 },
  tokens: []
};

const CONTROLS: HeatmapControls = {
  models: ['float', 'int8'],
  model: 'float',
  other: null,
  methods: [
    { name: 'integrated_gradients', title: 'Integrated Gradients', layer: false },
    { name: 'saliency', title: 'Saliency', layer: false },
    { name: 'layer_grad_cam', title: 'Layer GradCam', layer: true }
  ],
  method: 'integrated_gradients',
  settings: [
    { name: 'n_steps', kind: 'whole', value: '50', choices: [], label: 'steps', meaning: 'How many points.' },
    {
      name: 'method',
      kind: 'choice',
      value: 'gausslegendre',
      choices: ['gausslegendre', 'riemann_left'],
      label: 'integration',
      meaning: 'The rule.'
    },
    { name: 'abs', kind: 'truth', value: 'True', choices: [], label: 'absolute', meaning: '' }
  ],
  layers: ['conv1', 'relu1', 'conv2', 'fc1'],
  layer: null,
  target: 'predicted',
  targets: ['predicted', 'true'],
  made: ''
};

function why(input: Float32Array, seed = 11): Float32Array {
  const next = random(seed);
  return input.map((value, index) => {
    const row = Math.floor(index / 28);
    return value * (row < 14 ? 0.06 : -0.025) * (0.6 + next()) + normal(next) * 0.0015;
  });
}

function example(more: Partial<HeatmapState> = {}, missing = false): Example {
  const input = digit(7, 3);
  const attribution = why(input);
  if (missing) {
    attribution.fill(Number.NaN, 0, 40);
  }
  const state: HeatmapState = {
    kind: 'heatmap',
    head: head('why 7?', { source: 'cell 12' }),
    parts: [PART],
    method: 'Integrated Gradients',
    settings: [
      ['n_steps', '50', 'steps'],
      ['baseline', 'zeros', 'baseline']
    ],
    target: 'seven',
    target_index: 7,
    truth: null,
    wrong: false,
    predictions: [
      { label: 'seven', probability: 0.982, index: 7 },
      { label: 'nine', probability: 0.0131, index: 9 },
      { label: 'two', probability: 0.0036, index: 2 },
      { label: 'three', probability: 0.0009, index: 3 },
      { label: 'one', probability: 0.00004, index: 1 },
      { label: 'four', probability: 0.00001, index: 4 }
    ],
    delta: 0.00021,
    tolerance: 0.01,
    seconds: 0.0482,
    sample: 3,
    samples: 64,
    averaged: 0,
    averaged_samples: [],
    note: '',
    controls: null,
    alone: 'This result does not say what was asked.',
    work: null,
    other: null,
    refusal: null,
    strip: null,
    board: false,
    ...more
  };
  return { state, buffers: [floats(input), floats(attribution)] };
}

/** With everything that can be asked, and a strip of samples. */
function asked(more: Partial<HeatmapState> = {}): Example {
  const count = 24;
  const pictures = new Uint8Array(count * 784);
  for (let at = 0; at < count; at++) {
    pictures.set(
      digit(at % 10, at).map(value => Math.round(value * 255)),
      at * 784
    );
  }
  const made = example({
    controls: CONTROLS,
    alone: '',
    truth: 'seven',
    samples: count,
    strip: {
      samples: Array.from({ length: count }, (_, index) => ({
        index,
        predicted: index % 9 === 5 ? 'nine' : String(index % 10),
        truth: String(index % 10),
        wrong: index % 9 === 5
      })),
      height: 28,
      width: 28,
      channels: 1,
      buffer: 2,
      wrong: 3
    },
    ...more
  });
  return { state: made.state, buffers: [...made.buffers, new DataView(pictures.buffer)] };
}

function beside(more: Partial<HeatmapState> = {}): Example {
  const made = asked({
    controls: { ...CONTROLS, other: 'int8' },
    other: { name: 'int8', trouble: '', delta: 0.004, tolerance: 0.01, seconds: 0.031 },
    parts: [{ ...PART, other_buffer: 3 }],
    ...more
  });
  const other = why(digit(7, 3), 12).map(value => value * 0.85);
  return { state: made.state, buffers: [...made.buffers, floats(other)] };
}

function colour(): Example {
  const size = 96;
  const input = Float32Array.from({ length: size * size * 3 }, (_, index) => {
    const x = Math.floor(index / 3) % size;
    const y = Math.floor(index / 3 / size);
    return 0.5 + 0.5 * Math.sin((x + (index % 3) * 20) / 14) * Math.cos(y / 19);
  });
  const attribution = Float32Array.from(
    { length: size * size },
    (_, index) =>
      Math.exp(-(((index % size) - 40) ** 2 + (Math.floor(index / size) - 50) ** 2) / 300) -
      0.6 * Math.exp(-(((index % size) - 74) ** 2 + (Math.floor(index / size) - 30) ** 2) / 120)
  );
  const made = example({
    parts: [
      {
        ...PART,
        height: size,
        width: size,
        channels: 3,
        row_dim: { name: 'H', size },
        column_dim: { name: 'W', size }
      }
    ],
    delta: null,
    tolerance: null,
    method: 'GradCam',
    settings: [['layer', 'features.1.conv', 'layer']]
  });
  return { state: made.state, buffers: [floats(input), floats(attribution)] };
}

/** As large as a picture of today: what a redraw costs is measured on it. */
function huge(): Example {
  const size = 640;
  const next = random(5);
  const input = Float32Array.from({ length: size * size * 3 }, () => next());
  const attribution = Float32Array.from({ length: size * size }, () => normal(next));
  const dims = { row_dim: { name: 'H', size }, column_dim: { name: 'W', size } };
  const made = example({ parts: [{ ...PART, height: size, width: size, channels: 3, ...dims }] });
  return { state: made.state, buffers: [floats(input), floats(attribution)] };
}

const WORDS = 'the film is slow , but the last half hour is worth every minute of the wait'.split(' ');

function text(more: Partial<HeatmapState> = {}): Example {
  const weights = WORDS.map(
    word => ({ slow: -0.8, worth: 1, every: 0.3, but: 0.12, wait: -0.2 })[word] ?? 0.02
  );
  const made = example({
    head: head('why positive?'),
    parts: [
      {
        ...PART,
        form: 'tokens',
        height: 1,
        width: WORDS.length,
        row_dim: { name: null, size: 1 },
        column_dim: { name: 'T', size: WORDS.length },
        tokens: WORDS
      }
    ],
    controls: CONTROLS,
    alone: '',
    target: 'positive',
    target_index: 1,
    predictions: [
      { label: 'positive', probability: 0.81, index: 1 },
      { label: 'negative', probability: 0.19, index: 0 }
    ],
    samples: 1,
    sample: 0,
    ...more
  });
  return { state: made.state, buffers: [floats(weights), floats(weights)] };
}

function series(): Example {
  const [rows, columns] = [3, 120];
  const values = Float32Array.from(
    { length: rows * columns },
    (_, at) => Math.sin((at % columns) / (6 + Math.floor(at / columns) * 4)) + (at % columns > 70 ? 0.6 : 0)
  );
  const found = Float32Array.from(
    { length: rows * columns },
    (_, at) => Math.exp(-(((at % columns) - 72) ** 2) / 30) * (Math.floor(at / columns) === 1 ? -1 : 1)
  );
  const made = example({
    head: head('why a jump?'),
    parts: [
      {
        ...PART,
        form: 'series',
        height: rows,
        width: columns,
        input_low: -1,
        input_high: 1.7,
        row_dim: { name: 'C', size: rows },
        column_dim: { name: 'T', size: columns }
      }
    ],
    target: 'jump'
  });
  return { state: made.state, buffers: [floats(values), floats(found)] };
}

function several(): Example {
  const picture = asked();
  const words = text();
  const [part] = (words.state as HeatmapState).parts;
  const [own] = (picture.state as HeatmapState).parts;
  const parts = [
    { ...own!, name: 'image' },
    { ...part!, name: 'question', input_buffer: 3, attribution_buffer: 4 }
  ];
  return {
    state: { ...(picture.state as HeatmapState), parts },
    buffers: [...picture.buffers, ...words.buffers]
  };
}

const COLUMNS: BoardState['columns'] = [
  [
    'deletion',
    'Deletion',
    'low',
    'How high the score stays while the most important features are taken away.'
  ],
  ['insertion', 'Insertion', 'high', 'How high the score is while the most important features are put in.'],
  ['infidelity', 'Infidelity', 'low', 'How far attributions are from the output’s change.'],
  ['sensitivity', 'Sensitivity', 'low', 'How much the explanation changes when the input hardly does.'],
  ['delta', 'Delta', 'low', 'How far the attributions are from adding up.'],
  ['time', 'Time', 'low', 'How long it took.']
].map(([name, title, better, meaning]) => ({
  name: name!,
  title: title!,
  better: better!,
  meaning: meaning!
}));

function boardRow(
  method: string,
  title: string,
  figures: readonly (number | null)[],
  buffer: number
): BoardRow {
  return {
    method,
    title,
    made: '',
    standing: 'done',
    trouble: '',
    attribution_buffer: buffer,
    cells: figures.map((value, at) => ({
      value,
      note:
        value === null
          ? 'the method promises no sum'
          : at === 4 && value > 0.1
            ? 'over its tolerance of 0.0500'
            : ''
    }))
  };
}

function board(more: Partial<BoardState> = {}): Example {
  const input = digit(7, 3);
  const none = COLUMNS.map(() => ({ value: null, note: '' }));
  const state: BoardState = {
    kind: 'board',
    head: head('DigitsNet', { live: true }),
    height: 28,
    width: 28,
    columns: COLUMNS,
    rows: [
      boardRow('integrated_gradients', 'Integrated Gradients', [0.21, 0.83, 0.012, 0.31, 0.0002, 0.048], 0),
      boardRow('saliency', 'Saliency', [0.34, 0.71, 0.33, 0.92, null, 0.0012], 1),
      boardRow('input_x_gradient', 'Input × Gradient', [0.28, 0.77, 0.05, 0.74, 0.41, 0.0014], 2),
      {
        method: 'deep_lift',
        title: 'DeepLift',
        made: '',
        standing: 'refused',
        trouble: 'DeepLift has no rule for cumprod (model.py, line 12): it is no sum of parts',
        attribution_buffer: null,
        cells: none
      },
      {
        method: 'occlusion',
        title: 'Occlusion',
        made: '',
        standing: 'running',
        trouble: '',
        attribution_buffer: 3,
        cells: none.map((cell, at) => (at === 0 ? { value: 0.19, note: '' } : cell))
      },
      {
        method: 'kernel_shap',
        title: 'Kernel SHAP',
        made: '',
        standing: 'waiting',
        trouble: '',
        attribution_buffer: null,
        cells: none
      }
    ],
    question: 'the predicted class of 16 samples',
    running: true,
    done: 3,
    seconds: 4.2,
    refusal: null,
    ...more
  };
  return { state, buffers: [11, 12, 13, 14].map(seed => floats(why(input, seed))) };
}

/** Example states of the heatmap view, by name. */
export const states: Record<string, () => Example> = {
  usual: () => example(),
  over: () => example({ delta: 0.23 }),
  wrong: () => example({ delta: 0.23 }, true),
  colour,
  huge,
  asked: () => asked(),
  mistaken: () => asked({ truth: 'two', wrong: true }),
  working: () =>
    asked({
      head: head('why 7?', { live: true }),
      work: { what: 'Integrated Gradients of sample 3', rows: 1280, total: 3200, seconds: 0.61 }
    }),
  begun: () =>
    asked({
      parts: [{ ...PART, attribution_buffer: null }],
      predictions: [],
      target: '',
      target_index: null,
      delta: null,
      tolerance: null,
      work: { what: 'Integrated Gradients of sample 3', rows: 12, total: null, seconds: 0.1 }
    }),
  refused: () =>
    asked({
      refusal: {
        request: 'ask',
        reason:
          'DeepLift has no rule for cumprod (model.py, line 12): it is no sum of parts; integrated_gradients needs none'
      }
    }),
  layered: () =>
    asked({
      controls: { ...CONTROLS, method: 'layer_grad_cam', layer: 'conv2' },
      delta: null,
      tolerance: null
    }),
  beside: () => beside(),
  lopsided: () =>
    asked({
      controls: { ...CONTROLS, other: 'int8' },
      other: {
        name: 'int8',
        trouble: 'AutogradError: the output does not depend on the inputs through ops that have gradients',
        delta: null,
        tolerance: null,
        seconds: null
      }
    }),
  mean: () =>
    asked({
      averaged: 12,
      averaged_samples: [1, 2, 5, 8, 13],
      predictions: [],
      target: 'seven, nine',
      target_index: null,
      truth: null
    }),
  text: () => text(),
  series,
  several,
  board: () => board(),
  done: () => {
    const made = board();
    const rows = (made.state as BoardState).rows.slice(0, 4);
    return { state: { ...(made.state as BoardState), rows, running: false }, buffers: made.buffers };
  },
  ready: () =>
    asked({
      controls: {
        ...CONTROLS,
        methods: [
          ...CONTROLS.methods,
          { name: 'Noise Tunnel', title: 'Noise Tunnel, made ready', layer: false }
        ],
        method: 'Noise Tunnel',
        made: 'Integrated Gradients · times inputs False'
      }
    }),
  novel: () => {
    const words = Array.from({ length: 5000 }, (_, at) => WORDS[at % WORDS.length]!);
    const weights = Float32Array.from({ length: words.length }, (_, at) => Math.sin(at / 7));
    const { state } = text();
    const [part] = (state as HeatmapState).parts;
    const column_dim = { name: 'T', size: words.length };
    const parts = [{ ...part!, width: words.length, column_dim, tokens: words }];
    return { state: { ...(state as HeatmapState), parts }, buffers: [floats(weights), floats(weights)] };
  },
  'flat board': () => {
    const made = board({ height: 1, width: 12 });
    const rows = (made.state as BoardState).rows
      .slice(0, 2)
      .map((row, at) => ({ ...row, made: at ? 'made ready: times inputs False' : '' }));
    return {
      state: { ...(made.state as BoardState), rows, running: false },
      buffers: made.buffers.map((_, at) =>
        floats(
          why(
            Float32Array.from({ length: 12 }, () => 1),
            at
          )
        )
      )
    };
  },
  row: () => asked({ board: true }),
  hostile: () =>
    example({
      head: head(HOSTILE),
      target: HOSTILE,
      method: HOSTILE,
      settings: [[HOSTILE, HOSTILE, HOSTILE]],
      predictions: [{ label: HOSTILE, probability: 0.5, index: 0 }],
      parts: [{ ...PART, row_dim: { name: HOSTILE, size: 28 } }]
    }),
  'hostile board': () => {
    const made = board({ question: HOSTILE });
    const rows = (made.state as BoardState).rows.map(row => ({ ...row, title: HOSTILE, trouble: HOSTILE }));
    return { state: { ...(made.state as BoardState), rows }, buffers: made.buffers };
  },
  short: () => ({ state: example().state, buffers: [floats([1, 2, 3])] })
};
