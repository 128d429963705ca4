/** Example states of the view of differences. */
import type { Dim, DiffNode, DiffRow, DiffState } from '../../src/protocol';
import { head, HOSTILE, type Example } from './tools';

const dims = (channels: number, size: number): Dim[] => [
  { name: 'N', size: 8 },
  { name: 'C', size: channels },
  { name: 'H', size },
  { name: 'W', size }
];

function node(op: string, place: string, id = op, more: Partial<DiffNode> = {}): DiffNode {
  return { id, op, place, source: 'model.py:12', dtype: 'f32', dims: dims(64, 56), ...more };
}

function row(
  status: DiffRow['status'],
  before: DiffNode | null,
  after: DiffNode | null,
  what: string[] = []
): DiffRow {
  return { status, before, after, what, left_out: 0 };
}

function state(title: string, rows: DiffRow[], more: Partial<DiffState> = {}): Example {
  const counts = new Map<string, number>();
  for (const { status, left_out } of rows) {
    for (const one of status === 'replaced' ? ['added', 'removed'] : [status]) {
      counts.set(one, (counts.get(one) ?? 0) + (left_out || 1));
    }
  }
  const order = ['changed', 'moved', 'added', 'removed', 'follows', 'same'];
  return {
    state: {
      kind: 'diff',
      head: head(title, { source: 'cell 7' }),
      before: 'ResNet',
      after: 'ResNet',
      counts: order.filter(one => counts.has(one)).map(one => [one, String(counts.get(one))]),
      notes: [],
      rows,
      selected: null,
      truncated: 0,
      ...more
    },
    buffers: []
  };
}

/** Convolutions with what is folded into them, as a network has them. */
function folded(blocks: number): DiffRow[] {
  const rows: DiffRow[] = [];
  for (let i = 0; i < blocks; i++) {
    const place = `layer${1 + Math.floor(i / 4)}.${i % 4}`;
    for (const part of ['1', '2']) {
      const id = `${i}_${part}`;
      rows.push(
        row('changed', null, node('conv2d', `${place}.conv${part}`, `conv2d_${id}`), [
          `bias: nothing → constant ${place}.conv${part}.weight_bias_folded f32[out_channels:64]`,
          `${place}.conv${part}.weight: parameter → constant ${place}.conv${part}.weight_folded`
        ]),
        row('removed', node('batch_norm_inference', `${place}.bn${part}`, `norm_${id}`), null),
        row('same', null, node('relu', `${place}.relu`, `relu_${id}`))
      );
    }
    rows.push(row('same', null, node('add', place, `add_${i}`)));
    for (let k = 0; k < (i % 3) * 3; k++) {
      rows.push(row('same', null, node(k % 2 ? 'relu' : 'mul', `${place}.gate`, `gate_${i}_${k}`)));
    }
  }
  return rows;
}

/** By name. */
export const states: Record<string, () => Example> = {
  usual: () =>
    state(
      'DigitsNet',
      [
        row('same', null, node('conv2d', 'conv1', 'conv2d_0')),
        row('changed', null, node('conv2d', 'conv2', 'conv2d'), ['stride: (1, 1) → (2, 2)']),
        row('removed', node('batch_norm_inference', 'bn2'), null),
        row('replaced', node('relu', 'relu2'), node('tanh', 'relu2')),
        ...['exp', 'mul', 'add', 'sub', 'neg', 'mul'].map((op, i) =>
          row('same', null, node(op, 'gate', `${op}_${i}`))
        ),
        row('added', null, node('quantize_per_tensor', 'quant', 'quantize', { dtype: 'qu8' })),
        row('moved', null, node('max_pool2d', 'pool2', 'pool', { dims: dims(64, 28) }), ['in pool → pool2']),
        row(
          'follows',
          node('flatten', 'flatten', 'flat'),
          node('flatten', 'flatten', 'flat', { dims: dims(32, 28) })
        ),
        row(
          'changed',
          null,
          node('linear', 'fc1', 'linear', { dims: [dims(1, 1)[0]!, { name: 'out_features', size: 10 }] }),
          ['fc1.weight: f32[out_features:10, in_features:64] → f32[out_features:10, in_features:128]']
        )
      ],
      { notes: ['input x: f32[N:8, C:3] → f16[N:8, C:3]', 'must hold: x.shape[2] >= 2'] }
    ),
  folded: () => state('ResNet', folded(12)),
  none: () =>
    state(
      'ResNet',
      ['conv2d', 'relu', 'add', 'mul', 'exp', 'sum'].map((op, i) =>
        row('same', null, node(op, '', `${op}_${i}`))
      )
    ),
  apart: () =>
    state(
      'LeNet → ViT',
      Array.from({ length: 60 }, (_, i) =>
        i % 2
          ? row('added', null, node('matmul', `blocks.${i}.attention`, `m${i}`))
          : row('removed', node('conv2d', `features.${i}`, `c${i}`), null)
      ),
      { before: 'LeNet', after: 'VisionTransformer' }
    ),
  huge: () => state('huge', folded(330), { truncated: 1234 }),
  long: () =>
    state('a_graph_with_a_very_long_name_that_nobody_would_choose_but_somebody_has', [
      row(
        'changed',
        null,
        node('an_op_with_a_name_that_is_far_too_long_for_any_cell', Array(30).fill('scope').join('.'), 'a'),
        ['weight: ' + 'f32[a_dim_with_a_long_name:64, another_dim_with_a_long_name:3] → '.repeat(4)]
      )
    ]),
  hostile: () =>
    state(
      HOSTILE,
      [
        row(
          'changed',
          node(HOSTILE, HOSTILE, 'a'),
          node(HOSTILE, HOSTILE, 'b', { source: HOSTILE, dtype: HOSTILE }),
          [HOSTILE]
        ),
        row('added', null, node(HOSTILE, HOSTILE, HOSTILE))
      ],
      { notes: [HOSTILE], before: HOSTILE, after: HOSTILE }
    )
};
