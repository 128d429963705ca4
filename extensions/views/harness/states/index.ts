// Written by `python -m workbench.lab.views`, from the list of views and their messages: do not edit.
import type { ViewName } from '../../src/protocol';
import type { Example } from './tools';
import { states as shapes } from './shapes';
import { states as training } from './training';
import { states as runs } from './runs';
import { states as histogram } from './histogram';
import { states as graph } from './graph';
import { states as diff } from './diff';
import { states as heatmap } from './heatmap';
import { states as scatter } from './scatter';

/** Example states, by view and name. */
export const examples: Record<ViewName, Record<string, () => Example>> = {
  shapes,
  training,
  runs,
  histogram,
  graph,
  diff,
  heatmap,
  scatter
};
