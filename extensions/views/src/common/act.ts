/** Views that show one of several pictures, by the kind of their state. */
import type { Host } from '../host';
import type { Exports } from './exporting';
import type { Theme } from './theme';

/** What a view offers to the picture that it shows; E is what it can send. */
export interface Stage<E> {
  readonly host: Host<E>;
  readonly theme: () => Theme;
  readonly width: () => number;
  readonly redraw: () => void;
  readonly send: (event: E) => Promise<unknown>;
}

/** One of the pictures. */
export interface Act<S> {
  readonly element: HTMLElement;
  accept(state: S, buffers: readonly DataView[]): void;
  draw(): void;
  exports(): Exports;
  destroy(): void;
}
