import type { JupyterFrontEnd, JupyterFrontEndPlugin } from '@jupyterlab/application';
import { ILayoutRestorer } from '@jupyterlab/application';
import { ICommandPalette, MainAreaWidget, WidgetTracker } from '@jupyterlab/apputils';
import { workbenchIcon } from './icons';
import { ViewSection } from './section';
import { COMMANDS, IFrontLink, IWorkbenchPanel, TITLES, VIEW_NAMES } from './tokens';

type Tab = MainAreaWidget<ViewSection>;

function makeTab(name: (typeof VIEW_NAMES)[number], front: IFrontLink, panel: IWorkbenchPanel): Tab {
  const content = new ViewSection(name, front, { openIn: () => panel.reveal(name), places: ['side'] });
  content.addClass('wb-mod-tab');
  const tab = new MainAreaWidget({ content });
  tab.id = `workbench-tab-${name}`;
  tab.title.label = TITLES[name];
  tab.title.icon = workbenchIcon;
  tab.title.closable = true;
  return tab;
}

/** Opens views as tabs in the main area. */
export const tabsPlugin: JupyterFrontEndPlugin<void> = {
  id: '@workbench/lab:tabs',
  description: 'Views as tabs in the main area.',
  autoStart: true,
  requires: [IFrontLink, IWorkbenchPanel],
  optional: [ILayoutRestorer, ICommandPalette],
  activate: (
    app: JupyterFrontEnd,
    front: IFrontLink,
    panel: IWorkbenchPanel,
    restorer: ILayoutRestorer | null,
    palette: ICommandPalette | null
  ): void => {
    const tracker = new WidgetTracker<Tab>({ namespace: 'workbench-tabs' });
    app.commands.addCommand(COMMANDS.tab, {
      label: args => `Open ${TITLES[VIEW_NAMES.find(name => name === args['view']) ?? 'shapes']} in a Tab`,
      icon: workbenchIcon,
      execute: args => {
        const name = VIEW_NAMES.find(one => one === args['view']);
        if (!name) {
          throw new Error(`there is no view ${String(args['view'])}; the views are ${VIEW_NAMES.join(', ')}`);
        }
        let tab = tracker.find(one => one.content.name === name);
        if (!tab || tab.isDisposed) {
          tab = makeTab(name, front, panel);
          void tracker.add(tab);
          app.shell.add(tab, 'main', { mode: 'split-right', type: 'Workbench' });
        }
        app.shell.activateById(tab.id);
      }
    });
    void restorer?.restore(tracker, {
      command: COMMANDS.tab,
      args: tab => ({ view: tab.content.name }),
      name: tab => tab.content.name
    });
    for (const view of VIEW_NAMES) {
      palette?.addItem({ command: COMMANDS.tab, category: 'Workbench', args: { view } });
    }
  }
};
