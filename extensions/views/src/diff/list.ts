/** A long list of which only what lies in the window is in the page; heights are known before a row is built. */
import { h, Listeners } from '../common/dom';
import { clamp } from '../common/scales';

/** Built beside the window, so that scrolling meets no gaps. */
const MARGIN = 300;

/** What the list is told of its rows. */
export interface Rows {
  readonly count: number;
  height(index: number): number;
  build(index: number): HTMLElement;
}

/** Several views may share a page, and ids are the page's. */
let made = 0;

/** Rows that are chosen with arrows or a click. */
export class LongList {
  readonly element: HTMLElement;
  private readonly space = h('div', { class: 'wb-d-space', role: 'presentation' });
  private readonly built = new Map<number, HTMLElement>();
  private readonly listeners = new Listeners();
  private readonly name = `wb-d-${++made}`;
  private rows: Rows = { count: 0, height: () => 0, build: () => h('div') };
  private tops: number[] = [0];
  private current = -1;

  constructor(
    label: string,
    testid: string,
    private readonly chosen: (index: number) => void,
    private readonly entered: (index: number) => void = () => undefined
  ) {
    this.element = h(
      'div',
      { class: 'wb-d-scroll', role: 'listbox', tabindex: 0, 'aria-label': label, 'data-testid': testid },
      this.space
    );
    this.listeners.on(this.element, 'scroll', () => this.draw());
    this.listeners.on(this.element, 'keydown', event => this.key(event));
    this.listeners.on(this.element, 'click', event => {
      const item = (event.target as Element).closest<HTMLElement>('.wb-d-item');
      if (item) {
        this.choose(Number(item.dataset['index']));
        this.entered(this.current);
      }
    });
  }

  /** Takes other rows; the place in the window stays. */
  reset(rows: Rows, current: number): void {
    this.rows = rows;
    this.tops = [0];
    for (let i = 0; i < rows.count; i++) {
      this.tops.push(this.tops[i]! + rows.height(i));
    }
    this.current = current;
    this.space.style.height = `${this.tops[rows.count]}px`;
    this.space.replaceChildren();
    this.built.clear();
    this.draw();
  }

  /** The chosen row; -1 for none. */
  get at(): number {
    return this.current;
  }

  /** Builds what lies in the window. */
  draw(): void {
    // A page without layout, in unit tests, has no sizes.
    const from = this.element.scrollTop - MARGIN;
    const to = this.element.scrollTop + (this.element.clientHeight || 400) + MARGIN;
    for (const [index, element] of this.built) {
      if (this.tops[index + 1]! < from || this.tops[index]! > to) {
        element.remove();
        this.built.delete(index);
      }
    }
    let index = this.find(from);
    for (; index < this.rows.count && this.tops[index]! <= to; index++) {
      if (!this.built.has(index)) {
        this.put(index);
      }
    }
    this.mark();
  }

  /** Chooses a row and shows it; far away in the middle of the window. */
  go(index: number): void {
    this.current = clamp(index, 0, Math.max(0, this.rows.count - 1));
    const { scrollTop } = this.element;
    const height = this.element.clientHeight || 400;
    const [top, bottom] = [this.tops[this.current]!, this.tops[this.current + 1] ?? 0];
    if (top < scrollTop || bottom > scrollTop + height) {
      const near = top > scrollTop - 60 && bottom < scrollTop + height + 60;
      this.element.scrollTop = near ? (top < scrollTop ? top : bottom - height) : top - height / 3;
    }
    this.draw();
  }

  /** Where the row stands in the window. */
  top(index: number): number {
    return (this.tops[index] ?? 0) - this.element.scrollTop;
  }

  /** Moves the window so that a row stands where it stood. */
  keep(index: number, top: number): void {
    this.element.scrollTop = (this.tops[index] ?? 0) - top;
    this.draw();
  }

  destroy(): void {
    this.listeners.release();
  }

  private choose(index: number): void {
    this.go(index);
    this.chosen(this.current);
  }

  private find(y: number): number {
    let [low, high] = [0, Math.max(0, this.rows.count - 1)];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.tops[middle + 1]! < y) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    return low;
  }

  private put(index: number): void {
    const element = this.rows.build(index);
    element.classList.add('wb-d-item');
    element.id = `${this.name}-${index}`;
    element.dataset['index'] = String(index);
    element.setAttribute('role', 'option');
    element.setAttribute('aria-setsize', String(this.rows.count));
    element.setAttribute('aria-posinset', String(index + 1));
    element.style.top = `${this.tops[index]}px`;
    this.built.set(index, element);
    // In order, for who listens to the page.
    const next = [...this.space.children].find(one => Number((one as HTMLElement).dataset['index']) > index);
    this.space.insertBefore(element, next ?? null);
  }

  private mark(): void {
    for (const [index, element] of this.built) {
      element.setAttribute('aria-selected', String(index === this.current));
    }
    const chosen = this.built.get(this.current);
    if (chosen) {
      this.element.setAttribute('aria-activedescendant', chosen.id);
    } else {
      this.element.removeAttribute('aria-activedescendant');
    }
  }

  private key(event: KeyboardEvent): void {
    const last = this.rows.count - 1;
    const next = {
      ArrowDown: this.current + 1,
      ArrowUp: this.current < 0 ? last : this.current - 1,
      Home: 0,
      End: last,
      PageDown: this.current + 12,
      PageUp: this.current - 12
    }[event.key];
    if (next !== undefined && last >= 0) {
      this.choose(next);
    } else if (event.key === 'Enter' && this.current >= 0) {
      this.entered(this.current);
    } else {
      return;
    }
    event.preventDefault();
    event.stopPropagation();
  }
}
