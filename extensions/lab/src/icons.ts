import { LabIcon } from '@jupyterlab/ui-components';
import type { ViewName } from '../../protocol/src/index';
import { VIEW_NAMES, VIEWS } from '../../protocol/src/index';

const SVG = `<svg xmlns="http://www.w3.org/2000/svg" width="16" height="16" viewBox="0 0 16 16">
  <g class="jp-icon3" fill="#616161">
    <rect x="1.5" y="9" width="2.6" height="5"/><rect x="5.1" y="5" width="2.6" height="9"/>
    <rect x="8.7" y="2" width="2.6" height="12"/><rect x="12.3" y="7" width="2.2" height="7"/>
  </g>
</svg>`;

/** A small histogram: the workbench in one glyph. */
export const workbenchIcon = new LabIcon({ name: 'workbench:icon', svgstr: SVG });

function draw(path: string): string {
  return `<svg xmlns="http://www.w3.org/2000/svg" width="16" height="16" viewBox="0 0 16 16">
  <path class="jp-icon3" fill="#616161" d="${path}"/>
</svg>`;
}

const icons = new Map(
  VIEW_NAMES.map(name => [name, new LabIcon({ name: `workbench:${name}`, svgstr: draw(VIEWS[name].icon) })])
);

/** The icon of a view. */
export function viewIcon(name: ViewName): LabIcon {
  return icons.get(name) ?? workbenchIcon;
}
