/** What the shapes view offers to the picture that it shows. */
import type { Stage as AnyStage } from '../common/act';
import type { ShapesViewEvent } from '../protocol';

export type { Act } from '../common/act';

/** The stage of the three pictures. */
export type Stage = AnyStage<ShapesViewEvent>;
