/** Example states of the shapes view. */
import type {
  ClashState,
  Dim,
  FlowOperand,
  FlowRow,
  FlowState,
  Picture,
  Statistics,
  TensorState
} from '../../src/protocol';
import type { Example } from './tools';
import { digit, floats, head, histogram, HOSTILE, normal, random } from './tools';

const dim = (name: string | null, size: number): Dim => ({ name, size });
const dims = (...pairs: readonly [string | null, number][]): Dim[] =>
  pairs.map(([name, size]) => dim(name, size));

function statistics(values: Float32Array): Statistics {
  const finite = values.filter(Number.isFinite);
  const minimum = finite.reduce((a, b) => Math.min(a, b), Infinity);
  const maximum = finite.reduce((a, b) => Math.max(a, b), -Infinity);
  const mean = finite.reduce((a, b) => a + b, 0) / finite.length;
  const std = Math.sqrt(finite.reduce((a, b) => a + (b - mean) ** 2, 0) / finite.length);
  return {
    minimum,
    maximum,
    mean,
    std,
    zeros: values.filter(value => value === 0).length / values.length,
    nan: values.filter(Number.isNaN).length,
    inf: values.filter(value => Math.abs(value) === Infinity).length,
    counts: histogram(finite, minimum, maximum, 40),
    sampled: false,
    apart: false
  };
}

function tensor(more: Partial<TensorState>): TensorState {
  return {
    kind: 'tensor',
    head: head('images'),
    dtype: 'f32',
    device: 'cpu',
    dims: [],
    count: 0,
    nbytes: 0,
    requires_grad: false,
    leaf: true,
    statistics: null,
    picture: null,
    ...more
  };
}

const picture = (more: Partial<Picture>): Picture => ({
  kind: 'heatmap',
  tiles: 1,
  height: 1,
  width: 1,
  channels: 1,
  low: 0,
  high: 1,
  signed: false,
  values_buffer: 0,
  row_dim: null,
  column_dim: null,
  tile_dim: null,
  sliders: [],
  ...more
});

function digits(): Example {
  const values = new Float32Array(16 * 784);
  for (let index = 0; index < 16; index++) {
    values.set(
      digit((index * 7) % 10, index).map(value => (value - 0.13) / 0.31),
      index * 784
    );
  }
  const batch = dim('N', 64);
  return {
    state: tensor({
      dims: dims(['N', 64], ['C', 1], ['H', 28], ['W', 28]),
      count: 50176,
      nbytes: 200704,
      requires_grad: true,
      statistics: { ...statistics(values), zeros: 0.81, apart: true },
      picture: picture({
        kind: 'images',
        tiles: 16,
        height: 28,
        width: 28,
        low: -0.42,
        high: 2.82,
        row_dim: dim('H', 28),
        column_dim: dim('W', 28),
        tile_dim: batch,
        sliders: [{ dim: batch, axis: 0, index: 0 }]
      })
    }),
    buffers: [floats(values)]
  };
}

function colour(): Example {
  const values = new Float32Array(4 * 32 * 32 * 3);
  values.forEach((_, index) => {
    const channel = index % 3;
    const x = Math.floor(index / 3) % 32;
    const y = Math.floor(index / 96) % 32;
    const tile = Math.floor(index / 3072);
    values[index] = 0.5 + 0.5 * Math.sin((x * (channel + 1) + y * (tile + 1)) / 9 + channel);
  });
  return {
    state: tensor({
      head: head('photos', { source: 'cell 2, line 5' }),
      dims: dims(['N', 4], ['C', 3], ['H', 32], ['W', 32]),
      count: 12288,
      nbytes: 49152,
      statistics: statistics(values),
      picture: picture({
        kind: 'images',
        tiles: 4,
        height: 32,
        width: 32,
        channels: 3,
        row_dim: dim('H', 32),
        column_dim: dim('W', 32),
        tile_dim: dim('N', 4)
      })
    }),
    buffers: [floats(values)]
  };
}

function weights(wrong: boolean): Example {
  const next = random(3);
  const values = Float32Array.from({ length: 24 * 40 }, () => normal(next) * 0.2);
  if (wrong) {
    values[45] = Number.NaN;
    values[46] = Number.NaN;
    values[500] = Infinity;
  }
  const out = dim('out_features', 24);
  const into = dim('in_features', 40);
  return {
    state: tensor({
      head: head('fc1.weight', { source: 'model.py:18' }),
      dims: [dim('T', 8), out, into],
      count: 7680,
      nbytes: 30720,
      requires_grad: true,
      statistics: statistics(values),
      picture: picture({
        height: 24,
        width: 40,
        low: -0.61,
        high: 0.58,
        signed: true,
        row_dim: out,
        column_dim: into,
        sliders: [{ dim: dim('T', 8), axis: 0, index: 3 }]
      })
    }),
    buffers: [floats(values)]
  };
}

function line(): Example {
  const next = random(5);
  const values = Float32Array.from({ length: 600 }, (_, index) => Math.sin(index / 40) + normal(next) * 0.1);
  values[300] = Number.NaN;
  return {
    state: tensor({
      head: head('signal'),
      dims: dims(['T', 600]),
      count: 600,
      nbytes: 2400,
      statistics: statistics(values),
      picture: picture({ kind: 'line', width: 600, low: -1.3, high: 1.3, column_dim: dim('T', 600) })
    }),
    buffers: [floats(values)]
  };
}

function scalar(): Example {
  return {
    state: tensor({ head: head('loss'), count: 1, nbytes: 4, picture: picture({ kind: 'scalar' }) }),
    buffers: [floats([0.073451])]
  };
}

