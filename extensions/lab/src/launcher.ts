import type { JupyterFrontEnd, JupyterFrontEndPlugin } from '@jupyterlab/application';
import { ILauncher } from '@jupyterlab/launcher';
import { workbenchIcon } from './icons';
import { COMMANDS, IWorkbenchPanel } from './tokens';

const FIRST = '00-first-light.ipynb';
const PLACES = ['', 'notebooks/'];

/** Where the first notebook lies below the folder that is served; null if it is not there. */
async function findFirst(app: JupyterFrontEnd): Promise<string | null> {
  for (const place of PLACES) {
    // A folder that is not there is no fault: it may lie in the other place.
    const folder = await app.serviceManager.contents.get(place, { content: true }).catch(() => null);
    const entries = (folder?.content ?? []) as readonly { readonly name: string }[];
    if (entries.some(entry => entry.name === FIRST)) {
      return `${place}${FIRST}`;
    }
  }
  return null;
}

/** Puts a card into the launcher. */
export const launcherPlugin: JupyterFrontEndPlugin<void> = {
  id: '@workbench/lab:launcher',
  description: 'A launcher card that opens the first notebook.',
  autoStart: true,
  requires: [IWorkbenchPanel],
  optional: [ILauncher],
  activate: (app: JupyterFrontEnd, panel: IWorkbenchPanel, launcher: ILauncher | null): void => {
    app.commands.addCommand(COMMANDS.start, {
      label: args => (args['isLauncher'] ? 'First light' : 'Start with the Workbench'),
      caption: 'From data to an int8 model in one notebook, with the live views beside it',
      icon: workbenchIcon,
      execute: async () => {
        const path = await findFirst(app);
        if (path !== null) {
          await app.commands.execute('docmanager:open', { path });
        }
        panel.reveal();
      }
    });
    launcher?.add({ command: COMMANDS.start, category: 'Workbench', rank: 0, args: { isLauncher: true } });
  }
};
