/** The line of an edge, and the points on it. */
import type { Placed } from './fast';

/** A smooth path through the bends of a route. */
export function routePath(points: readonly Placed[]): string {
  const text = ({ x, y }: Placed): string => `${x.toFixed(1)} ${y.toFixed(1)}`;
  if (points.length < 3) {
    const [from, to] = [points[0]!, points.at(-1)!];
    const middle = (from.y + to.y) / 2;
    return `M${text(from)}C${from.x.toFixed(1)} ${middle.toFixed(1)} ${to.x.toFixed(1)} ${middle.toFixed(1)} ${text(to)}`;
  }
  // From middle to middle between bends, each bend pulling its piece: smooth where pieces meet. A right angle, by which
  // an edge turns into another column, is only rounded: pulled, it would leave its lane.
  let path = `M${text(points[0]!)}`;
  for (let index = 1; index < points.length - 1; index++) {
    const bend = points[index]!;
    const [before, next] = [points[index - 1]!, points[index + 1]!];
    if (upright(before, bend) && upright(bend, next)) {
      path += `L${text(towards(bend, before))}Q${text(bend)} ${text(towards(bend, next))}`;
      continue;
    }
    const last = index === points.length - 2;
    const to = last ? next : { x: (bend.x + next.x) / 2, y: (bend.y + next.y) / 2 };
    path += `Q${text(bend)} ${text(to)}`;
  }
  return `${path}L${text(points.at(-1)!)}`;
}

/** Whether a piece of a route goes straight down or straight across. */
function upright(from: Placed, to: Placed): boolean {
  return Math.abs(from.x - to.x) < 0.5 || Math.abs(from.y - to.y) < 0.5;
}

/** The point where the rounding of a corner begins. */
function towards(corner: Placed, other: Placed): Placed {
  const length = Math.hypot(other.x - corner.x, other.y - corner.y);
  const t = length > 0 ? Math.min(10, length / 2) / length : 0;
  return { x: corner.x + (other.x - corner.x) * t, y: corner.y + (other.y - corner.y) * t };
}

/** The point at a part of a route: 0 is its begin, 0.5 its middle. */
export function along(points: readonly Placed[], part: number): Placed {
  const lengths = points
    .slice(1)
    .map((point, index) => Math.hypot(point.x - points[index]!.x, point.y - points[index]!.y));
  let left = lengths.reduce((sum, length) => sum + length, 0) * part;
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

/** The point in the middle of a route. */
export function routeMiddle(points: readonly Placed[]): Placed {
  return along(points, 0.5);
}
