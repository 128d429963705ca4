/** The two fields in which scale and zero point are typed: a range in other words. */
import type { Answer } from '../host';
import type { ObserverDetail, SetScaleEvent } from '../protocol';
import { h } from '../common/dom';
import { exact, figure, parse } from '../common/numbers';
import { hasFocus, rewrite } from '../common/focus';

type Part = 'scale' | 'zero point';

/** Why a scale and a zero point cannot be typed so; empty if they can. */
export function whyNoScale(scale: number, zero: number): string {
  if (!(scale > 0)) {
    return `a scale lies above 0; this one is ${figure(scale)}`;
  }
  return Number.isInteger(zero) ? '' : `a zero point is a whole number; this one is ${figure(zero)}`;
}

/** The fields of scale and zero point. */
export class ScaleFields {
  private readonly inputs: Record<Part, HTMLInputElement>;
  private detail: ObserverDetail | null = null;

  constructor(
    private readonly send: (event: SetScaleEvent) => Promise<Answer | void>,
    private readonly refused: (reason: string) => void
  ) {
    this.inputs = { scale: this.field('scale'), 'zero point': this.field('zero point') };
  }

  /** A field with its name before it. */
  labelled(part: Part): HTMLElement {
    return h('label', { class: 'wb-field' }, part, this.inputs[part]);
  }

  /** Writes what is in force, but not over what is being typed or is to be mended. */
  accept(detail: ObserverDetail): void {
    const other = detail.id !== this.detail?.id;
    this.detail = detail;
    // With a scale a channel there is none to type.
    const each = detail.settings?.per_channel ?? false;
    const now = { scale: detail.scale, 'zero point': detail.zero_point };
    for (const part of ['scale', 'zero point'] as const) {
      const input = this.inputs[part];
      input.disabled = each;
      input.title = each
        ? `each channel has a ${part} of its own; this is that of the widest range`
        : exact(now[part]);
      if (other) {
        input.removeAttribute('aria-invalid');
      }
      const typing = hasFocus(input) && input.value !== input.dataset['shown'];
      if (!typing && input.getAttribute('aria-invalid') !== 'true') {
        this.write(input, part);
      }
    }
  }

  private write(input: HTMLInputElement, part: Part): void {
    const { detail } = this;
    const text =
      part === 'scale' ? figure(detail?.scale) : String(detail?.zero_point ?? '').replace('-', '−');
    rewrite(input, text);
    input.dataset['shown'] = text;
  }

  private field(part: Part): HTMLInputElement {
    const input = h('input', {
      type: 'text',
      inputmode: 'decimal',
      class: 'wb-input wb-input-number',
      'aria-label': part,
      'data-testid': `wb-input-${part.replace(' ', '-')}`,
      autocomplete: 'off',
      spellcheck: 'false'
    });
    input.addEventListener('change', () => void this.typed(part));
    input.addEventListener('keydown', event => {
      if (event.key === 'Escape') {
        input.removeAttribute('aria-invalid');
        this.write(input, part);
        this.refused('');
      } else if (event.key === 'Enter') {
        void this.typed(part);
      }
      // Keys of a field are no shortcuts of the view, nor of the notebook around it.
      event.stopPropagation();
    });
    return input;
  }

  private async typed(part: Part): Promise<void> {
    const { detail } = this;
    const input = this.inputs[part];
    // Enter, and the change event that follows it, would ask twice.
    if (!detail || input.value === input.dataset['shown']) {
      return;
    }
    input.dataset['shown'] = input.value;
    const result = parse(input.value);
    const scale = part === 'scale' && 'value' in result ? result.value : detail.scale;
    const zero = part === 'zero point' && 'value' in result ? result.value : detail.zero_point;
    const problem = 'problem' in result ? result.problem : whyNoScale(scale, zero);
    if (problem) {
      this.wrong(input, problem);
      return;
    }
    input.removeAttribute('aria-invalid');
    const answer = await this.send({ type: 'set_scale', id: detail.id, scale, zero_point: zero });
    if (answer && !answer.accepted) {
      this.wrong(input, answer.reason);
    } else {
      this.refused('');
    }
  }

  private wrong(input: HTMLInputElement, reason: string): void {
    input.setAttribute('aria-invalid', 'true');
    this.refused(reason);
  }
}
