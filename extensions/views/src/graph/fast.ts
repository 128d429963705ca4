/** A layered layout in near linear time, for levels with more nodes than dagre lays out while a person waits. */

/** A node to be placed, in pixels. */
export interface Sized {
  readonly id: string;
  readonly width: number;
  readonly height: number;
}

/** A place: the middle of the node. */
export interface Placed {
  readonly x: number;
  readonly y: number;
}

/** An edge of a level, and how much room its label takes; null where it has none here. */
export interface Wire {
  readonly source: string;
  readonly target: string;
  readonly label: { readonly width: number; readonly height: number } | null;
}

/** A finished level. */
export interface LevelLayout {
  readonly places: Map<string, Placed>;
  /** The bends of each edge, by its index. */
  readonly routes: readonly (readonly Placed[])[];
  /** The middle of the label of each edge; null where it has none. */
  readonly labels: readonly (Placed | null)[];
  readonly width: number;
  readonly height: number;
}

/** Space between neighbours and between ranks. */
export const SPACE = { across: 24, down: 32 } as const;

/** The rank of each node: one below the lowest of its sources. What lies on a cycle keeps the given order. */
export function ranks(count: number, edges: readonly (readonly [number, number])[]): Int32Array {
  const rank = new Int32Array(count);
  const waiting = new Int32Array(count);
  const next: number[][] = Array.from({ length: count }, () => []);
  for (const [from, to] of edges) {
    next[from]!.push(to);
    waiting[to]! += 1;
  }
  const done = new Uint8Array(count);
  const queue: number[] = [];
  const take = (node: number): void => {
    done[node] = 1;
    queue.push(node);
  };
  for (let node = 0; node < count; node++) {
    if (waiting[node] === 0) {
      take(node);
    }
  }
  let lowest = 0;
  for (let at = 0; at < queue.length || lowest < count; at++) {
    if (at >= queue.length) {
      // Only cycles are left: break one at its first node.
      while (lowest < count && done[lowest]) {
        lowest += 1;
      }
      if (lowest >= count) {
        break;
      }
      take(lowest);
    }
    const node = queue[at]!;
    for (const target of next[node]!) {
      if (!done[target]) {
        rank[target] = Math.max(rank[target]!, rank[node]! + 1);
        waiting[target]! -= 1;
        if (waiting[target] === 0) {
          take(target);
        }
      }
    }
  }
  return rank;
}

function order(rows: number[][], near: readonly number[][], position: Float64Array): void {
  const weight = new Float64Array(position.length);
  for (const row of rows) {
    for (const node of row) {
      const around = near[node]!;
      weight[node] =
        around.length > 0
          ? around.reduce((sum, other) => sum + position[other]!, 0) / around.length
          : position[node]!;
    }
    row.sort((a, b) => weight[a]! - weight[b]!);
    row.forEach((node, index) => {
      position[node] = index;
    });
  }
}

/** Moves the nodes of a row towards where they want to be, in order and without overlap. */
function settle(
  row: readonly number[],
  wanted: Float64Array,
  x: Float64Array,
  nodes: readonly Sized[]
): void {
  let left = -Infinity;
  const offset: number[] = [];
  for (const node of row) {
    const half = nodes[node]!.width / 2;
    const at = Math.max(wanted[node]!, left + half);
    offset.push(at - wanted[node]!);
    x[node] = at;
    left = at + half + SPACE.across;
  }
  // What was pushed to the right is taken back by the mean, so that a row stays centred.
  const mean = offset.reduce((sum, value) => sum + value, 0) / Math.max(1, row.length);
  for (const node of row) {
    x[node]! -= mean;
  }
}

/** Lays out one level. */
export function fastLayout(nodes: readonly Sized[], edges: readonly Wire[]): LevelLayout {
  const index = new Map(nodes.map((node, at) => [node.id, at]));
  const pairs = edges.map(edge => [index.get(edge.source)!, index.get(edge.target)!] as const);
  const rank = ranks(nodes.length, pairs);
  const rows: number[][] = [];
  nodes.forEach((_, node) => (rows[rank[node]!] ??= []).push(node));
  const above: number[][] = nodes.map(() => []);
  const below: number[][] = nodes.map(() => []);
  for (const [from, to] of pairs) {
    above[to]!.push(from);
    below[from]!.push(to);
  }
  const position = new Float64Array(nodes.length);
  rows.forEach(row => row.forEach((node, at) => (position[node] = at)));
  for (let sweep = 0; sweep < 3; sweep++) {
    order(rows, above, position);
    order([...rows].reverse(), below, position);
  }
  const x = new Float64Array(nodes.length);
  const anywhere = new Float64Array(nodes.length);
  rows.forEach(row => settle(row, anywhere, x, nodes));
  align(rows, [above, below], x, nodes);
  return finish(nodes, rows, rank, x, pairs, edges);
}

