/** What is chosen of an observer: its rule, scheme, bits, and whether each channel has a range of its own. */
import type { Answer } from '../host';
import type { ChooseEvent, ObserverDetail } from '../protocol';
import { h, replace } from '../common/dom';
import { select } from '../common/parts';
import { ruleWords } from './rules';

type Part = 'rule' | 'symmetric' | 'bits' | 'per_channel';

const BITS = ['2', '3', '4', '5', '6', '7', '8'] as const;

/** Everything stays. */
const NOTHING = { rule: null, symmetric: null, bits: null, per_channel: null };

/** What each menu says in an event. */
const VALUES: Record<Part, (text: string) => Partial<ChooseEvent>> = {
  rule: text => ({ rule: text }),
  symmetric: text => ({ symmetric: text === 'symmetric' }),
  bits: text => ({ bits: Number(text) }),
  per_channel: text => ({ per_channel: text === 'channel' })
};

/** What the menus show for an observer. */
export function chosen(settings: NonNullable<ObserverDetail['settings']>): Record<Part, string> {
  return {
    rule: settings.rule,
    symmetric: settings.symmetric ? 'symmetric' : 'affine',
    bits: String(settings.bits),
    per_channel: settings.per_channel ? 'channel' : 'tensor'
  };
}

/** The row of menus. A choice that is refused goes back to what is in force, and the reason is told to `refused`. */
export class SettingsMenus {
  readonly element = h('div', {
    class: 'wb-menus',
    role: 'group',
    'aria-label': 'How this observer quantizes'
  });
  private inputs: Partial<Record<Part, HTMLSelectElement>> = {};
  private detail: ObserverDetail | null = null;
  private built = '';

  constructor(
    private readonly send: (event: ChooseEvent) => Promise<Answer | void>,
    private readonly refused: (reason: string) => void
  ) {}

  /** Shows what is chosen. */
  accept(detail: ObserverDetail): void {
    this.detail = detail;
    const { settings } = detail;
    const kind = settings ? JSON.stringify(settings.rules) : 'none';
    if (kind !== this.built) {
      this.built = kind;
      this.build(settings);
    }
    this.show();
  }

  private build(settings: ObserverDetail['settings']): void {
    this.inputs = {};
    if (!settings) {
      replace(
        this.element,
        h(
          'span',
          { class: 'wb-quiet' },
          'Nothing can be chosen here: the range is known without looking, or the observer is the program’s own.'
        )
      );
      return;
    }
    const rules = settings.rules.map(([name = '', text = '']) => [name, text] as const);
    const menus = [
      this.menu('rule', 'observer', rules),
      this.menu('symmetric', 'scheme', [
        ['affine', 'affine'],
        ['symmetric', 'symmetric']
      ]),
      this.menu(
        'bits',
        'bits',
        BITS.map(bits => [bits, bits] as const)
      ),
      this.menu('per_channel', 'ranges', [
        ['tensor', 'per tensor'],
        ['channel', 'per channel']
      ])
    ];
    replace(this.element, ...menus);
  }

  private menu(part: Part, label: string, choices: readonly (readonly [string, string])[]): HTMLElement {
    const made = select(label, choices, '', text => void this.choose(part, text), `wb-choose-${part}`);
    this.inputs[part] = made.input;
    return made.element;
  }

  private show(): void {
    const settings = this.detail?.settings;
    if (!settings) {
      return;
    }
    for (const [part, value] of Object.entries(chosen(settings)) as [Part, string][]) {
      const input = this.inputs[part];
      // A list that is open is not changed under the hand.
      if (input && input.value !== value && !input.matches(':open')) {
        input.value = value;
      }
    }
    const { rule } = this.inputs;
    if (rule) {
      rule.title = ruleWords(rule.selectedOptions[0]?.text ?? '');
    }
    const each = this.inputs.per_channel;
    if (each) {
      each.title = settings.weight
        ? 'Each channel of a weight can have a range of its own'
        : 'Only weights can have a range a channel: what flows has one scale';
    }
  }

  private async choose(part: Part, text: string): Promise<void> {
    const { detail } = this;
    if (!detail) {
      return;
    }
    const answer = await this.send({ type: 'choose', id: detail.id, ...NOTHING, ...VALUES[part](text) });
    if (answer && !answer.accepted) {
      this.refused(answer.reason);
      this.show();
    } else {
      this.refused('');
    }
  }
}
