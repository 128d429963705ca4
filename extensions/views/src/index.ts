/** The pictures of the workbench. Nothing here knows of Jupyter. */
import type { MountOptions, Host, View } from './host';
import type { ViewName, Views } from './protocol';
import { mountGraph } from './graph/index';
import { mountHeatmap } from './heatmap/index';
import { mountHistogram } from './histogram/index';
import { mountScatter } from './scatter/index';
import { mountShapes } from './shapes/index';
import { mountTraining } from './training/index';

export { mountGraph, mountHeatmap, mountHistogram, mountScatter, mountShapes, mountTraining };
export type { Answer, Host, Mount, MountOptions, Place, Selection, Status, View } from './host';
export type * from './protocol';
export { PROTOCOL_VERSION } from './protocol';

/** The mount function of each view, by the name that messages use. */
export const mounts: {
  readonly [Name in ViewName]: (
    root: HTMLElement,
    host: Host<Views[Name]['event']>,
    options?: MountOptions
  ) => View<Views[Name]['state']>;
} = {
  shapes: mountShapes,
  histogram: mountHistogram,
  graph: mountGraph,
  heatmap: mountHeatmap,
  scatter: mountScatter,
  training: mountTraining
};
