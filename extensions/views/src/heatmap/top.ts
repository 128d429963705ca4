/** What is explained, what was predicted, what is true; and classes, each to be explained with a click. */
import type { ClassScore, HeatmapState } from '../protocol';
import { h, replace } from '../common/dom';
import { exact, grouped, percent } from '../common/numbers';
import { clamp } from '../common/scales';

const MOST_SCORES = 5;

/** The words and bars above the pictures. */
export class Top {
  private readonly words = h('div', { class: 'wb-heat-target', 'data-testid': 'wb-target' });
  private readonly scores = h('div', { class: 'wb-heat-scores', 'data-testid': 'wb-scores' });
  readonly element = h('div', { class: 'wb-heat-top' }, this.words, this.scores);

  constructor(private readonly choose: (target: string) => void) {}

  /** The words alone, for a file. */
  get summary(): string {
    return [...this.words.children].map(one => one.textContent).join(' · ');
  }

  update(state: HeatmapState): void {
    const best = state.predictions[0];
    const mean = state.averaged > 0;
    replace(
      this.words,
      h('div', {}, 'target ', h('b', {}, state.target || 'none yet')),
      best ? h('div', {}, 'predicted ', h('b', {}, best.label), ` with ${percent(best.probability)}`) : null,
      state.truth === null
        ? null
        : h(
            'div',
            { 'data-wrong': state.wrong, 'data-testid': 'wb-truth' },
            'true ',
            h('b', {}, state.truth),
            state.wrong ? h('span', { class: 'wb-heat-mark' }, ' ✕ wrong') : best ? h('span', {}, ' ✓') : null
          ),
      mean
        ? h(
            'div',
            { 'data-testid': 'wb-mean' },
            `mean of ${grouped(state.averaged)} samples picked elsewhere`
          )
        : null
    );
    const asked = state.controls !== null && !mean;
    replace(this.scores, ...shownScores(state).map(score => this.row(score, state, asked)));
  }

  private row(score: ClassScore, state: HeatmapState, asked: boolean): HTMLElement {
    const target = score.index >= 0 ? score.index === state.target_index : score.label === state.target;
    const truth = state.truth !== null && score.label === state.truth;
    const fill = h('i', { 'data-target': target });
    fill.style.width = `${clamp(score.probability * 100, 0, 100)}%`;
    const inside = [
      h(
        'span',
        { title: score.label },
        score.label,
        truth ? h('span', { class: 'wb-quiet' }, ' true') : null
      ),
      h('span', { class: 'wb-heat-bar', 'aria-hidden': 'true' }, fill),
      h('span', { class: 'wb-heat-probability', title: exact(score.probability) }, percent(score.probability))
    ];
    if (!asked || score.index < 0) {
      return h('div', { class: 'wb-heat-score', 'data-target': target }, ...inside);
    }
    const row = h(
      'button',
      {
        type: 'button',
        class: 'wb-heat-score',
        'data-target': target,
        'data-testid': 'wb-score',
        'data-index': score.index,
        'aria-pressed': String(target),
        title: target ? `${score.label} is explained` : `Explain ${score.label}`
      },
      ...inside
    );
    row.addEventListener('click', () => this.choose(String(score.index)));
    return row;
  }
}

/** The most probable classes; the true one and the explained one are among them, however little they weigh. */
export function shownScores(
  state: Pick<HeatmapState, 'predictions' | 'truth' | 'target_index'>
): readonly ClassScore[] {
  const few = state.predictions.slice(0, MOST_SCORES);
  const more = state.predictions
    .slice(MOST_SCORES)
    .filter(score => score.label === state.truth || score.index === state.target_index);
  return [...few, ...more];
}
