import type { JupyterFrontEndPlugin } from '@jupyterlab/application';
import type { DocumentRegistry } from '@jupyterlab/docregistry';
import type { INotebookModel, NotebookPanel } from '@jupyterlab/notebook';
import { DisposableDelegate } from '@lumino/disposable';
import { renderOutput } from './output';
import { Restoring } from './restoring';

/** The type beside the widget's in an output of ours: `workbench/widgets/stills.py` writes it. */
const OURS = 'application/vnd.workbench.view+json';
/** Before the widget's own type, which the widget manager puts at -10. */
const RANK = -20;

/** Draws the outputs of ours in notebooks. It must be there before their outputs are: when the panel is made. */
export const outputsPlugin: JupyterFrontEndPlugin<void> = {
  id: '@workbench/lab:outputs',
  description: 'Shows the pictures of a notebook that is opened again.',
  autoStart: true,
  activate: app => {
    app.docRegistry.addWidgetExtension('Notebook', {
      createNew(widget, context) {
        const registry = (widget as NotebookPanel).content.rendermime;
        const restoring = new Restoring(context as DocumentRegistry.IContext<INotebookModel>);
        registry.addFactory(
          { safe: false, mimeTypes: [OURS], createRenderer: () => renderOutput(registry, restoring) },
          RANK
        );
        return new DisposableDelegate(() => restoring.dispose());
      }
    });
  }
};
