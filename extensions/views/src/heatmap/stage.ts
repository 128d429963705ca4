/** What the heatmap view offers to the picture that it shows: an attribution, or a board. */
import type { Answer } from '../host';
import type { Stage as AnyStage } from '../common/act';
import type { HeatmapViewEvent } from '../protocol';

export type { Act } from '../common/act';

/** The stage of both pictures. */
export interface Stage extends AnyStage<HeatmapViewEvent> {
  readonly send: (event: HeatmapViewEvent) => Promise<Answer | void>;
}
