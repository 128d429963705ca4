/** The two fields in which a range is typed: what is nonsense is refused in place and stays there to be mended. */
import { h } from '../common/dom';
import { exact, figure, parse } from '../common/numbers';
import type { RangeControl } from './control';
import type { End } from './ground';
import { hasFocus, rewrite } from '../common/focus';

/** The fields of the two ends. */
export class RangeFields {
  private readonly inputs: Record<End, HTMLInputElement>;

  constructor(
    private readonly control: RangeControl,
    private readonly redraw: () => void
  ) {
    this.inputs = { low: this.field('low'), high: this.field('high') };
  }

  /** A field with its name before it. */
  labelled(end: End): HTMLElement {
    return h('label', { class: 'wb-field' }, end, this.inputs[end]);
  }

  /** Marks neither as wrong any longer. */
  clear(): void {
    for (const input of Object.values(this.inputs)) {
      input.removeAttribute('aria-invalid');
    }
  }

  private field(end: End): HTMLInputElement {
    const input = h('input', {
      type: 'text',
      inputmode: 'decimal',
      class: 'wb-input wb-input-number',
      'aria-label': `${end} end of the range`,
      'data-testid': `wb-input-${end}`,
      autocomplete: 'off',
      spellcheck: 'false'
    });
    input.addEventListener('change', () => this.typed(end));
    input.addEventListener('keydown', event => {
      if (event.key === 'Escape') {
        input.removeAttribute('aria-invalid');
        input.value = figure(this.control.range[end]);
        this.control.refusal = '';
        this.redraw();
      } else if (event.key === 'Enter') {
        this.typed(end);
      }
      // Keys of a field are no shortcuts of the view, nor of the notebook around it.
      event.stopPropagation();
    });
    return input;
  }

  private typed(end: End): void {
    const input = this.inputs[end];
    // Enter, and the change event that follows it, would ask twice.
    if (input.value === input.dataset['shown']) {
      return;
    }
    const result = parse(input.value);
    const invalid = 'problem' in result;
    input.dataset['shown'] = input.value;
    if (invalid) {
      input.setAttribute('aria-invalid', 'true');
      this.control.refuse(result.problem);
      return;
    }
    this.control.moveEnd(end, result.value, true);
    input.toggleAttribute('aria-invalid', false);
    if (this.control.refusal) {
      input.setAttribute('aria-invalid', 'true');
    }
  }

  /** Writes a range, but not over what is being typed. */
  update(range: { readonly low: number; readonly high: number }): void {
    for (const end of ['low', 'high'] as const) {
      const input = this.inputs[end];
      const text = figure(range[end]);
      // What was refused stays, to be mended.
      if (input.getAttribute('aria-invalid') === 'true' && this.control.refusal) {
        continue;
      }
      input.removeAttribute('aria-invalid');
      if (!hasFocus(input) || input.value === input.dataset['shown']) {
        rewrite(input, text);
        input.dataset['shown'] = text;
      }
      input.title = exact(range[end]);
    }
  }
}
