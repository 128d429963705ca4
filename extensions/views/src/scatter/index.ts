import type { ScatterViewEvent, ScatterViewState } from '../protocol';
import type { Host, Mount, View } from '../host';
import { h, replace } from '../common/dom';

/** The scatter view. */
export const mountScatter: Mount<ScatterViewState, ScatterViewEvent> = (
  root: HTMLElement,
  _host: Host<ScatterViewEvent>,
): View<ScatterViewState> => {
  const body = h('div', { class: 'wb-view wb-scatter', 'data-testid': 'wb-scatter' });
  replace(root, body);
  return {
    update: (state) => replace(body, state.head.title),
    resize: () => undefined,
    destroy: () => root.replaceChildren(),
  };
};
