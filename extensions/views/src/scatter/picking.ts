/** Which points lie at a pixel, in a rectangle or in a lasso: all are looked through, which a million bear. */
import type { Projection } from './camera';
import type { Cloud } from './cloud';
import { BRIGHT, HIDDEN, type Styles } from './emphasis';

/** A rectangle of pixels. */
export interface PixelBox {
  readonly left: number;
  readonly top: number;
  readonly right: number;
  readonly bottom: number;
}

/** Corners of a closed line, x and y by turns. */
export type Lasso = readonly number[];

/**
 * Calls back with each point that is shown inside of a rectangle, where it lands and how near it is. Written out, as
 * `project` has it: a million objects would take longer than all else.
 */
function within(
  cloud: Pick<Cloud, 'count' | 'positions'>,
  styles: Styles,
  p: Projection,
  box: PixelBox,
  found: (point: number, x: number, y: number, depth: number) => void
): void {
  const { positions, count } = cloud;
  const { bytes } = styles;
  const { perspective, unit, centerX, centerY } = p;
  const [r0, r1, r2, r3, r4, r5, r6, r7, r8] = p.rows as unknown as number[];
  const [left, right] = [(box.left - centerX) / unit, (box.right - centerX) / unit];
  const [low, high] = [(centerY - box.bottom) / unit, (centerY - box.top) / unit];
  for (let point = 0, at = 0; point < count; point++, at += 3) {
    const px = positions[at]!;
    const py = positions[at + 1]!;
    const pz = positions[at + 2]!;
    const depth = r6! * px + r7! * py + r8! * pz;
    const away = Math.max(0.2, 1 - depth * perspective);
    const across = r0! * px + r1! * py + r2! * pz;
    // Most points are passed over here, without a division. What has no place is nowhere: it compares with nothing.
    if (!(across >= left * away && across <= right * away)) {
      continue;
    }
    const up = r3! * px + r4! * py + r5! * pz;
    if (up >= low * away && up <= high * away && (bytes[point * 4 + 3]! & 3) !== HIDDEN) {
      found(point, centerX + (across * unit) / away, centerY - (up * unit) / away, depth);
    }
  }
}

/** The point at a pixel: the nearest within `reach`, of those equally near the one in front. */
export function pick(
  cloud: Pick<Cloud, 'count' | 'positions'>,
  styles: Styles,
  p: Projection,
  x: number,
  y: number,
  reach: number
): number | null {
  let best: number | null = null;
  let least = Infinity;
  const box = { left: x - reach, right: x + reach, top: y - reach, bottom: y + reach };
  within(cloud, styles, p, box, (point, px, py, depth) => {
    const away = Math.hypot(px - x, py - y);
    // What is in front, and what stands out, wins among near neighbours.
    const rank = away - depth * 1.5 - (styles.mode(point) === BRIGHT ? 3 : 0);
    if (away <= reach && rank < least) {
      least = rank;
      best = point;
    }
  });
  return best;
}

/** The points inside a rectangle of pixels. */
export function pickBox(
  cloud: Pick<Cloud, 'count' | 'positions'>,
  styles: Styles,
  p: Projection,
  box: PixelBox
): number[] {
  const points: number[] = [];
  within(cloud, styles, p, box, point => points.push(point));
  return points;
}

/** The points inside a lasso: a line from any of them outwards crosses it an odd number of times. */
export function pickLasso(
  cloud: Pick<Cloud, 'count' | 'positions'>,
  styles: Styles,
  p: Projection,
  lasso: Lasso
): number[] {
  const points: number[] = [];
  if (lasso.length >= 6) {
    within(cloud, styles, p, around(lasso), (point, x, y) => {
      if (inside(lasso, x, y)) {
        points.push(point);
      }
    });
  }
  return points;
}

/** Whether a pixel lies inside of a lasso. */
export function inside(lasso: Lasso, x: number, y: number): boolean {
  let odd = false;
  let [fromX, fromY] = [lasso[lasso.length - 2]!, lasso[lasso.length - 1]!];
  for (let at = 0; at < lasso.length; at += 2) {
    const [toX, toY] = [lasso[at]!, lasso[at + 1]!];
    if (fromY > y !== toY > y && x < fromX + ((y - fromY) / (toY - fromY)) * (toX - fromX)) {
      odd = !odd;
    }
    [fromX, fromY] = [toX, toY];
  }
  return odd;
}

/** The rectangle around a lasso. */
export function around(lasso: Lasso): PixelBox {
  const box = { left: Infinity, top: Infinity, right: -Infinity, bottom: -Infinity };
  for (let at = 0; at < lasso.length; at += 2) {
    box.left = Math.min(box.left, lasso[at]!);
    box.right = Math.max(box.right, lasso[at]!);
    box.top = Math.min(box.top, lasso[at + 1]!);
    box.bottom = Math.max(box.bottom, lasso[at + 1]!);
  }
  return box;
}

/** How a selection takes up what a gesture caught. */
export type Joining = 'replace' | 'add' | 'subtract';

/** A selection after a gesture, in the order in which points were taken up. */
export function join(before: readonly number[], caught: readonly number[], how: Joining): number[] {
  if (how === 'replace') {
    return [...caught];
  }
  const taken = new Set(how === 'add' ? before : caught);
  return how === 'add'
    ? [...before, ...caught.filter(point => !taken.has(point))]
    : before.filter(point => !taken.has(point));
}
