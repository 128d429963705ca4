/** The rows above the cards of a log: what is shown, smoothing, axis, tags, the step, and turning pages. */
import type { RunsState } from '../protocol';
import { h, replace, setText } from '../common/dom';
import { grouped } from '../common/numbers';
import { button, Segments } from '../common/parts';
import { Smoothing } from '../training/smoothing';
import type { Over } from './across';
import { hasFocus } from '../common/focus';

type Page = RunsState['page'];

const TITLES: Readonly<Record<Page, string>> = {
  scalars: 'scalars',
  histograms: 'histograms',
  images: 'images',
  texts: 'texts',
  curves: 'precision & recall',
  table: 'hyperparameters'
};
const USUAL = 0.6;

/** Whom the tools tell. */
export interface ToolsHost {
  changed(): void;
  across(over: Over): void;
  page(page: Page, first: number): void;
  filter(pattern: string): void;
  step(step: number | null): void;
  /** All of the steps again. */
  all(): void;
  follow(on: boolean): void;
}

/** The rows with their state. */
export class RunsTools {
  readonly pages = h('div', { class: 'wb-runs-pages' });
  readonly element: HTMLElement;
  readonly pager: HTMLElement;
  log = false;
  over: Over = 'step';
  readonly smoothing: Smoothing;
  readonly field = h('input', {
    type: 'search',
    class: 'wb-input',
    placeholder: 'tags: a pattern  /',
    'aria-label': 'Show only tags that match this regular expression',
    'data-testid': 'wb-find-tags'
  });
  private readonly curves: HTMLElement;
  private readonly all: HTMLButtonElement;
  private readonly steps: HTMLElement;
  private readonly slider = h('input', {
    type: 'range',
    class: 'wb-range',
    min: 0,
    step: 1,
    'aria-label': 'Step',
    'data-testid': 'wb-step'
  });
  private readonly number = h('input', {
    type: 'number',
    class: 'wb-input wb-input-number',
    min: 0,
    'aria-label': 'Step, as a number',
    'data-testid': 'wb-step-field'
  });
  private readonly latest: HTMLButtonElement;
  private readonly before: HTMLButtonElement;
  private readonly after: HTMLButtonElement;
  private readonly place = h('span', { 'data-testid': 'wb-page-words' });
  private readonly note = h('span', { class: 'wb-quiet', 'data-testid': 'wb-coarse' });
  private state: RunsState | null = null;
  private typing: ReturnType<typeof setTimeout> | undefined;

  constructor(private readonly host: ToolsHost) {
    this.smoothing = new Smoothing(USUAL, () => host.changed());
    const scale = new Segments<'linear' | 'log'>(
      'Scale of the values',
      [
        ['linear', 'linear'],
        ['log', 'log']
      ],
      'linear',
      value => {
        this.log = value === 'log';
        host.changed();
      },
      'wb-scale'
    );
    const across = new Segments<Over>(
      'What runs across',
      [
        ['step', 'step'],
        ['relative', 'relative'],
        ['wall', 'wall time']
      ],
      'step',
      value => {
        this.over = value;
        host.across(value);
      },
      'wb-across'
    );
    this.all = button('all', () => host.all(), {
      'data-testid': 'wb-all-steps',
      title: 'Show all of it again (0 on a chart, or a double click)'
    });
    this.curves = h(
      'span',
      { class: 'wb-runs-curve-tools' },
      this.smoothing.element,
      h('span', { class: 'wb-field' }, 'across', across.element, this.all),
      h('span', { class: 'wb-field' }, 'scale', scale.element)
    );
    this.latest = button('latest', () => host.step(null), { 'data-testid': 'wb-latest' });
    this.steps = h('span', { class: 'wb-field wb-runs-step' }, 'step', this.slider, this.number, this.latest);
    const follow = h('button', {
      type: 'button',
      class: 'wb-button',
      'aria-pressed': 'true',
      'data-testid': 'wb-follow',
      title: 'While this can be seen, look every two seconds whether more was written'
    });
    follow.textContent = 'follow';
    follow.addEventListener('click', () => {
      const on = follow.getAttribute('aria-pressed') !== 'true';
      follow.setAttribute('aria-pressed', String(on));
      host.follow(on);
    });
    this.element = h(
      'div',
      { class: 'wb-train-tools' },
      this.field,
      this.curves,
      this.steps,
      follow,
      this.note
    );
    this.before = button('‹', () => this.turn(-1), {
      'aria-label': 'The cards before',
      'data-testid': 'wb-before'
    });
    this.after = button('›', () => this.turn(1), {
      'aria-label': 'The next cards',
      'data-testid': 'wb-after'
    });
    this.pager = h('div', { class: 'wb-runs-pager' }, this.before, this.place, this.after);
    this.field.addEventListener('input', () => this.filter());
    this.field.addEventListener('keydown', event => {
      if (event.key === 'Escape' && this.field.value !== '') {
        this.field.value = '';
        this.filter();
        event.stopPropagation();
      }
    });
    this.slider.addEventListener('input', () => host.step(Number(this.slider.value)));
    this.number.addEventListener('change', () => {
      const value = Math.round(Number(this.number.value));
      host.step(this.number.value === '' || !Number.isFinite(value) ? null : Math.max(0, value));
    });
  }

