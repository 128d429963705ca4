/** Example states of every view, by name. All are made by rule, so that they are the same in every run. */
import type { ViewName, Views } from '../../src/protocol';
import { graph } from './graph';
import { heatmap } from './heatmap';
import { histogramStates } from './histogram';
import { scatter } from './scatter';
import { shapes } from './shapes';
import { trainingStates } from './training';

/** A state and its buffers. */
export interface Example {
  readonly state: Views[ViewName]['state'];
  readonly buffers: readonly DataView[];
}

/** Example states, by view and name. */
export const examples: Record<ViewName, Record<string, () => Example>> = {
  shapes,
  histogram: histogramStates,
  graph,
  heatmap,
  scatter,
  training: trainingStates
};
