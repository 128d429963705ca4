/** How a training ended, how to go on with it, and what stands in place of the charts before the first step. */
import type { TrainingState } from '../protocol';
import { h, replace } from '../common/dom';
import { grouped } from '../common/numbers';
import { codeBlock, emptyState } from '../common/parts';

type Copy = (text: string) => void;

/** Why a training ended, where that was not the plan, and how to go on; hidden while there is nothing to say. */
export class Ending {
  readonly element = h('div', { class: 'wb-train-end', 'data-testid': 'wb-end' });

  constructor(private readonly copy: Copy) {}

  /**
   * Says it; what stands there already is left alone, so that a selection in it stays. Where the training is
   * `lost` with its kernel, nothing goes on with it.
   */
  update({ status, failure, message, advice, counters }: TrainingState, lost: boolean): void {
    const { element } = this;
    const key = JSON.stringify([status, failure, message, advice, lost]);
    if (element.dataset['key'] === key) {
      return;
    }
    element.dataset['key'] = key;
    replace(element);
    const at = `step ${grouped(failure?.step ?? counters.step)}`;
    if (status === 'failed') {
      element.append(wrong(failure, message, at));
    } else if (message !== '') {
      element.append(h('p', {}, `${status === 'stopped' ? 'Stopped' : 'Ended'} at ${at}: ${message}`));
    }
    if (advice !== '' && status !== 'idle' && !lost) {
      const words =
        status === 'failed' ? 'To go on, once that is mended:' : 'To go on at the very next batch:';
      element.append(h('p', { class: 'wb-quiet' }, words), codeBlock(advice, this.copy, 'wb-advice'));
    }
    element.hidden = element.childNodes.length === 0;
  }
}

function wrong(failure: TrainingState['failure'], message: string, at: string): HTMLElement {
  const culprit = failure?.culprit ? [', first seen in ', h('code', {}, failure.culprit)] : [];
  const what = h('b', {}, `${failure?.kind ?? 'Error'} at ${at}`, ...culprit);
  return h(
    'div',
    { class: 'wb-notice', 'data-kind': 'wrong', role: 'alert', 'data-testid': 'wb-failure' },
    h('span', { 'aria-hidden': 'true' }, '✕'),
    h('div', {}, what, h('span', {}, message || 'The error says nothing.'))
  );
}

/** What stands in place of the charts before the first step; `code` begins a training. */
export function beginning({ status, advice }: TrainingState, code: string, copy: Copy): HTMLElement {
  const words = {
    idle: 'Nothing was trained yet. To begin:',
    running: 'The first step is under way.',
    paused: 'It waits before its first step.'
  };
  const sentence = status in words ? words[status as keyof typeof words] : 'It ended before its first step.';
  return emptyState(sentence, status === 'idle' ? advice || code : '', copy);
}
