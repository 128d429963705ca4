/** From attributions to pixels: which signs count, how far the map reaches, how input and heatmap are mixed. */
import { colourTable, NAN_COLOUR, tableIndex, type MapName, type Rgb } from '../common/colours';

/** Which attributions are shown. */
export type Sign = 'all' | 'positive' | 'negative' | 'absolute';

/** The person's choices; none of them needs Python. */
export interface Tone {
  readonly sign: Sign;
  readonly map: MapName;
  /** 0 shows the input alone, 1 the heatmap alone. */
  readonly blend: number;
  /** The per cent of the values (by size) that the map reaches to; the rest is drawn at its end. */
  readonly percentile: number;
}

/** The value that is drawn for an attribution. */
export function pick(value: number, sign: Sign): number {
  switch (sign) {
    case 'all':
      return value;
    case 'positive':
      return Math.max(0, value);
    case 'negative':
      return Math.max(0, -value);
    case 'absolute':
      return Math.abs(value);
  }
}

/** How far the map reaches: the given percentile of the sizes of what is drawn. */
export function reachOf(values: Float32Array, sign: Sign, percentile: number): number {
  const sizes = Float32Array.from(
    values.filter(value => Number.isFinite(value)),
    value => Math.abs(pick(value, sign))
  ).sort();
  if (sizes.length === 0) {
    return 1;
  }
  const index = Math.min(sizes.length - 1, Math.max(0, Math.ceil((percentile / 100) * sizes.length) - 1));
  // A map that reaches to zero would show nothing: the greatest value stands in.
  return sizes[index]! || sizes.at(-1)! || 1;
}

/** Where an attribution falls in the map's table, and how strongly it covers the input. */
export function mapped(
  value: number,
  tone: Pick<Tone, 'sign'>,
  reach: number
): { readonly entry: number; readonly weight: number } {
  const shown = pick(value, tone.sign);
  const weight = Math.min(1, Math.abs(shown) / reach);
  const entry = tone.sign === 'all' ? tableIndex(shown, -reach, reach) : tableIndex(shown, 0, reach);
  return { entry, weight };
}

/** The map in force: one with two sides cannot show sizes, and one with one side cannot show signs. */
export function mapFor(tone: Tone): MapName {
  return tone.sign === 'all' ? 'signed' : tone.map === 'signed' ? 'viridis' : tone.map;
}

/** Paints the heatmap over the input's pixels. */
export function overlay(
  input: ImageData,
  attribution: Float32Array,
  tone: Tone,
  reach: number,
  dark: boolean,
  paper: Rgb
): ImageData {
  const image = new ImageData(new Uint8ClampedArray(input.data), input.width, input.height);
  const table = colourTable(mapFor(tone), dark, paper);
  const pixels = image.data;
  const { sign, blend } = tone;
  // As `mapped` has it, without an object for each of a million cells.
  const [factor, shift] = sign === 'all' ? [127.5 / reach, 127.5] : [255 / reach, 0];
  for (let cell = 0; cell < attribution.length; cell++) {
    const to = cell * 4;
    const value = attribution[cell]!;
    const finite = !Number.isNaN(value);
    const entry = finite ? Math.round(Math.min(255, Math.max(0, pick(value, sign) * factor + shift))) * 3 : 0;
    const cover = finite ? blend : 1;
    // The input behind is drawn grey, so that its colours are not read as attributions, and the paler the more
    // the heatmap counts, so that zero looks like the background and not like mud.
    const plain = 0.299 * pixels[to]! + 0.587 * pixels[to + 1]! + 0.114 * pixels[to + 2]!;
    const pale = dark ? plain * 0.35 : 206 + plain * 0.19;
    const ground = (plain + (pale - plain) * blend) * (1 - cover);
    const colours = finite ? table : NAN_COLOUR;
    // Each written out: an inner loop takes as long again.
    pixels[to] = ground + colours[entry]! * cover;
    pixels[to + 1] = ground + colours[entry + 1]! * cover;
    pixels[to + 2] = ground + colours[entry + 2]! * cover;
  }
  return image;
}
