/** The ranges that rules would choose, as buttons; the one under the pointer or with the focus is previewed. */
import type { Candidate, ObserverDetail } from '../protocol';
import { categoryColour } from '../common/colours';
import { h, replace } from '../common/dom';
import { decibels, figure } from '../common/numbers';
import { button } from '../common/parts';
import type { Theme } from '../common/theme';
import { ruleWords } from './rules';

/** What the range set by hand is called. */
const YOURS = 'yours';

/** What a candidate asks for. */
export interface CandidateEvents {
  take(candidate: Candidate): void;
  redraw(): void;
}

/** The row of candidates. */
export class Candidates {
  readonly element = h('div', {
    class: 'wb-candidates',
    role: 'group',
    'aria-label': 'Ranges that rules would choose'
  });
  /** The one to preview. */
  preview: Candidate | null = null;

  constructor(private readonly events: CandidateEvents) {}

  /** Shows the candidates of an observer. */
  update(detail: ObserverDetail, theme: Theme): void {
    const key = JSON.stringify(detail.candidates) + String(theme.dark) + detail.id;
    if (this.element.dataset['key'] === key) {
      return;
    }
    this.element.dataset['key'] = key;
    const best = Math.max(...detail.candidates.map(candidate => candidate.sqnr ?? -Infinity));
    // A button that is replaced loses the focus.
    const focused = this.element.contains(document.activeElement)
      ? document.activeElement?.getAttribute('data-name')
      : null;
    const buttons = detail.candidates.map((candidate, index) => this.made(candidate, index, best, theme));
    const label = h('span', { class: 'wb-quiet' }, 'candidates');
    const taken = detail.candidates.some(candidate => candidate.name === YOURS);
    replace(this.element, label, ...buttons, taken ? null : kept());
    this.element.hidden = detail.candidates.length === 0;
    buttons.find(element => element.dataset['name'] === focused)?.focus();
  }

  private made(candidate: Candidate, index: number, best: number, theme: Theme): HTMLButtonElement {
    const isBest = candidate.sqnr !== null && candidate.sqnr === best;
    const words = ruleWords(candidate.name);
    const element = button('', () => this.events.take(candidate), {
      class: 'wb-button wb-candidate',
      title: `${candidate.name}: ${figure(candidate.low)} to ${figure(candidate.high)}${isBest ? ', the best of these' : ''}${words && ` · ${words}`}`,
      'data-name': candidate.name,
      'data-testid': 'wb-candidate',
      'data-best': isBest
    });
    replace(element, h('i'), candidate.name, h('small', {}, decibels(candidate.sqnr)));
    element.style.setProperty('--wb-mark', categoryColour(index + 1, theme.dark));
    const show = (shown: boolean) => () => {
      this.preview = shown ? candidate : null;
      this.events.redraw();
    };
    element.addEventListener('pointerenter', show(true));
    element.addEventListener('pointerleave', show(false));
    element.addEventListener('focus', show(true));
    element.addEventListener('blur', show(false));
    return element;
  }
}

/** Room for the range set by hand before there is one: the plot below must not move when a hand begins to drag. */
function kept(): HTMLElement {
  return h(
    'span',
    { class: 'wb-button wb-candidate wb-kept', 'aria-hidden': 'true' },
    h('i'),
    YOURS,
    h('small', {}, decibels(10))
  );
}
