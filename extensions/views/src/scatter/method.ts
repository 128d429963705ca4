/** The method of the projection and its settings; what runs, and how far it is. */
import type { ProjectEvent, ScatterAxis, ScatterMethod, ScatterSetting } from '../protocol';
import { h, replace, setText } from '../common/dom';
import { button, Segments } from '../common/parts';
import { WorkLine } from '../common/work';
import { AxesForm } from './axes';
import type { Asks, Part, Scene } from './scene';

/** The custom axes have a form of their own. */
const AXES = 'axes';

/** The form. */
export class Method implements Part {
  readonly element: HTMLElement;
  private readonly method = h('select', {
    class: 'wb-select',
    'aria-label': 'Method of projection',
    'data-testid': 'wb-method'
  });
  private readonly note = h('p', { class: 'wb-quiet wb-note' });
  private readonly settings = h('div', { class: 'wb-settings' });
  private readonly refusal = h('div', {
    class: 'wb-problem',
    role: 'alert',
    'data-testid': 'wb-method-problem',
    hidden: true
  });
  private readonly dims: Segments<'2' | '3'>;
  private readonly axes: AxesForm;
  private readonly work: WorkLine;
  private readonly run = button('▶ run', () => void this.ask(), {
    'data-testid': 'wb-run-method',
    title: 'Project with this method (Enter in a field)'
  });
  private readonly resume = button('resume', () => void this.asks.send({ type: 'resume' }), {
    'data-testid': 'wb-resume',
    title: 'Go on with what was stopped'
  });
  private fields: readonly Field[] = [];
  private scene: Scene | null = null;
  private key = '';
  /** The method that a person looks at, which need not be the one that is drawn. */
  private looked = '';
  private asked: string | null = null;

  constructor(private readonly asks: Asks) {
    this.dims = new Segments(
      'Dimensions of the projection',
      [
        ['2', '2-D'],
        ['3', '3-D']
      ],
      '3',
      () => undefined,
      'wb-method-dims'
    );
    this.axes = new AxesForm();
    this.work = new WorkLine(() => void asks.send({ type: 'stop' }));
    this.element = h(
      'div',
      { class: 'wb-part' },
      h('h3', {}, 'projection'),
      h('div', { class: 'wb-line' }, this.method, this.dims.element),
      this.note,
      this.settings,
      this.axes.element,
      h('div', { class: 'wb-line' }, this.run, this.resume),
      this.refusal,
      this.work.element
    );
    this.method.addEventListener('change', () => {
      this.looked = this.method.value;
      this.write();
    });
    this.settings.addEventListener('keydown', event => {
      if (event.key === 'Enter' && event.target instanceof HTMLInputElement) {
        void this.ask();
        event.preventDefault();
      }
      event.stopPropagation();
    });
  }

  update(scene: Scene): void {
    const { state } = scene;
    this.scene = scene;
    const offered = JSON.stringify(state.methods.map(one => [one.name, one.title]));
    if (offered !== this.key) {
      this.key = offered;
      replace(this.method, ...state.methods.map(({ name, title }) => h('option', { value: name }, title)));
    }
    if (state.asked !== this.asked) {
      this.asked = state.asked;
      // What was made elsewhere is none of these: the first is offered then.
      this.looked = state.asked || (state.methods[0]?.name ?? '');
      this.dims.set(state.dims === 2 ? '2' : '3');
      this.write();
    }
    this.axes.update(scene);
    this.work.update(state.work);
    this.run.disabled = state.work !== null;
    this.resume.hidden = !state.resumes || state.work !== null;
  }

  private get chosen(): ScatterMethod | undefined {
    return this.scene?.state.methods.find(one => one.name === this.looked);
  }

  private write(): void {
    const { chosen } = this;
    this.method.value = this.looked;
    setText(this.note, chosen?.note ?? '');
    this.refusal.hidden = true;
    this.fields = (chosen?.settings ?? []).map(setting => new Field(setting));
    replace(this.settings, ...this.fields.map(field => field.element));
    this.axes.element.hidden = this.looked !== AXES;
  }

  private async ask(): Promise<void> {
    const event: ProjectEvent = {
      type: 'project',
      method: this.looked,
      dims: this.dims.value === '2' ? 2 : 3,
      settings: this.fields.map(field => ({ name: field.name, value: field.value })),
      axes: this.looked === AXES ? this.written() : []
    };
    const answer = await this.asks.send(event);
    const reason = answer && !answer.accepted ? answer.reason : '';
    setText(this.refusal, reason);
    this.refusal.hidden = reason === '';
  }

  private written(): ScatterAxis[] {
    return this.axes.axes(this.dims.value === '2' ? 2 : 3);
  }
}

/** One setting: words beside a field, the name that Python has for it where one points. */
class Field {
  readonly element: HTMLElement;
  readonly name: string;
  private readonly input: HTMLInputElement | HTMLSelectElement;

  constructor(setting: ScatterSetting) {
    this.name = setting.name;
    this.input = inputOf(setting);
    this.element = h(
      'label',
      { class: 'wb-setting', title: `${setting.name}: ${setting.note}` },
      h('span', {}, setting.label),
      this.input
    );
  }

  get value(): string {
    return this.input instanceof HTMLInputElement && this.input.type === 'checkbox'
      ? this.input.checked
        ? 'True'
        : 'False'
      : this.input.value;
  }
}

function inputOf(setting: ScatterSetting): HTMLInputElement | HTMLSelectElement {
  const common = {
    'data-testid': `wb-set-${setting.name}`,
    'aria-label': `${setting.label} (${setting.name})`
  };
  if (setting.kind === 'choice') {
    const choices = setting.choices.map(choice => h('option', { value: choice }, choice));
    const select = h('select', { class: 'wb-select', ...common }, ...choices);
    select.value = setting.value;
    return select;
  }
  if (setting.kind === 'truth') {
    return h('input', { type: 'checkbox', checked: setting.value === 'True', ...common });
  }
  return h('input', {
    type: 'text',
    inputmode: setting.kind === 'text' ? 'text' : 'decimal',
    class: 'wb-input wb-input-number',
    value: setting.value,
    placeholder: setting.value === '' ? 'automatic' : '',
    ...common
  });
}