function align(
  rows: readonly number[][],
  sides: readonly (readonly number[][])[],
  x: Float64Array,
  nodes: readonly Sized[]
): void {
  const wanted = new Float64Array(nodes.length);
  for (let sweep = 0; sweep < 4; sweep++) {
    const near = sides[sweep % 2]!;
    for (const row of sweep % 2 === 0 ? rows : [...rows].reverse()) {
      for (const node of row) {
        const around = near[node]!;
        wanted[node] =
          around.length > 0 ? around.reduce((sum, other) => sum + x[other]!, 0) / around.length : x[node]!;
      }
      settle(row, wanted, x, nodes);
    }
  }
}

/** Places for labels under the sources of their edges; where two would meet the right one is left out. */
function underSources(
  edges: readonly Wire[],
  pairs: readonly (readonly [number, number])[],
  places: ReadonlyMap<string, Placed>,
  rank: Int32Array,
  bottoms: readonly number[]
): (Placed | null)[] {
  const labels: (Placed | null)[] = edges.map(() => null);
  // Between two rows there is nothing but edges: what is lower than the gap hides no node.
  const order = [...edges.keys()].filter(
    index => edges[index]!.label && edges[index]!.label!.height < SPACE.down - 4
  );
  order.sort((a, b) => places.get(edges[a]!.source)!.x - places.get(edges[b]!.source)!.x);
  const ends = new Map<number, number>();
  for (const index of order) {
    const { source, label } = edges[index]!;
    const row = rank[pairs[index]![0]]!;
    const left = places.get(source)!.x + 5;
    if (left > (ends.get(row) ?? -Infinity)) {
      labels[index] = { x: left + label!.width / 2, y: bottoms[row]! + label!.height / 2 + 2 };
      ends.set(row, left + label!.width + 4);
    }
  }
  return labels;
}

function finish(
  nodes: readonly Sized[],
  rows: readonly number[][],
  rank: Int32Array,
  x: Float64Array,
  pairs: readonly (readonly [number, number])[],
  edges: readonly Wire[]
): LevelLayout {
  let least = Infinity;
  let most = -Infinity;
  nodes.forEach((node, at) => {
    least = Math.min(least, x[at]! - node.width / 2);
    most = Math.max(most, x[at]! + node.width / 2);
  });
  const places = new Map<string, Placed>();
  const tops: number[] = [];
  const bottoms: number[] = [];
  let y = 0;
  rows.forEach((row, at) => {
    const tall = row.reduce((height, node) => Math.max(height, nodes[node]!.height), 0);
    tops[at] = y;
    bottoms[at] = y + tall;
    row.forEach(node => places.set(nodes[node]!.id, { x: x[node]! - least, y: y + tall / 2 }));
    y += tall + SPACE.down;
  });
  let width = most - least;
  const routes = pairs.map(([from, to]) => {
    const start = places.get(nodes[from]!.id)!;
    const end = places.get(nodes[to]!.id)!;
    const first = Math.min(rank[from]!, rank[to]!) + 1;
    const last = Math.max(rank[from]!, rank[to]!) - 1;
    if (last < first) {
      return [start, end];
    }
    // A long edge runs beside what lies between its ends.
    let right = -Infinity;
    // Bounded: an edge over thousands of ranks must not look at all that lies between.
    for (let row = first; row <= Math.min(last, first + 60); row++) {
      for (const node of rows[row]!) {
        right = Math.max(right, x[node]! - least + nodes[node]!.width / 2);
      }
    }
    // Edges of different lengths run beside each other, not on top.
    const lane = right + 14 + ((last - first) % 5) * 5;
    width = Math.max(width, lane + 4);
    return [
      start,
      { x: lane, y: tops[first]! - SPACE.down / 4 },
      { x: lane, y: bottoms[last]! + SPACE.down / 4 },
      end
    ];
  });
  const labels = underSources(edges, pairs, places, rank, bottoms);
  return { places, routes, labels, width: Math.max(1, width), height: Math.max(1, y - SPACE.down) };
}
