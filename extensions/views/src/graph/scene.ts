/**
 * The drawing of a graph. Only what lies in the window is in the page; from far away all nodes become a few
 * paths, so that five thousand of them move as easily as five.
 */
import type { Dim } from '../protocol';
import { dimensionColour } from '../common/colours';
import { s, setAttributes } from '../common/dom';
import { dimensionText } from '../common/parts';
import { shorten, textWidth } from '../common/text';
import type { Colouring } from './colouring';
import { routeMiddle, routePath, scopeFacts, type Box, type GraphLayout, type Route } from './layout';
import { scopeItem, type Item, type Scope } from './tree';

/** Where the window looks: the world's pixels are multiplied by `scale` and moved by `x`, `y`. */
export interface Camera {
  readonly x: number;
  readonly y: number;
  readonly scale: number;
}

/** Below this scale, or with more nodes in the window than this, nodes are drawn without text. */
const FAR_SCALE = 0.34;
const FAR_COUNT = 420;
const LABEL_SCALE = 0.55;

/** What is marked. */
export interface Marks {
  readonly selected: string | null;
  readonly found: ReadonlySet<string>;
  readonly hovered: Route | null;
}

/** Draws a layout into an SVG element. */
export class Scene {
  readonly svg = s('svg', { class: 'wb-svg', role: 'presentation' });
  private readonly world = s('g');
  private readonly scopes = s('g');
  // All edges are one path: browsers draw one long path far faster than thousands of short ones.
  private readonly edges = s('path', { class: 'wb-g-edges', 'vector-effect': 'non-scaling-stroke' });
  private readonly heads = s('path', { class: 'wb-g-heads' });
  private readonly lit = s('path', { class: 'wb-g-lit', 'vector-effect': 'non-scaling-stroke' });
  private readonly far = s('g');
  private readonly near = s('g');
  private readonly labels = s('g');
  private readonly elements = new Map<string, SVGGElement>();
  private readonly labelElements = new Map<Route, SVGGElement>();
  private layout: GraphLayout | null = null;
  private colouring: Colouring | null = null;
  private dark = false;
  private labelled = new Set<Route>();
  private litKey = '';

  constructor() {
    this.world.append(this.scopes, this.edges, this.heads, this.lit, this.far, this.near, this.labels);
    this.svg.append(this.world);
  }

  /** Takes another layout or colouring; everything is drawn anew. */
  reset(layout: GraphLayout, colouring: Colouring, dark: boolean): void {
    Object.assign(this, { layout, colouring, dark });
    for (const group of [this.scopes, this.near, this.far, this.labels]) {
      group.replaceChildren();
    }
    this.elements.clear();
    this.labelElements.clear();
    this.litKey = '';
    this.edges.setAttribute('d', layout.routes.map(route => routePath(route.points)).join(''));
    this.heads.setAttribute('d', layout.routes.map(arrow).join(''));
    this.labelled = worthLabels(layout);
    this.drawFar(layout, colouring);
  }

  /** Draws what this camera sees. */
  draw(camera: Camera, width: number, height: number, marks: Marks): void {
    const { layout } = this;
    if (!layout) {
      return;
    }
    this.world.setAttribute('transform', `translate(${camera.x} ${camera.y}) scale(${camera.scale})`);
    // With a margin, so that nothing appears at the very rim while the picture moves.
    const window = {
      left: -camera.x / camera.scale - 60,
      top: -camera.y / camera.scale - 60,
      right: (width - camera.x) / camera.scale + 60,
      bottom: (height - camera.y) / camera.scale + 60
    };
    const seen = [...layout.boxes.values()].filter(
      box =>
        box.x < window.right &&
        box.x + box.width > window.left &&
        box.y < window.bottom &&
        box.y + box.height > window.top
    );
    const far = camera.scale < FAR_SCALE || seen.length > FAR_COUNT;
    this.far.style.display = far ? '' : 'none';
    this.heads.style.display = far ? 'none' : '';
    const wanted = far
      ? seen
          .filter(box => isOpen(box) || box.item.id === marks.selected || marks.found.has(box.item.id))
          .slice(0, FAR_COUNT)
      : seen;
    this.show(wanted, marks);
    this.light(marks);
    this.label(layout, camera, window, far, marks);
  }

