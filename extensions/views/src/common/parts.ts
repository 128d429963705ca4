/** Small parts that every view uses: buttons, fields, segments, dimension chips, notices, code to copy. */
import type { Host } from '../host';
import { dimensionColour } from './colours';
import { h, replace, setText, type Attributes, type Child } from './dom';
import { exact } from './numbers';

/** A dimension as messages send it. */
export interface Named {
  readonly name: string | null;
  readonly size: number;
}

/** `C 64`, or `·3` for a dimension without a name. */
export function dimensionText(dim: Named): string {
  return dim.name === null ? `·${dim.size}` : `${dim.name} ${dim.size}`;
}

/** A dimension as a chip in its colour, with its name. */
export function chip(dim: Named, dark: boolean): HTMLElement {
  const colour = dimensionColour(dim.name, dark);
  const label = dim.name === null ? [`·${dim.size}`] : [h('b', {}, dim.name), String(dim.size)];
  const element = h('span', { class: 'wb-chip', 'data-dim': dim.name ?? '' }, ...label);
  element.style.setProperty('--wb-dim', colour);
  return element;
}

/** A button that does something. */
export function button(label: string, run: () => void, attributes: Attributes = {}): HTMLButtonElement {
  const element = h('button', { type: 'button', class: 'wb-button', ...attributes }, label);
  element.addEventListener('click', run);
  return element;
}

/** A few choices of which one holds; arrow keys move between them. */
export class Segments<T extends string> {
  readonly element: HTMLElement;
  private readonly buttons = new Map<T, HTMLButtonElement>();

  constructor(
    label: string,
    choices: readonly (readonly [T, string])[],
    private chosen: T,
    private readonly changed: (value: T) => void,
    testid = ''
  ) {
    for (const [value, text] of choices) {
      const element = button(text, () => this.choose(value), {
        role: 'radio',
        'data-value': value,
        // A narrow place cuts it.
        title: text
      });
      this.buttons.set(value, element);
    }
    this.element = h(
      'span',
      { class: 'wb-segments', role: 'radiogroup', 'aria-label': label, 'data-testid': testid || null },
      ...this.buttons.values()
    );
    this.element.addEventListener('keydown', event => this.key(event));
    this.mark();
  }

  /** What is chosen. */
  get value(): T {
    return this.chosen;
  }

  /** Chooses without telling. */
  set(value: T): void {
    this.chosen = value;
    this.mark();
  }

  private choose(value: T): void {
    if (value !== this.chosen) {
      this.set(value);
      this.changed(value);
    }
  }

  private key(event: KeyboardEvent): void {
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    if (step !== undefined) {
      const values = [...this.buttons.keys()];
      const next = values[(values.indexOf(this.chosen) + step + values.length) % values.length]!;
      this.choose(next);
      this.buttons.get(next)?.focus();
      event.preventDefault();
      event.stopPropagation();
    }
  }

  private mark(): void {
    for (const [value, element] of this.buttons) {
      element.setAttribute('aria-checked', String(value === this.chosen));
      element.tabIndex = value === this.chosen ? 0 : -1;
    }
  }
}

/** A labelled list of choices. */
export function select<T extends string>(
  label: string,
  choices: readonly (readonly [T, string])[],
  value: T,
  changed: (value: T) => void,
  testid = ''
): { readonly element: HTMLElement; readonly input: HTMLSelectElement } {
  const options = choices.map(([key, text]) => h('option', { value: key }, text));
  const input = h(
    'select',
    { class: 'wb-select', 'aria-label': label, 'data-testid': testid || null },
    ...options
  );
  input.value = value;
  input.addEventListener('change', () => changed(input.value as T));
  return { element: h('label', { class: 'wb-field' }, h('span', {}, label), input), input };
}

/** `std 1.00`: a quiet name and a value, the exact one on hover. */
export function figureItem(
  name: string,
  text: string,
  value?: number | null,
  attributes: Attributes = {}
): HTMLElement {
  const title = value === undefined ? null : `${name}: ${exact(value)}`;
  return h('span', { class: 'wb-figure', title, ...attributes }, h('span', {}, name), text);
}

const SIGNS = { wrong: '✕', warn: '▲', done: '✓' } as const;

/** A line that says what is wrong, or warns; it is hidden while it says nothing. */
export class Notice {
  readonly element: HTMLElement;
  private readonly text = h('span', {});

  constructor(kind: 'wrong' | 'warn' | 'done', testid: string, dismiss?: () => void) {
    const close = dismiss
      ? button('×', dismiss, { class: 'wb-button wb-button-plain', 'aria-label': 'Dismiss' })
      : null;
    this.element = h(
      'div',
      {
        class: 'wb-notice',
        'data-kind': kind,
        role: kind === 'wrong' ? 'alert' : 'status',
        'data-testid': testid,
        hidden: true
      },
      h('span', { 'aria-hidden': 'true' }, SIGNS[kind]),
      this.text,
      close
    );
  }

  /** Says something, or hides with an empty text. */
  say(text: string): void {
    setText(this.text, text);
    this.element.hidden = text === '';
  }

  /** What it says. */
  get message(): string {
    return this.text.textContent ?? '';
  }
}

/**
 * Names and values in two columns. Not a `dl`: JupyterLab styles those in outputs, for lists in prose.
 */
export function pairs(rows: readonly (readonly [string, string, string?])[]): HTMLElement {
  return h(
    'div',
    { class: 'wb-pairs' },
    ...rows.flatMap(([name, value, title]) => [
      // Cut where it is long: the values keep their room.
      h('span', { title: name }, name),
      h('span', { title: title ?? null }, value)
    ])
  );
}

/** Code with a button that copies it. */
export function codeBlock(code: string, copy: (text: string) => void, testid = ''): HTMLElement {
  const done = button(
    'copy',
    () => {
      copy(code);
      setText(done, 'copied');
      setTimeout(() => setText(done, 'copy'), 1200);
    },
    { 'aria-label': 'Copy this code' }
  );
  return h(
    'div',
    { class: 'wb-code', 'data-testid': testid || null },
    h('span', { class: 'wb-code-text' }, code),
    done
  );
}

/** What stands where there is nothing to show yet: what to run, one line to copy. */
export function emptyState(sentence: string, code: string, copy: (text: string) => void): HTMLElement {
  const parts: Child[] = [h('p', {}, sentence)];
  if (code) {
    parts.push(codeBlock(code, copy, 'wb-empty-code'));
  }
  return h('div', { class: 'wb-empty', 'data-testid': 'wb-empty' }, ...parts);
}

/** Replaces the children of a list of chips. */
export function fillChips(element: HTMLElement, dims: readonly Named[], dark: boolean): void {
  replace(element, ...dims.map(dim => chip(dim, dark)));
}

/** What a place may do with code that a view has written. */
export type CodePlace = Pick<Host<never>, 'copy' | 'write'>;

/** Copies code and puts it into a new cell; says what was done. */
export function writeCode(place: CodePlace, code: string): string {
  place.copy(code);
  return place.write?.(code) ? 'in a new cell, and copied' : 'copied: there is no notebook here';
}