  /** Shows what a state says. */
  accept(state: RunsState): void {
    this.state = state;
    const { page, pages, first, most, pattern, step, last_step } = state;
    const key = JSON.stringify([pages, page]);
    if (this.pages.dataset['key'] !== key) {
      this.pages.dataset['key'] = key;
      const choices = pages.map(one => [one.page, `${TITLES[one.page]} ${grouped(one.cards)}`] as const);
      const segments = new Segments<Page>(
        'What of the log is shown',
        choices,
        page,
        value => this.host.page(value, 0),
        'wb-runs-page'
      );
      replace(this.pages, segments.element);
    }
    const count = pages.find(one => one.page === page)?.cards ?? 0;
    const paged = page !== 'table' && count > most;
    this.pager.hidden = !paged;
    setText(
      this.place,
      `${grouped(first + 1)}–${grouped(Math.min(count, first + most))} of ${grouped(count)}`
    );
    this.before.disabled = first === 0;
    this.after.disabled = first + most >= count;
    this.curves.hidden = page !== 'scalars';
    this.steps.hidden = !['images', 'texts', 'curves'].includes(page);
    this.field.hidden = page === 'table';
    this.slider.max = String(Math.max(last_step, step ?? 0));
    this.latest.disabled = step === null;
    if (!hasFocus(this.slider)) {
      this.slider.value = String(step ?? last_step);
    }
    if (!hasFocus(this.number)) {
      this.number.value = step === null ? '' : String(step);
      this.number.placeholder = grouped(last_step);
    }
    if (!hasFocus(this.field)) {
      this.field.value = pattern;
    }
  }

  /** Says whether a part is shown, and how coarse it is. */
  explain(narrow: boolean, coarse: number): void {
    this.all.disabled = !narrow;
    setText(this.note, narrow && coarse > 1 ? `two points for every ${grouped(coarse)} values` : '');
  }

  /** Lets go. */
  destroy(): void {
    clearTimeout(this.typing);
  }

  private turn(pages: number): void {
    if (this.state) {
      this.host.page(this.state.page, Math.max(0, this.state.first + pages * this.state.most));
    }
  }

  private filter(): void {
    clearTimeout(this.typing);
    const pattern = this.field.value;
    try {
      new RegExp(pattern);
    } catch {
      // Half of a pattern is none yet: it is not asked for.
      this.field.setAttribute('aria-invalid', 'true');
      this.field.title = 'This is no regular expression';
      return;
    }
    this.field.removeAttribute('aria-invalid');
    this.field.title = '';
    this.typing = setTimeout(() => this.host.filter(pattern), 150);
  }
}
