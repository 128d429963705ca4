/**
 * Where nodes, scopes and edges lie. Each open scope is laid out by itself and then stands in its parent as a
 * box, so that boxes never overlap and folding one moves only what is around it.
 */
import { Graph, layout as dagreLayout } from '@dagrejs/dagre';
import type { GraphEdge } from '../protocol';
import { si } from '../common/numbers';
import { textWidth } from '../common/text';
import { fastLayout, SPACE, type LevelLayout, type Placed, type Sized } from './fast';
import {
  around,
  itemsOf,
  scopeItem,
  seenEdges,
  totals,
  type Item,
  type Scope,
  type SeenEdge,
  type Tree
} from './tree';

/** More children than this and a level is laid out by the fast way. */
const DAGRE_LIMIT = 220;

const PAD = 14;
const TITLE = 24;
// Begin with a character that no id has, so that no node is taken for a gate.
const ENTRY = '\u0000in';
const EXIT = '\u0000out';

/** A node or scope with its place: the left top corner and the size. */
export interface Box {
  readonly item: Item;
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
  readonly depth: number;
}

/** An edge with its bends. */
export interface Route {
  readonly source: string;
  readonly target: string;
  readonly edges: readonly GraphEdge[];
  readonly points: readonly Placed[];
}

/** The whole picture. */
export interface GraphLayout {
  readonly boxes: ReadonlyMap<string, Box>;
  readonly routes: readonly Route[];
  readonly width: number;
  readonly height: number;
}

/** What a folded scope says of itself. */
export function scopeFacts(scope: Scope): string {
  const { ops, parameters } = totals(scope);
  return [`${si(ops)} op${ops === 1 ? '' : 's'}`, parameters > 0 ? `${si(parameters)} parameters` : '']
    .filter(Boolean)
    .join(' · ');
}

/** The size of a node or a folded scope. */
export function itemSize(item: Item): { readonly width: number; readonly height: number } {
  if (item.kind === 'node') {
    const [name, second] = item.lines;
    const width = Math.max(textWidth(name.slice(0, 32), 12), textWidth(second.slice(0, 36), 10)) + 28;
    return { width: Math.max(70, Math.min(230, width)), height: second ? 38 : 28 };
  }
  const name = textWidth(item.scope.name.slice(0, 32), 12) + (item.scope.repeats > 1 ? 78 : 44);
  return {
    width: Math.max(120, Math.min(260, Math.max(name, textWidth(scopeFacts(item.scope), 10) + 40))),
    height: 46
  };
}

interface Level {
  readonly layout: LevelLayout;
  readonly inner: Map<string, Level>;
  readonly sizes: Map<string, Sized>;
  readonly edgeIndex: Map<string, number>;
  readonly width: number;
  readonly height: number;
}

function key(source: string, target: string): string {
  // No id has this character, so no two pairs share a key.
  return `${source}\u0001${target}`;
}

/** For each scope the edges between its direct children; edges that leave or enter it end in a gate. */
function liftEdges(
  tree: Tree,
  edges: readonly SeenEdge[]
): Map<string, Map<string, readonly [string, string]>> {
  const lifted = new Map<string, Map<string, readonly [string, string]>>();
  const add = (scope: string, source: string, target: string): void => {
    let level = lifted.get(scope);
    if (!level) {
      level = new Map();
      lifted.set(scope, level);
    }
    level.set(key(source, target), [source, target]);
  };
  for (const edge of edges) {
    for (const [scope, source, target] of steps(tree, edge)) {
      add(scope, source, target);
    }
  }
  return lifted;
}

function chainOf(tree: Tree, item: string): Scope[] {
  if (item.startsWith('scope:')) {
    const chain: Scope[] = [];
    for (
      let scope = tree.scopes.get(item.slice(6))?.parent ?? null;
      scope && scope.id !== '';
      scope = scope.parent
    ) {
      chain.push(scope);
    }
    return chain;
  }
  return around(tree, item);
}

/** The levels an edge passes: up from its source through gates, across, and down to its target. */
function steps(tree: Tree, edge: SeenEdge): (readonly [string, string, string])[] {
  const up = chainOf(tree, edge.source);
  const down = chainOf(tree, edge.target);
  const shared = new Set(down.map(scope => scope.id));
  const common = up.find(scope => shared.has(scope.id))?.id ?? '';
  const result: (readonly [string, string, string])[] = [];
  let source = edge.source;
  for (const scope of up) {
    if (scope.id === common) {
      break;
    }
    result.push([scope.id, source, EXIT]);
    source = scopeItem(scope);
  }
  // The way in is found from the inside out, and gone the other way round.
  const entering: (readonly [string, string, string])[] = [];
  let target = edge.target;
  for (const scope of down) {
    if (scope.id === common) {
      break;
    }
    entering.unshift([scope.id, ENTRY, target]);
    target = scopeItem(scope);
  }
  return [...result, [common, source, target], ...entering];
}

