/** Dimensions as bars: how long they are, and how they are drawn in SVG. */
import { dimensionColour, inkOn, translucent } from '../common/colours';
import { s } from '../common/dom';
import { dimensionText, type Named } from '../common/parts';
import { si } from '../common/numbers';
import { shorten, textWidth } from '../common/text';

/** Height of a bar in pixels. */
export const BAR_HEIGHT = 20;

/** The label of a bar; long names and sizes are shortened to what a bar can hold. */
export function barText(dim: Named): string {
  const name = dim.name !== null && dim.name.length > 14 ? dim.name.slice(0, 13) + '…' : dim.name;
  return dim.size >= 1e6 ? `${name ?? '·'} ${si(dim.size)}` : dimensionText({ name, size: dim.size });
}

/** The label of a bar in `room` pixels: where it does not fit, the name is cut, as the size tells more. */
export function barLabel(dim: Named, room: number): string {
  const whole = barText(dim);
  if (textWidth(whole) <= room || dim.name === null) {
    return shorten(whole, room);
  }
  const size = ` ${dim.size >= 1e6 ? si(dim.size) : dim.size}`;
  const name = shorten(dim.name, room - textWidth(size));
  return textWidth(name + size) <= room ? name + size : shorten(whole, room);
}

/** How long a bar is: as its label needs, growing with the logarithm of the size. */
export function barLength(dim: Named, scale: number): number {
  return Math.max(textWidth(barText(dim)) + 16, 26 + scale * Math.log2(1 + Math.max(0, dim.size)));
}

/** How a bar is marked. */
export interface BarMarks {
  readonly contracted?: boolean;
  readonly reduced?: boolean;
  readonly broadcast?: boolean;
}

/** The words for a bar's marks, for people who hover or listen. */
export function markText(marks: BarMarks): string {
  const words = [
    marks.contracted ? 'contracted: ends in this op' : '',
    marks.reduced ? 'reduced away' : '',
    marks.broadcast ? 'broadcast: stretched to fit' : ''
  ].filter(Boolean);
  return words.length > 0 ? ` (${words.join(', ')})` : '';
}

/** A bar. Hatching is drawn as lines of its own, so that an exported picture needs no patterns. */
export function bar(
  dim: Named,
  x: number,
  y: number,
  length: number,
  marks: BarMarks,
  dark: boolean
): SVGGElement {
  const colour = dimensionColour(dim.name, dark);
  const filled = !marks.reduced && !marks.broadcast;
  const group = s('g', { 'data-dim': dim.name ?? '' }, s('title', {}, dimensionText(dim) + markText(marks)));
  group.appendChild(
    s('rect', {
      x: x + 0.75,
      y: y + 0.75,
      width: length - 1.5,
      height: BAR_HEIGHT - 1.5,
      rx: 3,
      fill: filled ? colour : translucent(colour, marks.reduced ? 0.14 : 0.06),
      stroke: colour,
      'stroke-width': 1.5,
      'stroke-opacity': marks.reduced ? 0.35 : 1,
      'stroke-dasharray': marks.broadcast ? '4 3' : null
    })
  );
  if (marks.contracted) {
    let lines = '';
    for (let at = 4; at < length - 3; at += 6) {
      const to = Math.min(at + 8, length - 2);
      lines += `M${x + at} ${y + BAR_HEIGHT - 2}L${x + to} ${y + BAR_HEIGHT - 2 - ((to - at) / 8) * (BAR_HEIGHT - 4)}`;
    }
    group.appendChild(
      s('path', {
        d: lines,
        stroke: inkOn(colour),
        'stroke-opacity': 0.38,
        'stroke-width': 1.5,
        fill: 'none'
      })
    );
  }
  const text = s(
    'text',
    {
      x: x + length / 2,
      y: y + BAR_HEIGHT / 2 + 4,
      'text-anchor': 'middle',
      'font-size': 11,
      'font-weight': 600,
      fill: filled ? inkOn(colour) : 'currentColor',
      opacity: marks.reduced ? 0.6 : 1
    },
    // Squeezed bars do not hold their whole label; the title has it.
    barLabel(dim, Math.max(length - 4, 22))
  );
  if (marks.contracted) {
    // The label stays readable over the hatching.
    text.setAttribute('paint-order', 'stroke');
    text.setAttribute('stroke', colour);
    text.setAttribute('stroke-width', '4');
  }
  group.appendChild(text);
  return group;
}
