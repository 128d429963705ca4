/** The projector as files: the picture with its legend and caption, in pixels or as vectors, and points as a table. */
import { categoryColour, hex } from '../common/colours';
import { h, s } from '../common/dom';
import { csv, type Exports } from '../common/exporting';
import { grouped } from '../common/numbers';
import type { Theme } from '../common/theme';
import { numberOf } from './cloud';
import { isHere, textOf, type Column } from './columns';
import { BRIGHT, HIDDEN } from './emphasis';
import { BITS, roundingOf } from './places';
import type { Scene } from './scene';
import { categoryShape, shapePath } from './shapes';
import type { Stage } from './stage';

/**
 * The places of all points, in the projection's own coordinates, and what is known of them. Every bit of a coordinate
 * is there where it has travelled; where it has not, the head says how far each may be off.
 */
export function pointsTable({ state, cloud, columns }: Scene): string {
  const here = [...columns.values()].filter(isHere);
  const { exact } = cloud;
  const axes = ['x', 'y', 'z'].slice(0, state.dims);
  const told = exact
    ? axes
    : axes.map((axis, at) => `${axis} ± ${roundingOf(cloud, state.low, state.high, at).toExponential(1)}`);
  const placeOf = (point: number, axis: number): number =>
    exact
      ? exact[point * state.dims + axis]!
      : Math.fround(cloud.middle[axis]! + cloud.reach * cloud.positions[point * 3 + axis]!);
  const rows = Array.from({ length: cloud.count }, (_, point) => [
    numberOf(cloud, point),
    ...axes.map((_axis, axis) => placeOf(point, axis)),
    ...here.map(column => cellOf(column, point))
  ]);
  return csv([['index', ...told, ...here.map(({ name }) => name)], ...rows]);
}

/**
 * The table as the menu has it. What the page does not have, the last bits of coordinates or points that are not drawn,
 * Python writes where there is one (`write`); else the menu says what is missing.
 */
export function tableExports(
  scene: Scene,
  write: (() => void) | null
): Pick<Exports, 'csv' | 'csvNote' | 'writeCsv'> {
  const table = { csv: () => pointsTable(scene) };
  const rounded = scene.cloud.exact === null;
  const part = scene.state.window !== null;
  if (!rounded && !part) {
    return table;
  }
  if (write) {
    return { ...table, csvNote: 'all points, exact, beside the notebook', writeCsv: write };
  }
  const missing = [part ? 'only what is drawn' : '', rounded ? `positions rounded to ${BITS} bits` : ''];
  return { ...table, csvNote: missing.filter(Boolean).join(', ') };
}

/** A value as a table has it: a number as one, for a text that begins with a minus is defused as a formula. */
function cellOf(column: Column, point: number): string | number {
  const number = column.kind === 'number' ? column.numbers[point]! : Number.NaN;
  return Number.isNaN(number) ? textOf(column, point) : number;
}

/** What a file is made of. */
export interface Saved {
  readonly scene: Scene;
  readonly stage: Stage;
  readonly theme: Theme;
  /** The line under the cloud. */
  readonly words: string;
}

/** More labels than these fill a page; the legend says how many more there are. */
const MOST_LABELS = 24;

/** A file of more shapes than these opens slowly, if at all. */
const MOST_VECTORS = 20_000;

const LINE = 18;
const MARGIN = 12;
const LEGEND = 176;

interface Entry {
  readonly name: string;
  readonly colour: string | null;
  readonly shape: number;
}

function entriesOf({ scene, theme }: Saved): Entry[] {
  const column = scene.columns.get(scene.now.colour);
  const names = column?.kind === 'category' ? column.values : [];
  const shown = names.slice(0, MOST_LABELS).map((name, index) => ({
    name: name.length > 24 ? name.slice(0, 23) + '…' : name,
    colour: categoryColour(index, theme.dark),
    shape: categoryShape(index)
  }));
  const more = names.length - shown.length;
  return more > 0 ? [...shown, { name: `and ${grouped(more)} more`, colour: null, shape: 0 }] : shown;
}

