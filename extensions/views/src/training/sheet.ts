/** All charts and the strip on one sheet, where they stand on the page: for a file. */
import { s, setAttributes } from '../common/dom';
import type { Theme } from '../common/theme';
import type { Chart } from './chart';

/** What stands on the sheet. */
export interface Sheet {
  /** Whose left upper corner is the sheet's. */
  readonly base: HTMLElement;
  readonly charts: readonly Chart[];
  /** The strip with its title, if it is drawn. */
  readonly strip: { readonly title: string; readonly picture: HTMLCanvasElement } | null;
}

/** Draws the sheet. */
export function drawSheet({ base, charts, strip }: Sheet, theme: Theme): SVGSVGElement {
  const sheet = s('svg', { 'font-family': theme.font, fill: theme.ink });
  const { left, top } = base.getBoundingClientRect();
  charts.forEach(chart => sheet.append(...chart.copy(left, top, theme)));
  let end = Math.max(...charts.map(chart => chart.element.getBoundingClientRect().bottom));
  if (strip) {
    const box = strip.picture.getBoundingClientRect();
    end = box.bottom;
    const place = { x: box.left - left, y: box.top - top, width: box.width, height: box.height };
    sheet.append(
      s('text', { x: 0, y: place.y - 12, 'font-size': 12, 'font-weight': 600 }, strip.title),
      s('image', { ...place, href: strip.picture.toDataURL('image/png') })
    );
  }
  const [width, height] = [Math.ceil(base.clientWidth), Math.ceil(end - top + 8)];
  setAttributes(sheet, { width, height, viewBox: `0 0 ${width} ${height}` });
  return sheet;
}
