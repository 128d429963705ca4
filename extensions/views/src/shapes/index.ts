import type { ShapesViewEvent, ShapesViewState } from '../protocol';
import type { Host, Mount, View } from '../host';
import { h, replace } from '../common/dom';

/** The shapes view. */
export const mountShapes: Mount<ShapesViewState, ShapesViewEvent> = (
  root: HTMLElement,
  _host: Host<ShapesViewEvent>,
): View<ShapesViewState> => {
  const body = h('div', { class: 'wb-view wb-shapes', 'data-testid': 'wb-shapes' });
  replace(root, body);
  return {
    update: (state) => replace(body, state.head.title),
    resize: () => undefined,
    destroy: () => root.replaceChildren(),
  };
};
