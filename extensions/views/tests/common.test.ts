import { beforeEach, describe, expect, it, vi } from 'vitest';
import {
  categoryColour,
  colourTable,
  dimensionColour,
  forgetDimensions,
  inkOn,
  luminance,
  OP_COLOURS,
  opColour,
  mapRange,
  rgb,
  tableIndex
} from '../src/common/colours';
import { float32, StateError } from '../src/common/buffers';
import { h, s, setAttributes } from '../src/common/dom';
import { csv, fileName } from '../src/common/exporting';
import { beside } from '../src/common/float';
import { Aim } from '../src/common/aim';
import { Latest } from '../src/common/frame';
import { freshness } from '../src/common/head';
import * as numbers from '../src/common/numbers';
import { layoutTiles } from '../src/common/raster';
import { Scale, ticks, tickText } from '../src/common/scales';
import { middleOut, shorten, textWidth } from '../src/common/text';
import { parseColour } from '../src/common/theme';

/** How different two colours look: their distance in Oklab, in which 0.02 is just seen. */
function distance(one: string, other: string): number {
  const [a, b] = [oklab(one), oklab(other)];
  return Math.hypot(...a.map((part, index) => part - b[index]!));
}

function oklab(colour: string): number[] {
  const [r, g, b] = rgb(colour).map(part => {
    const c = part / 255;
    return c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
  }) as [number, number, number];
  const l = Math.cbrt(0.4122214708 * r + 0.5363325363 * g + 0.0514459929 * b);
  const m = Math.cbrt(0.2119034982 * r + 0.6806995451 * g + 0.1073969566 * b);
  const s = Math.cbrt(0.0883024619 * r + 0.2817188376 * g + 0.6299787005 * b);
  return [
    0.2104542553 * l + 0.793617785 * m - 0.0040720468 * s,
    1.9779984951 * l - 2.428592205 * m + 0.4505937099 * s,
    0.0259040371 * l + 0.7827717662 * m - 0.808675766 * s
  ];
}

