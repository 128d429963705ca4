/** How much curves are smoothed: a slider, and a field to type in. */
import { h } from '../common/dom';
import { clamp } from '../common/scales';

const MOST = 0.99;

/** The control with its weight. */
export class Smoothing {
  readonly element: HTMLElement;
  /** What stays of the average from one stretch of steps to the next. */
  weight: number;
  private readonly slider = h('input', {
    type: 'range',
    class: 'wb-range',
    min: 0,
    max: MOST,
    step: 0.01,
    'aria-label': 'Smoothing',
    'data-testid': 'wb-smoothing'
  });
  private readonly field = h('input', {
    type: 'number',
    class: 'wb-input wb-input-number',
    min: 0,
    max: MOST,
    step: 0.01,
    'aria-label': 'Smoothing, as a number',
    'data-testid': 'wb-smoothing-field'
  });

  constructor(
    usual: number,
    private readonly changed: () => void
  ) {
    this.weight = usual;
    this.slider.value = this.field.value = String(usual);
    this.element = h('label', { class: 'wb-field' }, 'smoothing', this.slider, this.field);
    this.element.title =
      'Each value counts this much less than the next one; the raw values stay behind, pale';
    this.slider.addEventListener('input', () => this.set(Number(this.slider.value)));
    this.slider.addEventListener('dblclick', () => this.set(usual));
    this.field.addEventListener('change', () =>
      this.set(this.field.value === '' ? usual : Number(this.field.value))
    );
  }

  private set(weight: number): void {
    this.weight = Number.isFinite(weight) ? clamp(weight, 0, MOST) : this.weight;
    this.slider.value = this.field.value = String(this.weight);
    this.changed();
  }
}