function hostile(): Example {
  const name = HOSTILE;
  return {
    state: tensor({
      head: head(name, { source: name, code: name }),
      dims: [dim(name, 2), dim(null, 3)],
      count: 6,
      nbytes: 24,
      statistics: statistics(Float32Array.from([1, 2, 3, 4, 5, 6])),
      picture: picture({
        height: 2,
        width: 3,
        low: 1,
        high: 6,
        row_dim: dim(name, 2),
        column_dim: dim(null, 3)
      })
    }),
    buffers: [floats([1, 2, 3, 4, 5, 6])]
  };
}

const operand = (label: string, list: Dim[], more: Partial<FlowOperand> = {}): FlowOperand => ({
  label,
  dtype: 'f32',
  dims: list,
  contracted: [],
  reduced: [],
  broadcast: [],
  becomes: [],
  ...more
});

const image = (n: number, c: number, size: number): Dim[] =>
  dims(['N', n], ['C', c], ['H', size], ['W', size]);

function rows(): FlowRow[] {
  const base = (node: string, op: string, scope: string, source: string) => ({ node, op, scope, source });
  return [
    {
      ...base('n1', 'conv2d', 'conv1', 'cell 3, line 6'),
      inputs: [
        operand('x', image(64, 1, 28), { contracted: [1] }),
        operand('weight', dims(['out', 16], ['C', 1], ['kh', 3], ['kw', 3]), { contracted: [1, 2, 3] })
      ],
      output: operand('conv1', dims(['N', 64], ['out', 16], ['H', 26], ['W', 26]))
    },
    {
      ...base('n2', 'batch_norm', 'bn1', 'cell 3, line 7'),
      inputs: [
        operand('conv1', image(64, 16, 26)),
        operand('scale', dims(['C', 16]), { broadcast: [0] }),
        operand('shift', dims(['C', 16]), { broadcast: [0] })
      ],
      output: operand('bn1', image(64, 16, 26))
    },
    {
      ...base('n3', 'relu', '', 'cell 3, line 8'),
      inputs: [operand('bn1', image(64, 16, 26))],
      output: operand('relu', image(64, 16, 26))
    },
    {
      ...base('n4', 'max_pool2d', 'pool', 'cell 3, line 8'),
      inputs: [operand('relu', image(64, 16, 26))],
      output: operand('pool', image(64, 16, 13))
    },
    {
      ...base('n5', 'permute', '', 'cell 3, line 9'),
      inputs: [operand('pool', image(64, 16, 13))],
      output: operand('permuted', dims(['N', 64], ['H', 13], ['W', 13], ['C', 16]))
    },
    {
      ...base('n6', 'flatten', '', 'cell 3, line 9'),
      inputs: [operand('permuted', dims(['N', 64], ['H', 13], ['W', 13], ['C', 16]))],
      output: operand('flat', dims(['N', 64], ['features', 2704]))
    },
    {
      ...base('n7', 'linear', 'fc1', 'cell 3, line 10'),
      inputs: [
        operand('flat', dims(['N', 64], ['features', 2704]), { contracted: [1] }),
        operand('weight', dims(['classes', 10], ['features', 2704]), { contracted: [1] })
      ],
      output: operand('logits', dims(['N', 64], ['classes', 10]))
    },
    {
      ...base('n8', 'mean', '', 'cell 3, line 11'),
      inputs: [operand('logits', dims(['N', 64], ['classes', 10]), { reduced: [0] })],
      output: operand('mean', dims(['classes', 10]))
    }
  ];
}

function flow(): Example {
  const state: FlowState = {
    kind: 'flow',
    head: head('SmallNet', { source: 'cell 3' }),
    rows: rows(),
    selected: 'n2'
  };
  return { state, buffers: [] };
}

function hugeFlow(): Example {
  const all = Array.from({ length: 1000 }, (_, index) => ({ ...rows()[index % 8]!, node: `n${index}` }));
  return {
    state: { kind: 'flow', head: head('a long graph'), rows: all, selected: null } satisfies FlowState,
    buffers: []
  };
}

function clash(): Example {
  const state: ClashState = {
    kind: 'clash',
    head: head('Size error', { source: 'cell 5, line 2', code: '' }),
    op: 'add',
    message: 'the sizes of W differ: 28 in images and 26 in mask. Only equal sizes, or 1, can meet.',
    operands: [
      {
        label: 'images',
        dims: [
          { name: 'N', size: 64, origin: 'load_digits(), cell 2', clash: false },
          { name: 'C', size: 1, origin: 'load_digits(), cell 2', clash: false },
          { name: 'H', size: 28, origin: 'load_digits(), cell 2', clash: false },
          { name: 'W', size: 28, origin: 'images = load_digits(), cell 2, line 3', clash: true }
        ]
      },
      {
        label: 'mask',
        dims: [
          { name: 'H', size: 28, origin: 'cell 4, line 1', clash: false },
          { name: 'W', size: 26, origin: 'mask = wb.ones(H=28, W=26), cell 4, line 1', clash: true }
        ]
      }
    ],
    fix: 'images + mask.pad(W=(1, 1))'
  };
  return { state, buffers: [] };
}

/** Example states of the shapes view, by name. */
export const states: Record<string, () => Example> = {
  usual: digits,
  colour,
  weights: () => weights(false),
  wrong: () => weights(true),
  line,
  scalar,
  hostile,
  flow,
  'flow-huge': hugeFlow,
  clash
};