/** The canvas on paper, the legend beside it and the caption under it. */
export function pictureWithLegend(saved: Saved): HTMLCanvasElement {
  const { stage, theme, words } = saved;
  const from = stage.canvas;
  const ratio = from.width / Math.max(1, from.clientWidth || from.width);
  const entries = entriesOf(saved);
  const wide = entries.length > 0 ? LEGEND : 0;
  const tall = from.height / ratio;
  const height = Math.max(tall, entries.length * LINE + MARGIN) + LINE + MARGIN;
  const copy = h('canvas', {
    width: from.width + Math.round(wide * ratio),
    height: Math.round(height * ratio)
  });
  const context = copy.getContext('2d');
  if (context) {
    context.fillStyle = hex(theme.paper);
    context.fillRect(0, 0, copy.width, copy.height);
    context.drawImage(from, 0, 0);
    context.scale(ratio, ratio);
    context.font = `12px ${theme.font}`;
    context.textBaseline = 'middle';
    entries.forEach(({ name, colour, shape }, at) => {
      const [x, y] = [from.width / ratio + MARGIN, MARGIN + LINE * (at + 0.5)];
      if (colour !== null) {
        context.fillStyle = colour;
        context.fill(new Path2D(shapePath(shape, x, y, 5)), 'evenodd');
      }
      context.fillStyle = theme.ink;
      context.fillText(name, x + 12, y);
    });
    context.fillText(words, MARGIN, height - LINE / 2 - MARGIN / 2, from.width / ratio + wide - 2 * MARGIN);
  }
  return copy;
}

/** The picture as vectors, where it is of few points. */
export const vectors = {
  /** Whether there are few enough. */
  fit({ scene: { cloud }, stage }: Saved): boolean {
    return cloud.count <= MOST_VECTORS && stage.drawnAs === 'points';
  },

  /** The points as shapes, the farthest first, with legend and caption. */
  draw(saved: Saved): SVGSVGElement {
    const { scene, stage, theme, words } = saved;
    const { cloud } = scene;
    const { clientWidth: width, clientHeight: height } = stage.canvas;
    const entries = entriesOf(saved);
    const wide = entries.length > 0 ? LEGEND : 0;
    const tall = Math.max(height, entries.length * LINE + MARGIN);
    const points = s('g', { 'clip-path': 'url(#wb-cloud-clip)' });
    const spots = Array.from({ length: cloud.count }, (_, point) => ({ point, at: stage.spotOf(point) }))
      .filter(({ point }) => stage.styles.mode(point) !== HIDDEN)
      .sort((a, b) => a.at[2] - b.at[2]);
    for (const { point, at } of spots) {
      const { bytes, dimmed } = stage.styles;
      const bright = stage.styles.mode(point) === BRIGHT;
      const fill = hex([bytes[point * 4]!, bytes[point * 4 + 1]!, bytes[point * 4 + 2]!]);
      const d = shapePath(stage.styles.shape(point), at[0], at[1], at[3] * (bright ? 1.5 : 1));
      points.append(s('path', { d, fill, 'fill-rule': 'evenodd', opacity: dimmed && !bright ? 0.2 : null }));
    }
    const legend = entries.flatMap(({ name, colour, shape }, at) => {
      const [x, y] = [width + MARGIN, MARGIN + LINE * (at + 0.5)];
      const mark = s('path', {
        d: shapePath(shape, x, y, 5),
        fill: colour ?? 'none',
        'fill-rule': 'evenodd'
      });
      return [mark, s('text', { x: x + 12, y: y + 4, fill: theme.ink, 'font-size': 12 }, name)];
    });
    return s(
      'svg',
      {
        viewBox: `0 0 ${width + wide} ${tall + LINE + MARGIN}`,
        'font-family': theme.font,
        role: 'img',
        'aria-label': scene.state.head.title
      },
      s('clipPath', { id: 'wb-cloud-clip' }, s('rect', { width, height })),
      points,
      ...legend,
      s('text', { x: MARGIN, y: tall + LINE, fill: theme.ink, 'font-size': 12 }, words)
    );
  }
};
