import type { JupyterFrontEnd, JupyterFrontEndPlugin } from '@jupyterlab/application';
import { ILayoutRestorer } from '@jupyterlab/application';
import { ICommandPalette, MainAreaWidget, WidgetTracker } from '@jupyterlab/apputils';
import type { ViewName } from '../../protocol/src/index';
import { VIEW_NAMES, VIEWS } from '../../protocol/src/index';
import { viewIcon, workbenchIcon } from './icons';
import { ViewSection } from './section';
import { COMMANDS, IFrontLink, IWorkbenchPanel } from './tokens';

type Tab = MainAreaWidget<ViewSection>;

function makeTab(name: ViewName, front: IFrontLink, panel: IWorkbenchPanel): Tab {
  const content = new ViewSection(name, front, panel.open);
  content.addClass('wb-mod-tab');
  const tab = new MainAreaWidget({ content });
  tab.id = `workbench-tab-${name}`;
  tab.title.label = VIEWS[name].title;
  tab.title.icon = viewIcon(name);
  tab.title.closable = true;
  return tab;
}

function named(value: unknown): ViewName | undefined {
  return VIEW_NAMES.find(name => name === value);
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
      label: args => {
        const name = named(args['view']);
        return name ? `Open ${VIEWS[name].title} in a Tab` : 'Open a View in a Tab';
      },
      icon: args => {
        const name = named(args['view']);
        return name ? viewIcon(name) : workbenchIcon;
      },
      execute: args => {
        const name = named(args['view']);
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
        const { model } = args;
        if (typeof model === 'string') {
          tab.content.choose(model);
        }
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
