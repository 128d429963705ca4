/**
 * Gives JupyterLab's widget manager what it leaves out when a notebook is opened again.
 *
 * The manager loads widgets from the kernel, then from the notebook's file. It begins anew, with the kernel only,
 * whenever the kernel's connection opens, and then counts itself restored: an output drawn in between finds no
 * model and gives up for good. If its first round with the kernel fails or is lost, it never comes to the file.
 * So the outputs that found no model wait here; they are drawn again when there is one, and what only the file
 * has is loaded from it.
 */
import type { DocumentRegistry } from '@jupyterlab/docregistry';
import type { INotebookModel } from '@jupyterlab/notebook';
import type { Signal } from '../../widgets/src/shared/kernel';

const STATES = 'application/vnd.jupyter.widget-state+json';
/** How long the manager may take with an idle kernel; its own patience with one round is four seconds. */
const PATIENCE = 6000;

/** What is needed of the widget manager of `@jupyter-widgets/jupyterlab-manager`. */
export interface Manager {
  readonly restored: Signal<void>;
  readonly restoredStatus: boolean;
  has_model(id: string): boolean;
  restoreWidgets(model: INotebookModel, from?: { loadKernel: boolean; loadNotebook: boolean }): Promise<void>;
}

/** An output that found no model. */
export interface Waiting {
  /** Identity of the model. */
  readonly id: string;
  /** Draws it again. */
  again(): void;
}

/** The widgets of one notebook that are not there yet. */
export class Restoring {
  private readonly waiting = new Set<Waiting>();
  private manager: Manager | null = null;
  /** The round that is under way. */
  private round: Promise<void> | null = null;
  private timer: ReturnType<typeof setTimeout> | null = null;

  constructor(private readonly context: DocumentRegistry.IContext<INotebookModel>) {
    context.sessionContext.statusChanged.connect(this.arm, this);
    context.sessionContext.connectionStatusChanged.connect(this.arm, this);
  }

  /** Takes over an output that found no model with `manager`. */
  wait(output: Waiting, manager: Manager): void {
    this.waiting.add(output);
    if (this.manager !== manager) {
      this.manager?.restored.disconnect(this.refresh);
      this.manager = manager;
      manager.restored.connect(this.refresh);
    }
    if (manager.restoredStatus) {
      this.refresh();
    }
    this.arm();
  }

  /** Forgets an output that was drawn or is gone. */
  forget(output: Waiting): void {
    this.waiting.delete(output);
  }

  /** Lets the notebook go. */
  dispose(): void {
    this.context.sessionContext.statusChanged.disconnect(this.arm, this);
    this.context.sessionContext.connectionStatusChanged.disconnect(this.arm, this);
    this.manager?.restored.disconnect(this.refresh);
    this.waiting.clear();
    this.disarm();
  }

  /** Draws what can be drawn now, and loads from the file what the manager has not. */
  private readonly refresh = (): void => {
    const { manager } = this;
    if (!manager) {
      return;
    }
    const present = [...this.waiting].filter(output => manager.has_model(output.id));
    for (const output of present) {
      this.waiting.delete(output);
      output.again();
    }
    if (!this.round && [...this.waiting].some(output => this.isSaved(output.id))) {
      void this.load(manager, { loadKernel: false, loadNotebook: true });
    }
    this.arm();
  };

  /** One round of the manager, which says `restored` at its end; what comes meanwhile waits for that. */
  private async load(manager: Manager, from?: { loadKernel: boolean; loadNotebook: boolean }): Promise<void> {
    const round = manager.restoreWidgets(this.context.model, from);
    this.round = round;
    try {
      await round;
    } finally {
      if (this.round === round) {
        this.round = null;
      }
    }
  }

  private isSaved(id: string): boolean {
    const saved = this.context.model.getMetadata('widgets') as
      Record<string, { state?: Record<string, unknown> } | undefined> | undefined;
    return saved?.[STATES]?.state?.[id] !== undefined;
  }

  /**
   * Looks again when the kernel has had time for an answer. A busy kernel answers when its cell ends, and may have
   * the models itself: nothing is taken from the file before it has answered. One that is idle and owes an answer
   * never gives it: a question, an answer or a word of the kernel's state is lost with a connection that breaks, and
   * then the state stays unknown and a round has no end.
   */
  private arm(): void {
    const { session } = this.context.sessionContext;
    const { connectionStatus, status } = session?.kernel ?? {};
    const free = connectionStatus === 'connected' && (status === 'idle' || status === 'unknown');
    const wanted =
      free && this.waiting.size > 0 && (this.round !== null || this.manager?.restoredStatus === false);
    if (!wanted) {
      this.disarm();
    } else if (this.timer === null) {
      this.timer = setTimeout(() => {
        const lost = this.round !== null;
        this.timer = null;
        this.round = null;
        if (this.manager?.restoredStatus === false) {
          void this.load(this.manager);
          this.arm();
        } else if (lost) {
          this.refresh();
        }
      }, PATIENCE);
    }
  }

  private disarm(): void {
    if (this.timer !== null) {
      clearTimeout(this.timer);
      this.timer = null;
    }
  }
}
