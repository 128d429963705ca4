/**
 * A long chain in columns, as a text is in a newspaper: it is cut where next to nothing crosses, and its parts stand
 * beside each other, so that a graph fills the width that it has.
 */
import type { LevelLayout, Placed, Sized, Wire } from './fast';

/** Between columns, with room for the edges that go from the foot of one to the head of another. */
const GUTTER = 44;
/** Below a column, and above it, for the same edges. */
const TURN = 12;
/** Edges of more sources than this do not change columns: nobody could follow them. */
const MOST_CROSSING = 2;

/** Levels of fewer nodes stay whole. */
const LEAST_NODES = 4;
/** So many times the room a level has to be high. */
const ENOUGH = 1.15;

interface Column {
  readonly top: number;
  readonly bottom: number;
  left: number;
  right: number;
}

interface Cut {
  readonly y: number;
  readonly crossing: number;
}

/** Where a level can be cut: between rows, with how many sources have edges across. */
function cuts(level: LevelLayout, nodes: readonly Sized[], edges: readonly Wire[]): Cut[] {
  const spans = nodes
    .map(node => {
      const { y } = level.places.get(node.id)!;
      return [y - node.height / 2, y + node.height / 2] as const;
    })
    .sort((a, b) => a[0] - b[0]);
  const found: Cut[] = [];
  let bottom = -Infinity;
  for (const [top, end] of spans) {
    if (top > bottom && bottom > -Infinity) {
      const y = (bottom + top) / 2;
      const sources = edges.filter(edge => {
        const from = level.places.get(edge.source)!.y;
        const to = level.places.get(edge.target)!.y;
        return Math.min(from, to) < y && Math.max(from, to) > y;
      });
      found.push({ y, crossing: new Set(sources.map(edge => edge.source)).size });
    }
    bottom = Math.max(bottom, end);
  }
  return found.filter(cut => cut.crossing <= MOST_CROSSING);
}

/** The cuts that make columns of about the same height: for each place the nearest one, with few edges across. */
function chosen(found: readonly Cut[], height: number, count: number): number[] {
  const result: number[] = [];
  for (let index = 1; index < count; index++) {
    const wanted = (height * index) / count;
    const reach = (height / count) * 0.35;
    const near = found
      .filter(cut => Math.abs(cut.y - wanted) < reach && cut.y > (result.at(-1) ?? 0))
      .sort((a, b) => Math.abs(a.y - wanted) + 40 * a.crossing - Math.abs(b.y - wanted) - 40 * b.crossing);
    if (near[0]) {
      result.push(near[0].y);
    }
  }
  return result;
}

/** The columns between cuts, each as wide as what is in it. */
function columnsOf(
  level: LevelLayout,
  nodes: readonly Sized[],
  edges: readonly Wire[],
  ends: readonly number[]
): { readonly columns: Column[]; readonly at: (y: number) => number } {
  const rims = [0, ...ends, level.height];
  const columns = rims
    .slice(1)
    .map((bottom, index): Column => ({ top: rims[index]!, bottom, left: Infinity, right: -Infinity }));
  const at = (y: number): number => {
    const found = ends.findIndex(end => y < end);
    return found < 0 ? ends.length : found;
  };
  const widen = (y: number, left: number, right: number): void => {
    const column = columns[at(y)]!;
    column.left = Math.min(column.left, left);
    column.right = Math.max(column.right, right);
  };
  for (const node of nodes) {
    const { x, y } = level.places.get(node.id)!;
    widen(y, x - node.width / 2, x + node.width / 2);
  }
  level.labels.forEach((place, index) => {
    const label = edges[index]!.label;
    if (place && label) {
      widen(place.y, place.x - label.width / 2, place.x + label.width / 2);
    }
  });
  level.routes.forEach((points, index) => {
    const [from, to] = [edges[index]!.source, edges[index]!.target].map(id => at(level.places.get(id)!.y));
    if (from === to) {
      points.forEach(point => widen(point.y, point.x, point.x));
    }
  });
  return { columns, at };
}

/** A level as high as the room at most, if it can be cut and its parts have room beside each other. */
export function inColumns(
  level: LevelLayout,
  nodes: readonly Sized[],
  edges: readonly Wire[],
  room: { readonly width: number; readonly height: number }
): LevelLayout {
  const fit = Math.floor((room.width + GUTTER) / (level.width + GUTTER));
  const count = Math.min(fit, Math.ceil(level.height / Math.max(1, room.height)));
  // A little too high is no harm, and a short chain in two parts would be.
  if (count < 2 || nodes.length < LEAST_NODES || level.height < room.height * ENOUGH) {
    return level;
  }
  const ends = chosen(cuts(level, nodes, edges), level.height, count);
  return ends.length === 0 ? level : cutApart(level, nodes, edges, ends);
}

function cutApart(
  level: LevelLayout,
  nodes: readonly Sized[],
  edges: readonly Wire[],
  ends: readonly number[]
): LevelLayout {
  const { columns, at } = columnsOf(level, nodes, edges, ends);
  let width = 0;
  const shifts = columns.map((column, index) => {
    const left = index === 0 ? 0 : width + GUTTER;
    width = left + column.right - column.left;
    return { x: left - column.left, y: TURN - column.top, left };
  });
  const height = Math.max(...columns.map(column => column.bottom - column.top)) + 2 * TURN;
  const move = ({ x, y }: Placed, column = at(y)): Placed => {
    const shift = shifts[column]!;
    return { x: x + shift.x, y: y + shift.y };
  };
  // Edges of several sources that turn in one gutter run beside each other.
  const lanes = new Map<string, number>();
  const routes = level.routes.map((points, index) => {
    const { source, target } = edges[index]!;
    const [start, end] = [level.places.get(source)!, level.places.get(target)!];
    const [from, to] = [at(start.y), at(end.y)];
    if (from === to) {
      return points.map(point => move(point, from));
    }
    const lane = lanes.get(source) ?? lanes.size;
    lanes.set(source, lane);
    const inset = 5 * (lane % 3);
    const gutter = shifts[to]!.left - GUTTER / 2 + inset;
    const [first, last] = [move(start, from), move(end, to)];
    const foot = columns[from]!.bottom - columns[from]!.top + TURN + inset / 2;
    const head = TURN / 2 - inset / 2;
    return [
      first,
      { x: first.x, y: foot },
      { x: gutter, y: foot },
      { x: gutter, y: head },
      { x: last.x, y: head },
      last
    ];
  });
  return {
    places: new Map([...level.places].map(([id, place]) => [id, move(place)])),
    routes,
    // Where an edge turns its label stays below its source, or goes.
    labels: level.labels.map(label => label && move(label)),
    width,
    height
  };
}
