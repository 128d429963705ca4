/** Labels of edges that have no room of their own in the picture: put where nothing else stands, or left out. */
import type { Look } from './face';
import { edgeText, type GraphLayout, type Label, type Route } from './layout';
import { along } from './routes';
import type { ValueText } from './valuetext';

interface Rect {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

function apart(a: Rect, b: Rect): boolean {
  return a.x + a.width <= b.x || b.x + b.width <= a.x || a.y + a.height <= b.y || b.y + b.height <= a.y;
}

/** Parts of the way at which a label is tried. */
const TRIES = [0.5, 0.35, 0.65, 0.2, 0.8, 0.1, 0.9];

/** Finds places for labels of one layout. */
export class Labels {
  private readonly found = new Map<Route, Label | null>();
  private taken: Rect[] | null = null;

  constructor(
    private readonly layout: GraphLayout,
    private readonly look: Look
  ) {}

  /** The label of an edge whether it tells something new or not; null where every place would hide something. */
  anyhow(route: Route): Label | null {
    if (route.label) {
      return route.label;
    }
    let label = this.found.get(route);
    if (label === undefined) {
      label = this.place(route, edgeText(route, this.look));
      this.found.set(route, label);
    }
    return label;
  }

  private place(route: Route, value: ValueText): Label | null {
    const { width, height } = value;
    for (const part of TRIES) {
      const { x, y } = along(route.points, part);
      for (const left of [x + 7, x - 7 - width]) {
        const label = { value, x: left, y: y - height / 2 };
        if (this.obstacles().every(other => apart({ x: left, y: label.y, width, height }, other))) {
          // Edges are pointed at one after the other, but those of a node light up together.
          this.obstacles().push({ x: left, y: label.y, width, height });
          return label;
        }
      }
    }
    return null;
  }

  private obstacles(): Rect[] {
    this.taken ??= [
      ...[...this.layout.boxes.values()].filter(box => !(box.item.kind === 'scope' && box.item.open)),
      ...this.layout.routes.flatMap(({ label }) =>
        label ? [{ x: label.x, y: label.y, width: label.value.width, height: label.value.height }] : []
      )
    ];
    return this.taken;
  }
}