  private show(boxes: readonly Box[], marks: Marks): void {
    const wanted = new Set(boxes.map(box => box.item.id));
    for (const [id, element] of this.elements) {
      if (!wanted.has(id)) {
        element.remove();
        this.elements.delete(id);
      }
    }
    for (const box of boxes) {
      let element = this.elements.get(box.item.id);
      if (!element) {
        element = this.makeElement(box);
        this.elements.set(box.item.id, element);
        if (isOpen(box)) {
          // Outer scopes lie under inner ones.
          const after = [...this.scopes.children].find(
            other => Number(other.getAttribute('data-depth')) > box.depth
          );
          this.scopes.insertBefore(element, after ?? null);
        } else {
          this.near.appendChild(element);
        }
      }
      element.toggleAttribute('data-selected', box.item.id === marks.selected);
      element.toggleAttribute('data-found', marks.found.has(box.item.id));
    }
  }

  private makeElement(box: Box): SVGGElement {
    const { item } = box;
    if (item.kind === 'node') {
      return this.nodeElement(box, item);
    }
    return item.open ? this.openElement(box, item.scope) : this.foldedElement(box, item.scope);
  }

  private nodeElement(box: Box, item: Extract<Item, { kind: 'node' }>): SVGGElement {
    const [name, second] = item.lines;
    const colour = this.colouring!.of(item);
    const round = item.node.kind === 'op' ? 5 : 14;
    const element = s(
      'g',
      {
        class: 'wb-g-node',
        'data-node': item.id,
        'data-kind': item.node.kind,
        'data-testid': 'wb-node',
        transform: `translate(${box.x} ${box.y})`
      },
      s('title', {}, [name, second, item.node.source].filter(Boolean).join('\n'))
    );
    element.prepend(s('rect', { width: box.width, height: box.height, rx: round }));
    if (colour) {
      element.append(
        s('rect', {
          x: 0.6,
          y: 0.6,
          width: box.width - 1.2,
          height: box.height - 1.2,
          rx: round - 0.6,
          fill: colour,
          'fill-opacity': 0.1
        }),
        s('path', { d: band(box.height, round), fill: colour })
      );
    }
    const middle = box.width / 2 + (colour ? 2 : 0);
    const y = second ? 16 : box.height / 2 + 4;
    element.append(
      s(
        'text',
        { class: 'wb-g-name', x: middle, y, 'text-anchor': 'middle' },
        shorten(name, box.width - 16, 12)
      )
    );
    if (second) {
      element.append(
        s(
          'text',
          { class: 'wb-g-sub', x: middle, y: 30, 'text-anchor': 'middle' },
          shorten(second, box.width - 14, 10)
        )
      );
    }
    return element;
  }

  private foldedElement(box: Box, scope: Scope): SVGGElement {
    const element = s('g', {
      class: 'wb-g-folded wb-g-scope',
      'data-scope': scope.id,
      'data-testid': 'wb-scope',
      'aria-expanded': 'false',
      transform: `translate(${box.x} ${box.y})`
    });
    element.append(s('rect', { width: box.width, height: box.height, rx: 6 }));
    if (scope.repeats > 1) {
      // A stack looks like one: the edges of the cards below peep out.
      element.append(
        s('path', {
          d: `M6 ${box.height + 3}h${box.width - 12}M12 ${box.height + 6}h${box.width - 24}`,
          stroke: 'currentColor',
          'stroke-opacity': 0.45,
          'stroke-width': 1.5,
          fill: 'none'
        })
      );
    }
    const colour = this.colouring!.of({ kind: 'scope', id: scopeItem(scope), scope, open: false });
    if (colour) {
      element.append(s('path', { d: band(box.height, 6), fill: colour }));
    }
    element.append(
      s('text', { class: 'wb-g-fold', x: 11, y: 20, 'data-fold': '' }, '+'),
      s(
        'text',
        { class: 'wb-g-name', x: 25, y: 19 },
        shorten(scope.name, box.width - (scope.repeats > 1 ? 66 : 36), 12)
      ),
      s('text', { class: 'wb-g-sub', x: 25, y: 34 }, shorten(scopeFacts(scope), box.width - 32, 10))
    );
    if (scope.repeats > 1) {
      element.append(
        s('text', { class: 'wb-g-name', x: box.width - 10, y: 19, 'text-anchor': 'end' }, `×${scope.repeats}`)
      );
    }
    return element;
  }

