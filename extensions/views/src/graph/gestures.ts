/** Pointer and keys on the picture of a graph: choose, fold, point at an edge, walk. */
import { Listeners } from '../common/dom';
import type { HandCamera } from './camera';
import type { Folds } from './folds';
import type { Route } from './layout';
import { routeAt, walk } from './navigate';
import { scopeItem, type Scope } from './tree';

/** What gestures ask for. */
export interface GestureEvents {
  selected(): string | null;
  choose(id: string | null): void;
  toggle(scope: Scope): void;
  hover(route: Route | null): void;
  fit(): void;
}

/** Listens on the field that holds the picture. */
export class Gestures {
  private readonly listeners = new Listeners();

  constructor(
    private readonly field: HTMLElement,
    private readonly hand: HandCamera,
    private readonly folds: Folds,
    private readonly events: GestureEvents
  ) {
    this.listeners.on(field, 'click', event => this.click(event));
    this.listeners.on(field, 'dblclick', event => this.doubleClick(event));
    this.listeners.on(field, 'pointermove', event => this.hover(event));
    this.listeners.on(field, 'pointerleave', () => events.hover(null));
    this.listeners.on(field, 'keydown', event => this.key(event));
  }

  /** Lets go. */
  destroy(): void {
    this.listeners.release();
  }

  private itemAt(
    event: Event
  ): { readonly id: string; readonly fold: boolean; readonly scope: Scope | null } | null {
    const target = event.target instanceof Element ? event.target : null;
    const group = target?.closest('[data-node], [data-scope]');
    if (!group) {
      return null;
    }
    const node = group.getAttribute('data-node');
    if (node !== null) {
      return { id: node, fold: false, scope: null };
    }
    const scope = this.folds.tree?.scopes.get(group.getAttribute('data-scope') ?? '') ?? null;
    return scope && { id: scopeItem(scope), fold: target!.hasAttribute('data-fold'), scope };
  }

  private click(event: MouseEvent): void {
    // Without this the page would jump to where the field begins.
    this.field.focus({ preventScroll: true });
    if (this.hand.panned) {
      return;
    }
    const item = this.itemAt(event);
    if (item?.fold && item.scope) {
      this.events.toggle(item.scope);
    } else if (item) {
      this.events.choose(item.id);
    } else if (this.events.selected() !== null) {
      this.events.choose(null);
    }
  }

  private doubleClick(event: MouseEvent): void {
    const item = this.itemAt(event);
    if (item?.scope) {
      this.events.toggle(item.scope);
    }
  }

  private hover(event: PointerEvent): void {
    const { layout } = this.folds;
    if (!layout || event.buttons !== 0) {
      return;
    }
    const box = this.field.getBoundingClientRect();
    const { x, y, scale } = this.hand.camera;
    const onNode = (event.target as Element).closest('[data-node], .wb-g-folded');
    const point = { x: (event.clientX - box.left - x) / scale, y: (event.clientY - box.top - y) / scale };
    // So small, edges are nearer to each other than anybody can point.
    this.events.hover(onNode || scale < 0.3 ? null : routeAt(layout, point, 7 / scale));
  }

  private key(event: KeyboardEvent): void {
    if (event.ctrlKey || event.metaKey || event.altKey) {
      return;
    }
    const { layout } = this.folds;
    if (event.key.startsWith('Arrow') && layout) {
      const next = walk(layout, this.events.selected(), event.key);
      if (next) {
        this.events.choose(next);
      }
    } else if (event.key === 'Enter' || event.key === ' ') {
      const box = this.folds.box(this.events.selected());
      const scope = box && this.folds.scopeOf(box.item);
      if (scope) {
        this.events.toggle(scope);
      }
    } else if (event.key === '+' || event.key === '=') {
      this.hand.zoom(1.3);
    } else if (event.key === '-') {
      this.hand.zoom(1 / 1.3);
    } else if (event.key === '0' || event.key === 'f') {
      this.events.fit();
    } else if (event.key === 'Escape' && this.events.selected() !== null) {
      this.events.choose(null);
    } else {
      return;
    }
    event.preventDefault();
    event.stopPropagation();
  }
}
