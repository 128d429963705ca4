/**
 * An output of ours in a notebook: JupyterLab's own widget where it can be made, and the static picture beside it
 * in the output until then.
 */
import type { NotebookPanel } from '@jupyterlab/notebook';
import type { Panel } from '@lumino/widgets';
import type { Manager, Restoring, Waiting } from './restoring';

type Registry = NotebookPanel['content']['rendermime'];
type Renderer = ReturnType<Registry['createRenderer']>;
type Model = Parameters<Renderer['renderModel']>[0];

const WIDGET = 'application/vnd.jupyter.widget-view+json';
const PICTURE = 'text/html';

/** The widget manager's renderer: a panel that holds the widget once it is there. */
type WidgetRenderer = Renderer & Panel & { readonly _manager?: { readonly promise: Promise<Manager> } };

/** What draws one output. */
class Output implements Waiting {
  id = '';
  private readonly draw: (model: Model) => Promise<void>;
  private model: Model | null = null;
  private drawing = false;

  constructor(
    private readonly renderer: WidgetRenderer,
    private readonly registry: Registry,
    private readonly restoring: Restoring
  ) {
    this.draw = renderer.renderModel.bind(renderer);
    renderer.renderModel = model => this.render(model);
    renderer.disposed.connect(() => restoring.forget(this));
  }

  again(): void {
    if (this.model) {
      void this.render(this.model);
    }
  }

  /** Draws `model`, unless it is drawn or about to be: the manager's renderer would show it twice. */
  private async render(model: Model): Promise<void> {
    const id = String((model.data[WIDGET] as { model_id?: unknown } | undefined)?.model_id ?? '');
    if (this.id === id && (this.drawing || this.drawn)) {
      return;
    }
    for (const before of [...this.renderer.widgets]) {
      before.parent = null; // another widget takes the place in this output
    }
    this.restoring.forget(this);
    this.id = id;
    this.model = model;
    this.drawing = true;
    try {
      this.renderer.removeClass('jupyter-widgets');
      const drawn = this.draw(model); // says that it loads, and then waits for the manager
      void this.showPicture(model);
      await drawn;
    } finally {
      this.drawing = false;
    }
    if (!this.drawn && !this.renderer.isDisposed && id !== '') {
      await this.showPicture(model);
      const manager = await this.renderer._manager?.promise;
      if (manager) {
        this.restoring.wait(this, manager);
      }
    }
  }

  /** Whether a widget is drawn. An output that was taken away while it waited has none, and no list of them either. */
  private get drawn(): boolean {
    return !this.renderer.isDisposed && this.renderer.widgets.length > 0;
  }

  /** Shows the static picture; the manager's renderer clears it away when it has a widget. */
  private async showPicture(model: Model): Promise<void> {
    if (model.data[PICTURE] === undefined) {
      return;
    }
    const picture = this.registry.createRenderer(PICTURE);
    await picture.renderModel(model);
    if (!this.drawn && !this.renderer.isDisposed) {
      this.renderer.node.replaceChildren(picture.node);
    }
  }
}

/** The renderer of one output. Without the widget manager it is the one of the static picture. */
export function renderOutput(registry: Registry, restoring: Restoring): Renderer {
  if (!registry.getFactory(WIDGET)) {
    return registry.createRenderer(PICTURE);
  }
  const renderer = registry.createRenderer(WIDGET) as WidgetRenderer;
  new Output(renderer, registry, restoring);
  return renderer;
}
