import { describe, expect, it } from 'vitest';
import { fitCamera, keptCamera } from '../src/graph/camera';
import { fastLayout, ranks } from '../src/graph/fast';
import { layoutGraph, routeMiddle, routePath } from '../src/graph/layout';
import { routeAt, search, walk } from '../src/graph/navigate';
import { worthLabels } from '../src/graph/scene';
import {
  background,
  buildTree,
  nodesBelow,
  openAtFirst,
  seenEdges,
  standIn,
  totals
} from '../src/graph/tree';
import type { GraphEdge, GraphNode } from '../src/protocol';

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
    bits: 32,
    ...more
  };
}

const edge = (source: string, target: string, size = 4): GraphEdge => ({
  source,
  target,
  dtype: 'f32',
  dims: [{ name: 'N', size }]
});

/** x → a.conv (with a.weight) → a.relu → b.one → out, and a skip from x to out. */
const state = {
  nodes: [
    node('x', [], { kind: 'input' }),
    node('weight', ['a'], { kind: 'parameter', parameters: 9 }),
    node('scaled', ['a'], { op: 'mul' }),
    node('conv', ['a'], { op: 'conv2d' }),
    node('relu', ['a']),
    node('one', ['b'], { op: 'linear', label: 'linear' }),
    node('out', [], { kind: 'output' })
  ],
  edges: [
    edge('weight', 'scaled'),
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
  return { nodes, edges };
}

describe('the tree of scopes', () => {
  it('leaves out parameters and what is computed from them alone', () => {
    expect([...background(state)].sort()).toEqual(['scaled', 'weight']);
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
      parameters: 9
    });
    expect(totals(buildTree(state, new Set()).scopes.get('a')!)).toMatchObject({ ops: 3, parameters: 9 });
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
  });

  it('opens no more than can be read at first', () => {
    const tree = buildTree(chain(40, 4), new Set());
    const layout = layoutGraph(tree, openAtFirst(tree, 48));
    expect(layout.boxes.size).toBeLessThanOrEqual(48);
    expect([...openAtFirst(buildTree(state, background(state)), 48)]).toEqual(['a']);
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
    const told = [...worthLabels(layout)].map(route => `${route.source}>${route.target}`);
    expect(told).toContain('conv>relu');
    expect(told).toContain('one>out');
    expect(told).not.toContain('relu>one');
  });

  it('survives a cycle', () => {
    const graph = {
      nodes: [node('a'), node('b'), node('c')],
      edges: [edge('a', 'b'), edge('b', 'c'), edge('c', 'a')]
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
    const edges = nodes
      .slice(1)
      .map((each, index) => ({ source: `n${Math.max(0, index - (index % 3))}`, target: each.id }));
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
    expect(search(tree.nodes.values(), 'conv2d').map(each => each.id)).toEqual(['conv']);
    expect(search(tree.nodes.values(), 'a relu').map(each => each.id)).toEqual(['relu']);
    expect(search(tree.nodes.values(), '  ')).toEqual([]);
  });

  it('finds the edge under the pointer', () => {
    const route = layout.routes.find(each => each.source === 'conv')!;
    const { x, y } = routeMiddle(route.points);
    expect(routeAt(layout, { x: x + 2, y }, 5)).toBe(route);
    expect(routeAt(layout, { x: x + 4000, y }, 5)).toBeNull();
  });

  it('shows the top at a readable size, or the whole on demand', () => {
    const tall = { width: 200, height: 9000 };
    expect(fitCamera(tall, 600, 500, false)).toMatchObject({ scale: 1, y: 24 });
    expect(fitCamera(tall, 600, 500, true).scale).toBeLessThan(0.06);
    // A label beside the boxes: they make room for it, and are not pushed out for it.
    const boxes = { width: 100, height: 100 };
    const plain = fitCamera(boxes, 300, 300, false);
    expect(fitCamera(boxes, 300, 300, false, 150)).toEqual(plain);
    const beside = fitCamera(boxes, 300, 300, false, 220);
    expect(beside.x + 220 * beside.scale).toBeCloseTo(292);
    expect(fitCamera(boxes, 300, 300, false, 2000).x).toBe(8);
    expect(fitCamera({ width: 10, height: 10 }, 600, 500, false).scale).toBeLessThanOrEqual(1.15);
  });

  it('keeps the middle of the window when it has another size, and fits the graph where nothing would be seen', () => {
    const state = { nodes: [node('a'), node('b')], edges: [edge('a', 'b')] };
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
