/** What is drawn over the cloud: names that never overlap, rings around the selection, and what a hand draws. */
import type { Theme } from '../common/theme';
import { project, type Projection } from './camera';
import type { Cloud } from './cloud';
import { HIDDEN, type Styles } from './emphasis';
import type { Lasso, PixelBox } from './picking';

/** What to draw. */
export interface OverlayState {
  readonly cloud: Cloud;
  readonly positions: Float32Array;
  readonly styles: Styles;
  readonly projection: Projection;
  readonly width: number;
  readonly height: number;
  readonly radius: number;
  readonly selected: readonly number[];
  readonly near: readonly number[];
  readonly found: Iterable<number>;
  readonly pointed: number | null;
  /** Categories whose names are not written. */
  readonly hidden: ReadonlySet<number>;
  readonly nameOf: (point: number) => string;
  /** Whether names are written. */
  readonly labels: boolean;
  readonly box: PixelBox | null;
  readonly lasso: Lasso | null;
  readonly colours: readonly string[];
}

/** Keeps a rectangle if it meets none of those kept before. */
export function claim(taken: PixelBox[], rect: PixelBox): boolean {
  const free = taken.every(
    other =>
      rect.right < other.left || rect.left > other.right || rect.bottom < other.top || rect.top > other.bottom
  );
  if (free) {
    taken.push(rect);
  }
  return free;
}

/** A name that wants a place; the more important come first. */
export interface Label {
  readonly words: string;
  readonly x: number;
  readonly y: number;
  /** How far from its middle a name must stay; 0 where it may stand on it. */
  readonly away: number;
  readonly colour: string | null;
  readonly loud: boolean;
}

/** A name that has found its place. */
export interface Placed extends Label {
  readonly rect: PixelBox;
}

const LINE = 18;
const GAP = 4;

/** Gives each name a place that is free and inside of the picture, in their order; a name without one is left out. */
export function placeLabels(
  labels: Iterable<Label>,
  width: (words: string, loud: boolean) => number,
  room: { readonly width: number; readonly height: number },
  most: number,
  taken: PixelBox[] = []
): Placed[] {
  const placed: Placed[] = [];
  for (const label of labels) {
    if (placed.length >= most) {
      break;
    }
    const wide = width(label.words, label.loud) + 2 * GAP + (label.colour === null ? 0 : 10);
    const { x, y, away } = label;
    const middles: readonly (readonly [number, number])[] =
      away === 0
        ? [[x, y]]
        : [
            [x, y - away - LINE / 2],
            [x, y + away + LINE / 2],
            [x + away + wide / 2, y],
            [x - away - wide / 2, y]
          ];
    for (const [across, down] of middles) {
      const rect = {
        left: across - wide / 2,
        right: across + wide / 2,
        top: down - LINE / 2,
        bottom: down + LINE / 2
      };
      const inside =
        rect.left >= 0 && rect.top >= 0 && rect.right <= room.width && rect.bottom <= room.height;
      if (inside && claim(taken, rect)) {
        placed.push({ ...label, rect });
        break;
      }
    }
  }
  return placed;
}

type Spot = readonly [number, number, number, number];

function place(state: OverlayState, point: number): Spot | null {
  const { styles, projection, positions } = state;
  if (styles.mode(point) === HIDDEN) {
    return null;
  }
  return project(projection, positions[point * 3]!, positions[point * 3 + 1]!, positions[point * 3 + 2]!);
}

