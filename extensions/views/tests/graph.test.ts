import { describe, expect, it } from 'vitest';
import { fitCamera, keptCamera } from '../src/graph/camera';
import { fastLayout, ranks } from '../src/graph/fast';
import { faceOf, wrapped } from '../src/graph/face';
import { layoutGraph, PLAIN, worthLabels } from '../src/graph/layout';
import { search } from '../src/common/search';
import { hay, routeAt, walk } from '../src/graph/navigate';
import { routeMiddle, routePath } from '../src/graph/routes';
import { background, buildTree, nodesBelow, openings, seenEdges, standIn, totals } from '../src/graph/tree';
import { valueText } from '../src/graph/valuetext';
import type { GraphEdge, GraphNode, GraphScope, GraphTensor } from '../src/protocol';

function node(id: string, scope: readonly string[] = [], more: Partial<GraphNode> = {}): GraphNode {
  return {
    id,
    kind: 'op',
    op: 'relu',
    label: id,
    scope,
    dtype: 'f32',
    dims: [{ name: 'N', size: 4 }],
    attributes: [],
    source: '',
    doc: '',
    equation: '',
    rule: '',
    parameters: 0,
    flops: 0,
    bytes: 0,
    memory: 0,
    bits: 32,
    sizes: [],
    held: [],
    quantization: '',
    seconds: null,
    wrong: '',
    ...more
  };
}

const edge = (source: string, target: string, size = 4): GraphEdge => ({
  source,
  target,
  dtype: 'f32',
  dims: [{ name: 'N', size }],
  sizes: []
});

const weight = (name: string, elements: number, kind: GraphTensor['kind'] = 'parameter'): GraphTensor => ({
  name,
  kind,
  dtype: 'f32',
  dims: [{ name: 'C', size: elements }],
  quantization: '',
  elements
});

const scopeOf = (id: string, same: number, kind: GraphScope['kind'] = 'module'): GraphScope => ({
  id,
  kind,
  same
});

/** x → a.conv (with a.weight, scaled) → a.relu → b.one → out, and a skip from x to out. */
const state = {
  nodes: [
    node('x', [], { kind: 'input' }),
    node('scaled', ['a'], { op: 'mul', held: [weight('a.weight', 9)] }),
    node('conv', ['a'], { op: 'conv2d', held: [weight('a.bias', 3), weight('a.weight', 9)] }),
    node('relu', ['a']),
    node('one', ['b'], { op: 'linear', label: 'linear' }),
    node('out', [], { kind: 'output' })
  ],
  scopes: [scopeOf('a', 0), scopeOf('b', 1)],
  edges: [
    edge('scaled', 'conv'),
    edge('x', 'conv'),
    edge('conv', 'relu', 8),
    edge('relu', 'one', 8),
    edge('one', 'out', 2),
    edge('x', 'out')
  ]
};

function chain(blocks: number, parts = 3): typeof state {
  const nodes = [node('in', [], { kind: 'input' })];
  const edges: GraphEdge[] = [];
  for (let block = 0; block < blocks; block++) {
    for (let part = 0; part < parts; part++) {
      edges.push(edge(nodes.at(-1)!.id, `n${block}.${part}`));
      nodes.push(node(`n${block}.${part}`, ['layers', String(block)], { op: `op${part}` }));
    }
  }
  const scopes = [
    scopeOf('layers', -1),
    ...Array.from({ length: blocks }, (_, block) => scopeOf(`layers.${block}`, 1))
  ];
  return { nodes, edges, scopes };
}

