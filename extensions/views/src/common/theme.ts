/** Style sheets that are put in once, and whether the theme in force is dark. */
import { rgb, luminance, type Rgb } from './colours';
import { h } from './dom';

function styleHome(node: Node): ParentNode & Node {
  const base = node.getRootNode();
  return typeof ShadowRoot !== 'undefined' && base instanceof ShadowRoot ? base : document.head;
}

/** Puts a style sheet where `node` stands, once; a newer text of the same name replaces it. */
export function useStyle(node: Node, name: string, css: string): void {
  // In the head in any case: tooltips and menus hang on the body, outside of a widget's root.
  for (const home of new Set([styleHome(node), document.head])) {
    const present = home.querySelector(`style[data-workbench="${name}"]`);
    if (!present) {
      home.appendChild(h('style', { 'data-workbench': name }, css));
    } else if (present.textContent !== css) {
      present.textContent = css;
    }
  }
}

/** A computed colour such as `rgb(17, 17, 17)` as numbers; null if it is transparent or of another form. */
export function parseColour(text: string): Rgb | null {
  const hex = /^#[0-9a-f]{6}$/i.exec(text.trim());
  if (hex) {
    return rgb(hex[0]);
  }
  const parts = /^rgba?\(\s*([\d.]+)[,\s]+([\d.]+)[,\s]+([\d.]+)(?:[,/\s]+([\d.]+))?/.exec(text.trim());
  if (!parts || (parts[4] !== undefined && Number(parts[4]) === 0)) {
    return null;
  }
  return [Number(parts[1]), Number(parts[2]), Number(parts[3])];
}

/** What the theme in force means for data colours. */
export interface Theme {
  readonly dark: boolean;
  /** The background that pictures stand on. */
  readonly paper: Rgb;
  readonly ink: string;
  readonly quiet: string;
  readonly line: string;
  readonly accent: string;
  readonly font: string;
}

/** Reads the theme from what the element's styles have become. */
export function themeOf(view: HTMLElement): Theme {
  const style = getComputedStyle(view);
  const paper = parseColour(style.backgroundColor) ?? [255, 255, 255];
  const value = (name: string, fallback: string): string => style.getPropertyValue(name).trim() || fallback;
  const dark = luminance(paper) < 0.25;
  return {
    dark,
    paper,
    ink: value('--wb-ink', dark ? '#eeeeee' : '#212121'),
    quiet: value('--wb-quiet', dark ? '#aaaaaa' : '#616161'),
    line: value('--wb-line', dark ? '#424242' : '#e0e0e0'),
    accent: value('--wb-accent', dark ? '#64b5f6' : '#1976d2'),
    font: value('--wb-font', 'system-ui, sans-serif')
  };
}

/** Calls back when the theme may have changed: JupyterLab marks it on the body, browsers by a media query. */
export function watchTheme(changed: () => void): () => void {
  const ends: (() => void)[] = [];
  if (typeof MutationObserver !== 'undefined') {
    const observer = new MutationObserver(changed);
    const options = {
      attributes: true,
      attributeFilter: ['data-jp-theme-light', 'data-jp-theme-name', 'class']
    };
    observer.observe(document.body, options);
    observer.observe(document.documentElement, options);
    ends.push(() => observer.disconnect());
  }
  if (typeof matchMedia === 'function') {
    const media = matchMedia('(prefers-color-scheme: dark)');
    media.addEventListener('change', changed);
    ends.push(() => media.removeEventListener('change', changed));
  }
  return () => ends.forEach(end => end());
}
