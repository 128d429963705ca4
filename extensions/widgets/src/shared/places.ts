/**
 * Where else in the page a view can be opened, and where code can be written. The lab extension knows; a widget's bundle
 * finds it on the page, and where there is no such extension its menu has nothing to open, and code is copied only.
 */
import type { ViewName } from '../../../protocol/src/index';
import type { Place } from '../../../views/src/host';

/** Opens a view somewhere, on one of its view models; on the newest if it is null. */
export type Opener = (view: ViewName, place: Place, model: string | null) => void;

/**
 * Puts code into a new cell below the one that an element of the page stands in; with null below the active cell of the
 * notebook in front. Says whether there is such a notebook.
 */
export type Writer = (code: string, below: Element | null) => boolean;

const KEY = Symbol.for('workbench.opener');
const WRITER = Symbol.for('workbench.writer');
type Page = typeof globalThis & { [KEY]?: Opener; [WRITER]?: Writer };

/** Lets every view of this page be opened by `open`. */
export function offerOpener(open: Opener): void {
  (globalThis as Page)[KEY] = open;
}

/** What opens views in this page; undefined where nothing does. */
export function findOpener(): Opener | undefined {
  return (globalThis as Page)[KEY];
}

/** Lets every view of this page write code by `write`. */
export function offerWriter(write: Writer): void {
  (globalThis as Page)[WRITER] = write;
}

/** What writes code into a notebook of this page; undefined where nothing does. */
export function findWriter(): Writer | undefined {
  return (globalThis as Page)[WRITER];
}
