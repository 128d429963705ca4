/** A question that is worked on: what, how far, how fast, how long still; and a stop. */
import type { HeatmapWork } from '../protocol';
import { h, setAttributes, setText } from '../common/dom';
import { duration, grouped, si } from '../common/numbers';
import { button } from '../common/parts';

/** `1,280 of 3,200 rows · 2.1 K rows/s · about 0.9 s left`. */
export function workWords(work: HeatmapWork): string {
  const of = work.total === null ? '' : ` of ${grouped(work.total)}`;
  const parts = [`${grouped(work.rows)}${of} rows through the model`];
  if (work.seconds > 0.2 && work.rows > 0) {
    const rate = work.rows / work.seconds;
    parts.push(`${rate < 1000 ? rate.toFixed(0) : si(rate)} rows/s`);
    if (work.total !== null && work.total > work.rows) {
      parts.push(`about ${duration((work.total - work.rows) / rate)} left`);
    }
  }
  return parts.join(' · ');
}

/** The line of work. */
export class WorkLine {
  private readonly what = h('b', {});
  private readonly words = h('span', { 'data-testid': 'wb-progress-words' });
  private readonly fill = h('i');
  private readonly bar = h('div', { class: 'wb-heat-progress', 'aria-label': 'Progress' }, this.fill);
  readonly element: HTMLElement;

  constructor(stop: () => void) {
    this.element = h(
      'div',
      { class: 'wb-heat-work', 'data-testid': 'wb-work', role: 'status', 'aria-live': 'off' },
      h('div', {}, this.what, ' ', this.words),
      button('■ Stop', stop, { 'data-testid': 'wb-stop', title: 'Keep the picture that is there' }),
      this.bar
    );
  }

  /** Shows how far it is. It keeps its place while nothing is worked on: nothing moves. */
  update(work: HeatmapWork | null): void {
    this.element.toggleAttribute('data-idle', work === null);
    this.element.inert = work === null;
    if (work === null) {
      return;
    }
    setText(this.what, work.what);
    setText(this.words, workWords(work));
    const part = work.total ? Math.min(1, work.rows / work.total) : null;
    this.bar.toggleAttribute('data-unknown', part === null);
    this.fill.style.width = part === null ? '' : `${(part * 100).toFixed(1)}%`;
    setAttributes(this.bar, {
      role: 'progressbar',
      'aria-valuenow': part === null ? null : Math.round(part * 100),
      'aria-valuemin': 0,
      'aria-valuemax': 100
    });
  }
}
