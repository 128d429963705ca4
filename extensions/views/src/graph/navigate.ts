/** Moving about a graph: what nodes are found by, and walking along its edges with the arrow keys. */
import type { GraphNode } from '../protocol';
import type { Entry } from '../common/finder';
import type { GraphLayout, Route } from './layout';
import type { Placed } from './fast';

/** What a node is found by: its name, op, scope, type, line, and the parameters in it. */
export function hay(node: GraphNode): string {
  const dims = node.dims.map(dim => dim.name ?? '').join(' ');
  const held = node.held.map(tensor => tensor.name).join('\n');
  const path = [...node.scope, node.label].join('.');
  return [node.label, node.op, path, node.scope.join('.'), node.dtype, held, node.source, dims].join('\n');
}

/** How a node stands in the list of what was found. */
export function entryOf(node: GraphNode): Entry {
  const where = [node.op === node.label ? '' : node.op, node.scope.join('.')].filter(Boolean).join(' · ');
  const title = [node.label, where, node.source].filter(Boolean).join(' · ');
  return { id: node.id, name: node.label || node.id, where, title };
}

/** The item that an arrow key leads to: along an edge up or down, else to the nearest one at that side. */
export function walk(layout: GraphLayout, from: string | null, key: string): string | null {
  const here = from === null ? undefined : layout.boxes.get(from);
  const closed = [...layout.boxes.values()].filter(box => !(box.item.kind === 'scope' && box.item.open));
  if (!here) {
    return (
      closed.reduce<(typeof closed)[number] | null>((top, box) => (!top || box.y < top.y ? box : top), null)
        ?.item.id ?? null
    );
  }
  const middle = here.x + here.width / 2;
  if (key === 'ArrowDown' || key === 'ArrowUp') {
    const down = key === 'ArrowDown';
    const ends = layout.routes
      .filter(route => (down ? route.source : route.target) === from)
      .map(route => layout.boxes.get(down ? route.target : route.source)!);
    ends.sort((a, b) => Math.abs(a.x + a.width / 2 - middle) - Math.abs(b.x + b.width / 2 - middle));
    return ends[0]?.item.id ?? null;
  }
  const side = key === 'ArrowRight' ? 1 : -1;
  let best: string | null = null;
  let least = Infinity;
  for (const box of closed) {
    const across = (box.x + box.width / 2 - middle) * side;
    const down = Math.abs(box.y + box.height / 2 - here.y - here.height / 2);
    // What is nearly beside counts, and one step down weighs as much as three across.
    if (across > 4 && down < Math.max(60, across) && across + 3 * down < least) {
      least = across + 3 * down;
      best = box.item.id;
    }
  }
  return best;
}

function distance(point: Placed, a: Placed, b: Placed): number {
  const [dx, dy] = [b.x - a.x, b.y - a.y];
  const length = dx * dx + dy * dy;
  const t = length > 0 ? Math.min(1, Math.max(0, ((point.x - a.x) * dx + (point.y - a.y) * dy) / length)) : 0;
  return Math.hypot(point.x - a.x - t * dx, point.y - a.y - t * dy);
}

/** The edge within `reach` of a point, if any. */
export function routeAt(layout: GraphLayout, point: Placed, reach: number): Route | null {
  let best: Route | null = null;
  let least = reach;
  for (const route of layout.routes) {
    let [top, bottom] = [Infinity, -Infinity];
    for (const { y } of route.points) {
      top = Math.min(top, y);
      bottom = Math.max(bottom, y);
    }
    // Most edges are ruled out by this.
    if (point.y < top - reach || point.y > bottom + reach) {
      continue;
    }
    for (let index = 1; index < route.points.length; index++) {
      const away = distance(point, route.points[index - 1]!, route.points[index]!);
      if (away < least) {
        least = away;
        best = route;
      }
    }
  }
  return best;
}
