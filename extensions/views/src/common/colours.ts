/**
 * Colours of data: dimensions, categories and the two maps. Chrome takes its colours from CSS variables.
 *
 * Dimensions and categories use the set of Okabe and Ito, which people with any usual colour vision can tell
 * apart; a name or number always stands beside a colour.
 */

/** Red, green and blue, 0 to 255. */
export type Rgb = readonly [number, number, number];

/** The set of Okabe and Ito by name, a little lightened where the theme is dark. */
const LIGHT = {
  grey: '#7a7f87',
  blue: '#0072b2',
  green: '#009e73',
  orange: '#e69f00',
  purple: '#b5629a',
  sky: '#56b4e9',
  vermilion: '#d55e00',
  yellow: '#c9b800'
} as const;

const DARK: Record<keyof typeof LIGHT, string> = {
  grey: '#9aa0a8',
  blue: '#4aa3df',
  green: '#26bf93',
  orange: '#f0b335',
  purple: '#d48abd',
  sky: '#7cc7f2',
  vermilion: '#f07f3c',
  yellow: '#e3d34a'
};

type Hue = keyof typeof LIGHT;

/** The names every session colours alike. */
const FIXED: Readonly<Record<string, Hue>> = { N: 'grey', C: 'blue', H: 'green', W: 'orange', T: 'purple' };

/** The hues given to other names, in the order in which the names appear. */
const ORDER: readonly Hue[] = ['sky', 'vermilion', 'yellow', 'purple', 'blue', 'green', 'orange'];

/** The hues of categories, in order; neighbours differ in lightness too. */
const CATEGORY_ORDER: readonly Hue[] = [
  'blue',
  'orange',
  'green',
  'vermilion',
  'sky',
  'purple',
  'yellow',
  'grey'
];

/** Drawn where a value is not a number, in both themes. */
export const NAN_COLOUR: Rgb = [224, 0, 122];

// Several bundles may live on one page (a panel and some widgets): they must agree, so the order of names
// hangs on the page and not on this module.
const SHARED = Symbol.for('workbench.dimension-order');
type Shared = typeof globalThis & { [SHARED]?: Map<string, number> };

function order(): Map<string, number> {
  const page = globalThis as Shared;
  return (page[SHARED] ??= new Map());
}

/** Forgets which names were seen: for tests. */
export function forgetDimensions(): void {
  order().clear();
}

function mix(a: Rgb, b: Rgb, t: number): Rgb {
  return [a[0] + (b[0] - a[0]) * t, a[1] + (b[1] - a[1]) * t, a[2] + (b[2] - a[2]) * t];
}

/** `#rrggbb` as numbers. */
export function rgb(hex: string): Rgb {
  const value = parseInt(hex.slice(1), 16);
  return [(value >> 16) & 255, (value >> 8) & 255, value & 255];
}

/** Numbers as `#rrggbb`. */
export function hex(colour: Rgb): string {
  return '#' + colour.map(part => Math.round(part).toString(16).padStart(2, '0')).join('');
}

/** A colour with an opacity, for CSS and canvas. */
export function translucent(colour: string, alpha: number): string {
  const [red, green, blue] = rgb(colour);
  return `rgba(${red}, ${green}, ${blue}, ${alpha})`;
}

function shade(hue: Hue, round: number, dark: boolean): string {
  const colour = dark ? DARK[hue] : LIGHT[hue];
  // Once all hues are in use they come again, darker or lighter by turns.
  const towards: Rgb = round % 2 === 1 ? [0, 0, 0] : [255, 255, 255];
  return round === 0 ? colour : hex(mix(rgb(colour), towards, 0.4));
}

/** The colour of a dimension: the same for its name in every view of the session. */
export function dimensionColour(name: string | null, dark = false): string {
  if (name === null) {
    return dark ? '#6b7078' : '#a9aeb5';
  }
  const fixed = Object.hasOwn(FIXED, name) ? FIXED[name] : undefined;
  if (fixed !== undefined) {
    return shade(fixed, 0, dark);
  }
  const known = order();
  let index = known.get(name);
  if (index === undefined) {
    index = known.size;
    known.set(name, index);
  }
  // The first three hues are free; the others belong to fixed names too and therefore come as a shade.
  const round = Math.floor(index / ORDER.length) + (index % ORDER.length >= 3 ? 1 : 0);
  return shade(ORDER[index % ORDER.length]!, round, dark);
}

