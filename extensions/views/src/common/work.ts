/** What is worked on: what, how far, how fast, how long still; and a stop. */
import { h, setAttributes, setText } from './dom';
import { duration, grouped, si } from './numbers';
import { button } from './parts';

/** Some work, counted. */
export interface Work {
  readonly what: string;
  readonly done: number;
  /** How much there is, where that is known. */
  readonly total: number | null;
  readonly seconds: number;
  /** What is counted, and where it is longer, that which stands for it beside a rate. */
  readonly unit: string;
  readonly short?: string;
  /** Whether it can be stopped; true where nothing is said. */
  readonly stops?: boolean;
}

/** `1,280 of 3,200 rows through the model · 2.1 K rows/s · about 0.9 s left`. */
export function workWords(work: Work): string {
  const of = work.total === null ? '' : ` of ${grouped(work.total)}`;
  const parts = [`${grouped(work.done)}${of} ${work.unit}`];
  if (work.seconds > 0.2 && work.done > 0) {
    const rate = work.done / work.seconds;
    parts.push(`${rate < 1000 ? rate.toFixed(0) : si(rate)} ${work.short ?? work.unit}/s`);
    if (work.total !== null && work.total > work.done) {
      parts.push(`about ${duration((work.total - work.done) / rate)} left`);
    }
  }
  return parts.join(' · ');
}

/** The line of work. */
export class WorkLine {
  private readonly what = h('b', {});
  private readonly words = h('span', { 'data-testid': 'wb-progress-words' });
  private readonly fill = h('i');
  private readonly bar = h('div', { class: 'wb-progress', 'aria-label': 'Progress' }, this.fill);
  private readonly stop: HTMLButtonElement;
  readonly element: HTMLElement;

  constructor(stop: () => void) {
    this.stop = button('■ Stop', stop, { 'data-testid': 'wb-stop', title: 'Keep the picture that is there' });
    this.element = h(
      'div',
      { class: 'wb-work', 'data-testid': 'wb-work', role: 'status', 'aria-live': 'off' },
      h('div', {}, this.what, ' ', this.words),
      this.stop,
      this.bar
    );
  }

  /** Shows how far it is. It keeps its place while nothing is worked on: nothing moves. */
  update(work: Work | null): void {
    this.element.toggleAttribute('data-idle', work === null);
    this.element.inert = work === null;
    if (work === null) {
      return;
    }
    setText(this.what, work.what);
    setText(this.words, workWords(work));
    this.stop.hidden = work.stops === false;
    const part = work.total ? Math.min(1, work.done / work.total) : null;
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
