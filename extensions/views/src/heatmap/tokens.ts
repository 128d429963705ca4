/** An input that is a text: its words, each on the colour of its attribution. */
import { colourTable, hex, inkOn, type Rgb } from '../common/colours';
import { h, Listeners, replace } from '../common/dom';
import { figure } from '../common/numbers';
import { keyed, labelOf, partName, type Cell, type PartData, type PartPicture, type Sight } from './part';
import { mapFor, mapped, type Tone } from './tone';

/** Words of one part, a paragraph for each model. */
export class TokensPart implements PartPicture {
  readonly element = h('div', { class: 'wb-heat-texts' });
  cursor: Cell | null = null;
  private readonly listeners = new Listeners();
  private data: PartData | null = null;
  private lines: { readonly words: HTMLElement[]; readonly values: Float32Array; readonly all: boolean }[] =
    [];

  /** What the words are coloured by, as text. */
  private coloured = '';
  /** Which word is marked; −1 for none. */
  private marked = -1;

  constructor(private readonly moved: () => void) {}

  accept(data: PartData): void {
    this.data = data;
    this.listeners.release();
    const { part, maps } = data;
    const shown =
      maps.length > 0 ? maps : [{ name: 'text', kind: 'map' as const, values: new Float32Array() }];
    this.lines = [];
    this.coloured = '';
    const rows = shown.map(map => {
      const words = part.tokens.map((token, at) =>
        h('span', { class: 'wb-heat-token', 'data-token': at, title: figure(map.values[at]) }, token || '·')
      );
      const text = h(
        'div',
        {
          class: 'wb-heat-text',
          role: 'img',
          tabindex: 0,
          'aria-label': `${labelOf(map.name, part)}. ${part.tokens.join(' ')}`,
          'data-testid': `wb-heat-${map.kind}`
        },
        ...words
      );
      this.listeners.on(text, 'pointermove', event => this.point(event));
      this.listeners.on(text, 'pointerleave', () => this.go(null));
      this.listeners.on(text, 'blur', () => this.go(null));
      this.listeners.on(text, 'keydown', event => this.key(event));
      this.lines.push({ words, values: map.values, all: map.kind === 'difference' });
      return h('figure', {}, maps.length > 1 ? h('figcaption', {}, map.name) : null, text);
    });
    replace(this.element, partName(part), ...rows);
    if (this.cursor && this.cursor.column >= part.width) {
      this.cursor = null;
    }
  }

  draw(sight: Sight): void {
    const colours = JSON.stringify([sight.tone, sight.reach, sight.theme]);
    // Where the cursor alone has moved, thousands of words stay as they are.
    if (colours !== this.coloured) {
      this.colour(sight);
      this.coloured = colours;
    }
    for (const { words } of this.lines) {
      words[this.marked]?.toggleAttribute('data-cursor', false);
      words[this.cursor?.column ?? -1]?.toggleAttribute('data-cursor', true);
    }
    this.marked = this.cursor?.column ?? -1;
  }

  private colour(sight: Sight): void {
    for (const { words, values, all } of this.lines) {
      const tone: Tone = all ? { ...sight.tone, sign: 'all' } : sight.tone;
      const { dark, paper } = sight.theme;
      const table = colourTable(mapFor(tone), dark, paper);
      words.forEach((word, at) => {
        const value = values[at];
        const drawn = value !== undefined && Number.isFinite(value);
        const { entry, weight } = drawn ? mapped(value, tone, sight.reach) : { entry: 0, weight: 0 };
        const colour: Rgb = [table[entry * 3]!, table[entry * 3 + 1]!, table[entry * 3 + 2]!];
        // A word of little weight looks like any other word.
        const part = drawn ? (tone.sign === 'all' ? 1 : Math.sqrt(weight)) : 0;
        const ground = hex(mix(paper, colour, part * tone.blend));
        word.style.background = ground;
        word.style.color = inkOn(ground);
      });
    }
  }

  canvases(): readonly HTMLCanvasElement[] {
    return this.lines.map(line => drawn(line.words));
  }

  destroy(): void {
    this.listeners.release();
  }

  private point(event: PointerEvent): void {
    const word = (event.target as Element).closest<HTMLElement>('[data-token]');
    this.go(word ? { row: 0, column: Number(word.dataset['token']) } : null);
  }

  private key(event: KeyboardEvent): void {
    const cell = this.data ? keyed(event, this.cursor, { ...this.data.part, height: 1 }) : undefined;
    if (cell !== undefined) {
      this.go(cell);
      const line = this.lines.find(one => one.words[0]?.parentElement === event.currentTarget);
      line?.words[cell?.column ?? -1]?.scrollIntoView({ block: 'nearest' });
      event.preventDefault();
      event.stopPropagation();
    }
  }

  private go(cell: Cell | null): void {
    if (cell?.column !== this.cursor?.column) {
      this.cursor = cell;
      this.moved();
    }
  }
}

function mix(from: Rgb, to: Rgb, part: number): Rgb {
  return [0, 1, 2].map(at => from[at]! + (to[at]! - from[at]!) * part) as unknown as Rgb;
}

/** The words as a picture, for a file. */
function drawn(words: readonly HTMLElement[]): HTMLCanvasElement {
  const canvas = h('canvas', { width: 640, height: 32 });
  const context = canvas.getContext('2d');
  if (!context) {
    return canvas;
  }
  const font = '14px sans-serif';
  context.font = font;
  const places: {
    readonly word: HTMLElement;
    readonly x: number;
    readonly y: number;
    readonly wide: number;
  }[] = [];
  let [x, y] = [8, 8];
  for (const word of words) {
    const wide = context.measureText(word.textContent ?? '').width + 8;
    if (x + wide > 632) {
      [x, y] = [8, y + 26];
    }
    places.push({ word, x, y, wide });
    x += wide + 3;
  }
  canvas.height = y + 32;
  context.font = font;
  for (const { word, x: left, y: top, wide } of places) {
    context.fillStyle = word.style.background;
    context.fillRect(left, top, wide, 22);
    context.fillStyle = word.style.color;
    context.fillText(word.textContent ?? '', left + 4, top + 16);
  }
  return canvas;
}
