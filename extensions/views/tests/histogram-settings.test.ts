import { describe, expect, it } from 'vitest';
import { Scale } from '../src/common/scales';
import { differences } from '../src/histogram/compare';
import { arrange, dearness } from '../src/histogram/list';
import { writeFigures } from '../src/histogram/figures';
import { chosen, SettingsMenus } from '../src/histogram/menus';
import { ruleWords } from '../src/histogram/rules';
import { ScaleFields, whyNoScale } from '../src/histogram/scale';
import { steps } from '../src/histogram/values';
import { inSight } from '../src/histogram/window';
import type { ChooseEvent, HistogramState, ObserverDetail, ObserverRow } from '../src/protocol';

const settings = {
  rule: 'l2',
  rules: [
    ['l2', 'L2'],
    ['kl', 'KL']
  ],
  symmetric: false,
  bits: 8,
  per_channel: false,
  weight: false
};

describe('what is chosen of an observer', () => {
  it('stands in the menus', () => {
    expect(chosen(settings)).toEqual({ rule: 'l2', symmetric: 'affine', bits: '8', per_channel: 'tensor' });
  });

  it('goes back where it is refused, and the reason is told', async () => {
    const sent: ChooseEvent[] = [];
    const told: string[] = [];
    const menus = new SettingsMenus(
      event => {
        sent.push(event);
        return Promise.resolve({ accepted: false, reason: 'no such bits' });
      },
      reason => told.push(reason)
    );
    menus.accept({ id: 'a', settings } as unknown as ObserverDetail);
    const bits = menus.element.querySelector<HTMLSelectElement>('[data-testid=wb-choose-bits]')!;
    bits.value = '4';
    bits.dispatchEvent(new Event('change'));
    await new Promise(resolve => setTimeout(resolve, 5));
    expect(sent).toEqual([
      { type: 'choose', id: 'a', rule: null, symmetric: null, bits: 4, per_channel: null }
    ]);
    expect(told).toEqual(['no such bits']);
    expect(bits.value).toBe('8');
  });
});

describe('words for a stranger', () => {
  it('say what the rules of the menus go by', () => {
    for (const name of ['min-max', 'moving average', '99.9 %', 'L2', 'KL', 'MSE', 'yours']) {
      expect(ruleWords(name), name).not.toBe('');
    }
    const menus = new SettingsMenus(
      () => Promise.resolve(),
      () => {}
    );
    menus.accept({ id: 'a', settings } as unknown as ObserverDetail);
    const rule = menus.element.querySelector<HTMLSelectElement>('[data-testid=wb-choose-rule]')!;
    expect(rule.title).toContain('least squared error');
  });

  it('stand behind the figures, with the exact numbers', () => {
    const element = document.createElement('div');
    const state = {
      model: { sqnr: 31.25, accuracy: 0.986, float_accuracy: 0.988, samples: null, held: 512 }
    } as HistogramState;
    const detail = { bits: 7, quant_min: 0, quant_max: 127, sqnr: 38.123 } as ObserverDetail;
    const title = (name: string): string =>
      element.querySelector<HTMLElement>(`[data-figure=${name}]`)?.title ?? '';
    writeFigures(element, state, detail, null);
    expect(title('codes')).toContain('one of 8 bits is left free');
    expect(title('layer')).toBe(
      '38.123 · SQNR of these values once they are rounded to codes, by themselves: 6 dB more halve the error'
    );
    expect(title('model')).toContain('31.25 · SQNR of the model’s results on the held batch');
    expect(title('accuracy')).toBe('0.986 on the held batch · 98.8 % in floating point');
    writeFigures(element, state, { ...detail, bits: 8, quant_max: 255 }, null);
    expect(title('codes')).toBe('smallest and greatest integer');
  });
});

describe('scale and zero point', () => {
  it('are typed over while others arrive: what was selected stays selected', () => {
    const fields = new ScaleFields(
      () => Promise.resolve(),
      () => {}
    );
    const label = fields.labelled('scale');
    const input = label.querySelector('input')!;
    document.body.append(label);
    const detail = (scale: number): ObserverDetail =>
      ({ id: 'a', settings, scale, zero_point: 3 }) as unknown as ObserverDetail;
    fields.accept(detail(0.25));
    input.focus();
    input.select();
    fields.accept(detail(0.246));
    expect(input.value).toBe('0.246');
    expect([input.selectionStart, input.selectionEnd]).toEqual([0, 5]);
    input.setRangeText('0.2', 0, 5, 'end');
    fields.accept(detail(0.2455));
    expect(input.value).toBe('0.2');
    label.remove();
  });

  it('say why they are none', () => {
    expect(whyNoScale(0.1, 3)).toBe('');
    expect(whyNoScale(0, 3)).toContain('above 0');
    expect(whyNoScale(Number.NaN, 3)).toContain('above 0');
    expect(whyNoScale(0.1, 1.5)).toContain('whole number');
  });
});

describe('a long list', () => {
  it('has those in sight, and some beyond', () => {
    expect(inSight(1000, 27, 0, 270)).toEqual({ first: 0, last: 22 });
    expect(inSight(1000, 27, 2700, 270)).toEqual({ first: 88, last: 122 });
    expect(inSight(5, 27, 0, 270)).toEqual({ first: 0, last: 5 });
  });

  it('has the dearest first, and what is not known last', () => {
    const row = (name: string, damage: number | null): ObserverRow =>
      ({ id: name, name, damage, sqnr: 1, nan: 0, inf: 0 }) as ObserverRow;
    const rows = [row('a', null), row('b', 40), row('c', 20)];
    expect(arrange(rows, 'damage', '').map(each => each.name)).toEqual(['c', 'b', 'a']);
    expect([dearness(null), dearness(70), dearness(35), dearness(5)]).toEqual([0, 0, 0.5, 1]);
  });
});

describe('two sides', () => {
  it('differ in figures', () => {
    const rows = differences({
      active: 'B',
      a: { sqnr: 30, accuracy: 0.9, float_accuracy: null, samples: null, held: 8 },
      b: { sqnr: 27.5, accuracy: 0.89, float_accuracy: null, samples: null, held: 8 },
      differences: [{ id: 'fc.weight', a: 'x', b: 'y', a_sqnr: 40, b_sqnr: null }]
    });
    expect(rows.map(row => row[3])).toEqual(['−2.5 dB', '−1.0 points', '']);
    expect(rows[2]![4]).toBe('fc.weight');
  });
});

describe('values before and after', () => {
  it('are a line of steps over what is in sight', () => {
    const across = new Scale(0, 2, 0, 100);
    expect(steps([1, 3], 0, 1, across, count => 10 - count)).toBe('M0.0 9.0H50.0L50.0 7.0H100.0');
    expect(steps([1, 3], 5, 1, across, count => 10 - count)).toBe('');
  });
});
