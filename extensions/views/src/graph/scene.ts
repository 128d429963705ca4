/**
 * The drawing of a graph. Only what lies in the window is in the page; from far away all nodes become a few
 * paths, so that five thousand of them move as easily as five.
 */
import { s } from '../common/dom';
import { arrow, figure, labelFigure, titleFigure, type Paint } from './figures';
import { Labels } from './labels';
import type { Box, GraphLayout, Route } from './layout';
import type { Look } from './face';
import { routePath } from './routes';
import type { Item } from './tree';

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
/** Around a picture in a file. */
const RIM = 16;

/** What is marked. */
export interface Marks {
  readonly selected: string | null;
  readonly found: ReadonlySet<string>;
  readonly hovered: Route | null;
}

/** A part of the world. */
interface Rim {
  readonly left: number;
  readonly top: number;
  readonly right: number;
  readonly bottom: number;
}

/** An edge as it is drawn. */
interface Stroke {
  readonly line: string;
  readonly head: string;
  readonly rim: Rim;
}

const EVERYWHERE: Rim = { left: -Infinity, top: -Infinity, right: Infinity, bottom: Infinity };
/** As many edges as are drawn at once, wherever the window is. */
const MOST_STROKES = 1500;

function covers(outer: Rim, inner: Rim): boolean {
  return (
    outer.left <= inner.left &&
    outer.top <= inner.top &&
    outer.right >= inner.right &&
    outer.bottom >= inner.bottom
  );
}

/** A window with as much again around it, so that a hand can go on for a while. */
function widened({ left, top, right, bottom }: Rim): Rim {
  const [across, down] = [right - left, bottom - top];
  return { left: left - across, top: top - down, right: right + across, bottom: bottom + down };
}

function strokeOf(route: Route): Stroke {
  const rim = { left: Infinity, top: Infinity, right: -Infinity, bottom: -Infinity };
  for (const { x, y } of route.points) {
    rim.left = Math.min(rim.left, x);
    rim.top = Math.min(rim.top, y);
    rim.right = Math.max(rim.right, x);
    rim.bottom = Math.max(rim.bottom, y);
  }
  // A straight line down has no width, and is seen all the same.
  rim.left -= 4;
  rim.right += 4;
  return { line: routePath(route.points), head: arrow(route), rim };
}

/** Draws a layout into an SVG element. */
export class Scene {
  readonly svg = s('svg', { class: 'wb-svg', role: 'presentation' });
  private readonly world = s('g');
  private readonly scopes = s('g');
  // All edges are one path: browsers draw one long path far faster than thousands of short ones.
  private readonly edges = s('path', { class: 'wb-g-edges', 'vector-effect': 'non-scaling-stroke' });
  private readonly heads = s('path', { class: 'wb-g-heads' });
  private readonly titles = s('g');
  private readonly lit = s('path', { class: 'wb-g-lit', 'vector-effect': 'non-scaling-stroke' });
  private readonly far = s('g');
  private readonly near = s('g');
  private readonly labels = s('g');
  private readonly elements = new Map<string, SVGGElement>();
  private readonly titleElements = new Map<string, SVGGElement>();
  private readonly labelElements = new Map<Route, SVGGElement>();
  private layout: GraphLayout | null = null;
  private paint: Paint | null = null;
  private placed: Labels | null = null;
  private strokes: readonly Stroke[] = [];
  /** From afar: the camera and the marks that what is in the page was drawn for. */
  private standing: { readonly camera: Camera; readonly marks: Marks } | null = null;
  /** The part of the world whose edges are in the page. */
  private drawn: Rim | null = null;
  private litKey = '';

  constructor() {
    this.world.append(
      this.scopes,
      this.edges,
      this.heads,
      this.lit,
      this.titles,
      this.far,
      this.near,
      this.labels
    );
    this.svg.append(this.world);
  }

  /** Takes another layout or colouring; everything is drawn anew. */
  reset(layout: GraphLayout, look: Look, paint: Paint): void {
    Object.assign(this, { layout, paint });
    for (const group of [this.scopes, this.titles, this.near, this.far, this.labels]) {
      group.replaceChildren();
    }
    this.elements.clear();
    this.titleElements.clear();
    this.labelElements.clear();
    this.litKey = '';
    this.standing = null;
    this.strokes = layout.routes.map(strokeOf);
    this.drawn = null;
    this.placed = new Labels(layout, look);
    this.drawFar(layout, paint);
  }

  /** Draws what this camera sees. */
  draw(camera: Camera, width: number, height: number, marks: Marks): void {
    const { layout } = this;
    if (!layout || this.slid(camera, width, height, marks)) {
      return;
    }
    this.world.setAttribute('transform', `translate(${camera.x} ${camera.y}) scale(${camera.scale})`);
    const afar = camera.scale < FAR_SCALE;
    this.svg.toggleAttribute('data-slides', afar);
    this.svg.style.transform = '';
    this.standing = afar ? { camera, marks } : null;
    // With a margin, so that nothing appears at the very rim while the picture moves.
    const [across, down] = afar ? [width, height] : [60 * camera.scale, 60 * camera.scale];
    const window = {
      left: (-camera.x - across) / camera.scale,
      top: (-camera.y - down) / camera.scale,
      right: (width - camera.x + across) / camera.scale,
      bottom: (height - camera.y + down) / camera.scale
    };
    const seen = [...layout.boxes.values()].filter(
      box =>
        box.x < window.right &&
        box.x + box.width > window.left &&
        box.y < window.bottom &&
        box.y + box.height > window.top
    );
    const far = afar || seen.length > FAR_COUNT;
    this.far.style.display = far ? '' : 'none';
    this.heads.style.display = far ? 'none' : '';
    this.titles.style.display = far ? 'none' : '';
    const wanted = far
      ? seen
          .filter(box => isOpen(box) || box.item.id === marks.selected || marks.found.has(box.item.id))
          .slice(0, FAR_COUNT)
      : seen;
    this.show(wanted, marks);
    this.line(far ? EVERYWHERE : window);
    this.light(marks);
    this.label(layout, camera, window, far, marks);
  }