describe('the tree of scopes', () => {
  it('leaves out parameters and what is computed from them alone', () => {
    expect([...background(state)]).toEqual(['scaled']);
  });

  it('lifts an op that is alone in its scope, which then goes by that name', () => {
    const tree = buildTree(state, background(state));
    expect([...tree.scopes.keys()].sort()).toEqual(['', 'a']);
    const lines = (nodes: GraphNode[]) => {
      const item = layoutGraph(buildTree({ ...state, nodes }, new Set()), new Set()).boxes.get('one')!.item;
      return item.kind === 'node' && item.lines;
    };
    expect(lines(state.nodes)).toEqual(['b', 'linear']);
    expect(lines(state.nodes.map(each => ({ ...each, label: 'head' })))).toEqual(['head', 'linear']);
  });

  it('counts the parameters of a scope once, drawn or not', () => {
    expect(totals(buildTree(state, background(state)).scopes.get('a')!)).toMatchObject({
      ops: 2,
      parameters: 12
    });
    expect(totals(buildTree(state, new Set()).scopes.get('a')!)).toMatchObject({ ops: 3, parameters: 12 });
  });

  it('stands a folded scope in for its nodes and hides edges inside', () => {
    const tree = buildTree(state, background(state));
    expect(standIn(tree, new Set(), 'conv')).toBe('scope:a');
    expect(standIn(tree, new Set(['a']), 'conv')).toBe('conv');
    const seen = seenEdges(tree, new Set()).map(each => `${each.source}>${each.target}`);
    expect(seen.sort()).toEqual(['one>out', 'scope:a>one', 'x>out', 'x>scope:a']);
  });

  it('stacks identical blocks', () => {
    const graph = chain(12);
    const tree = buildTree(graph, new Set());
    const stack = [...tree.scopes.values()].find(scope => scope.repeats === 12)!;
    expect(stack.name).toBe('0 … 11');
    expect(nodesBelow(stack)).toHaveLength(36);
    expect(standIn(tree, new Set(['layers']), 'n7.1')).toBe(`scope:${stack.id}`);
    expect(standIn(tree, new Set(['layers', stack.id, 'layers.7']), 'n7.1')).toBe('n7.1');
    // What Python found to differ stands apart, and so do the branches of an if.
    const other = graph.scopes.map(scope => (scope.id === 'layers.5' ? { ...scope, same: 9 } : scope));
    const parted = [...buildTree({ ...graph, scopes: other }, new Set()).scopes.values()];
    expect(parted.map(scope => scope.repeats).filter(count => count > 1)).toEqual([5, 6]);
    const branches = graph.scopes.map(scope => ({ ...scope, kind: 'block' as const }));
    const whole = [...buildTree({ ...graph, scopes: branches }, new Set()).scopes.values()];
    expect(whole.every(scope => scope.repeats === 1)).toBe(true);
  });

  it('keeps the box of a branch around a single op', () => {
    const branch = { ...state, scopes: [scopeOf('a', 0), scopeOf('b', 1, 'block')] };
    expect([...buildTree(branch, background(branch)).scopes.keys()].sort()).toEqual(['', 'a', 'b']);
  });

  it('opens no more than can be read at first', () => {
    const tree = buildTree(chain(40, 4), new Set());
    const layout = layoutGraph(tree, openings(tree, 48).at(-1)!);
    expect(layout.boxes.size).toBeLessThanOrEqual(48);
    expect(openings(buildTree(state, background(state)), 48).map(open => [...open])).toEqual([[], ['a']]);
  });
});

