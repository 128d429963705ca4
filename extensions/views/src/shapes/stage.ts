/** What the three pictures of the shapes view have in common. */
import type { Host } from '../host';
import type { ShapesViewEvent } from '../protocol';
import type { Exports } from '../common/exporting';
import type { Theme } from '../common/theme';

/** What the view offers to the picture it shows. */
export interface Stage {
  readonly host: Host<ShapesViewEvent>;
  readonly theme: () => Theme;
  readonly width: () => number;
  readonly redraw: () => void;
  readonly send: (event: ShapesViewEvent) => Promise<unknown>;
}

/** One of the three pictures. */
export interface Act<S> {
  readonly element: HTMLElement;
  accept(state: S, buffers: readonly DataView[]): void;
  draw(): void;
  exports(): Exports;
  destroy(): void;
}