/** The colour of a category by its position in the list. */
export function categoryColour(index: number, dark = false): string {
  const turn = Math.floor(index / CATEGORY_ORDER.length);
  return shade(CATEGORY_ORDER[index % CATEGORY_ORDER.length]!, turn, dark);
}

/**
 * The colours of ops, by theme: none of them is a dimension's. Ops and dims stand in one picture, where conv2d in the
 * orange of W would say that it is about the width.
 */
const OPS = {
  light: ['#4a35c4', '#8c1d18', '#12454a', '#8b78ff', '#e3779b', '#6b3410', '#6d8f3a', '#22242a'],
  dark: ['#8f7bff', '#ff8f8f', '#8ff0e0', '#e64fa0', '#c9b6ff', '#c08552', '#dcf7a0', '#f2f2f2']
} as const;

/** How many ops can be told apart by their colours. */
export const OP_COLOURS = OPS.light.length;

/** The colour of an op, or of another property of a graph's nodes, by its position in the list. */
export function opColour(index: number, dark = false): string {
  const colours = dark ? OPS.dark : OPS.light;
  return colours[index % colours.length]!;
}

/** How light a colour looks, 0 to 1 (relative luminance of sRGB). */
export function luminance([red, green, blue]: Rgb): number {
  const linear = (part: number): number => {
    const c = part / 255;
    return c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
  };
  return 0.2126 * linear(red) + 0.7152 * linear(green) + 0.0722 * linear(blue);
}

/** Black or white, whichever reads better on the colour. */
export function inkOn(colour: string): string {
  const light = luminance(rgb(colour));
  // Contrast as WCAG has it, with black and with white.
  return (light + 0.05) / 0.05 > 1.05 / (light + 0.05) ? '#000000' : '#ffffff';
}

/** The viridis map by ten of its colours. */
const VIRIDIS = [
  '#440154',
  '#482878',
  '#3e4989',
  '#31688e',
  '#26828e',
  '#1f9e89',
  '#35b779',
  '#6ece58',
  '#b5de2b',
  '#fde725'
].map(rgb);

const SIGNED_LIGHT = ['#0b3c6f', '#2f7fc1', '#a9cdeb', '#ffffff', '#fbd08b', '#dd8a17', '#7a3d00'].map(rgb);
const SIGNED_DARK = ['#b4dcfa', '#4aa3df', '#1c4a70', '#111111', '#6e4408', '#e2941f', '#ffdf9e'].map(rgb);
const GREY = ['#000000', '#ffffff'].map(rgb);

function along(stops: readonly Rgb[], t: number): Rgb {
  const place = Math.min(1, Math.max(0, t)) * (stops.length - 1);
  const index = Math.min(stops.length - 2, Math.floor(place));
  return mix(stops[index]!, stops[index + 1]!, place - index);
}

/** The name of a colour map. */
export type MapName = 'viridis' | 'signed' | 'grey';

/** A colour map as a table of 256 colours, red green blue by turns; `dark` only matters to the signed map. */
export function colourTable(name: MapName, dark = false, paper?: Rgb): Uint8ClampedArray {
  const signed = dark
    ? // On a dark theme zero looks like the paper that it stands on.
      SIGNED_DARK.map((colour, index) => (index === 3 && paper ? paper : colour))
    : SIGNED_LIGHT;
  const stops = name === 'viridis' ? VIRIDIS : name === 'grey' ? GREY : signed;
  const table = new Uint8ClampedArray(256 * 3);
  for (let index = 0; index < 256; index++) {
    table.set(along(stops, index / 255), index * 3);
  }
  return table;
}

/** The end points that a map is stretched between: the signed map keeps zero at its middle. */
export function mapRange(low: number, high: number, signed: boolean): readonly [number, number] {
  if (signed) {
    const reach = Math.max(Math.abs(low), Math.abs(high)) || 1;
    return [-reach, reach];
  }
  return high > low ? [low, high] : [low - 0.5, low + 0.5];
}

/** The entry of a colour table for a value. */
export function tableIndex(value: number, low: number, high: number): number {
  const t = (value - low) / (high - low);
  return Math.round(Math.min(1, Math.max(0, t)) * 255);
}
