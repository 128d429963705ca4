import type { GraphViewEvent, GraphViewState } from '../protocol';
import type { Host, Mount, View } from '../host';
import { h, replace } from '../common/dom';

/** The graph view. */
export const mountGraph: Mount<GraphViewState, GraphViewEvent> = (
  root: HTMLElement,
  _host: Host<GraphViewEvent>,
): View<GraphViewState> => {
  const body = h('div', { class: 'wb-view wb-graph', 'data-testid': 'wb-graph' });
  replace(root, body);
  return {
    update: (state) => replace(body, state.head.title),
    resize: () => undefined,
    destroy: () => root.replaceChildren(),
  };
};