describe('colours', () => {
  beforeEach(() => forgetDimensions());

  it('gives the usual names the same colours in any order', () => {
    const first = ['N', 'C', 'H', 'W', 'T'].map(name => dimensionColour(name));
    forgetDimensions();
    dimensionColour('features');
    expect(['T', 'W', 'H', 'C', 'N'].map(name => dimensionColour(name)).reverse()).toEqual(first);
    expect(new Set(first).size).toBe(5);
  });

  it('keeps the colour of a name for the session and gives others another', () => {
    const first = dimensionColour('features');
    const names = Array.from({ length: 12 }, (_, index) => `dim${index}`);
    const others = names.map(name => dimensionColour(name));
    expect(dimensionColour('features')).toBe(first);
    expect(new Set([first, ...others]).size).toBe(13);
  });

  it('knows names that every object has', () => {
    expect(dimensionColour('constructor')).toMatch(/^#[0-9a-f]{6}$/);
    expect(dimensionColour('__proto__')).toMatch(/^#[0-9a-f]{6}$/);
  });

  it('never pairs two categories with one colour before the set is used up', () => {
    const colours = Array.from({ length: 24 }, (_, index) => categoryColour(index));
    expect(new Set(colours).size).toBe(24);
  });

  it('gives no op a colour that could be read as a dimension', () => {
    for (const dark of [false, true]) {
      const dims = ['N', 'C', 'H', 'W', 'T', 'features', 'classes', 'heads'].map(name =>
        dimensionColour(name, dark)
      );
      for (let index = 0; index < OP_COLOURS; index++) {
        const own = opColour(index, dark);
        const near = [...dims, dimensionColour(null, dark)].filter(colour => distance(own, colour) < 0.08);
        expect(near, own).toEqual([]);
      }
    }
  });

  it('writes on a colour with the ink that contrasts by at least 4.5', () => {
    for (let index = 0; index < 24; index++) {
      const colour = categoryColour(index, index % 2 === 0);
      const [a, b] = [luminance(rgb(colour)), luminance(rgb(inkOn(colour)))].sort((x, y) => x - y);
      expect((b! + 0.05) / (a! + 0.05)).toBeGreaterThan(4.5);
    }
  });

  it('fixes zero at the middle of the signed map, which is the paper', () => {
    const [low, high] = mapRange(-0.2, 3, true);
    expect([low, high]).toEqual([-3, 3]);
    const middle = tableIndex(0, low, high) * 3;
    expect([...colourTable('signed').slice(middle, middle + 3)].every(part => part > 250)).toBe(true);
    const dark = colourTable('signed', true, [17, 17, 17]);
    expect([...dark.slice(middle, middle + 3)].every(part => Math.abs(part - 17) < 4)).toBe(true);
  });

  it('grows lighter along the sequential map', () => {
    const table = colourTable('viridis');
    let last = -1;
    for (let entry = 0; entry < 256; entry += 5) {
      const light = luminance([table[entry * 3]!, table[entry * 3 + 1]!, table[entry * 3 + 2]!]);
      expect(light).toBeGreaterThan(last);
      last = light;
    }
  });
});

describe('numbers', () => {
  it.each([
    [0.0331234, '0.0331'],
    [-0.42, '−0.420'],
    [2.8249, '2.82'],
    [131, '131'],
    [1234.5, '1235'],
    [0, '0'],
    [-0, '0'],
    [1.234e7, '1.23e7'],
    [1.2e-9, '1.20e−9'],
    [Number.NaN, 'NaN'],
    [-Infinity, '−inf'],
    [null, '–']
  ])('writes %s as %s', (value, text) => expect(numbers.figure(value)).toBe(text));

  it.each([
    [25088, '25.1 K'],
    [999, '999'],
    [999.7, '1 K'],
    [1e6, '1 M'],
    [0, '0']
  ])('writes the size %s as %s', (value, text) => expect(numbers.si(value)).toBe(text));

  it.each([
    [100352, '98 KB'],
    [200704, '196 KB'],
    [512, '512 B'],
    [2400, '2.34 KB']
  ])('writes %s bytes as %s', (value, text) => expect(numbers.bytes(value)).toBe(text));

  it.each([
    [0.81, '81 %'],
    [0.0002, '0.02 %'],
    [0.00001, '< 0.01 %'],
    [0, '0 %'],
    [0.989, '98.9 %'],
    [0.99999, '> 99.99 %'],
    [1, '100 %'],
    [null, '–']
  ])('writes the fraction %s as %s', (value, text) => expect(numbers.percent(value)).toBe(text));

  it('gives a ratio that rounds to nothing no sign', () => {
    expect(numbers.decibels(-0.04)).toBe('0.0 dB');
    expect(numbers.decibels(-0.06)).toBe('−0.1 dB');
  });

  it('reads what it writes, and what people type', () => {
    for (const text of ['−1.25', '-1.25', ' 1e-3 ', '+4', '.5', '3.']) {
      expect(numbers.parse(text)).toHaveProperty('value');
    }
    expect(numbers.parse('−1.25')).toEqual({ value: -1.25 });
  });

  it.each(['', 'nan', 'NaN', 'inf', '1e999', '0x10', '1,5', 'abc'])('refuses %s with a reason', text => {
    expect(numbers.parse(text)).toHaveProperty('problem');
  });

  it('tells age and duration', () => {
    expect(numbers.ago(3000)).toBe('3 s ago');
    expect(numbers.ago(200)).toBe('now');
    expect(numbers.ago(7_200_000)).toBe('2 h ago');
    expect(numbers.duration(0.0482)).toBe('48 ms');
    expect(numbers.duration(75)).toBe('1 min 15 s');
    expect(numbers.signed(-0.1)).toBe('−0.1');
    expect(numbers.signed(-0.01)).toBe('+0.0');
  });
});

describe('scales', () => {
  it('goes there and back', () => {
    const scale = new Scale(-2, 6, 40, 840);
    expect(scale.at(0)).toBe(240);
    expect(scale.invert(scale.at(1.5))).toBeCloseTo(1.5);
  });

  it('finds round ticks inside', () => {
    expect(ticks(-0.13, 0.31, 4)).toEqual([-0.1, 0, 0.1, 0.2, 0.3]);
    expect(ticks(1, 1, 4)).toEqual([1]);
    expect(ticks(Number.NaN, 1, 4)).toEqual([]);
    expect(tickText(0.5, [0, 0.5, 1])).toBe('0.5');
    expect(tickText(-10, [-10, 0, 10])).toBe('−10');
  });
});

describe('elements', () => {
  const hostile = '<img src=x onerror="alert(1)">';

  it('turn text into text', () => {
    const element = h('p', { title: hostile }, hostile);
    expect(element.children.length).toBe(0);
    expect(element.textContent).toBe(hostile);
    expect(s('text', {}, hostile).children.length).toBe(0);
  });

  it.each([
    ['onclick', 'alert(1)'],
    ['OnLoad', 'alert(1)'],
    ['href', ' javascript:alert(1)'],
    ['srcdoc', 'x']
  ])('take no %s', (name, value) => {
    expect(() => setAttributes(h('a'), { [name]: value })).toThrow(/may carry code/);
  });
});

describe('floating boxes', () => {
  const window = { width: 800, height: 600 };
  const meets = (
    a: { left: number; top: number; right: number; bottom: number },
    at: { left: number; top: number }
  ) => at.left < a.right && at.left + 200 > a.left && at.top < a.bottom && at.top + 80 > a.top;

  it('never cover what they explain, wherever it is', () => {
    for (let x = 0; x <= 790; x += 79) {
      for (let y = 0; y <= 590; y += 59) {
        const anchor = { left: x, right: x + 10, top: y, bottom: y + 10 };
        const at = beside(anchor, { width: 200, height: 80 }, window);
        expect(meets(anchor, at)).toBe(false);
        expect(at.left).toBeGreaterThanOrEqual(4);
        expect(at.left + 200).toBeLessThanOrEqual(796);
      }
    }
  });
});

describe('the newest value', () => {
  it('goes one at a time, and the last is never lost', async () => {
    const sent: number[] = [];
    const answers: (() => void)[] = [];
    const latest = new Latest<number, string>(value => {
      sent.push(value);
      return new Promise(resolve => answers.push(() => resolve('yes')));
    });
    const first = latest.push(1);
    const second = latest.push(2);
    const third = latest.push(3);
    expect(sent).toEqual([1]);
    answers.shift()!();
    expect(await first).toBe('yes');
    expect(sent).toEqual([1, 3]);
    answers.shift()!();
    expect(await Promise.all([second, third])).toEqual(['yes', 'yes']);
    expect(latest.pending).toBe(false);
  });

  it('is not held up by a link that never answers', async () => {
    vi.useFakeTimers();
    const sent: number[] = [];
    const latest = new Latest<number, string>(value => {
      sent.push(value);
      return new Promise(() => undefined);
    }, 500);
    void latest.push(1);
    void latest.push(2);
    await vi.advanceTimersByTimeAsync(600);
    expect(sent).toEqual([1, 2]);
    vi.useRealTimers();
  });

  it('keeps what may not be replaced, and sends the newest before the page is left', () => {
    const sent: number[] = [];
    const latest = new Latest<number, string>(value => {
      sent.push(value);
      return new Promise(() => undefined);
    });
    void latest.push(1);
    void latest.push(2);
    void latest.pass(3);
    void latest.pass(4);
    void latest.push(5);
    void latest.push(6);
    expect(sent).toEqual([1, 3, 4]);
    globalThis.dispatchEvent(new Event('pagehide'));
    expect(sent).toEqual([1, 3, 4, 6]);
  });

  it('answers late rather than never, though it no longer waits', async () => {
    vi.useFakeTimers();
    let answer: (text: string) => void = () => undefined;
    const latest = new Latest<number, string>(() => new Promise(resolve => (answer = resolve)), 500);
    const first = latest.push(1);
    await vi.advanceTimersByTimeAsync(600);
    expect(latest.pending).toBe(false);
    answer('yes');
    expect(await first).toBe('yes');
    vi.useRealTimers();
  });

  it('hands a failure on and goes on', async () => {
    const latest = new Latest<number, string>(value =>
      value === 1 ? Promise.reject(new Error('gone')) : Promise.resolve('yes')
    );
    await expect(latest.push(1)).rejects.toThrow('gone');
    expect(await latest.push(2)).toBe('yes');
  });
});

describe('where a person aims', () => {
  const yes = Promise.resolve({ accepted: true });

  it('is ahead of the pictures, which come in order and may leave steps out', async () => {
    const aim = new Aim();
    aim.show('a');
    expect(aim.at).toBe('a');
    ['b', 'c', 'b', 'd', 'c', 'd'].forEach(id => aim.choose(id, yes));
    await yes;
    for (const id of ['a', 'b', 'b', 'c', 'c', 'b', 'b', 'c']) {
      aim.show(id);
      expect(aim.at).toBe('d');
    }
    aim.show('d');
    expect(aim.at).toBe('d');
    aim.show('e');
    expect(aim.at).toBe('e');
  });

  it('goes back where a step was refused', async () => {
    const aim = new Aim();
    aim.show('a');
    const no = Promise.resolve({ accepted: false });
    aim.choose('b', no);
    expect(aim.at).toBe('b');
    await no;
    expect(aim.at).toBe('a');
  });
});

describe('files', () => {
  it('quote cells and defuse formulas', () => {
    expect(csv([['a', 'b,c', '=1+1', 'say "x"', 3, null]])).toBe('a,"b,c",\'=1+1,"say ""x""",3,\n');
  });

  it('have names that any system takes', () => {
    expect(fileName('conv1.weight', 'png')).toBe('conv1.weight.png');
    expect(fileName('../../<x>', 'csv')).toBe('x.csv');
    expect(fileName('日本', 'csv')).toBe('workbench.csv');
  });
});

describe('small things', () => {
  it('a buffer that does not lie on a multiple of four is read all the same', () => {
    const bytes = new Uint8Array(9);
    new DataView(bytes.buffer).setFloat32(1, 1.5, true);
    expect([...float32([new DataView(bytes.buffer, 1, 8)], 0, 2, 'x')]).toEqual([1.5, 0]);
  });

  it('a buffer that is missing or short is refused by name', () => {
    expect(() => float32([], 0, 1, 'the input')).toThrow(StateError);
    expect(() => float32([new DataView(new ArrayBuffer(4))], 0, 2, 'the input')).toThrow(
      'the input: 2 values were promised and 1 arrived'
    );
  });

  it('tiles fill the width without leaving it', () => {
    for (const width of [120, 276, 640, 1200]) {
      const layout = layoutTiles(16, 28, 28, width, 280);
      expect(layout.width).toBeLessThanOrEqual(width + 1e-6);
      expect(layout.columns * layout.rows).toBeGreaterThanOrEqual(16);
    }
    expect(layoutTiles(1, 2000, 4000, 600, 280).scale).toBeLessThan(1);
  });

  it('text is shortened to its room', () => {
    expect(textWidth(shorten('a long name of a layer', 60))).toBeLessThanOrEqual(60);
    expect(shorten('short', 100)).toBe('short');
    expect(middleOut('encoder.layers.11.attention', 12)).toBe('encode…ntion');
  });

  it('a long name loses whole words in its middle where words are short enough', () => {
    expect(middleOut('ten times the learning rate', 16)).toBe('ten…rate');
    expect(middleOut('ten times the learning rate of before', 30)).toBe('ten times the…rate of before');
    expect(middleOut('encoder.layers.11.attention.out_proj', 30)).toBe('encoder.layers…out_proj');
    for (let most = 5; most < 40; most++) {
      const short = middleOut('ten times the learning rate of before', most);
      expect(short.length).toBeLessThanOrEqual(most);
      expect(short.length).toBeGreaterThan(most / 3);
    }
    expect(middleOut('as it is', 8)).toBe('as it is');
  });

  it('computed colours are read', () => {
    expect(parseColour('rgb(17, 17, 17)')).toEqual([17, 17, 17]);
    expect(parseColour('rgba(0, 0, 0, 0)')).toBeNull();
    expect(parseColour('#ffffff')).toEqual([255, 255, 255]);
  });

  it('freshness is said in words', () => {
    const head = { live: false, updated: 100 };
    expect(freshness({ kind: 'live' }, { ...head, live: true }, 0)).toEqual(['●', 'live']);
    expect(freshness({ kind: 'live' }, head, 103_000)).toEqual(['◌', '3 s ago']);
    expect(freshness({ kind: 'disconnected', reason: 'kernel restarted' }, head, 0)[1]).toBe(
      'kernel restarted: last picture'
    );
    expect(freshness({ kind: 'disconnected', reason: 'no kernel' }, null, 0)[1]).toBe('no kernel');
  });
});
