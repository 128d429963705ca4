/**
 * What a view needs from the place it stands in, and what that place may ask of the view.
 *
 * A view knows nothing of Jupyter: the anywidget doors, the JupyterLab panels and the test page each write
 * one `Host` and call the same `mount` functions.
 */

import type { ViewName } from './protocol';

/** How fresh the picture is. */
export type Status =
  | { readonly kind: 'live' }
  | { readonly kind: 'stale'; /** Milliseconds since the epoch of the last news. */ readonly since: number }
  | {
      readonly kind: 'disconnected';
      /** In a person's words: "kernel restarted". */ readonly reason: string;
    };

/** What Python said to an event. A `Reply` of the protocol is one. */
export interface Answer {
  readonly accepted: boolean;
  readonly reason: string;
}

/** One selection, shared by all views of a page. Each view looks at the parts it understands. */
export interface Selection {
  /** Identity of a graph node. */
  readonly node?: string | null;
  /** Identity of an observer. */
  readonly observer?: string | null;
  /** Points of the projector. */
  readonly points?: readonly number[];
  /** Name of the view that made the selection, so that it does not answer itself. */
  readonly from?: string;
}

/** Where a view can be opened: in the side area, or as a main tab. */
export type Place = 'side' | 'tab';

/** The surroundings of one view. */
export interface Host<E> {
  /** Sends an event to Python. Resolves with the answer, or with nothing if the place cannot tell. */
  send(event: E): Promise<Answer | void>;
  /** How fresh the picture is now. */
  readonly status: Status;
  /** Calls back whenever `status` or `waiting` changes; returns a function that ends it. */
  onStatus(callback: (status: Status) => void): () => void;
  /** How many of the events sent are not confirmed, for so long that a person should know; none if absent. */
  readonly waiting?: number;
  /**
   * Calls back with the reason when something was refused that nobody waits for any more: it was sent before the page
   * was loaded again. Returns a function that ends it.
   */
  onRefused?(callback: (reason: string) => void): () => void;
  /** Puts text on the clipboard. */
  copy(text: string): void;
  /**
   * Puts code into a new cell of the notebook, and says whether there is one; absent where there is never any.
   */
  write?(code: string): boolean;
  /** Opens the newest picture of another view; absent where there is no other. */
  readonly openView?: (view: ViewName) => void;
  /** Opens this view elsewhere; absent where there is only one place. */
  readonly openIn?: (place: Place) => void;
  /** Goes to a line of source, such as `cell 4, line 2`; absent where there is no way to. */
  openSource?(source: string): void;
  /** Tells the other views what was selected here. */
  select?(selection: Selection): void;
  /** Calls back when another view selects; returns a function that ends it. */
  onSelect?(callback: (selection: Selection) => void): () => void;
  /** Saves a file that the person asked for; a browser download if absent. */
  save?(name: string, data: Blob): void;
}

/** A mounted view. */
export interface View<S> {
  /** Draws a state. `buffers` are those that its `…_buffer` fields point into. */
  update(state: S, buffers: readonly DataView[]): void;
  /** The root has another size. Views also watch their root by themselves; calling this is never wrong. */
  resize(): void;
  /** Takes everything down and lets every listener go. */
  destroy(): void;
}

/** Options that are the same for all views. */
export interface MountOptions {
  /** `canvas` makes the scatter view draw without WebGL. */
  readonly renderer?: 'auto' | 'canvas';
  /** Whether there is nobody who computes: a published page. */
  readonly alone?: boolean;
  /** The line to run that fills this view, shown while it is empty; each view has one of its own. */
  readonly empty?: string;
}

/** Puts a view into `root`, which it then owns until `destroy`. */
export type Mount<S, E> = (root: HTMLElement, host: Host<E>, options?: MountOptions) => View<S>;