describe('the layout', () => {
  const tree = buildTree(state, background(state));
  const layout = layoutGraph(tree, new Set(['a']));

  it('keeps nodes inside their scope and apart from each other', () => {
    const boxes = [...layout.boxes.values()];
    const scope = layout.boxes.get('scope:a')!;
    for (const id of ['conv', 'relu']) {
      const box = layout.boxes.get(id)!;
      expect(box.x).toBeGreaterThanOrEqual(scope.x);
      expect(box.y).toBeGreaterThanOrEqual(scope.y + 20);
      expect(box.x + box.width).toBeLessThanOrEqual(scope.x + scope.width);
      expect(box.y + box.height).toBeLessThanOrEqual(scope.y + scope.height);
    }
    const nodes = boxes.filter(box => box.item.kind === 'node');
    for (const a of nodes) {
      for (const b of nodes) {
        const apart =
          a.x + a.width <= b.x || b.x + b.width <= a.x || a.y + a.height <= b.y || b.y + b.height <= a.y;
        expect(a === b || apart).toBe(true);
      }
    }
  });

  it('flows downward and starts and ends at its nodes', () => {
    for (const route of layout.routes) {
      const from = layout.boxes.get(route.source)!;
      const to = layout.boxes.get(route.target)!;
      expect(to.y).toBeGreaterThan(from.y);
      expect(route.points[0]).toEqual({ x: from.x + from.width / 2, y: from.y + from.height });
      expect(route.points.at(-1)).toEqual({ x: to.x + to.width / 2, y: to.y });
      expect(routePath(route.points)).toMatch(/^M/);
      expect(routePath(route.points)).not.toContain('NaN');
      const middle = routeMiddle(route.points);
      expect(middle.y).toBeGreaterThan(from.y);
      expect(middle.y).toBeLessThan(to.y + to.height);
    }
  });

  it('labels an edge only where the value changes', () => {
    const told = [...worthLabels(layout.routes)].map(route => `${route.source}>${route.target}`);
    expect(told).toContain('conv>relu');
    expect(told).toContain('one>out');
    expect(told).not.toContain('relu>one');
  });

  it('keeps labels apart from nodes and from each other', () => {
    const wide = {
      ...edge('x', 'y'),
      dims: ['batch', 'channels', 'height'].map(name => ({ name, size: 64 }))
    };
    const ends = ['a', 'b', 'c', 'd'];
    const graph = {
      nodes: [
        node('x', [], { kind: 'input' }),
        ...ends.map(id => node(id, [`s${id}`])),
        ...ends.map(id => node(`${id}2`, [`s${id}`])),
        node('y')
      ],
      edges: [
        ...ends.map((id, index) => ({ ...wide, target: id, dims: wide.dims.slice(index % 3) })),
        ...ends.map((id, index) => ({
          ...wide,
          source: id,
          target: `${id}2`,
          dims: wide.dims.slice(0, 1 + (index % 2))
        })),
        ...ends.map(id => ({ ...edge(`${id}2`, 'y', 7) }))
      ],
      scopes: []
    };
    const drawn = buildTree(graph, new Set());
    for (const open of [new Set<string>(), new Set(ends.map(id => `s${id}`))]) {
      const made = layoutGraph(drawn, open);
      const labels = made.routes.flatMap(route => (route.label ? [route.label] : []));
      expect(labels.length).toBeGreaterThan(3);
      const rects = [
        ...labels.map(({ x, y, value }) => ({ x, y, width: value.width, height: value.height })),
        ...[...made.boxes.values()].filter(box => !(box.item.kind === 'scope' && box.item.open))
      ];
      rects.forEach((a, index) =>
        rects.slice(index + 1).forEach(b => {
          const apart =
            a.x + a.width <= b.x || b.x + b.width <= a.x || a.y + a.height <= b.y || b.y + b.height <= a.y;
          expect(apart).toBe(true);
        })
      );
      expect(Math.max(...rects.map(one => one.x + one.width))).toBeLessThanOrEqual(made.width + 1);
      expect(Math.min(...rects.map(one => one.x))).toBeGreaterThanOrEqual(-1);
    }
  });

  it('stands a long chain in columns where it has the room', () => {
    const names = Array.from({ length: 24 }, (_, index) => `n${index}`);
    const graph = {
      nodes: names.map(id => node(id)),
      edges: names.slice(1).map((id, index) => edge(`n${index}`, id)),
      scopes: []
    };
    const long = buildTree(graph, new Set());
    const one = layoutGraph(long, new Set());
    const several = layoutGraph(long, new Set(), PLAIN, { width: 900, height: 500 });
    expect(several.height).toBeLessThan(600);
    expect(several.height).toBeLessThan(one.height / 2);
    expect(several.width).toBeLessThanOrEqual(900);
    expect(several.boxes.size).toBe(24);
    const boxes = [...several.boxes.values()];
    for (const [index, a] of boxes.entries()) {
      for (const b of boxes.slice(index + 1)) {
        const apart =
          a.x + a.width <= b.x || b.x + b.width <= a.x || a.y + a.height <= b.y || b.y + b.height <= a.y;
        expect(apart).toBe(true);
      }
    }
    // From the foot of a column to the head of the next, through the gutter and over no box.
    for (const { source, target, points } of several.routes) {
      for (const { x, y } of points.slice(1, -1)) {
        const hit = boxes.find(
          box => x > box.x && x < box.x + box.width && y > box.y && y < box.y + box.height
        );
        expect(`${source} ${target} ${hit?.item.id ?? 'over nothing'}`).toBe(
          `${source} ${target} over nothing`
        );
      }
    }
    expect(layoutGraph(long, new Set(), PLAIN, { width: 150, height: 500 }).height).toBe(one.height);
  });

  it('writes parameters into the node that uses them, each on lines of its own', () => {
    const big = {
      ...weight('a.kernel', 9),
      dims: ['out_channels', 'in_channels', 'kernel_height', 'kernel_width'].map(name => ({ name, size: 64 }))
    };
    const item = {
      kind: 'node',
      id: 'n',
      node: node('n', ['a'], { held: [big, weight('other.bias', 3)] }),
      lines: ['n', 'conv2d']
    } as const;
    const plain = faceOf(item, PLAIN);
    const face = faceOf(item, { ...PLAIN, parameters: true });
    expect(face.height).toBeGreaterThan(plain.height + 30);
    expect(face.width).toBeLessThanOrEqual(340);
    const texts = face.lines.flatMap(line => line.value?.parts.map(part => part.text) ?? []);
    expect(texts).toEqual([
      'kernel',
      'f32',
      'out_channels 64',
      'in_channels 64',
      'kernel_height 64',
      'kernel_width 64',
      'other.bias',
      'f32',
      'C 3'
    ]);
    for (const line of face.lines) {
      line.value?.parts.forEach(part => expect(part.x + part.width).toBeLessThanOrEqual(face.width - 14));
    }
  });

  it('says sizes of any run on demand', () => {
    const value = {
      dtype: 'f32',
      dims: [
        { name: 'N', size: 64 },
        { name: null, size: 3 },
        { name: 'C', size: 3 }
      ],
      sizes: ['n', '?', '3']
    };
    const texts = (symbols: boolean) => valueText(value, symbols, 400).parts.map(part => part.text);
    expect(texts(false)).toEqual(['f32', 'N 64', '·3', 'C 3']);
    expect(texts(true)).toEqual(['f32', 'N n', '?', 'C 3']);
  });

  it('breaks long names and loses nothing of them', () => {
    const name = 'features.denseblock4.denselayer16.conv2.and_the_rest_of_it';
    expect(wrapped(name, 200, 12).join('')).toBe(name);
    expect(wrapped('x'.repeat(300), 200, 12).length).toBeLessThanOrEqual(4);
  });

  it('lays blocks that are alike out alike', () => {
    const graph = chain(3, 4);
    const alone = { ...graph, scopes: graph.scopes.map((scope, index) => ({ ...scope, same: index })) };
    const open = new Set(['layers', 'layers.0', 'layers.1', 'layers.2']);
    const made = layoutGraph(buildTree(alone, new Set()), open);
    const inside = (block: number) => {
      const frame = made.boxes.get(`scope:layers.${block}`)!;
      return [0, 1, 2, 3].map(part => {
        const { x, y, width } = made.boxes.get(`n${block}.${part}`)!;
        return [x - frame.x, y - frame.y, width];
      });
    };
    expect(inside(1)).toEqual(inside(0));
    expect(inside(2)).toEqual(inside(0));
    expect(new Set(inside(0).map(([, y]) => y)).size).toBe(4);
    expect(layoutGraph(buildTree(alone, new Set()), open)).toEqual(made);
  });

  it('survives a cycle', () => {
    const graph = {
      nodes: [node('a'), node('b'), node('c')],
      edges: [edge('a', 'b'), edge('b', 'c'), edge('c', 'a')],
      scopes: []
    };
    expect(layoutGraph(buildTree(graph, new Set()), new Set()).boxes.size).toBe(3);
    expect(
      [
        ...ranks(3, [
          [0, 1],
          [1, 2],
          [2, 0]
        ])
      ].sort()
    ).toEqual([0, 1, 2]);
  });

  it('places five thousand nodes in ranks without overlap', () => {
    const nodes = Array.from({ length: 5000 }, (_, index) => ({ id: `n${index}`, width: 80, height: 30 }));
    const edges = nodes.slice(1).map((each, index) => ({
      source: `n${Math.max(0, index - (index % 3))}`,
      target: each.id,
      label: null
    }));
    const made = fastLayout(nodes, edges);
    const rows = new Map<number, number[]>();
    for (const { x, y } of made.places.values()) {
      rows.set(y, [...(rows.get(y) ?? []), x]);
    }
    for (const xs of rows.values()) {
      xs.sort((a, b) => a - b);
      xs.slice(1).forEach((x, index) => expect(x - xs[index]!).toBeGreaterThanOrEqual(80));
    }
    expect(made.routes).toHaveLength(4999);
  });
});

