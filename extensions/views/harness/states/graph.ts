/** Example states of the graph view. */
import type { Dim, GraphEdge, GraphNode, GraphScope, GraphState, GraphTensor } from '../../src/protocol';
import type { Example } from './tools';
import { head, HOSTILE } from './tools';

type Dims = readonly (readonly [string | null, number])[];

class Builder {
  readonly nodes: GraphNode[] = [];
  readonly edges: GraphEdge[] = [];

  add(id: string, op: string, dims: Dims, inputs: readonly string[], more: Partial<GraphNode> = {}): string {
    const list: Dim[] = dims.map(([name, size]) => ({ name, size }));
    this.nodes.push({
      id,
      kind: 'op',
      op,
      label: id.split('.').at(-1)!,
      scope: [],
      dtype: 'f32',
      dims: list,
      attributes: [],
      source: 'cell 3, line 6',
      doc: '',
      equation: '',
      rule: '',
      parameters: 0,
      flops: 0,
      bytes: 4 * list.reduce((size, dim) => size * dim.size, 1),
      memory: 0,
      bits: 32,
      sizes: [],
      held: [],
      quantization: '',
      seconds: null,
      wrong: '',
      ...more
    });
    for (const input of inputs) {
      const source = this.nodes.find(node => node.id === input)!;
      this.edges.push({
        source: input,
        target: id,
        dtype: source.dtype,
        dims: source.dims,
        sizes: source.sizes
      });
    }
    return id;
  }

  /** The scopes of the nodes; what has the same ops on the same dims counts as the same, where Python looks closer. */
  private scopes(): GraphScope[] {
    const inside = new Map<string, string[]>();
    for (const node of this.nodes) {
      for (let depth = 1; depth <= node.scope.length; depth++) {
        const id = node.scope.slice(0, depth).join('.');
        const row = `${node.op} ${node.dims.map(dim => `${dim.name}${dim.size}`).join()}`;
        inside.set(id, [...(inside.get(id) ?? []), row]);
      }
    }
    const known = new Map<string, number>();
    return [...inside].map(([id, rows]) => {
      const key = rows.join(';');
      known.set(key, known.get(key) ?? known.size);
      return { id, kind: 'module', same: known.get(key)! };
    });
  }

  state(title: string, more: Partial<GraphState> = {}): Example {
    return {
      state: {
        kind: 'graph',
        head: head(title, { source: 'cell 6' }),
        nodes: this.nodes,
        edges: this.edges,
        scopes: this.scopes(),
        selected: null,
        values: null,
        wrong: '',
        truncated: 0,
        ...more
      },
      buffers: []
    };
  }
}

const image = (channels: number, size: number): Dims => [
  ['N', 64],
  ['C', channels],
  ['H', size],
  ['W', size]
];

const parameter = (name: string, dims: Dims): GraphTensor => ({
  name,
  kind: 'parameter',
  dtype: 'f32',
  dims: dims.map(([dim, size]) => ({ name: dim, size })),
  quantization: '',
  elements: dims.reduce((count, [, size]) => count * size, 1)
});

const CONV: Partial<GraphNode> = {
  doc: 'Slides a filter over H and W and adds up over the channels.',
  equation: 'y[n, o, h, w] = b[o] + Σ x[n, c, h + i, w + j] · k[o, c, i, j]',
  rule: 'C is contracted with the weight; the output takes its channels as C; H and W shrink by the kernel less one.',
  attributes: [
    ['stride', '1'],
    ['padding', '1'],
    ['dilation', '1']
  ]
};

function network(): Builder {
  const b = new Builder();
  b.add('x', 'input', image(1, 28), [], { kind: 'input' });
  let at = 'x';
  let channels = 1;
  let size = 28;
  [16, 32].forEach((out, index) => {
    const scope = ['features', String(index)];
    at = b.add(`features.${index}.conv`, 'conv2d', image(out, size), [at], {
      scope: [...scope, 'conv'],
      held: [
        parameter(`features.${index}.conv.weight`, [
          ['out_channels', out],
          ['in_channels', channels],
          ['kernel_height', 3],
          ['kernel_width', 3]
        ]),
        parameter(`features.${index}.conv.bias`, [['out_channels', out]])
      ],
      label: 'conv',
      parameters: out * channels * 9 + out,
      flops: 2 * 64 * size * size * out * channels * 9,
      ...CONV
    });
    at = b.add(`features.${index}.norm`, 'batch_norm', image(out, size), [at], {
      scope: [...scope, 'norm'],
      label: 'norm',
      held: [parameter(`features.${index}.norm.weight`, [['C', out]])],
      parameters: 2 * out,
      flops: 64 * size * size * out * 2
    });
    at = b.add(`features.${index}.relu`, 'relu', image(out, size), [at], { scope, label: 'relu' });
    size /= 2;
    at = b.add(`features.${index}.pool`, 'max_pool2d', image(out, size), [at], {
      scope: [...scope, 'pool'],
      label: 'pool'
    });
    channels = out;
  });
  at = b.add(
    'flatten',
    'flatten',
    [
      ['N', 64],
      ['features', 1568]
    ],
    [at]
  );
  at = b.add(
    'head.fc1',
    'linear',
    [
      ['N', 64],
      ['hidden', 128]
    ],
    [at],
    {
      scope: ['head'],
      label: 'fc1',
      parameters: 1568 * 128,
      flops: 2 * 64 * 1568 * 128,
      dtype: 'q8',
      bits: 8,
      quantization: 'scale 0.0137 · zero point 0 · 7 bit, 0 … 127'
    }
  );
  at = b.add(
    'head.relu',
    'relu',
    [
      ['N', 64],
      ['hidden', 128]
    ],
    [at],
    { scope: ['head'], label: 'relu', dtype: 'q8', bits: 8 }
  );
  at = b.add(
    'head.fc2',
    'linear',
    [
      ['N', 64],
      ['classes', 10]
    ],
    [at],
    { scope: ['head'], label: 'fc2', parameters: 1280, flops: 2 * 64 * 1280 }
  );
  b.add(
    'output',
    'output',
    [
      ['N', 64],
      ['classes', 10]
    ],
    [at],
    { kind: 'output' }
  );
  return b;
}

