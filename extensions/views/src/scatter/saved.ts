/** The projector as files: the picture on paper, and the points as a table. */
import { hex, type Rgb } from '../common/colours';
import { h } from '../common/dom';
import { csv } from '../common/exporting';
import { isHere, textOf } from './columns';
import type { Scene } from './scene';

/** The places of all points, in the projection's own coordinates, and what is known of them. */
export function pointsTable({ state, cloud, columns }: Scene): string {
  const here = [...columns.values()].filter(isHere);
  const axes = ['x', 'y', 'z'].slice(0, state.dims);
  const rows = Array.from({ length: cloud.count }, (_, point) => [
    point,
    ...axes.map((_axis, axis) =>
      String(Math.fround(cloud.middle[axis]! + cloud.reach * cloud.positions[point * 3 + axis]!))
    ),
    ...here.map(column => textOf(column, point))
  ]);
  return csv([['index', ...axes, ...here.map(({ name }) => name)], ...rows]);
}

/** A copy of a canvas, on paper where it is clear. */
export function onPaper(canvas: HTMLCanvasElement, paper: Rgb): HTMLCanvasElement {
  const copy = h('canvas', { width: canvas.width, height: canvas.height });
  const context = copy.getContext('2d');
  if (context) {
    context.fillStyle = hex(paper);
    context.fillRect(0, 0, copy.width, copy.height);
    context.drawImage(canvas, 0, 0);
  }
  return copy;
}
