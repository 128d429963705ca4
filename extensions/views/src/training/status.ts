/** How far a training is, whether it runs, and the buttons that say what it should do. */
import type { TrainingState, TrainingViewEvent } from '../protocol';
import { h, replace, setAttributes, setText } from '../common/dom';
import { duration, exact, figure, grouped, si } from '../common/numbers';
import { button, figureItem } from '../common/parts';

type Counters = TrainingState['counters'];

const SIGNS: Readonly<Record<TrainingState['status'], readonly [string, string]>> = {
  idle: ['○', 'not begun'],
  running: ['▶', 'running'],
  paused: ['❚❚', 'paused'],
  stopped: ['■', 'stopped'],
  finished: ['✓', 'finished'],
  failed: ['✕', 'failed']
};

/** Sign and word for what a training does; `lost` where nobody can know any more. */
export function saying(
  state: Pick<TrainingState, 'status' | 'asked'>,
  lost: boolean
): readonly [string, string] {
  const [sign, word] = SIGNS[state.status];
  const active = state.status === 'running' || state.status === 'paused';
  if (active && lost) {
    return ['○', `was ${word}`];
  }
  return active && state.asked !== ''
    ? [sign, state.asked === 'stop' ? 'stopping …' : 'pausing …']
    : [sign, word];
}

/** The part that is done, 0 to 1; null where the end is not known. */
export function done(counters: Counters, status: TrainingState['status']): number | null {
  if (status === 'finished') {
    return 1;
  }
  return counters.steps ? Math.min(1, counters.step / counters.steps) : null;
}

/** Where a training is, in words: `epoch 3 of 10 · batch 12 of 40 · step 412 of 1,200`. */
export function whereabouts(counters: Counters): string[] {
  const of = (value: number | null): string => (value === null ? '' : ` of ${grouped(value)}`);
  const { epoch, epochs, batch, batches, step, steps } = counters;
  const parts = [];
  if (batch > 0) {
    parts.push(`epoch ${grouped(epoch + 1)}${of(epochs)}`, `batch ${grouped(batch)}${of(batches)}`);
  } else {
    parts.push(epochs === null ? `${grouped(epoch)} epochs` : `epoch ${grouped(epoch)}${of(epochs)}`);
  }
  parts.push(`step ${grouped(step)}${of(steps)}`);
  return parts;
}

/** The line below the head. */
export class StatusLine {
  readonly element: HTMLElement;
  private readonly sign = h('span', { 'aria-hidden': 'true' });
  private readonly word = h('span', { 'data-testid': 'wb-state', role: 'status' });
  private readonly chip = h('span', { class: 'wb-train-state' }, this.sign, this.word);
  private readonly place = h('span', { class: 'wb-train-place', 'data-testid': 'wb-progress-words' });
  private readonly figures = h('span', { class: 'wb-figures', 'data-testid': 'wb-figures' });
  private readonly fill = h('i');
  private readonly bar = h(
    'div',
    { class: 'wb-train-bar', role: 'progressbar', 'aria-label': 'Progress', 'data-testid': 'wb-progress' },
    this.fill
  );
  private readonly pause: HTMLButtonElement;
  private readonly stop: HTMLButtonElement;
  private readonly buttons: HTMLElement;
  private paused = false;

  constructor(private readonly ask: (event: TrainingViewEvent) => Promise<unknown>) {
    this.pause = button('Pause', () => this.press(this.pause, { type: this.paused ? 'resume' : 'pause' }), {
      'data-testid': 'wb-pause'
    });
    this.stop = button('Stop', () => this.press(this.stop, { type: 'stop' }), { 'data-testid': 'wb-stop' });
    this.buttons = h('span', { class: 'wb-train-buttons' }, this.pause, this.stop);
    this.element = h(
      'div',
      { class: 'wb-train-top' },
      h('div', { class: 'wb-train-line' }, this.chip, this.place, this.buttons),
      this.bar,
      this.figures
    );
  }

  /** Shows another state; `lost` says why nobody can be asked, and is empty if somebody can. */
  update(state: TrainingState, lost: string): void {
    const { counters, status, asked } = state;
    const [sign, word] = saying(state, lost !== '');
    setText(this.sign, sign);
    setText(this.word, word);
    this.chip.dataset['state'] = status;
    replace(this.place, ...whereabouts(counters).map(part => h('span', {}, part)));
    this.place.hidden = status === 'idle';
    const part = done(counters, status);
    this.bar.hidden = part === null || status === 'idle';
    this.bar.dataset['state'] = status;
    this.fill.style.width = `${((part ?? 0) * 100).toFixed(2)}%`;
    setAttributes(this.bar, {
      'aria-valuenow': Math.round((part ?? 0) * 100),
      'aria-valuemin': 0,
      'aria-valuemax': 100
    });
    this.writeFigures(state);
    const active = status === 'running' || status === 'paused';
    const holds = status === 'paused' || asked === 'pause';
    this.buttons.hidden = !active;
    this.paused = holds;
    const why = lost === '' ? '' : `Nobody can be asked: ${lost}`;
    this.pause.disabled = lost !== '' || asked === 'stop';
    this.stop.disabled = lost !== '' || asked === 'stop';
    setText(this.pause, holds ? '▶ Resume' : '❚❚ Pause');
    setText(this.stop, '■ Stop');
    this.pause.title = why || (holds ? 'Go on with the next batch' : 'Wait after this batch');
    this.stop.title = why || 'End after this batch; fit(…, resume=True) goes on';
  }

  /** State and place in one line, for a file. */
  get summary(): string {
    const figures = [...this.figures.children].map(one =>
      [...one.childNodes].map(part => part.textContent).join(' ')
    );
    const places = [...this.place.children].map(one => one.textContent);
    return [this.word.textContent, ...places, ...figures].join(' · ');
  }

  private press(pressed: HTMLButtonElement, event: TrainingViewEvent): void {
    pressed.setAttribute('aria-busy', 'true');
    void this.ask(event).then(() => pressed.removeAttribute('aria-busy'));
  }

  private writeFigures({ counters, status }: TrainingState): void {
    const active = status === 'running' || status === 'paused';
    const { rate, seconds, seconds_left: left, skipped } = counters;
    replace(
      this.figures,
      rate === null
        ? null
        : figureItem('throughput', `${rate < 1000 ? figure(rate) : si(rate)} samples/s`, rate),
      seconds > 0 ? figureItem('trained for', duration(seconds), seconds) : null,
      active && left !== null
        ? h(
            'span',
            { class: 'wb-figure', title: `${exact(left)} s` },
            h('span', {}, 'time left'),
            `about ${duration(left < 10 ? left : Math.round(left))}`
          )
        : null,
      skipped > 0 ? figureItem('skipped by float16', grouped(skipped), skipped) : null
    );
  }
}
