/** The pictures of single nodes, scopes and labels. */
import { s } from '../common/dom';
import type { Colouring } from './colouring';
import { textWidth } from '../common/text';
import { scopeFacts, type Face } from './face';
import type { Box, Label, Route } from './layout';
import { scopeItem, type Item, type Scope } from './tree';
import { drawValue } from './valuetext';

/** What pictures of nodes depend on besides the nodes. */
export interface Paint {
  readonly colouring: Colouring;
  readonly dark: boolean;
}

/** The picture of a box. */
export function figure(box: Box, paint: Paint): SVGGElement {
  const { item } = box;
  if (item.kind === 'node') {
    return nodeFigure(box, item, paint);
  }
  return item.open ? openFigure(box, item.scope) : foldedFigure(box, item.scope, paint);
}

/** The quiet lines and parameters of a face, from `x` on. */
function lines(face: Face, x: number, anchor: 'middle' | 'start', dark: boolean): SVGElement[] {
  return face.lines.map(line => {
    if (line.value === null) {
      return s('text', { class: 'wb-g-sub', x, y: line.y, 'text-anchor': anchor }, line.text);
    }
    // Parameters begin at the left, whatever stands above them: a column is read more easily than a heap.
    const group = s('g', { class: 'wb-g-held', transform: `translate(14 ${line.y})` });
    group.append(...drawValue(line.value, dark));
    return group;
  });
}

function nodeFigure(
  box: Box,
  item: Extract<Item, { kind: 'node' }>,
  { colouring, dark }: Paint
): SVGGElement {
  const { node } = item;
  const { face, width, height } = box;
  const colour = colouring.of(item);
  const round = node.kind === 'op' ? 5 : 14;
  const words = colouring.amount(item);
  const element = s(
    'g',
    {
      class: 'wb-g-node',
      'data-node': item.id,
      'data-kind': node.kind,
      'data-wrong': node.wrong !== '',
      'data-testid': 'wb-node',
      transform: `translate(${box.x} ${box.y})`
    },
    s('rect', { width, height, rx: round }),
    s('title', {}, [...item.lines, words, node.source, node.wrong].filter(Boolean).join('\n'))
  );
  if (colour) {
    element.append(
      s('rect', {
        x: 0.6,
        y: 0.6,
        width: width - 1.2,
        height: height - 1.2,
        rx: round - 0.6,
        fill: colour,
        'fill-opacity': 0.1
      }),
      s('path', { d: band(height, round), fill: colour })
    );
  }
  const middle = width / 2 + (colour ? 2 : 0);
  face.name.forEach((text, index) =>
    element.append(
      s(
        'text',
        {
          class: 'wb-g-name',
          x: middle,
          y: 16 + 15 * index + (face.lines.length > 0 ? 0 : 3),
          'text-anchor': 'middle'
        },
        text
      )
    )
  );
  element.append(...lines(face, middle, 'middle', dark));
  return element;
}

function foldedFigure(box: Box, scope: Scope, { colouring, dark }: Paint): SVGGElement {
  const { face, width, height } = box;
  const element = s('g', {
    class: 'wb-g-folded wb-g-scope',
    'data-scope': scope.id,
    'data-kind': scope.kind,
    'data-testid': 'wb-scope',
    'aria-expanded': 'false',
    transform: `translate(${box.x} ${box.y})`
  });
  element.append(s('rect', { width, height, rx: 6 }));
  if (scope.repeats > 1) {
    // A stack looks like one: the edges of the cards below peep out.
    element.append(
      s('path', {
        d: `M6 ${height + 3}h${width - 12}M12 ${height + 6}h${width - 24}`,
        stroke: 'currentColor',
        'stroke-opacity': 0.45,
        'stroke-width': 1.5,
        fill: 'none'
      })
    );
  }
  const colour = colouring.of({ kind: 'scope', id: scopeItem(scope), scope, open: false });
  if (colour) {
    element.append(s('path', { d: band(height, 6), fill: colour }));
  }
  element.append(s('text', { class: 'wb-g-fold', x: 11, y: 20, 'data-fold': '' }, '+'));
  face.name.forEach((text, index) =>
    element.append(s('text', { class: 'wb-g-name', x: 25, y: 19 + 15 * index }, text))
  );
  element.append(...lines(face, 25, 'start', dark));
  if (scope.repeats > 1) {
    element.append(
      s('text', { class: 'wb-g-name', x: width - 10, y: 19, 'text-anchor': 'end' }, `×${scope.repeats}`)
    );
  }
  return element;
}

function openFigure(box: Box, scope: Scope): SVGGElement {
  const { width, height } = box;
  return s(
    'g',
    {
      class: 'wb-g-scope',
      'data-scope': scope.id,
      'data-kind': scope.kind,
      'data-testid': 'wb-scope',
      'data-depth': box.depth,
      'aria-expanded': 'true',
      transform: `translate(${box.x} ${box.y})`
    },
    s('rect', { width, height, rx: 8 }),
    s('text', { class: 'wb-g-fold', x: 11, y: 18, 'data-fold': '' }, '−')
  );
}

/** What an open scope is called and holds: drawn over the edges that enter it, as they would strike it out. */
export function titleFigure(box: Box, scope: Scope): SVGGElement {
  const facts = scopeFacts(scope).join(' · ');
  return s(
    'g',
    { class: 'wb-g-titles', transform: `translate(${box.x} ${box.y})` },
    // Its box is at least as wide.
    s('text', { class: 'wb-g-sub wb-g-title', x: 25, y: 17 }, scope.name),
    // What it holds, where there is room for it.
    textWidth(scope.name, 11) + textWidth(facts, 10) + 60 < box.width
      ? s('text', { class: 'wb-g-sub', x: box.width - 10, y: 17, 'text-anchor': 'end' }, facts)
      : null
  );
}

function band(height: number, round: number): string {
  const r = Math.min(round, height / 2);
  return `M${r} 0H5V${height}H${r}A${r} ${r} 0 0 1 0 ${height - r}V${r}A${r} ${r} 0 0 1 ${r} 0z`;
}

/** The head of an edge. */
export function arrow(route: Route): string {
  const { x, y } = route.points.at(-1)!;
  const down = y >= route.points.at(-2)!.y ? 1 : -1;
  return `M${x.toFixed(1)} ${y.toFixed(1)}l-3.5 ${-7 * down}h7z`;
}

/** The value that travels along an edge: its dims, each in its colour. */
export function labelFigure(label: Label, dark: boolean): SVGGElement {
  const group = s('g', {
    class: 'wb-g-label',
    'data-testid': 'wb-edge-label',
    transform: `translate(${label.x.toFixed(1)} ${label.y.toFixed(1)})`
  });
  const { width, height } = label.value;
  group.append(
    s('rect', { x: -2, y: -1, width: width + 4, height: height + 1, rx: 4, 'fill-opacity': 0.9 }),
    ...drawValue(label.value, dark)
  );
  return group;
}