  private openElement(box: Box, scope: Scope): SVGGElement {
    const element = s('g', {
      class: 'wb-g-scope',
      'data-scope': scope.id,
      'data-testid': 'wb-scope',
      'data-depth': box.depth,
      'aria-expanded': 'true',
      transform: `translate(${box.x} ${box.y})`
    });
    element.append(
      s('rect', { width: box.width, height: box.height, rx: 8 }),
      s('text', { class: 'wb-g-fold', x: 11, y: 18, 'data-fold': '' }, '−'),
      s(
        'text',
        { class: 'wb-g-sub', x: 25, y: 17, 'font-weight': 600 },
        shorten(scope.name, box.width - 40, 11)
      )
    );
    return element;
  }

  /** Edges of the selection, and the one under the pointer. */
  private light(marks: Marks): void {
    const key = `${marks.selected} ${marks.hovered?.source} ${marks.hovered?.target}`;
    if (key !== this.litKey) {
      this.litKey = key;
      const routes = this.layout!.routes.filter(route => isLit(route, marks));
      this.lit.setAttribute('d', routes.map(route => routePath(route.points)).join(''));
    }
  }

  private label(
    layout: GraphLayout,
    camera: Camera,
    window: { readonly left: number; readonly top: number; readonly right: number; readonly bottom: number },
    far: boolean,
    marks: Marks
  ): void {
    const wanted = new Set<Route>();
    if (camera.scale >= LABEL_SCALE && !far) {
      for (const route of layout.routes) {
        if (this.labelled.has(route) || isLit(route, marks)) {
          const { x, y } = routeMiddle(route.points);
          if (x > window.left && x < window.right && y > window.top && y < window.bottom) {
            wanted.add(route);
          }
        }
      }
    }
    for (const [route, element] of this.labelElements) {
      if (!wanted.has(route)) {
        element.remove();
        this.labelElements.delete(route);
      }
    }
    for (const route of wanted) {
      if (!this.labelElements.has(route)) {
        const element = edgeLabel(route, this.dark);
        this.labelElements.set(route, element);
        this.labels.appendChild(element);
      }
    }
  }

  private drawFar(layout: GraphLayout, colouring: Colouring): void {
    // One path for each colour, however many nodes have it.
    const paths = new Map<string, string>();
    for (const box of layout.boxes.values()) {
      if (!isOpen(box)) {
        const colour = colouring.of(box.item) ?? (this.dark ? '#555b63' : '#c4c8cd');
        const d = `M${box.x.toFixed(0)} ${box.y.toFixed(0)}h${box.width.toFixed(0)}v${box.height.toFixed(0)}h${-box.width.toFixed(0)}z`;
        paths.set(colour, (paths.get(colour) ?? '') + d);
      }
    }
    for (const [fill, d] of paths) {
      this.far.appendChild(s('path', { d, fill }));
    }
  }
}

function isOpen(box: Box): boolean {
  return box.item.kind === 'scope' && box.item.open;
}

function isLit(route: Route, marks: Marks): boolean {
  return (
    route === marks.hovered ||
    (marks.selected !== null && (route.source === marks.selected || route.target === marks.selected))
  );
}

function band(height: number, round: number): string {
  const r = Math.min(round, height / 2);
  return `M${r} 0H5V${height}H${r}A${r} ${r} 0 0 1 0 ${height - r}V${r}A${r} ${r} 0 0 1 ${r} 0z`;
}

