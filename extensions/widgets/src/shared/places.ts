/**
 * Where else in the page a view can be opened. The lab extension knows; a widget's bundle finds it on the page, and where
 * there is no such extension its menu has nothing to open.
 */
import type { ViewName } from '../../../protocol/src/index';
import type { Place } from '../../../views/src/host';

/** Opens a view somewhere, on one of its view models; on the newest if it is null. */
export type Opener = (view: ViewName, place: Place, model: string | null) => void;

const KEY = Symbol.for('workbench.opener');
type Page = typeof globalThis & { [KEY]?: Opener };

/** Lets every view of this page be opened by `open`. */
export function offerOpener(open: Opener): void {
  (globalThis as Page)[KEY] = open;
}

/** What opens views in this page; undefined where nothing does. */
export function findOpener(): Opener | undefined {
  return (globalThis as Page)[KEY];
}
