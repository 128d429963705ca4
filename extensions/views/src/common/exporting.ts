/** Pictures and numbers as files: PNG, SVG, one HTML page, CSV and JSON. */
import { h, setAttributes } from './dom';

/** What a view can give away. Every part may be absent. */
export interface Exports {
  readonly svg?: () => SVGSVGElement;
  readonly canvas?: () => HTMLCanvasElement;
  /** Lines of text that belong under the picture, for the HTML page. */
  readonly caption?: () => readonly string[];
  readonly csv?: () => string;
  /** What must be known of the table before it is asked for; it stands behind its name in the menu. */
  readonly csvNote?: string;
  /** Has the table written elsewhere, in place of `csv`, by whom has more of it than the page. */
  readonly writeCsv?: () => void;
  readonly json?: () => unknown;
}

/** Styles that a picture needs when it leaves the page with its style sheets. */
const CARRIED = [
  'fill',
  'fill-opacity',
  'stroke',
  'stroke-width',
  'stroke-opacity',
  'stroke-dasharray',
  'stroke-linejoin',
  'paint-order',
  'opacity',
  'font-family',
  'font-size',
  'font-weight',
  'text-anchor',
  'dominant-baseline',
  'visibility',
  'display'
];

function carryStyles(from: Element, to: Element): void {
  const style = getComputedStyle(from);
  setAttributes(to, { style: CARRIED.map(name => `${name}:${style.getPropertyValue(name)}`).join(';') });
  for (let index = 0; index < from.children.length; index++) {
    carryStyles(from.children[index]!, to.children[index]!);
  }
}

/** An SVG element of the page as a file that stands alone. */
export function svgText(svg: SVGSVGElement, paper: string): string {
  const copy = svg.cloneNode(true) as SVGSVGElement;
  carryStyles(svg, copy);
  const box = svg.getBoundingClientRect();
  const width = svg.viewBox.baseVal?.width || box.width;
  const height = svg.viewBox.baseVal?.height || box.height;
  setAttributes(copy, { width, height, xmlns: 'http://www.w3.org/2000/svg' });
  copy.style.background = paper;
  return new XMLSerializer().serializeToString(copy);
}

function toBlob(canvas: HTMLCanvasElement): Promise<Blob> {
  return new Promise((resolve, reject) =>
    canvas.toBlob(blob => (blob ? resolve(blob) : reject(new Error('the browser made no PNG'))), 'image/png')
  );
}

function load(url: string): Promise<HTMLImageElement> {
  return new Promise((resolve, reject) => {
    const image = new Image();
    image.onload = () => resolve(image);
    image.onerror = () => reject(new Error('the browser cannot draw this SVG'));
    image.src = url;
  });
}

const MOST_SIDE = 16_000;
const MOST_PIXELS = 120e6;

async function svgCanvas(text: string): Promise<HTMLCanvasElement> {
  const image = await load('data:image/svg+xml;charset=utf-8,' + encodeURIComponent(text));
  // Browsers make no canvas of more pixels than this, in one direction or in all.
  const fine = Math.min(
    2,
    MOST_SIDE / Math.max(image.width, image.height, 1),
    Math.sqrt(MOST_PIXELS / Math.max(image.width * image.height, 1))
  );
  const canvas = h('canvas', {
    width: Math.max(1, Math.floor(image.width * fine)),
    height: Math.max(1, Math.floor(image.height * fine))
  });
  canvas.getContext('2d')?.drawImage(image, 0, 0, canvas.width, canvas.height);
  return canvas;
}

/** The picture as PNG, twice as fine as on the screen where it is drawn with vectors. */
export async function png(exports: Exports, paper: string): Promise<Blob> {
  if (exports.canvas) {
    return toBlob(exports.canvas());
  }
  if (exports.svg) {
    return toBlob(await svgCanvas(svgText(exports.svg(), paper)));
  }
  throw new Error('this view has no picture to export');
}

/** One page that shows the picture with its title and caption, without scripts. */
export function htmlPage(title: string, exports: Exports, paper: string, ink: string): string {
  const page = document.implementation.createHTMLDocument(title);
  page.documentElement.lang = 'en';
  page.body.style.cssText = `font-family: system-ui, sans-serif; margin: 24px; background: ${paper}; color: ${ink}`;
  page.body.appendChild(h('h1', { style: 'font-size: 16px' }, title));
  if (exports.svg) {
    const parsed = new DOMParser().parseFromString(svgText(exports.svg(), paper), 'image/svg+xml');
    page.body.appendChild(page.importNode(parsed.documentElement, true));
  } else if (exports.canvas) {
    const source = exports.canvas().toDataURL('image/png');
    page.body.appendChild(
      h('img', { src: source, alt: title, style: 'image-rendering: pixelated; max-width: 100%' })
    );
  }
  for (const line of exports.caption?.() ?? []) {
    page.body.appendChild(h('p', {}, line));
  }
  return '<!doctype html>\n' + new XMLSerializer().serializeToString(page);
}

/** Rows as CSV: cells with a comma, quote or line break are quoted; formulas of spreadsheets are defused. */
export function csv(rows: readonly (readonly (string | number | null)[])[]): string {
  const cell = (value: string | number | null): string => {
    if (value === null || typeof value === 'number') {
      return value === null ? '' : String(value);
    }
    const text = /^[=+\-@\t\r]/.test(value) ? `'${value}` : value;
    return /[",\n\r]/.test(text) ? `"${text.replace(/"/g, '""')}"` : text;
  };
  return rows.map(row => row.map(cell).join(',')).join('\n') + '\n';
}

/** A name that any file system takes. */
export function fileName(title: string, ending: string): string {
  const plain = title
    .replace(/[^A-Za-z0-9._-]+/g, '-')
    .replace(/^[-.]+|[-.]+$/g, '')
    .slice(0, 80);
  return `${plain || 'workbench'}.${ending}`;
}

/** Lets the browser save a file. */
export function download(name: string, data: Blob): void {
  const url = URL.createObjectURL(data);
  const link = h('a', { href: url, download: name });
  document.body.appendChild(link);
  link.click();
  link.remove();
  // Not at once: some browsers begin to read only after this.
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}
