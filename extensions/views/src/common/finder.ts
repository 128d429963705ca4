/** A search field, the list of what it finds, and going from one find to the next. */
import { h, replace, setText } from './dom';
import { grouped } from './numbers';
import { search } from './search';

/** How what was found stands in the list. */
export interface Entry {
  /** What the view calls it. */
  readonly id: string;
  readonly name: string;
  readonly where: string;
  /** All of it, to be read while the pointer rests on it. */
  readonly title: string;
}

/** What the finder asks of the view. */
export interface FinderEvents<T> {
  all(): Iterable<T>;
  /** What one is found by, each on a line of its own. */
  hay(one: T): string;
  entry(one: T): Entry;
  /** Shows one that was found. */
  show(id: string): void;
  /** Selects it. */
  choose(id: string): void;
  /** Gives the focus back. */
  leave(): void;
  /** What is found has changed. */
  redraw(): void;
}

/** The list shows so many; the others are found all the same, and marked. */
const LISTED = 60;

let lists = 0;

/** The field, how much was found, and the list of it. */
export class Finder<T> {
  readonly field = h('input', {
    type: 'search',
    class: 'wb-input',
    placeholder: '/ search',
    role: 'combobox',
    'aria-label': 'Search, by words or regular expressions',
    'aria-autocomplete': 'list',
    'aria-expanded': 'false',
    title: 'Words, or regular expressions: conv|linear, ^layer[34], \\.weight$',
    'data-testid': 'wb-search'
  });
  readonly text = h('span', {
    class: 'wb-finder-found',
    'aria-live': 'polite',
    'data-testid': 'wb-found'
  });
  readonly list: HTMLElement;
  readonly element: HTMLElement;
  /** What was found, in order. */
  found: readonly string[] = [];
  private at = -1;

  constructor(private readonly events: FinderEvents<T>) {
    lists += 1;
    this.list = h('ul', {
      class: 'wb-finder-list',
      role: 'listbox',
      id: `wb-finder-list-${lists}`,
      'aria-label': 'What was found',
      'data-testid': 'wb-found-list',
      hidden: true
    });
    this.field.setAttribute('aria-controls', this.list.id);
    this.element = h('span', { class: 'wb-finder' }, this.field, this.text, this.list);
    this.field.addEventListener('input', () => this.find());
    this.field.addEventListener('keydown', event => this.key(event));
    this.element.addEventListener('focusout', () => this.open(false));
    this.field.addEventListener('focus', () => this.open(true));
    // Not a click: by then the field would have lost the focus, and the list would be gone.
    this.list.addEventListener('pointerdown', event => {
      const entry = (event.target as Element).closest<HTMLElement>('[data-found-at]');
      if (entry) {
        event.preventDefault();
        this.jumpTo(Number(entry.dataset['foundAt']));
        this.events.choose(this.found[this.at]!);
      }
    });
  }

  /** Looks again for what is asked, where there is something else to be found. */
  refresh(): void {
    if (this.field.value !== '') {
      this.find();
      this.open(false);
    }
  }

  private find(): void {
    const { all, hay, entry } = this.events;
    const { found, problem } = search(all(), this.field.value, hay);
    const entries = found.map(entry);
    this.found = entries.map(one => one.id);
    this.at = -1;
    const asked = this.field.value.trim() !== '';
    setText(this.text, problem || (asked ? `${grouped(this.found.length)} found` : ''));
    this.field.setAttribute('aria-invalid', String(problem !== ''));
    const rows = entries.slice(0, LISTED).map((one, index) => row(one, index, this.list.id));
    const rest = entries.length - rows.length;
    replace(
      this.list,
      ...rows,
      rest > 0 ? h('li', { class: 'wb-quiet', role: 'presentation' }, `and ${grouped(rest)} more`) : null
    );
    this.open(true);
    if (this.found.length === 1) {
      this.jump(1);
    }
    this.events.redraw();
  }

  private open(open: boolean): void {
    // One find is shown already.
    const shown = open && this.found.length > 1;
    this.list.hidden = !shown;
    this.field.setAttribute('aria-expanded', String(shown));
  }

  private jump(step: number): void {
    const count = this.found.length;
    if (count > 0) {
      this.jumpTo((this.at < 0 && step < 0 ? 0 : this.at) + step);
    }
  }

  private jumpTo(index: number): void {
    const count = this.found.length;
    this.at = (index + count) % count;
    setText(this.text, `${this.at + 1} of ${grouped(count)}`);
    for (const row of this.list.querySelectorAll('[data-found-at]')) {
      const here = row.getAttribute('data-found-at') === String(this.at);
      row.setAttribute('aria-selected', String(here));
      if (here) {
        this.field.setAttribute('aria-activedescendant', row.id);
        // Only the list: `scrollIntoView` would move the page, too.
        this.list.scrollTop = (row as HTMLElement).offsetTop - this.list.clientHeight / 2;
      }
    }
    this.events.show(this.found[this.at]!);
  }

  private key(event: KeyboardEvent): void {
    if (event.key === 'Enter') {
      this.jump(event.shiftKey ? -1 : 1);
      const id = this.found[this.at];
      if (id !== undefined) {
        this.events.choose(id);
      }
    } else if (event.key === 'ArrowDown' || event.key === 'ArrowUp') {
      this.jump(event.key === 'ArrowDown' ? 1 : -1);
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

function row({ name, where, title }: Entry, index: number, list: string): HTMLElement {
  return h(
    'li',
    { role: 'option', id: `${list}-${index}`, 'data-found-at': index, 'aria-selected': 'false', title },
    h('b', {}, name),
    ' ',
    h('span', { class: 'wb-quiet' }, where)
  );
}