function dagreLevel(
  nodes: readonly Sized[],
  edges: readonly { readonly source: string; readonly target: string }[]
): LevelLayout {
  const graph = new Graph({ multigraph: true });
  graph.setGraph({
    rankdir: 'TB',
    nodesep: SPACE.across,
    ranksep: SPACE.down,
    edgesep: 14,
    marginx: 0,
    marginy: 0
  });
  graph.setDefaultEdgeLabel(() => ({}));
  for (const node of nodes) {
    graph.setNode(node.id, { width: node.width, height: node.height });
  }
  edges.forEach((edge, index) => graph.setEdge(edge.source, edge.target, {}, String(index)));
  dagreLayout(graph);
  const places = new Map<string, Placed>();
  for (const node of nodes) {
    const place = graph.node(node.id) as Placed;
    places.set(node.id, { x: place.x, y: place.y });
  }
  const routes = edges.map((edge, index) => {
    const made = graph.edge({ v: edge.source, w: edge.target, name: String(index) }) as {
      readonly points?: readonly Placed[];
    };
    return made.points ?? [places.get(edge.source)!, places.get(edge.target)!];
  });
  const size = graph.graph() as { readonly width?: number; readonly height?: number };
  // dagre counts nodes and labels into the width, and not the bends of edges.
  const right = Math.max(1, ...routes.flatMap(points => points.map(point => point.x)));
  return { places, routes, width: Math.max(size.width ?? 1, right), height: Math.max(1, size.height ?? 1) };
}

function buildLevel(scope: Scope, open: ReadonlySet<string>, lifted: ReturnType<typeof liftEdges>): Level {
  const inner = new Map<string, Level>();
  const nodes: Sized[] = itemsOf(scope, open).map(item => {
    if (item.kind === 'scope' && item.open) {
      const level = buildLevel(item.scope, open, lifted);
      inner.set(item.id, level);
      return {
        id: item.id,
        width: Math.max(level.width + 2 * PAD, textWidth(item.scope.name, 12) + 60),
        height: level.height + 2 * PAD + TITLE
      };
    }
    return { id: item.id, ...itemSize(item) };
  });
  const edges = [...(lifted.get(scope.id)?.values() ?? [])].map(([source, target]) => ({ source, target }));
  for (const gate of [ENTRY, EXIT]) {
    if (edges.some(edge => edge.source === gate || edge.target === gate)) {
      nodes.push({ id: gate, width: 1, height: 1 });
    }
  }
  const layout = tighten(
    nodes.length > DAGRE_LIMIT ? fastLayout(nodes, edges) : dagreLevel(nodes, edges),
    nodes
  );
  const edgeIndex = new Map(edges.map((edge, index) => [key(edge.source, edge.target), index]));
  return {
    layout,
    inner,
    sizes: new Map(nodes.map(node => [node.id, node])),
    edgeIndex,
    width: layout.width,
    height: layout.height
  };
}

/** Gates are only there to guide edges: the rank each of them took is given back. */
function tighten(level: LevelLayout, nodes: readonly Sized[]): LevelLayout {
  let first = Infinity;
  let last = -Infinity;
  for (const node of nodes) {
    if (node.id !== ENTRY && node.id !== EXIT) {
      const { y } = level.places.get(node.id)!;
      first = Math.min(first, y - node.height / 2);
      last = Math.max(last, y + node.height / 2);
    }
  }
  const above = level.places.has(ENTRY) ? Math.max(0, first - 8) : 0;
  const below = level.places.has(EXIT) ? Math.max(0, level.height - last - 8) : 0;
  const height = level.height - above - below;
  const move = ({ x, y }: Placed): Placed => ({ x, y: Math.min(height, Math.max(0, y - above)) });
  const places = new Map([...level.places].map(([id, place]) => [id, move(place)]));
  return { places, routes: level.routes.map(points => points.map(move)), width: level.width, height };
}

