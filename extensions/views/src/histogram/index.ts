import type { HistogramViewEvent, HistogramViewState } from '../protocol';
import type { Host, Mount, View } from '../host';
import { h, replace } from '../common/dom';

/** The histogram view. */
export const mountHistogram: Mount<HistogramViewState, HistogramViewEvent> = (
  root: HTMLElement,
  _host: Host<HistogramViewEvent>,
): View<HistogramViewState> => {
  const body = h('div', { class: 'wb-view wb-histogram', 'data-testid': 'wb-histogram' });
  replace(root, body);
  return {
    update: (state) => replace(body, state.head.title),
    resize: () => undefined,
    destroy: () => root.replaceChildren(),
  };
};