  /**
   * Slides what is drawn, where only that is asked for: from afar a picture has more in it than a browser paints in one
   * frame, and what is painted once can be moved. False where it must be painted anew.
   */
  private slid(camera: Camera, width: number, height: number, marks: Marks): boolean {
    const { standing } = this;
    if (standing?.camera.scale !== camera.scale || !alike(standing.marks, marks)) {
      return false;
    }
    const [x, y] = [camera.x - standing.camera.x, camera.y - standing.camera.y];
    if (Math.abs(x) > width || Math.abs(y) > height) {
      return false;
    }
    this.svg.style.transform = x === 0 && y === 0 ? '' : `translate(${x}px, ${y}px)`;
    return true;
  }

  /** Draws the edges that a window sees, and some around it: a path of all of them takes long to paint near by. */
  private line(window: Rim): void {
    const { drawn, strokes } = this;
    if (drawn && covers(drawn, window)) {
      return;
    }
    const around = strokes.length > MOST_STROKES && window !== EVERYWHERE ? widened(window) : EVERYWHERE;
    this.drawn = around;
    const seen = strokes.filter(
      ({ rim }) =>
        rim.left < around.right &&
        rim.right > around.left &&
        rim.top < around.bottom &&
        rim.bottom > around.top
    );
    this.edges.setAttribute('d', seen.map(stroke => stroke.line).join(''));
    this.heads.setAttribute('d', seen.map(stroke => stroke.head).join(''));
  }

  /** Draws all of it, as large as it is and whatever a window would show: for a file. */
  drawWhole(): void {
    const { layout } = this;
    if (!layout) {
      return;
    }
    const [width, height] = [layout.width + 2 * RIM, layout.height + 2 * RIM];
    this.svg.setAttribute('viewBox', `${-RIM} ${-RIM} ${width} ${height}`);
    this.far.remove();
    this.line(EVERYWHERE);
    this.show([...layout.boxes.values()], { selected: null, found: new Set(), hovered: null });
    for (const { label } of layout.routes) {
      if (label) {
        this.labels.appendChild(labelFigure(label, this.paint!.dark));
      }
    }
  }

  private show(boxes: readonly Box[], marks: Marks): void {
    const wanted = new Set(boxes.map(box => box.item.id));
    for (const [id, element] of this.elements) {
      if (!wanted.has(id)) {
        element.remove();
        this.elements.delete(id);
        this.titleElements.get(id)?.remove();
        this.titleElements.delete(id);
      }
    }
    for (const box of boxes) {
      let element = this.elements.get(box.item.id);
      if (!element) {
        element = figure(box, this.paint!);
        this.elements.set(box.item.id, element);
        if (isOpen(box)) {
          // Outer scopes lie under inner ones.
          const after = [...this.scopes.children].find(
            other => Number(other.getAttribute('data-depth')) > box.depth
          );
          this.scopes.insertBefore(element, after ?? null);
          const title = titleFigure(box, box.item.scope);
          this.titleElements.set(box.item.id, title);
          this.titles.appendChild(title);
        } else {
          this.near.appendChild(element);
        }
      }
      element.toggleAttribute('data-selected', box.item.id === marks.selected);
      element.toggleAttribute('data-found', marks.found.has(box.item.id));
    }
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

  private label(layout: GraphLayout, camera: Camera, window: Rim, far: boolean, marks: Marks): void {
    const wanted = new Set<Route>();
    if (camera.scale >= LABEL_SCALE && !far) {
      for (const route of layout.routes) {
        const label = isLit(route, marks) ? this.placed!.anyhow(route) : route.label;
        if (
          label &&
          label.x < window.right &&
          label.x + label.value.width > window.left &&
          label.y < window.bottom &&
          label.y + label.value.height > window.top
        ) {
          wanted.add(route);
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
        const element = labelFigure(route.label ?? this.placed!.anyhow(route)!, this.paint!.dark);
        this.labelElements.set(route, element);
        this.labels.appendChild(element);
      }
    }
  }

  private drawFar(layout: GraphLayout, { colouring, dark }: Paint): void {
    // One path for each colour, however many nodes have it.
    const paths = new Map<string, string>();
    for (const box of layout.boxes.values()) {
      if (!isOpen(box)) {
        const colour = colouring.of(box.item) ?? (dark ? '#555b63' : '#c4c8cd');
        const d = `M${box.x.toFixed(0)} ${box.y.toFixed(0)}h${box.width.toFixed(0)}v${box.height.toFixed(0)}h${-box.width.toFixed(0)}z`;
        paths.set(colour, (paths.get(colour) ?? '') + d);
      }
    }
    for (const [fill, d] of paths) {
      this.far.appendChild(s('path', { d, fill }));
    }
  }
}

function isOpen(box: Box): box is Box & { readonly item: Extract<Item, { kind: 'scope' }> } {
  return box.item.kind === 'scope' && box.item.open;
}

function alike(one: Marks, other: Marks): boolean {
  return (
    one.selected === other.selected &&
    one.hovered === other.hovered &&
    one.found.size === other.found.size &&
    [...one.found].every(id => other.found.has(id))
  );
}

function isLit(route: Route, marks: Marks): boolean {
  return (
    route === marks.hovered ||
    (marks.selected !== null && (route.source === marks.selected || route.target === marks.selected))
  );
}
