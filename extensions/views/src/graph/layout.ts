/**
 * Where nodes, scopes and edges lie. Each open scope is laid out by itself and then stands in its parent as a
 * box, so that boxes never overlap and folding one moves only what is around it.
 */
import type { GraphEdge } from '../protocol';
import type { Face, Look } from './face';
import type { Placed, Wire } from './fast';
import { buildLevel, edgeKey, ENTRY, EXIT, PAD, TITLE, type Level, type Room } from './levels';
import { around, scopeItem, seenEdges, type Item, type Scope, type SeenEdge, type Tree } from './tree';
import { valueText, type ValueText } from './valuetext';

/** A node or scope with its place: the left top corner and the size. */
export interface Box {
  readonly item: Item;
  readonly face: Face;
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
  readonly depth: number;
}

/** A label of an edge: what it says, and its left top corner. */
export interface Label {
  readonly value: ValueText;
  readonly x: number;
  readonly y: number;
}

/** An edge with its bends. */
export interface Route {
  readonly source: string;
  readonly target: string;
  readonly edges: readonly GraphEdge[];
  readonly points: readonly Placed[];
  /** The label that has room of its own in the picture; null where the edge tells nothing new. */
  readonly label: Label | null;
}

/** The whole picture. */
export interface GraphLayout {
  readonly boxes: ReadonlyMap<string, Box>;
  readonly routes: readonly Route[];
  readonly width: number;
  readonly height: number;
}

/** The widest that the label of an edge gets. */
const LABEL_WIDTH = 190;
/** Between labels of edges that share a line. */
const LABEL_GAP = 2;

/** What is drawn where nobody has said what to show. */
export const PLAIN: Look = { parameters: false, symbols: false };

const BOUNDLESS: Room = { width: 0, height: Infinity };

/** How many values travel along edges that run as one: what several read is one value of its source. */
function valueCount(edges: readonly GraphEdge[]): number {
  const readers = new Map<string, Map<string, number>>();
  for (const { source, target } of edges) {
    const found = readers.get(source) ?? new Map<string, number>();
    readers.set(source, found.set(target, (found.get(target) ?? 0) + 1));
  }
  // A reader reads each value once, so that it shows how many there are.
  return [...readers.values()].reduce((sum, found) => sum + Math.max(...found.values()), 0);
}

/** What the label of an edge says. */
export function edgeText(edge: Pick<Route, 'edges'>, look: Look): ValueText {
  const value = edge.edges[0]!;
  const count = valueCount(edge.edges);
  const more = count > 1 ? ` +${count - 1}` : '';
  return valueText(value, look.symbols, LABEL_WIDTH, [value.dtype + more]);
}

/** The edges whose label tells something: the value differs from what its source took in. One edge a source is enough. */
export function worthLabels<E extends Pick<Route, 'source' | 'target' | 'edges'>>(
  edges: readonly E[]
): Set<E> {
  const mark = (edge: GraphEdge): string =>
    edge.dtype + edge.dims.map(dim => `${dim.name ?? '·'} ${dim.size}`).join();
  const taken = new Map<string, string>();
  for (const seen of edges) {
    if (!taken.has(seen.target)) {
      taken.set(seen.target, mark(seen.edges[0]!));
    }
  }
  const told = new Set<string>();
  const result = new Set<E>();
  for (const seen of edges) {
    const own = mark(seen.edges[0]!);
    const key = `${seen.source} ${own}`;
    if (taken.get(seen.source) !== own && !told.has(key)) {
      told.add(key);
      result.add(seen);
    }
  }
  return result;
}

/** A piece of an edge: within one scope, between two of its children or a child and a gate. */
interface Step {
  readonly scope: string;
  readonly source: string;
  readonly target: string;
  /** Whether it is the piece between the outermost scopes: there its label stands. */
  readonly across: boolean;
}

function chainOf(tree: Tree, item: string): Scope[] {
  if (!item.startsWith('scope:')) {
    return around(tree, item);
  }
  const chain: Scope[] = [];
  let scope = tree.scopes.get(item.slice(6))?.parent ?? null;
  for (; scope && scope.id !== ''; scope = scope.parent) {
    chain.push(scope);
  }
  return chain;
}

/** The levels an edge passes: up from its source through gates, across, and down to its target. */
function steps(tree: Tree, edge: SeenEdge): Step[] {
  const up = chainOf(tree, edge.source);
  const down = chainOf(tree, edge.target);
  const shared = new Set(down.map(scope => scope.id));
  const common = up.find(scope => shared.has(scope.id))?.id ?? '';
  const result: Step[] = [];
  let source = edge.source;
  for (const scope of up) {
    if (scope.id === common) {
      break;
    }
    result.push({ scope: scope.id, source, target: EXIT, across: false });
    source = scopeItem(scope);
  }
  // The way in is found from the inside out, and gone the other way round.
  const entering: Step[] = [];
  let target = edge.target;
  for (const scope of down) {
    if (scope.id === common) {
      break;
    }
    entering.unshift({ scope: scope.id, source: ENTRY, target, across: false });
    target = scopeItem(scope);
  }
  return [...result, { scope: common, source, target, across: true }, ...entering];
}

