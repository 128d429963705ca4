/** A range over a strip, whatever the strip shows: two handles to drag, to move by keys, and to type. */
import { h } from '../common/dom';
import { exact, figure, parse } from '../common/numbers';
import { clamp } from '../common/scales';
import { hasFocus } from '../common/focus';

type Range = readonly [number, number];

/** Two handles over a strip of numbers from `low` to `high`. */
export class Brush {
  readonly element: HTMLElement;
  private readonly strip: HTMLElement;
  private readonly window = h('i', { class: 'wb-brush-window' });
  private readonly handles: readonly HTMLElement[];
  private readonly fields: readonly HTMLInputElement[];
  private low = 0;
  private high = 1;
  private range: Range = [0, 1];
  private held: number | null = null;

  /** `background` is what lies under the handles; `changed` gets null where all is shown. */
  constructor(
    private readonly name: string,
    background: Element,
    private readonly changed: (range: Range | null, done: boolean) => void
  ) {
    this.handles = [0, 1].map(side => this.handle(side));
    this.fields = [0, 1].map(side => this.field(side));
    this.strip = h(
      'div',
      { class: 'wb-brush-strip' },
      background as HTMLElement,
      this.window,
      ...this.handles
    );
    this.element = h(
      'div',
      { class: 'wb-brush', 'data-column': name },
      this.strip,
      h(
        'div',
        { class: 'wb-line wb-brush-fields' },
        this.fields[0],
        h('span', { class: 'wb-spacer' }),
        this.fields[1]
      )
    );
    this.strip.addEventListener('pointerdown', event => this.down(event));
    this.strip.addEventListener('pointermove', event => this.move(event));
    this.strip.addEventListener('pointerup', event => this.up(event));
    this.strip.addEventListener('pointercancel', event => this.up(event));
    // A double click on the strip shows all again.
    this.strip.addEventListener('dblclick', () => this.take([this.low, this.high], true));
  }

  /** Shows a range; what a hand holds stays. */
  update(low: number, high: number, range: Range | null): void {
    [this.low, this.high] = [low, high];
    if (this.held === null) {
      this.range = range ? [clamp(range[0], low, high), clamp(range[1], low, high)] : [low, high];
    }
    this.write();
  }

  private handle(side: number): HTMLElement {
    const element = h('b', {
      class: 'wb-brush-handle',
      role: 'slider',
      tabindex: 0,
      'aria-label': `${this.name}: ${side === 0 ? 'least' : 'greatest'} value that is shown`,
      'data-testid': side === 0 ? 'wb-range-low' : 'wb-range-high'
    });
    element.addEventListener('keydown', event => this.key(event, side));
    return element;
  }

  private field(side: number): HTMLInputElement {
    const element = h('input', {
      type: 'text',
      inputmode: 'decimal',
      class: 'wb-input wb-input-number',
      'aria-label': `${this.name}: ${side === 0 ? 'from' : 'to'}`,
      'data-testid': side === 0 ? 'wb-range-from' : 'wb-range-to'
    });
    element.addEventListener('change', () => {
      const typed = parse(element.value);
      const wrong = 'problem' in typed;
      element.setAttribute('aria-invalid', String(wrong));
      element.title = wrong ? typed.problem : '';
      if (!wrong) {
        this.set(side, typed.value, true);
      }
    });
    element.addEventListener('keydown', event => event.stopPropagation());
    return element;
  }

  private key(event: KeyboardEvent, side: number): void {
    const step = ((this.high - this.low) / 100) * (event.shiftKey ? 10 : 1);
    const by = { ArrowLeft: -step, ArrowDown: -step, ArrowRight: step, ArrowUp: step }[event.key];
    if (by !== undefined) {
      this.set(side, this.range[side]! + by, true);
    } else if (event.key === 'Home' || event.key === 'End') {
      this.set(side, event.key === 'Home' ? this.low : this.high, true);
    } else if (event.key === 'Escape') {
      this.take([this.low, this.high], true);
    } else {
      return;
    }
    event.preventDefault();
    event.stopPropagation();
  }

  private at(event: PointerEvent): number {
    const box = this.strip.getBoundingClientRect();
    const part = clamp((event.clientX - box.left) / Math.max(1, box.width), 0, 1);
    return this.low + part * (this.high - this.low);
  }

  private down(event: PointerEvent): void {
    if (event.button !== 0) {
      return;
    }
    const value = this.at(event);
    const on = this.handles.indexOf(event.target as HTMLElement);
    // Anywhere else a press begins a new range.
    if (on >= 0) {
      this.held = on;
    } else {
      this.held = 1;
      this.range = [value, value];
    }
    this.handles[this.held]!.focus();
    this.strip.setPointerCapture(event.pointerId);
    event.preventDefault();
  }

  private move(event: PointerEvent): void {
    if (this.held !== null) {
      const value = this.at(event);
      // A handle that passes the other one goes on as the other.
      const other = this.range[1 - this.held]!;
      if ((this.held === 1 && value < other) || (this.held === 0 && value > other)) {
        this.held = 1 - this.held;
        this.range = this.held === 1 ? [other, value] : [value, other];
      }
      this.set(this.held, value, false);
    }
  }

  private up(event: PointerEvent): void {
    if (this.held === null) {
      return;
    }
    this.held = null;
    this.strip.releasePointerCapture(event.pointerId);
    // A click in the middle of nowhere is no range.
    this.take(this.range[0] === this.range[1] ? [this.low, this.high] : this.range, true);
  }

  private set(side: number, value: number, done: boolean): void {
    const [from, to] = this.range;
    this.take(side === 0 ? [clamp(value, this.low, to), to] : [from, clamp(value, from, this.high)], done);
  }

  private take(range: Range, done: boolean): void {
    this.range = range;
    this.write();
    this.changed(range[0] <= this.low && range[1] >= this.high ? null : range, done);
  }

  private write(): void {
    const span = this.high - this.low || 1;
    const parts = this.range.map(value => (value - this.low) / span);
    this.window.style.left = `${parts[0]! * 100}%`;
    this.window.style.right = `${(1 - parts[1]!) * 100}%`;
    this.handles.forEach((handle, side) => {
      handle.style.left = `${parts[side]! * 100}%`;
      handle.setAttribute('aria-valuemin', String(this.low));
      handle.setAttribute('aria-valuemax', String(this.high));
      handle.setAttribute('aria-valuenow', String(this.range[side]));
      handle.setAttribute('aria-valuetext', figure(this.range[side]));
      const field = this.fields[side]!;
      if (!hasFocus(field)) {
        field.value = figure(this.range[side]);
        field.title = exact(this.range[side]);
        field.setAttribute('aria-invalid', 'false');
      }
    });
  }
}
