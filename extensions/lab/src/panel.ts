import type { JupyterFrontEnd, JupyterFrontEndPlugin } from '@jupyterlab/application';
import { ILabShell, ILayoutRestorer } from '@jupyterlab/application';
import { ICommandPalette } from '@jupyterlab/apputils';
import { launchIcon } from '@jupyterlab/ui-components';
import { Panel, Widget } from '@lumino/widgets';
import type { ViewName } from '../../protocol/src/index';
import { VIEW_NAMES, VIEWS } from '../../protocol/src/index';
import { h, replace } from '../../views/src/common/dom';
import type { KernelLink } from '../../widgets/src/shared/link';
import { offerOpener, type Opener } from '../../widgets/src/shared/places';
import { viewIcon, workbenchIcon } from './icons';
import { ViewSection } from './section';
import { COMMANDS, IFrontLink, IWorkbenchPanel } from './tokens';

/** One line above the sections that says how things stand, if they do not stand well. */
class Notice extends Widget {
  private link: KernelLink | null = null;
  private endLink: (() => void) | null = null;

  constructor(private readonly front: IFrontLink) {
    super();
    this.addClass('wb-panel-notice');
    this.node.setAttribute('role', 'status');
    this.node.dataset.testid = 'wb-notice';
    front.changed.connect(this.follow, this);
    this.follow();
  }

  override dispose(): void {
    this.front.changed.disconnect(this.follow, this);
    this.endLink?.();
    super.dispose();
  }

  private follow(): void {
    if (this.front.link !== this.link) {
      this.endLink?.();
      this.link = this.front.link;
      // Without a model it is the link itself that has changed.
      this.endLink = this.link?.listen(model => model === null && this.refresh()) ?? null;
    }
    this.refresh();
  }

  private refresh(): void {
    const [text, code] = this.link ? linkWords(this.link) : [this.front.absence, ''];
    this.node.dataset.status = this.link?.status ?? 'none';
    this.setHidden(text === '');
    replace(this.node, h('span', {}, text), code !== '' && codeButton(code));
  }
}

/** What the notice says about a link, and what to run. */
function linkWords(link: KernelLink): readonly [string, string] {
  switch (link.status) {
    case 'open':
      return ['', ''];
    case 'connecting':
      return ['Connecting to the kernel.', ''];
    case 'absent':
      return ['Nothing to show yet. In a cell, run:', 'import workbench as wb'];
    case 'restarted':
      return ['The kernel restarted. What is left are last pictures: run the cells again.', ''];
    case 'dead':
      return ['The kernel has died. What is left are last pictures: restart it and run the cells again.', ''];
    case 'lost':
      return ['The connection to the kernel is lost. What is left are last pictures.', ''];
    case 'refused':
      return [`The panel cannot follow this kernel: ${link.reason}.`, ''];
  }
}

function codeButton(code: string): HTMLElement {
  const button = h('button', { type: 'button', class: 'wb-panel-code', title: 'Copy' }, code);
  // Over plain HTTP, or without permission, there is no clipboard. The code can be selected all the same.
  button.addEventListener('click', () => void navigator.clipboard?.writeText(code).catch(() => undefined));
  return button;
}

/** The line above a section: folds it, and opens its view as a tab. */
class SectionHead extends Widget {
  private readonly fold: HTMLButtonElement;

  constructor(name: ViewName, body: Widget, openTab: () => void) {
    super();
    this.addClass('wb-section-head');
    this.fold = h(
      'button',
      { type: 'button', class: 'wb-section-fold', 'aria-expanded': 'true' },
      viewIcon(name).element({ tag: 'span', className: 'wb-section-icon' }),
      VIEWS[name].title
    );
    const label = `Open ${VIEWS[name].title} in a tab`;
    const tab = h('button', { type: 'button', class: 'wb-section-tab', title: label, 'aria-label': label });
    launchIcon.element({ container: tab, height: '14px', width: '14px' });
    this.node.append(this.fold, tab);
    this.fold.addEventListener('click', () => this.set(body, !body.isHidden));
    tab.addEventListener('click', openTab);
  }

  /** Folds or unfolds the section. */
  set(body: Widget, folded: boolean): void {
    body.setHidden(folded);
    this.fold.setAttribute('aria-expanded', String(!folded));
  }
}

/** The sidebar. */
class WorkbenchPanel extends Panel implements IWorkbenchPanel {
  private readonly sections = new Map<ViewName, { head: SectionHead; body: ViewSection }>();

  constructor(
    front: IFrontLink,
    private readonly app: JupyterFrontEnd
  ) {
    super();
    this.id = 'workbench-panel';
    this.addClass('wb-panel');
    this.title.icon = workbenchIcon;
    this.title.caption = 'Workbench';
    this.node.setAttribute('role', 'region');
    this.node.setAttribute('aria-label', 'Workbench');
    this.addWidget(new Notice(front));
    for (const name of VIEW_NAMES) {
      const body = new ViewSection(name, front, this.open);
      const head = new SectionHead(name, body, () => this.open(name, 'tab', null));
      this.sections.set(name, { head, body });
      this.addWidget(head);
      this.addWidget(body);
    }
  }

  readonly open: Opener = (view, place, model) => {
    if (place === 'tab') {
      void this.app.commands.execute(COMMANDS.tab, { view, model });
    } else {
      this.reveal(view);
      // Again where its picture has come: what stands below a section without one cannot be scrolled up.
      this.sections.get(view)?.body.choose(model, () => this.reveal(view));
    }
  };

  /** Brings the sidebar, and the section of a view, into sight. */
  reveal(view?: ViewName): void {
    this.app.shell.activateById(this.id);
    const section = view && this.sections.get(view);
    if (section) {
      section.head.set(section.body, false);
      section.head.node.scrollIntoView({ block: 'start' });
    }
  }
}

/** Puts the sidebar at the right. */
export const panelPlugin: JupyterFrontEndPlugin<IWorkbenchPanel> = {
  id: '@workbench/lab:panel',
  description: 'The sidebar with a section a view.',
  autoStart: true,
  requires: [IFrontLink],
  optional: [ILabShell, ILayoutRestorer, ICommandPalette],
  provides: IWorkbenchPanel,
  activate: (
    app: JupyterFrontEnd,
    front: IFrontLink,
    _shell: ILabShell | null, // absent in Notebook 7, whose own shell has a right area, too
    restorer: ILayoutRestorer | null,
    palette: ICommandPalette | null
  ): IWorkbenchPanel => {
    const panel = new WorkbenchPanel(front, app);
    offerOpener(panel.open);
    app.shell.add(panel, 'right', { rank: 150, type: 'Workbench' });
    restorer?.add(panel, panel.id);
    app.commands.addCommand(COMMANDS.open, {
      label: 'Show the Workbench',
      caption: `Live views: ${VIEW_NAMES.map(name => VIEWS[name].title).join(', ')}`,
      icon: workbenchIcon,
      execute: args => panel.reveal(VIEW_NAMES.find(name => name === args['view']))
    });
    palette?.addItem({ command: COMMANDS.open, category: 'Workbench' });
    return panel;
  }
};