/** For each scope the edges between its direct children; edges that leave or enter it end in a gate. */
function wiresOf(
  tree: Tree,
  edges: readonly SeenEdge[],
  texts: ReadonlyMap<SeenEdge, ValueText>
): Map<string, readonly Wire[]> {
  const levels = new Map<string, Map<string, Wire>>();
  for (const edge of edges) {
    for (const step of steps(tree, edge)) {
      let level = levels.get(step.scope);
      if (!level) {
        level = new Map();
        levels.set(step.scope, level);
      }
      const name = edgeKey(step.source, step.target);
      const known = level.get(name)?.label ?? null;
      const text = step.across ? texts.get(edge) : undefined;
      // Labels of edges that join two scopes and run as one stand below each other.
      const label = text
        ? {
            width: Math.max(known?.width ?? 0, text.width + 4),
            height: (known ? known.height + LABEL_GAP : 0) + text.height
          }
        : known;
      level.set(name, { source: step.source, target: step.target, label });
    }
  }
  return new Map([...levels].map(([scope, level]) => [scope, [...level.values()]]));
}

function placeLevel(
  level: Level,
  scope: string,
  left: number,
  top: number,
  depth: number,
  boxes: Map<string, Box>,
  levels: Map<string, { readonly level: Level; readonly left: number; readonly top: number }>
): void {
  levels.set(scope, { level, left, top });
  for (const item of level.items) {
    const { width, height } = level.sizes.get(item.id)!;
    const middle = level.layout.places.get(item.id)!;
    const x = left + middle.x - width / 2;
    const y = top + middle.y - height / 2;
    boxes.set(item.id, { item, face: level.faces.get(item.id)!, x, y, width, height, depth });
    const inside = level.inner.get(item.id);
    if (inside && item.kind === 'scope') {
      const indent = (width - inside.width) / 2;
      placeLevel(inside, item.scope.id, x + indent, y + PAD + TITLE, depth + 1, boxes, levels);
    }
  }
}

/** Lays out everything that is seen while these scopes are open, in columns where it would be higher than the room. */
export function layoutGraph(
  tree: Tree,
  open: ReadonlySet<string>,
  look: Look = PLAIN,
  room: Room = BOUNDLESS
): GraphLayout {
  const edges = seenEdges(tree, open);
  const texts = new Map([...worthLabels(edges)].map(edge => [edge, edgeText(edge, look)]));
  const top = buildLevel(tree.root, open, wiresOf(tree, edges, texts), look, room);
  const boxes = new Map<string, Box>();
  const levels = new Map<string, { readonly level: Level; readonly left: number; readonly top: number }>();
  placeLevel(top, '', 0, 0, 0, boxes, levels);
  // How far down the labels of an edge of a level are filled.
  const filled = new Map<string, number>();
  const routes = edges.map((edge): Route => {
    const points: Placed[] = [];
    let label: Label | null = null;
    for (const step of steps(tree, edge)) {
      const { level, left, top: above } = levels.get(step.scope)!;
      const name = edgeKey(step.source, step.target);
      const index = level.edgeIndex.get(name)!;
      // The first and the last lie on rims, or at a gate, where the path goes straight on.
      for (const bend of level.layout.routes[index]!.slice(1, -1)) {
        points.push({ x: left + bend.x, y: above + bend.y });
      }
      const value = texts.get(edge);
      const middle = level.layout.labels[index];
      if (step.across && value && middle) {
        const { width, height } = level.wires[index]!.label!;
        const key = `${step.scope}\u0001${name}`;
        const used = filled.get(key) ?? 0;
        filled.set(key, used + value.height + LABEL_GAP);
        label = { value, x: left + middle.x - width / 2, y: above + middle.y - height / 2 + used };
      }
    }
    return { ...edge, points: ended(boxes.get(edge.source)!, boxes.get(edge.target)!, points), label };
  });
  return { boxes, routes, width: top.width, height: top.height };
}

function ended(from: Box, to: Box, points: readonly Placed[]): Placed[] {
  // What goes up at once leaves at the top; what turns into another column leaves below, as all others.
  const back = from.y > to.y && (points[0]?.y ?? 0) < from.y;
  const start = { x: from.x + from.width / 2, y: back ? from.y : from.y + from.height };
  const end = { x: to.x + to.width / 2, y: back ? to.y + to.height : to.y };
  return [start, ...points, end];
}
