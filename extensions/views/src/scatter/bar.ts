/** The line under the projector: what is drawn, and how. */
import type { ScatterQuality, ScatterState } from '../protocol';
import { h, setText } from '../common/dom';
import { figure, grouped, percent } from '../common/numbers';
import { button, Segments } from '../common/parts';
import { countShown } from './filters';
import type { Scene } from './scene';
import { pointsInWords } from './window';

/** What the bar asks of the view. */
export interface BarEvents {
  turn(flat: boolean): void;
  redraw(): void;
  reset(): void;
  rail(): void;
  step(back: boolean): void;
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
  private readonly rail: HTMLButtonElement;
  private readonly back: HTMLButtonElement;
  private readonly forth: HTMLButtonElement;

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
    this.rail = button('projection', () => events.rail(), {
      'aria-pressed': 'false',
      title: 'Method, frames, comparison and bookmarks',
      'data-testid': 'wb-show-rail'
    });
    const plain = (sign: string, label: string, run: () => void, testid: string): HTMLButtonElement =>
      button(sign, run, { 'aria-label': label, title: label, 'data-testid': testid });
    this.back = plain('↶', 'Undo (Ctrl+Z)', () => events.step(true), 'wb-undo');
    this.forth = plain('↷', 'Redo (Ctrl+Shift+Z)', () => events.step(false), 'wb-redo');
    const reset = plain('reset', 'Reset the view', () => events.reset(), 'wb-reset-view');
    this.element = h(
      'div',
      { class: 'wb-bar' },
      this.rail,
      this.facts,
      this.note,
      h('span', { class: 'wb-spacer' }),
      this.space.element,
      this.shape.element,
      this.labelsButton,
      this.back,
      this.forth,
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

  /** Says whether the rail is open. */
  railOpen(open: boolean): void {
    this.rail.setAttribute('aria-pressed', String(open));
    this.rail.setAttribute('aria-expanded', String(open));
  }

  /** Says whether there is a step to go back, or forward again. */
  steps(back: boolean, forth: boolean): void {
    this.back.disabled = !back;
    this.forth.disabled = !forth;
  }

  /** Writes the facts of what is seen. */
  update(scene: Scene): void {
    setText(this.facts, factsOf(scene).join(' · '));
    this.facts.classList.toggle('wb-loud', scene.cloud.lost > 0);
  }

  private toggleLabels(): void {
    this.labels = !this.labels;
    this.labelsButton.setAttribute('aria-pressed', String(this.labels));
    this.events.redraw();
  }
}

/** As wide as a figure that is not there yet. */
const NOT_YET = '…\u2007\u2007\u2007';

/** How far the picture can be trusted, and of how many points that is said where it is not all. */
export function qualityInWords({ trustworthiness, continuity, k, judged, points }: ScatterQuality): string {
  const of = judged < points ? `, of ${grouped(judged)} of ${grouped(points)} points judged` : '';
  const [trust, whole] = [trustworthiness, continuity].map(one => (one === null ? NOT_YET : figure(one)));
  return `trustworthiness ${trust}, continuity ${whole} (k = ${k}${of})`;
}

/** Method, how many of how many points, and how far the picture can be trusted. */
export function factsOf({ state, cloud, shown, alone }: Scene): string[] {
  const parts = [state.method];
  if (state.facts) {
    parts.push(state.facts);
  }
  parts.push(pointsInWords(state, alone, cloud.lost));
  if (shown) {
    parts.push(`${grouped(countShown(shown, cloud.count))} shown`);
  }
  if (state.explained.length > 0) {
    const axes = state.explained.slice(0, 3).map((part, index) => `PC${index + 1} ${percent(part)}`);
    parts.push(`explained variance ${axes.join(', ')}`);
  }
  if (state.quality) {
    parts.push(qualityInWords(state.quality));
  }
  if (cloud.count - cloud.lost > 1 && state.low.every((least, axis) => least === state.high[axis])) {
    parts.push('all of them at one place');
  }
  if (cloud.lost > 0) {
    parts.push(`${grouped(cloud.lost)} without a place`);
  }
  return parts;
}
