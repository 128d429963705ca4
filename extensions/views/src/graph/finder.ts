/** The search field of a graph: what it finds, and going from one find to the next. */
import type { GraphNode } from '../protocol';
import { h, setText } from '../common/dom';
import { grouped } from '../common/numbers';
import { search } from './navigate';

/** What the finder asks of the view. */
export interface FinderEvents {
  nodes(): Iterable<GraphNode>;
  /** Shows a node that was found. */
  show(id: string): void;
  /** Selects it. */
  choose(id: string): void;
  /** Gives the focus back. */
  leave(): void;
  /** What is found has changed. */
  redraw(): void;
}

/** The field, and how much was found. */
export class Finder {
  readonly field = h('input', {
    type: 'search',
    class: 'wb-input',
    placeholder: '/ search',
    'aria-label': 'Search the graph',
    'data-testid': 'wb-search'
  });
  readonly element: HTMLElement;
  readonly text = h('span', {
    class: 'wb-graph-found',
    'aria-live': 'polite',
    'data-testid': 'wb-found'
  });
  /** The nodes found, in order. */
  found: readonly string[] = [];
  private at = -1;

  constructor(private readonly events: FinderEvents) {
    this.element = h('span', { class: 'wb-graph-finder' }, this.field, this.text);
    this.field.addEventListener('input', () => this.find());
    this.field.addEventListener('keydown', event => this.key(event));
  }

  private find(): void {
    this.found = search(this.events.nodes(), this.field.value).map(node => node.id);
    this.at = -1;
    const text = this.field.value.trim();
    setText(this.text, text ? `${grouped(this.found.length)} found` : '');
    if (this.found.length === 1) {
      this.jump(1);
    }
    this.events.redraw();
  }

  private jump(step: number): void {
    const count = this.found.length;
    if (count > 0) {
      this.at = (this.at + step + count) % count;
      setText(this.text, `${this.at + 1} of ${grouped(count)}`);
      this.events.show(this.found[this.at]!);
    }
  }

  private key(event: KeyboardEvent): void {
    if (event.key === 'Enter') {
      this.jump(event.shiftKey ? -1 : 1);
      const id = this.found[this.at];
      if (id !== undefined) {
        this.events.choose(id);
      }
    } else if (event.key === 'Escape') {
      this.field.value = '';
      this.find();
      this.events.leave();
    } else {
      return;
    }
    event.preventDefault();
    event.stopPropagation();
  }
}
