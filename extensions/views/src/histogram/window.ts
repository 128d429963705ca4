/** A list of which only the rows in sight are in the page: thousands cost what a screenful does. */
import { h, replace } from '../common/dom';

/** Rows beyond either end that are there before they are scrolled to. */
const SPARE = 12;

/** Which rows of a list are to be in the page. */
export function inSight(
  count: number,
  row: number,
  top: number,
  height: number
): { readonly first: number; readonly last: number } {
  const first = Math.max(0, Math.floor(top / row) - SPARE);
  return { first, last: Math.min(count, Math.ceil((top + height) / row) + SPARE) };
}

/** Puts the rows in sight between two spaces that stand for the others. */
export class RowWindow {
  private count = 0;
  private first = -1;
  private last = -1;
  private readonly above = h('div', { 'aria-hidden': 'true' });
  private readonly below = h('div', { 'aria-hidden': 'true' });

  constructor(
    private readonly element: HTMLElement,
    /** Height of a row in pixels, with what is between it and the next. */
    private readonly row: number,
    private readonly made: (index: number) => HTMLElement
  ) {
    element.addEventListener('scroll', () => this.refresh(false));
  }

  /** Shows a list of so many rows, made anew where `changed`. */
  show(count: number): void {
    this.count = count;
    this.refresh(true);
  }

  /** Scrolls so that a row is in sight. */
  reveal(index: number): void {
    const { scrollTop, clientHeight } = this.element;
    const top = index * this.row;
    // Not by scrollIntoView, which would scroll the notebook, too.
    if (top < scrollTop || top + this.row > scrollTop + clientHeight) {
      this.element.scrollTop = Math.max(0, top - clientHeight / 2);
    }
    this.refresh(false);
  }

  /** The room may be another one. */
  refresh(changed = false): void {
    const height = this.element.clientHeight || 400;
    const { first, last } = inSight(this.count, this.row, this.element.scrollTop, height);
    if (!changed && first === this.first && last === this.last) {
      return;
    }
    this.first = first;
    this.last = last;
    const rows: HTMLElement[] = [];
    for (let index = first; index < last; index++) {
      rows.push(this.made(index));
    }
    const wanted = [this.above, ...rows, this.below];
    const same =
      wanted.length === this.element.children.length &&
      wanted.every((one, index) => this.element.children[index] === one);
    if (!same) {
      const place = this.element.scrollTop;
      replace(this.element, ...wanted);
      this.element.scrollTop = place;
    }
    this.above.style.flex = `none`;
    this.above.style.height = `${first * this.row}px`;
    this.below.style.flex = `none`;
    this.below.style.height = `${Math.max(0, this.count - last) * this.row}px`;
  }
}