function arrow(route: Route): string {
  const { x, y } = route.points.at(-1)!;
  const down = y >= route.points.at(-2)!.y ? 1 : -1;
  return `M${x.toFixed(1)} ${y.toFixed(1)}l-3.5 ${-7 * down}h7z`;
}

/** The edges whose label tells something: the value differs from what its source took in. One edge a source is enough. */
export function worthLabels(layout: Pick<GraphLayout, 'routes'>): Set<Route> {
  const taken = new Map<string, string>();
  for (const route of layout.routes) {
    for (const edge of route.edges) {
      if (!taken.has(route.target)) {
        taken.set(route.target, signature(edge.dims, edge.dtype));
      }
    }
  }
  const told = new Set<string>();
  const result = new Set<Route>();
  for (const route of layout.routes) {
    const edge = route.edges[0]!;
    const mark = signature(edge.dims, edge.dtype);
    const key = `${route.source} ${mark}`;
    if (taken.get(route.source) !== mark && !told.has(key)) {
      told.add(key);
      result.add(route);
    }
  }
  return result;
}

function signature(dims: readonly Dim[], dtype: string): string {
  return dtype + dims.map(dim => dimensionText(dim)).join();
}

/** What an edge's label says, and how much room its parts take. */
function labelParts(route: Route): {
  readonly chips: readonly { readonly dim: Dim; readonly text: string }[];
  readonly widths: readonly number[];
  readonly lead: string;
  readonly leadWidth: number;
  readonly total: number;
} {
  const edge = route.edges[0]!;
  const chips = edge.dims.slice(0, 6).map(dim => ({ dim, text: shorten(dimensionText(dim), 84, 10) }));
  const widths = chips.map(chip => textWidth(chip.text, 10) + 10);
  const more = route.edges.length > 1 ? ` +${route.edges.length - 1}` : '';
  const lead = (chips.length === 0 ? `${edge.dtype} scalar` : edge.dtype) + more;
  const leadWidth = textWidth(lead, 10) + 8;
  return {
    chips,
    widths,
    lead,
    leadWidth,
    total: leadWidth + widths.reduce((sum, width) => sum + width + 2, 0)
  };
}

/** How far to the right the labels of a graph reach, which stand beside their edges. */
export function labelsReach(layout: Pick<GraphLayout, 'routes' | 'width'>): number {
  return [...worthLabels(layout)].reduce(
    (reach, route) => Math.max(reach, routeMiddle(route.points).x + 9 + labelParts(route).total),
    layout.width
  );
}

/** The value that travels along an edge: its dims, each in its colour, beside the line so that both can be seen. */
export function edgeLabel(route: Route, dark: boolean): SVGGElement {
  const { x, y } = routeMiddle(route.points);
  const { chips, widths, lead, leadWidth, total } = labelParts(route);
  const group = s('g', {
    class: 'wb-g-label',
    'data-testid': 'wb-edge-label',
    transform: `translate(${(x + 7).toFixed(1)} ${(y - 8).toFixed(1)})`
  });
  group.append(
    s('rect', { x: -2, y: -1, width: total + 4, height: 18, rx: 4, 'fill-opacity': 0.9 }),
    s('text', { x: 2, y: 12, opacity: 0.7 }, lead)
  );
  let at = leadWidth;
  chips.forEach((chip, index) => {
    const colour = dimensionColour(chip.dim.name, dark);
    const rect = s('rect', { x: at, y: 1, width: widths[index]!, height: 14, rx: 3 });
    setAttributes(rect, { style: `fill: ${colour}; fill-opacity: ${dark ? 0.34 : 0.22}` });
    const side = s('rect', { x: at, y: 1, width: 2.5, height: 14 });
    setAttributes(side, { style: `fill: ${colour}` });
    group.append(
      rect,
      side,
      s(
        'text',
        { x: at + widths[index]! / 2 + 1, y: 12, 'text-anchor': 'middle', 'font-weight': 600 },
        chip.text
      )
    );
    at += widths[index]! + 2;
  });
  return group;
}