function ring(
  context: CanvasRenderingContext2D,
  [x, y]: Spot,
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

/** With more names the picture would be nothing else, and of more points nobody reads the names. */
const MOST_NAMES = 60;
const MOST_TRIED = 400;

/** More rings say nothing more, and take long. */
const MOST_RINGS = 2000;

/** Draws over the cloud. */
export function drawOverlay(context: CanvasRenderingContext2D, state: OverlayState, theme: Theme): void {
  const taken: PixelBox[] = [];
  const ink = theme.dark ? '#ffffff' : '#111111';
  const keep = ([x, y]: Spot, radius: number): void => {
    if (taken.length < MOST_TRIED) {
      taken.push({ left: x - radius, right: x + radius, top: y - radius, bottom: y + radius });
    }
  };
  const around = (points: readonly number[], extra: number, width: number): void => {
    for (const point of points.slice(0, MOST_RINGS)) {
      const at = place(state, point);
      if (at) {
        const radius = state.radius * 1.5 * at[3] + extra;
        ring(context, at, radius, ink, width);
        keep(at, radius);
      }
    }
  };
  around(state.near, 2, 1);
  around(state.selected, 3.5, 2.25);
  if (state.pointed !== null) {
    const at = place(state, state.pointed);
    if (at) {
      ring(context, at, state.radius * 1.5 * at[3] + 3, theme.accent, 2.5);
    }
  }
  if (state.labels) {
    if (eachNamed(state.cloud)) {
      // No name covers another point.
      for (let point = 0; point < state.cloud.count; point++) {
        const at = place(state, point);
        if (at) {
          keep(at, state.radius * 1.5 * at[3]);
        }
      }
    }
    const sizes = new Map<string, number>();
    const wide = (words: string, loud: boolean): number => {
      const key = `${loud}${words}`;
      if (!sizes.has(key)) {
        context.font = font(loud, theme);
        sizes.set(key, context.measureText(words).width);
      }
      return sizes.get(key)!;
    };
    const placed = placeLabels(labelsOf(state), wide, state, MOST_NAMES, taken);
    placed.forEach(label => write(context, label, theme));
  }
  drawHand(context, state, theme);
}

/** Whether each point asks for its name where none stands out: there are few, and no two are of one category. */
function eachNamed({ categories, count, sizes }: OverlayState['cloud']): boolean {
  return count <= 120 && (categories === null || sizes.every(size => size <= 1));
}

/** The names that ask for a place: of what is selected, its neighbours, what was found; else of the categories, or of few points. */
export function* labelsOf(state: OverlayState): Generator<Label> {
  const { cloud, projection, hidden } = state;
  const seen = new Set<number>();
  // Twelve neighbours of one name need it once.
  const said = new Set<string>();
  for (const [points, loud] of [
    [state.selected, true],
    [state.near, false],
    [state.found, false]
  ] as const) {
    let tried = 0;
    for (const point of points) {
      if (tried++ >= MOST_TRIED) {
        break;
      }
      const at = seen.has(point) ? null : place(state, point);
      seen.add(point);
      if (at) {
        const words = short(state.nameOf(point));
        const away = state.radius * 1.5 * at[3] + (loud ? 6 : 4);
        if (!said.has(words)) {
          said.add(words);
          yield { words, x: at[0], y: at[1], away, colour: null, loud };
        }
      }
    }
  }
  // Where something stands out, names of the crowd would cover it.
  if (state.selected.length > 0 || seen.size > 0) {
    return;
  }
  if (cloud.categories === null || eachNamed(cloud)) {
    const count = eachNamed(cloud) ? cloud.count : 0;
    for (let point = 0; point < count; point++) {
      const at = place(state, point);
      if (at) {
        const away = state.radius * 1.5 * at[3] + 4;
        yield { words: short(state.nameOf(point)), x: at[0], y: at[1], away, colour: null, loud: false };
      }
    }
    return;
  }
  const order = cloud.names.map((_, index) => index).sort((a, b) => cloud.sizes[b]! - cloud.sizes[a]!);
  for (const index of order.slice(0, MOST_TRIED)) {
    if (!hidden.has(index) && cloud.sizes[index]! > 0) {
      const { middles } = cloud;
      const [x, y, , scale] = project(
        projection,
        middles[index * 3]!,
        middles[index * 3 + 1]!,
        middles[index * 3 + 2]!
      );
      // The only one of its kind is there itself: its name stands beside it.
      const alone = cloud.sizes[index] === 1;
      yield {
        words: short(cloud.names[index]!),
        x,
        y,
        away: alone ? state.radius * 1.5 * scale + 4 : 0,
        colour: alone ? null : (state.colours[index] ?? null),
        loud: false
      };
    }
  }
}

function short(words: string): string {
  return words.length > 26 ? words.slice(0, 25) + '…' : words;
}

function font(loud: boolean, theme: Theme): string {
  return `${loud ? 600 : 500} 12px ${theme.font}`;
}

/** Writes a name with a halo of paper, so that it can be read on any points. */
function write(context: CanvasRenderingContext2D, label: Placed, theme: Theme): void {
  const { rect, words, colour } = label;
  const y = (rect.top + rect.bottom) / 2;
  const x = rect.left + GAP + (colour === null ? 0 : 10);
  context.font = font(label.loud, theme);
  context.textAlign = 'left';
  context.textBaseline = 'middle';
  context.lineJoin = 'round';
  context.lineWidth = 4;
  context.strokeStyle = `rgba(${theme.paper.join()}, 0.9)`;
  context.strokeText(words, x, y);
  context.fillStyle = theme.dark ? '#f4f4f4' : '#16181b';
  context.fillText(words, x, y);
  if (colour !== null) {
    context.lineWidth = 2.5;
    context.beginPath();
    context.arc(rect.left + GAP + 3, y, 3.5, 0, 7);
    context.stroke();
    context.fillStyle = colour;
    context.fill();
  }
}

/** The rectangle or the lasso of a drag. */
function drawHand(context: CanvasRenderingContext2D, { box, lasso }: OverlayState, theme: Theme): void {
  context.fillStyle = 'rgba(86, 180, 233, 0.16)';
  context.strokeStyle = theme.accent;
  context.lineWidth = 1;
  if (box) {
    const { left, top, right, bottom } = box;
    context.fillRect(left, top, right - left, bottom - top);
    // In the middle of pixels, or the line would be two grey ones.
    context.strokeRect(left + 0.5, top + 0.5, right - left, bottom - top);
  }
  if (lasso && lasso.length >= 4) {
    context.beginPath();
    for (let at = 0; at < lasso.length; at += 2) {
      context.lineTo(lasso[at]!, lasso[at + 1]!);
    }
    context.closePath();
    context.fill();
    context.stroke();
  }
}
