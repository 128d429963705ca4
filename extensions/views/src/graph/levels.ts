/** The layout of one scope: its direct children, the edges between them, and room for the labels of those. */
import { Graph, layout as dagreLayout } from '@dagrejs/dagre';
import { textWidth } from '../common/text';
import { inColumns } from './columns';
import { faceOf, type Face, type Look } from './face';
import { fastLayout, SPACE, type LevelLayout, type Placed, type Sized, type Wire } from './fast';
import { itemsOf, type Item, type Scope } from './tree';

/** More children than this and a level is laid out by the fast way. */
const DAGRE_LIMIT = 220;

/** Between the frame of an open scope and what is in it, and for its title. */
export const PAD = 14;
export const TITLE = 24;

// Begin with a character that no id has, so that no node is taken for a gate.
export const ENTRY = '\u0000in';
export const EXIT = '\u0000out';

/** The room that a picture should fill. */
export interface Room {
  readonly width: number;
  readonly height: number;
}

/** A scope that is laid out. */
export interface Level {
  readonly items: readonly Item[];
  readonly layout: LevelLayout;
  readonly wires: readonly Wire[];
  readonly inner: ReadonlyMap<string, Level>;
  readonly sizes: ReadonlyMap<string, Sized>;
  readonly faces: ReadonlyMap<string, Face>;
  readonly edgeIndex: ReadonlyMap<string, number>;
  readonly width: number;
  readonly height: number;
}

/** The name of an edge of a level. */
export function edgeKey(source: string, target: string): string {
  // No id has this character, so no two pairs share a key.
  return `${source}\u0001${target}`;
}

/** A layout by the indices of its nodes: that of all levels whose nodes are as large and joined the same way. */
interface Pattern {
  readonly places: readonly Placed[];
  readonly layout: Omit<LevelLayout, 'places'>;
}

/** Layouts that were made: blocks that are alike look alike, and folding one leaves the others as they are. */
const patterns = new Map<string, Pattern>();
const MOST_PATTERNS = 400;

/** The layout of a level by dagre, which is asked once for levels that are alike. */
function patternLevel(nodes: readonly Sized[], edges: readonly Wire[]): LevelLayout {
  const index = new Map(nodes.map((node, at) => [node.id, at]));
  const key =
    nodes.map(node => `${node.width},${node.height}`).join(';') +
    '|' +
    edges
      .map(({ source, target, label }) => {
        const room = label ? `,${label.width},${label.height}` : '';
        return `${index.get(source)},${index.get(target)}${room}`;
      })
      .join(';');
  let pattern = patterns.get(key);
  if (!pattern) {
    const { places, ...layout } = dagreLevel(nodes, edges);
    pattern = { places: nodes.map(node => places.get(node.id)!), layout };
    if (patterns.size >= MOST_PATTERNS) {
      patterns.clear();
    }
    patterns.set(key, pattern);
  }
  const { places, layout } = pattern;
  return { ...layout, places: new Map(nodes.map((node, at) => [node.id, places[at]!])) };
}

function dagreLevel(nodes: readonly Sized[], edges: readonly Wire[]): LevelLayout {
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
  edges.forEach(({ source, target, label }, index) =>
    // Beside its edge, so that both can be seen.
    graph.setEdge(source, target, label ? { ...label, labelpos: 'r', labeloffset: 5 } : {}, String(index))
  );
  dagreLayout(graph);
  const places = new Map<string, Placed>();
  for (const node of nodes) {
    const place = graph.node(node.id) as Placed;
    places.set(node.id, { x: place.x, y: place.y });
  }
  const made = edges.map(
    (edge, index) =>
      graph.edge({ v: edge.source, w: edge.target, name: String(index) }) as {
        readonly points?: readonly Placed[];
        readonly x?: number;
        readonly y?: number;
      }
  );
  const routes = edges.map(
    (edge, index) => made[index]!.points ?? [places.get(edge.source)!, places.get(edge.target)!]
  );
  const labels = edges.map(({ label }, index) => {
    const { x, y } = made[index]!;
    return label && x !== undefined && y !== undefined ? { x, y } : null;
  });
  const size = graph.graph() as { readonly width?: number; readonly height?: number };
  // dagre counts nodes and labels into the width, and not the bends of edges.
  let [left, right] = [0, Math.max(1, size.width ?? 1)];
  for (const { x } of routes.flat()) {
    left = Math.min(left, x);
    right = Math.max(right, x);
  }
  const move = ({ x, y }: Placed): Placed => ({ x: x - left, y });
  return {
    places: new Map([...places].map(([id, place]) => [id, move(place)])),
    routes: routes.map(points => points.map(move)),
    labels: labels.map(label => label && move(label)),
    width: right - left,
    height: Math.max(1, size.height ?? 1)
  };
}

/** Lays a scope out with all that is open in it, in columns where it would be higher than the room. */
export function buildLevel(
  scope: Scope,
  open: ReadonlySet<string>,
  wires: ReadonlyMap<string, readonly Wire[]>,
  look: Look,
  room: Room
): Level {
  const inner = new Map<string, Level>();
  const faces = new Map<string, Face>();
  const items = itemsOf(scope, open);
  // As high as all: what is inside a box would else be cut into ever smaller parts.
  const within = { width: room.width - 2 * PAD, height: room.height };
  const nodes: Sized[] = items.map(item => {
    const face = faceOf(item, look);
    faces.set(item.id, face);
    if (item.kind === 'scope' && item.open) {
      const level = buildLevel(item.scope, open, wires, look, within);
      inner.set(item.id, level);
      return {
        id: item.id,
        width: Math.max(level.width + 2 * PAD, textWidth(item.scope.name, 12) + 60),
        height: level.height + 2 * PAD + TITLE
      };
    }
    return { id: item.id, width: face.width, height: face.height };
  });
  const edges = wires.get(scope.id) ?? [];
  for (const gate of [ENTRY, EXIT]) {
    if (edges.some(edge => edge.source === gate || edge.target === gate)) {
      nodes.push({ id: gate, width: 1, height: 1 });
    }
  }
  const placed = nodes.length > DAGRE_LIMIT ? fastLayout(nodes, edges) : patternLevel(nodes, edges);
  const tight = tighten(placed, nodes);
  const layout = nodes.length > DAGRE_LIMIT ? tight : inColumns(tight, nodes, edges, room);
  return {
    items,
    layout,
    wires: edges,
    inner,
    faces,
    sizes: new Map(nodes.map(node => [node.id, node])),
    edgeIndex: new Map(edges.map((edge, index) => [edgeKey(edge.source, edge.target), index])),
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
  return {
    ...level,
    places: new Map([...level.places].map(([id, place]) => [id, move(place)])),
    routes: level.routes.map(points => points.map(move)),
    // A label at a gate would leave the scope with it: it is given up.
    labels: level.labels.map(label => label && { x: label.x, y: label.y - above }),
    height
  };
}
