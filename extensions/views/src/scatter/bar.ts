/** The line under the projector: what is drawn, and how. */
import type { ScatterState } from '../protocol';
import { h, setText } from '../common/dom';
import { grouped, percent } from '../common/numbers';
import { button, Segments } from '../common/parts';
import type { Cloud } from './cloud';

/** What the bar asks of the view. */
export interface BarEvents {
  turn(flat: boolean): void;
  redraw(): void;
  reset(): void;
}

/** Facts and controls. */
export class Bar {
  readonly element: HTMLElement;
  /** Whether the names of the categories are written. */
  labels = true;
  private readonly facts = h('span', { 'data-testid': 'wb-facts' });
  private readonly note = h('span', { class: 'wb-quiet', 'data-testid': 'wb-renderer-note' });
  private readonly space: Segments<'2' | '3'>;
  private readonly shape: Segments<'dots' | 'pictures'>;
  private readonly labelsButton: HTMLButtonElement;

  constructor(private readonly events: BarEvents) {
    this.space = new Segments(
      'Dimensions',
      [
        ['2', '2-D'],
        ['3', '3-D']
      ],
      '3',
      value => events.turn(value === '2'),
      'wb-space'
    );
    this.shape = new Segments(
      'Draw points as',
      [
        ['dots', 'dots'],
        ['pictures', 'pictures']
      ],
      'dots',
      () => events.redraw(),
      'wb-shape'
    );
    this.labelsButton = button('labels', () => this.toggleLabels(), {
      'aria-pressed': 'true',
      'data-testid': 'wb-labels'
    });
    const reset = button('reset', () => events.reset(), {
      'aria-label': 'Reset the view',
      'data-testid': 'wb-reset-view'
    });
    this.element = h(
      'div',
      { class: 'wb-bar' },
      this.facts,
      this.note,
      h('span', { class: 'wb-spacer' }),
      this.space.element,
      this.shape.element,
      this.labelsButton,
      reset
    );
  }

  /** Whether the plane is asked for. */
  get flat(): boolean {
    return this.space.value === '2';
  }

  /** Whether points are asked for as pictures. */
  get pictures(): boolean {
    return this.shape.value === 'pictures';
  }

  /** The facts as text. */
  get text(): string {
    return this.facts.textContent ?? '';
  }

  /** Offers what other points allow. */
  offer(state: ScatterState, flat: boolean): void {
    this.space.set(flat ? '2' : '3');
    this.space.element.style.display = state.dims === 3 ? '' : 'none';
    this.shape.element.style.display = state.sprite ? '' : 'none';
  }

  /** Says how points are drawn, where a person should know. */
  say(why: string): void {
    setText(this.note, why);
  }

  /** Writes the facts of a state. */
  update(state: ScatterState, cloud: Cloud): void {
    const parts = [state.method, `${grouped(state.count)} of ${grouped(state.total)} points`];
    if (state.explained.length > 0) {
      const axes = state.explained.slice(0, 3).map((part, index) => `PC${index + 1} ${percent(part)}`);
      parts.push(`explained variance ${axes.join(', ')}`);
    }
    if (cloud.lost > 0) {
      parts.push(`${grouped(cloud.lost)} without a place (NaN or inf)`);
    }
    setText(this.facts, parts.join(' · '));
    this.facts.classList.toggle('wb-loud', cloud.lost > 0);
  }

  private toggleLabels(): void {
    this.labels = !this.labels;
    this.labelsButton.setAttribute('aria-pressed', String(this.labels));
    this.events.redraw();
  }
}
