import type { JupyterFrontEndPlugin } from '@jupyterlab/application';
import type { ISessionContext } from '@jupyterlab/apputils';
import { INotebookTracker } from '@jupyterlab/notebook';
import { Signal } from '@lumino/signaling';
import { KernelLink } from '../../widgets/src/shared/link';
import { IFrontLink } from './tokens';

const NO_NOTEBOOK = 'Open a notebook: the panel follows the one in front.';
const NO_KERNEL = 'This notebook has no kernel. Choose one at its top right.';
const STARTING = 'The kernel of this notebook is starting.';

/** Follows the notebook in front and its kernel. */
class FrontLink implements IFrontLink {
  link: KernelLink | null = null;
  absence = NO_NOTEBOOK;
  readonly changed: Signal<IFrontLink, void> = new Signal<IFrontLink, void>(this);
  private context: ISessionContext | null = null;

  constructor(private readonly tracker: INotebookTracker) {
    tracker.currentChanged.connect(this.follow, this);
    this.follow();
  }

  private follow(): void {
    const context = this.tracker.currentWidget?.sessionContext ?? null;
    if (context !== this.context) {
      this.context?.kernelChanged.disconnect(this.refresh, this);
      this.context?.statusChanged.disconnect(this.refresh, this);
      this.context = context;
      context?.kernelChanged.connect(this.refresh, this);
      context?.statusChanged.connect(this.refresh, this);
    }
    this.refresh();
  }

  private refresh(): void {
    const context = this.context;
    const kernel = context?.session?.kernel;
    const link =
      context && !context.isDisposed && kernel && !kernel.isDisposed ? KernelLink.of(kernel) : null;
    const absence = link ? '' : this.describe(context);
    if (link !== this.link || absence !== this.absence) {
      this.link = link;
      this.absence = absence;
      this.changed.emit();
    }
  }

  private describe(context: ISessionContext | null): string {
    if (!context || context.isDisposed) {
      return NO_NOTEBOOK;
    }
    // Ready without a kernel: somebody has shut it down.
    return context.hasNoKernel || context.isReady ? NO_KERNEL : STARTING;
  }
}

/** Provides the link of the notebook in front. */
export const frontPlugin: JupyterFrontEndPlugin<IFrontLink> = {
  id: '@workbench/lab:front',
  description: 'Joins the page with the kernel of the notebook in front.',
  autoStart: true,
  requires: [INotebookTracker],
  provides: IFrontLink,
  activate: (_app, tracker: INotebookTracker) => new FrontLink(tracker)
};
