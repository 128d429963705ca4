/** What can be asked: model, the one beside it, method, layer, target, and the settings of the method. */
import type { HeatmapControls, HeatmapSetting, HeatmapState, HeatmapViewEvent } from '../protocol';
import { h, replace } from '../common/dom';
import { button, select } from '../common/parts';

const TARGETS: Readonly<Record<string, string>> = {
  predicted: 'the predicted class',
  true: 'the true class',
  given: 'as given'
};
/** Stands for no choice. */
const NONE = '';

/** The row of choices. It is built anew with each state; the focus is kept by the view. */
export class Choices {
  private readonly row = h('div', { class: 'wb-heat-ask' });
  private readonly settings = h('div', { class: 'wb-heat-ask', 'data-testid': 'wb-settings' });
  readonly element = h('div', { class: 'wb-heat-asks' }, this.row, this.settings);
  private drawn = '';

  constructor(private readonly send: (event: HeatmapViewEvent) => void) {}

  /** The settings alone, for a file. */
  summary(state: HeatmapState): string {
    return [state.method, ...state.settings.map(([name, value, label]) => `${label ?? name} ${value}`)].join(
      ' · '
    );
  }

  update(state: HeatmapState): void {
    const { controls } = state;
    const key = JSON.stringify([controls, controls ? null : [state.method, state.settings, state.alone]]);
    // What a person types in stays as long as nothing else was chosen.
    if (key === this.drawn) {
      return;
    }
    this.drawn = key;
    if (controls) {
      replace(this.row, ...this.choices(controls, state));
      const some = controls.settings.length > 0;
      replace(
        this.settings,
        some && h('span', { class: 'wb-quiet' }, 'settings:'),
        ...controls.settings.map(one => this.setting(one)),
        controls.made && made(controls.made)
      );
      this.settings.hidden = !some && !controls.made;
    } else {
      const why = state.alone && h('span', { class: 'wb-quiet', 'data-testid': 'wb-alone' }, state.alone);
      replace(this.row, h('b', {}, state.method), why);
      replace(
        this.settings,
        ...state.settings.map(([name, value, label]) =>
          h(
            'span',
            { class: 'wb-figure', title: inPython(name ?? '') },
            h('span', {}, label ?? ''),
            value ?? ''
          )
        )
      );
      this.settings.hidden = false;
    }
  }

  private choices(controls: HeatmapControls, state: HeatmapState): HTMLElement[] {
    const plain = (values: readonly string[]): (readonly [string, string])[] => values.map(one => [one, one]);
    const found: HTMLElement[] = [];
    const add = (
      label: string,
      choices: readonly (readonly [string, string])[],
      value: string,
      event: (value: string) => HeatmapViewEvent
    ): void => {
      const made = select(
        label,
        choices,
        value,
        chosen => this.send(event(chosen)),
        `wb-ask-${label.replace(' ', '-')}`
      );
      found.push(made.element);
    };
    if (controls.models.length > 1) {
      add('model', plain(controls.models), controls.model, model => ({ type: 'ask', ...NOTHING, model }));
      const others = controls.models.filter(one => one !== controls.model);
      const beside = [[NONE, 'nothing'] as const, ...plain(others)];
      add('beside', beside, controls.other ?? NONE, other => ({ type: 'ask', ...NOTHING, other }));
    }
    const methods = controls.methods.map(one => [one.name, one.title] as const);
    add('method', methods, controls.method, method => ({ type: 'ask', ...NOTHING, method }));
    if (controls.methods.find(one => one.name === controls.method)?.layer) {
      const layers = [
        ...(controls.layer === null ? [[NONE, 'choose a layer'] as const] : []),
        ...plain(controls.layers)
      ];
      add('layer', layers, controls.layer ?? NONE, layer => ({ type: 'ask', ...NOTHING, layer }));
    }
    const targets = controls.targets.map(one => [one, TARGETS[one] ?? one] as const);
    const name = state.predictions.find(score => String(score.index) === controls.target)?.label;
    const own = controls.targets.includes(controls.target)
      ? []
      : [[controls.target, name ?? `class ${controls.target}`] as const];
    add('target', [...targets, ...own], controls.target, target => ({ type: 'ask', ...NOTHING, target }));
    return found;
  }

  private setting(one: HeatmapSetting): HTMLElement {
    const send = (value: string): void => this.send({ type: 'setting', name: one.name, value });
    const testid = `wb-set-${one.name}`;
    const { label } = one;
    const title = [one.meaning, inPython(one.name)].filter(Boolean).join(' ');
    if (one.kind === 'choice') {
      const choices = one.choices.map(choice => [choice, choice] as const);
      const made = select(label, choices, one.value, send, testid).element;
      made.title = title;
      return made;
    }
    if (one.kind === 'truth') {
      const on = one.value === 'True';
      return button(label, () => send(on ? 'False' : 'True'), {
        'aria-pressed': String(on),
        'data-testid': testid,
        title
      });
    }
    const input = h('input', {
      class: 'wb-input wb-heat-number',
      value: one.value,
      placeholder: 'default',
      spellcheck: 'false',
      autocomplete: 'off',
      'aria-label': label,
      'data-testid': testid
    });
    input.addEventListener('change', () => {
      send(input.value);
      // A refused value is not what holds: the next state says what does.
      this.drawn = '';
    });
    return h('label', { class: 'wb-field', title }, h('span', {}, label), input);
  }
}

/** What a method that is made ready was made with. */
function made(words: string): HTMLElement {
  const title = 'The method was made ready in Python, where this is set: make another one to change it.';
  return h('span', { class: 'wb-heat-made', title, 'data-testid': 'wb-made' }, `made ready: ${words}`);
}

/** Whoever goes on in a program needs its name there. */
function inPython(name: string): string {
  return `In Python: ${name}`;
}

const NOTHING = { model: null, other: null, method: null, layer: null, target: null } as const;

/** An event that asks for a target, all else as it is. */
export function asking(target: string): HeatmapViewEvent {
  return { type: 'ask', ...NOTHING, target };
}
