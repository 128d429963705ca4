import type { JupyterFrontEnd, JupyterFrontEndPlugin } from '@jupyterlab/application';
import { INotebookTracker, type NotebookPanel } from '@jupyterlab/notebook';
import { offerWriter } from '../../widgets/src/shared/places';

/** The notebook in which an element stands; the one in front if it is null. */
function notebookOf(tracker: INotebookTracker, below: Element | null): NotebookPanel | null {
  return below ? (tracker.find(panel => panel.node.contains(below)) ?? null) : tracker.currentWidget;
}

/** Puts code into a new cell below the one with an element, or below the active one. */
function write(tracker: INotebookTracker, code: string, below: Element | null): boolean {
  const panel = notebookOf(tracker, below);
  const notebook = panel?.content;
  const cells = notebook?.model?.sharedModel;
  if (!notebook || !cells || panel.isDisposed) {
    return false;
  }
  const holds = below ? notebook.widgets.findIndex(cell => cell.node.contains(below)) : -1;
  const index = (holds >= 0 ? holds : notebook.activeCellIndex) + 1;
  cells.insertCell(index, { cell_type: 'code', source: code });
  notebook.activeCellIndex = index;
  notebook.deselectAll();
  return true;
}

/** Lets views write code into the notebook. */
export const writingPlugin: JupyterFrontEndPlugin<void> = {
  id: '@workbench/lab:writing',
  description: 'Puts code that a view has written into a new cell.',
  autoStart: true,
  requires: [INotebookTracker],
  activate: (_app: JupyterFrontEnd, tracker: INotebookTracker): void => {
    offerWriter((code, below) => write(tracker, code, below));
  }
};
