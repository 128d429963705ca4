/** What is drawn over the cloud: names of the labels, rings around the selection, the rectangle of a drag. */
import type { Theme } from '../common/theme';
import { project, type Projection } from './camera';
import { HIDDEN, nameOf, type Cloud } from './cloud';

/** What to draw. */
export interface OverlayState {
  readonly cloud: Cloud;
  readonly styles: Uint8Array;
  readonly projection: Projection;
  readonly radius: number;
  readonly selected: readonly number[];
  readonly near: readonly number[];
  readonly pointed: number | null;
  readonly hidden: ReadonlySet<number>;
  readonly labels: boolean;
  readonly box: {
    readonly left: number;
    readonly top: number;
    readonly right: number;
    readonly bottom: number;
  } | null;
  readonly colours: readonly string[];
}

interface Rect {
  readonly left: number;
  readonly top: number;
  readonly right: number;
  readonly bottom: number;
}

/** Keeps a rectangle if it meets none of those kept before. */
export function claim(taken: Rect[], rect: Rect): boolean {
  const free = taken.every(
    other =>
      rect.right < other.left || rect.left > other.right || rect.bottom < other.top || rect.top > other.bottom
  );
  if (free) {
    taken.push(rect);
  }
  return free;
}

function place(state: OverlayState, point: number): readonly [number, number, number, number] | null {
  const { cloud, styles, projection } = state;
  if (point < 0 || point >= cloud.count || styles[point * 4 + 3] === HIDDEN) {
    return null;
  }
  return project(
    projection,
    cloud.positions[point * 3]!,
    cloud.positions[point * 3 + 1]!,
    cloud.positions[point * 3 + 2]!
  );
}

function text(
  context: CanvasRenderingContext2D,
  words: string,
  x: number,
  y: number,
  theme: Theme,
  taken: Rect[],
  weight: number,
  mark?: string
): void {
  const short = words.length > 26 ? words.slice(0, 25) + '…' : words;
  context.font = `${weight} 12px ${theme.font}`;
  const wide = context.measureText(short).width;
  const rect = { left: x - wide / 2 - 6, top: y - 10, right: x + wide / 2 + 6, bottom: y + 9 };
  if (!short || !claim(taken, rect)) {
    return;
  }
  context.fillStyle = `rgba(${theme.paper.join()}, 0.82)`;
  context.beginPath();
  context.roundRect(rect.left, rect.top, rect.right - rect.left, rect.bottom - rect.top, 4);
  context.fill();
  if (mark) {
    context.fillStyle = mark;
    context.fillRect(rect.left, rect.top + 2, 3, rect.bottom - rect.top - 4);
  }
  context.textAlign = 'center';
  context.textBaseline = 'middle';
  context.fillStyle = theme.dark ? '#f0f0f0' : '#1c1e21';
  context.fillText(short, x + (mark ? 1 : 0), y);
}

function ring(
  context: CanvasRenderingContext2D,
  x: number,
  y: number,
  radius: number,
  colour: string,
  width: number
): void {
  context.beginPath();
  // 7 is more than a whole turn.
  context.arc(x, y, radius, 0, 7);
  context.lineWidth = width;
  context.strokeStyle = colour;
  context.stroke();
}

/** Draws over the cloud. */
export function drawOverlay(context: CanvasRenderingContext2D, state: OverlayState, theme: Theme): void {
  const taken: Rect[] = [];
  const ink = theme.dark ? '#ffffff' : '#111111';
  for (const point of state.near) {
    const at = place(state, point);
    if (at) {
      ring(context, at[0], at[1], state.radius * 1.5 * at[3] + 2, ink, 1);
    }
  }
  // More rings say nothing more, and take long.
  for (const point of state.selected.slice(0, 2000)) {
    const at = place(state, point);
    if (at) {
      ring(context, at[0], at[1], state.radius * 1.5 * at[3] + 3.5, ink, 2.25);
    }
  }
  const first = state.selected[0];
  const at = first === undefined ? null : place(state, first);
  if (at && state.selected.length === 1) {
    text(context, nameOf(state.cloud, first!) || `point ${first}`, at[0], at[1] - 20, theme, taken, 600);
  }
  if (state.pointed !== null) {
    const pointed = place(state, state.pointed);
    if (pointed) {
      ring(context, pointed[0], pointed[1], state.radius * 1.5 * pointed[3] + 3, theme.accent, 2.5);
    }
  }
  if (state.labels) {
    drawNames(context, state, theme, taken);
  }
  if (state.box) {
    const { left, top, right, bottom } = state.box;
    context.fillStyle = 'rgba(86, 180, 233, 0.16)';
    context.fillRect(left, top, right - left, bottom - top);
    context.strokeStyle = theme.accent;
    context.lineWidth = 1;
    // In the middle of pixels, or the line would be two grey ones.
    context.strokeRect(left + 0.5, top + 0.5, right - left, bottom - top);
  }
}

/** The names of the labels at their middles, the largest first; what would overlap is left out. */
function drawNames(
  context: CanvasRenderingContext2D,
  state: OverlayState,
  theme: Theme,
  taken: Rect[]
): void {
  const { cloud, projection, hidden } = state;
  const order = cloud.names.map((_, index) => index).sort((a, b) => cloud.sizes[b]! - cloud.sizes[a]!);
  // With more, the picture would be all names.
  for (const index of order.slice(0, 60)) {
    if (!hidden.has(index) && cloud.sizes[index]! > 0) {
      const [x, y] = project(
        projection,
        cloud.middles[index * 3]!,
        cloud.middles[index * 3 + 1]!,
        cloud.middles[index * 3 + 2]!
      );
      text(context, cloud.names[index]!, x, y, theme, taken, 500, state.colours[index]);
    }
  }
}
