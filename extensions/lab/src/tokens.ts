import { Token } from '@lumino/coreutils';
import type { ISignal } from '@lumino/signaling';
import type { ViewName } from '../../protocol/src/index';
import type { KernelLink } from '../../widgets/src/shared/link';
import type { Opener } from '../../widgets/src/shared/places';

/** The link of the notebook in front. */
export interface IFrontLink {
  /** The link to the kernel of the notebook in front; null if there is none. */
  readonly link: KernelLink | null;
  /** What there is instead of a link, in a person's words; empty if there is one. */
  readonly absence: string;
  /** Emitted when another link is in front, or what is there instead changes. */
  readonly changed: ISignal<IFrontLink, void>;
}

/** Provides the link of the notebook in front. */
export const IFrontLink = new Token<IFrontLink>(
  '@workbench/lab:IFrontLink',
  'The link between this page and the kernel of the notebook in front.'
);

/** The sidebar with a section a view. */
export interface IWorkbenchPanel {
  /** Brings the section of a view into sight; without one, the sidebar. */
  reveal(view?: ViewName): void;
  /** Opens a view at the side or in a tab, on one of its view models. */
  readonly open: Opener;
}

/** Provides the sidebar. */
export const IWorkbenchPanel = new Token<IWorkbenchPanel>(
  '@workbench/lab:IWorkbenchPanel',
  'The sidebar that shows the live views.'
);

/** Commands of this extension. */
export const COMMANDS = {
  /** Shows the sidebar; argument `view` names a section. */
  open: 'workbench:open',
  /** Opens a view as a tab in the main area; argument `view` names it, `model` which one it shows. */
  tab: 'workbench:open-tab',
  /** Opens the first notebook, or the sidebar where that is not there. */
  start: 'workbench:start'
} as const;