function transformer(blocks: number): Builder {
  const b = new Builder();
  const hidden: Dims = [
    ['N', 8],
    ['T', 128],
    ['E', 256]
  ];
  b.add(
    'tokens',
    'input',
    [
      ['N', 8],
      ['T', 128]
    ],
    [],
    { kind: 'input', dtype: 'i64' }
  );
  let at = b.add('embed', 'embedding', hidden, ['tokens'], {
    parameters: 256 * 5000,
    held: [
      parameter('embed.weight', [
        ['words', 5000],
        ['E', 256]
      ])
    ]
  });
  for (let block = 0; block < blocks; block++) {
    const scope = ['encoder', String(block)];
    const name = (part: string): string => `encoder.${block}.${part}`;
    const attention = [...scope, 'attention'];
    const start = at;
    const norm = b.add(name('norm1'), 'layer_norm', hidden, [start], { scope, parameters: 512 });
    const parts = ['query', 'key', 'value'].map(part =>
      b.add(name(part), 'linear', hidden, [norm], {
        scope: attention,
        parameters: 65536,
        flops: 2 * 8 * 128 * 65536
      })
    );
    const scores = b.add(
      name('scores'),
      'matmul',
      [
        ['N', 8],
        ['heads', 8],
        ['T', 128],
        ['S', 128]
      ],
      parts.slice(0, 2),
      { scope: attention, flops: 6.7e7 }
    );
    const weights = b.add(
      name('softmax'),
      'softmax',
      [
        ['N', 8],
        ['heads', 8],
        ['T', 128],
        ['S', 128]
      ],
      [scores],
      { scope: attention }
    );
    const mixed = b.add(name('mix'), 'matmul', hidden, [weights, parts[2]!], {
      scope: attention,
      flops: 6.7e7
    });
    const added = b.add(name('add1'), 'add', hidden, [start, mixed], { scope });
    const inner = b.add(
      name('up'),
      'linear',
      [
        ['N', 8],
        ['T', 128],
        ['F', 1024]
      ],
      [added],
      {
        scope: [...scope, 'mlp'],
        parameters: 262144,
        flops: 5e8,
        held: [
          parameter(name('mlp.up.weight'), [
            ['out_features', 1024],
            ['in_features', 256]
          ])
        ]
      }
    );
    const active = b.add(
      name('gelu'),
      'gelu',
      [
        ['N', 8],
        ['T', 128],
        ['F', 1024]
      ],
      [inner],
      { scope: [...scope, 'mlp'] }
    );
    const down = b.add(name('down'), 'linear', hidden, [active], {
      scope: [...scope, 'mlp'],
      parameters: 262144,
      flops: 5e8
    });
    at = b.add(name('add2'), 'add', hidden, [added, down], { scope });
  }
  at = b.add('norm', 'layer_norm', hidden, [at], { parameters: 512 });
  b.add('output', 'output', hidden, [at], { kind: 'output' });
  return b;
}

/** Many nodes without any scope: nothing can be folded away. */
function flat(count = 5000): Builder {
  const b = new Builder();
  b.add('x', 'input', image(8, 8), [], { kind: 'input' });
  const ops = ['conv2d', 'relu', 'add', 'batch_norm', 'max_pool2d'];
  for (let index = 1; index < count; index++) {
    const before = index === 1 ? 'x' : `n${index - 1}`;
    const skip = index > 8 && index % 4 === 0 ? [`n${index - 4}`] : [];
    const side = index > 30 && index % 11 === 0 ? [`n${index - 17}`] : [];
    b.nodes.push({
      ...network().nodes[0]!,
      id: `n${index}`,
      kind: 'op',
      op: ops[index % 5]!,
      label: `op ${index}`,
      flops: index * 1000
    });
    const dims = b.nodes[0]!.dims;
    [before, ...skip, ...side].forEach(source =>
      b.edges.push({ source, target: `n${index}`, dtype: 'f32', dims, sizes: [] })
    );
  }
  return b;
}

