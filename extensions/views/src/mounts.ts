// Written by `python -m workbench.lab.views`, from the list of views and their messages: do not edit.
import type { Mount } from './host';
import type { ViewName, Views } from './protocol';
import { mountShapes } from './shapes/index';
import { mountTraining } from './training/index';
import { mountRuns } from './runs/index';
import { mountHistogram } from './histogram/index';
import { mountGraph } from './graph/index';
import { mountDiff } from './diff/index';
import { mountHeatmap } from './heatmap/index';
import { mountScatter } from './scatter/index';

/** The mount function of each view, by the name that messages use. */
export const mounts: {
  readonly [Name in ViewName]: Mount<Views[Name]['state'], Views[Name]['event']>;
} = {
  shapes: mountShapes,
  training: mountTraining,
  runs: mountRuns,
  histogram: mountHistogram,
  graph: mountGraph,
  diff: mountDiff,
  heatmap: mountHeatmap,
  scatter: mountScatter
};
