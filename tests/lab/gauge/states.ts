/** Example states of the gauge view. */
import { head, type Example } from './tools';

/** By name. */
export const states: Record<string, () => Example> = {
  usual: () => ({
    state: { kind: 'gauge', head: head('level'), low: 0, high: 1, value: 0.3 },
    buffers: []
  })
};