/** An if with a loop in one of its branches. */
function blocks(): Example {
  const b = new Builder();
  const dims: Dims = [
    ['N', 4],
    ['H', 3]
  ];
  const sizes = ['n', '?'];
  const scalar = { dtype: 'bool', kind: 'input' as const, bits: 0 };
  const [outer, inner] = [
    ['if y', 'then'],
    ['if y', 'then', 'loop a', 'body']
  ];
  b.add('x', '', dims, [], { kind: 'input', sizes });
  b.add('c', '', [], [], scalar);
  b.add('n', '', [], [], { ...scalar, dtype: 'int' });
  b.add('h', 'relu', dims, ['x'], { sizes });
  b.add('p', '', dims, ['h'], { kind: 'input', scope: inner, sizes });
  b.add('q', 'mul', dims, ['p'], { scope: inner, sizes });
  b.add('r', 'relu', dims, ['q'], { scope: inner, sizes });
  b.add('a', 'loop', dims, ['n', 'r'], { scope: [...outer, 'loop a'], sizes });
  b.add('d', 'exp', dims, ['h'], { scope: ['if y', 'else'], sizes });
  b.add('y', 'if', dims, ['c', 'a', 'd'], { scope: ['if y'], sizes });
  b.add('z', 'linear', [...dims.slice(0, 1), ['out_features', 12]], ['y'], {
    held: [
      parameter('weight', [
        ['out_features', 12],
        ['in_features', 3]
      ])
    ]
  });
  b.add('output', '', [...dims.slice(0, 1), ['out_features', 12]], ['z'], { kind: 'output' });
  const kinds: Record<string, GraphScope['kind']> = { 'if y': 'if', 'if y.then.loop a': 'loop' };
  const made = b.state('net');
  const state = made.state as GraphState;
  const scopes = state.scopes.map(scope => ({ ...scope, kind: kinds[scope.id] ?? 'block' }));
  return { ...made, state: { ...state, scopes } };
}

function hostile(): Example {
  const b = new Builder();
  b.add('a', HOSTILE, [[HOSTILE, 3]], [], {
    label: HOSTILE,
    scope: [HOSTILE],
    doc: HOSTILE,
    equation: HOSTILE,
    rule: HOSTILE,
    source: HOSTILE,
    attributes: [[HOSTILE, HOSTILE]],
    held: [parameter(HOSTILE, [[HOSTILE, 3]])],
    quantization: HOSTILE,
    sizes: [HOSTILE],
    wrong: HOSTILE
  });
  b.add('b', HOSTILE, [[null, 3]], ['a'], { label: HOSTILE, scope: [HOSTILE] });
  return b.state(HOSTILE, { selected: 'a', wrong: HOSTILE });
}

/** A function that failed in its last call. */
function failed(): Example {
  const b = network();
  const words =
    'DimensionError: linear: mat1 and mat2 shapes cannot be multiplied: the last dim of the input has 10 values, the ' +
    'weight takes 12 (in_features).';
  b.nodes.pop();
  b.edges.pop();
  b.add('failed call', 'linear', [], ['head.fc2'], {
    label: 'linear',
    scope: ['last'],
    dtype: '',
    wrong: words
  });
  return b.state('SmallNet', { selected: 'failed call', wrong: words });
}

/** A graph that was run node by node. */
function measured(): Example {
  const b = network();
  const nodes = b.nodes.map((node, index) => ({
    ...node,
    memory: node.bytes,
    seconds: node.kind === 'op' ? 2e-5 * 2 ** (index % 9) : null
  }));
  b.nodes.splice(0, b.nodes.length, ...nodes);
  const bins = Array.from({ length: 32 }, (_, index) =>
    index === 0 ? 5000 : Math.round(1200 * Math.exp(-index / 6))
  );
  const values = {
    node: 'features.0.relu',
    count: 10_000,
    low: 0,
    high: 4.2,
    mean: 0.51,
    std: 0.8,
    zeros: 0.5,
    broken: 3,
    bins
  };
  return b.state('SmallNet', { selected: 'features.0.relu', values });
}

/** Example states of the graph view, by name. */
export const states: Record<string, () => Example> = {
  usual: () => network().state('SmallNet'),
  selected: () => network().state('SmallNet', { selected: 'features.0.conv' }),
  transformer: () => transformer(12).state('Encoder'),
  huge: () => transformer(420).state('Encoder with 420 blocks'),
  flat: () => flat().state('5,000 ops', { truncated: 1200 }),
  deep: () => transformer(835).state('Encoder with 835 blocks'),
  flatter: () => flat(10_000).state('10,000 ops'),
  blocks,
  failed,
  measured,
  hostile,
  nothing: () => new Builder().state('an empty graph')
};
