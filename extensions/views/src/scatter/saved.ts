/** The projector as files: the picture on paper, and the points as a table. */
import type { ScatterState } from '../protocol';
import { hex, type Rgb } from '../common/colours';
import { h } from '../common/dom';
import { csv } from '../common/exporting';
import { nameOf, type Cloud } from './cloud';

/** The places and labels of all points. */
export function pointsTable(state: ScatterState, cloud: Cloud): string {
  const rows = Array.from({ length: cloud.count }, (_, point) => [
    point,
    ...Array.from(cloud.positions.subarray(point * 3, point * 3 + state.dims), String),
    nameOf(cloud, point)
  ]);
  return csv([['index', ...['x', 'y', 'z'].slice(0, state.dims), state.label_name || 'label'], ...rows]);
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
