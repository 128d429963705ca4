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
  const image = new ImageData(input.width, input.height);
  const table = colourTable(mapFor(tone), dark, paper);
  const under = input.data;
  const pixels = image.data;
  const { sign, blend } = tone;
  // What the heatmap adds to a cell, for each entry of the map's table.
  const over = Float32Array.from(table, colour => colour * blend);
  // The input behind is drawn grey, so that its colours are not read as attributions, and the paler the more
  // the heatmap counts, so that zero looks like the background and not like mud: grey · gain + lift.
  const [pale, white] = dark ? [0.35, 0] : [0.19, 206];
  const gain = (1 + (pale - 1) * blend) * (1 - blend);
  const lift = white * blend * (1 - blend);
  // As `mapped` has it, without an object or a call for each of a million cells.
  const [factor, shift] = sign === 'all' ? [127.5 / reach, 128] : [255 / reach, 0.5];
  const slope = sign === 'negative' ? -factor : factor;
  const absolute = sign === 'absolute';
  for (let cell = 0; cell < attribution.length; cell++) {
    const to = cell * 4;
    const value = attribution[cell]!;
    pixels[to + 3] = 255;
    if (value !== value) {
      pixels[to] = NAN_COLOUR[0];
      pixels[to + 1] = NAN_COLOUR[1];
      pixels[to + 2] = NAN_COLOUR[2];
      continue;
    }
    const place = (absolute ? Math.abs(value) : value) * slope + shift;
    const entry = place <= 0 ? 0 : place >= 255 ? 765 : Math.trunc(place) * 3;
    const ground = (0.299 * under[to]! + 0.587 * under[to + 1]! + 0.114 * under[to + 2]!) * gain + lift;
    pixels[to] = ground + over[entry]!;
    pixels[to + 1] = ground + over[entry + 1]!;
    pixels[to + 2] = ground + over[entry + 2]!;
  }
  return image;
}
