/** The JupyterLab plugins: one job each, joined by tokens. */
import type { JupyterFrontEndPlugin } from '@jupyterlab/application';
import { frontPlugin } from './front';
import { launcherPlugin } from './launcher';
import { outputsPlugin } from './outputs';
import { panelPlugin } from './panel';
import { tabsPlugin } from './tabs';
import { writingPlugin } from './writing';

const plugins: JupyterFrontEndPlugin<unknown>[] = [
  frontPlugin,
  panelPlugin,
  tabsPlugin,
  launcherPlugin,
  outputsPlugin,
  writingPlugin
];

export default plugins;