describe('moving about', () => {
  const tree = buildTree(state, background(state));
  const layout = layoutGraph(tree, new Set(['a']));

  it('walks along edges', () => {
    expect(walk(layout, null, 'ArrowDown')).toBe('x');
    expect(walk(layout, 'conv', 'ArrowDown')).toBe('relu');
    expect(walk(layout, 'relu', 'ArrowUp')).toBe('conv');
    expect(walk(layout, 'out', 'ArrowDown')).toBeNull();
  });

  it('searches names, ops, scopes and dims', () => {
    expect(search(tree.nodes.values(), 'conv2d', hay).found.map(each => each.id)).toEqual(['conv']);
    expect(search(tree.nodes.values(), 'a relu', hay).found.map(each => each.id)).toEqual(['relu']);
    expect(search(tree.nodes.values(), '  ', hay).found).toEqual([]);
    const ids = (text: string) => search(tree.nodes.values(), text, hay).found.map(each => each.id);
    expect(ids('^conv$|^linear$')).toEqual(['conv', 'one']);
    expect(ids('^a\\.')).toEqual(['conv', 'relu']);
    expect(ids('\\.bias$')).toEqual(['conv']);
    expect(search(tree.nodes.values(), 'conv(', hay)).toEqual({
      found: [],
      problem: 'conv( is no regular expression'
    });
  });

  it('finds the edge under the pointer', () => {
    const route = layout.routes.find(each => each.source === 'conv')!;
    const { x, y } = routeMiddle(route.points);
    expect(routeAt(layout, { x: x + 2, y }, 5)).toBe(route);
    expect(routeAt(layout, { x: x + 4000, y }, 5)).toBeNull();
  });

  it('shows the top at a readable size, or the whole on demand', () => {
    const tall = { width: 200, height: 9000 };
    expect(fitCamera(tall, 600, 500, false)).toMatchObject({ scale: 1, y: 20 });
    expect(fitCamera(tall, 600, 500, true).scale).toBeLessThan(0.06);
    expect(fitCamera({ width: 10, height: 10 }, 600, 500, false).scale).toBeLessThanOrEqual(1.15);
  });

  it('keeps the middle of the window when it has another size, and fits the graph where nothing would be seen', () => {
    const state = { nodes: [node('a'), node('b')], edges: [edge('a', 'b')], scopes: [] };
    const layout = layoutGraph(buildTree(state, new Set()), new Set());
    const wide = { width: 900, height: 500 };
    const kept = keptCamera(layout, { scale: 1, x: 300, y: 40 }, wide, { width: 700, height: 500 });
    expect(kept).toEqual({ scale: 1, x: 200, y: 40 });
    // Zoomed at the right side of a wide window: of a narrow one it would be beside.
    const aside = { scale: 1, x: 900 - layout.width - 10, y: 40 };
    const lost = keptCamera(layout, aside, wide, { width: 300, height: 500 });
    expect(lost).toEqual(fitCamera(layout, 300, 500, true));
  });
});
