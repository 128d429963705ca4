/** A question that is worked on, in rows that went through the model. */
import type { HeatmapWork } from '../protocol';
import type { Work } from '../common/work';

/** The work as a line of progress takes it. */
export function workOf({ what, rows, total, seconds }: HeatmapWork): Work {
  return { what, done: rows, total, seconds, unit: 'rows through the model', short: 'rows' };
}