function placeLevel(
  scope: Scope,
  level: Level,
  left: number,
  top: number,
  depth: number,
  open: ReadonlySet<string>,
  boxes: Map<string, Box>,
  origins: Map<string, Placed>
): void {
  origins.set(scope.id, { x: left, y: top });
  for (const item of itemsOf(scope, open)) {
    const size = level.sizes.get(item.id)!;
    const middle = level.layout.places.get(item.id)!;
    const x = left + middle.x - size.width / 2;
    const y = top + middle.y - size.height / 2;
    boxes.set(item.id, { item, x, y, width: size.width, height: size.height, depth });
    const inside = level.inner.get(item.id);
    if (inside && item.kind === 'scope') {
      const indent = (size.width - inside.width) / 2;
      placeLevel(item.scope, inside, x + indent, y + PAD + TITLE, depth + 1, open, boxes, origins);
    }
  }
}

/** Lays out everything that is seen while these scopes are open. */
export function layoutGraph(tree: Tree, open: ReadonlySet<string>): GraphLayout {
  const edges = seenEdges(tree, open);
  const lifted = liftEdges(tree, edges);
  const top = buildLevel(tree.root, open, lifted);
  const boxes = new Map<string, Box>();
  const origins = new Map<string, Placed>();
  placeLevel(tree.root, top, 0, 0, 0, open, boxes, origins);
  const levels = new Map<string, Level>([['', top]]);
  const collect = (level: Level): void => {
    for (const [id, inner] of level.inner) {
      levels.set(id.slice(6), inner);
      collect(inner);
    }
  };
  collect(top);
  const routes = edges.map(edge => ({ ...edge, points: route(tree, edge, levels, origins, boxes) }));
  return { boxes, routes, width: top.width, height: top.height };
}

function route(
  tree: Tree,
  edge: SeenEdge,
  levels: Map<string, Level>,
  origins: Map<string, Placed>,
  boxes: Map<string, Box>
): Placed[] {
  const points: Placed[] = [];
  for (const [scope, source, target] of steps(tree, edge)) {
    const level = levels.get(scope)!;
    const origin = origins.get(scope)!;
    const bends = level.layout.routes[level.edgeIndex.get(key(source, target))!]!;
    // The first and the last lie on rims, or at a gate, where the path goes straight on.
    for (const bend of bends.slice(1, -1)) {
      points.push({ x: origin.x + bend.x, y: origin.y + bend.y });
    }
  }
  const from = boxes.get(edge.source)!;
  const to = boxes.get(edge.target)!;
  const back = from.y > to.y;
  const start = { x: from.x + from.width / 2, y: back ? from.y : from.y + from.height };
  const end = { x: to.x + to.width / 2, y: back ? to.y + to.height : to.y };
  return [start, ...points, end];
}

/** A smooth path through the bends of a route. */
export function routePath(points: readonly Placed[]): string {
  const text = ({ x, y }: Placed): string => `${x.toFixed(1)} ${y.toFixed(1)}`;
  if (points.length < 3) {
    const [from, to] = [points[0]!, points.at(-1)!];
    const middle = (from.y + to.y) / 2;
    return `M${text(from)}C${from.x.toFixed(1)} ${middle.toFixed(1)} ${to.x.toFixed(1)} ${middle.toFixed(1)} ${text(to)}`;
  }
  // From middle to middle between bends, each bend pulling its piece: smooth where pieces meet.
  let path = `M${text(points[0]!)}`;
  for (let index = 1; index < points.length - 1; index++) {
    const bend = points[index]!;
    const next = points[index + 1]!;
    const to = index === points.length - 2 ? next : { x: (bend.x + next.x) / 2, y: (bend.y + next.y) / 2 };
    path += `Q${text(bend)} ${text(to)}`;
  }
  return path;
}

/** The point in the middle of a route, where its label stands. */
export function routeMiddle(points: readonly Placed[]): Placed {
  const lengths = points
    .slice(1)
    .map((point, index) => Math.hypot(point.x - points[index]!.x, point.y - points[index]!.y));
  let left = lengths.reduce((sum, length) => sum + length, 0) / 2;
  for (let index = 0; index < lengths.length; index++) {
    if (left <= lengths[index]!) {
      const t = lengths[index]! > 0 ? left / lengths[index]! : 0;
      const [from, to] = [points[index]!, points[index + 1]!];
      return { x: from.x + (to.x - from.x) * t, y: from.y + (to.y - from.y) * t };
    }
    left -= lengths[index]!;
  }
  return points.at(-1)!;
}
