import type { Reply, ViewName } from '../../../protocol/src/index';
import { PROTOCOL_VERSION } from '../../../protocol/src/index';
import type { Answer, Mount, Place, Status, View } from '../../../views/src/host';
import { h, replace } from '../../../views/src/common/dom';
import { freshness, LinkedHost } from './host';
import type { Manager } from './keep';
import { keepPictures } from './keep';
import type { Kernel, Signal } from './kernel';
import { KernelLink } from './link';
import type { PlainEvent } from './outbox';
import { Outbox } from './outbox';
import { findOpener, findWriter } from './places';

/** The traits of `workbench.widgets.base.ViewWidget`. */
interface Traits {
  readonly view: string;
  readonly view_model: string;
  readonly kernel: string;
  readonly version: number;
  readonly state: Readonly<Record<string, unknown>>;
  readonly change?: Readonly<Record<string, unknown>>;
  readonly buffers: readonly DataView[];
}

/** What anywidget gives to a widget. `widget_manager` is the front end's own; JupyterLab's knows its kernel. */
interface Model {
  get<K extends keyof Traits>(name: K): Traits[K];
  on(name: string, callback: (...values: never[]) => void): void;
  off(name: string, callback: (...values: never[]) => void): void;
  send(content: unknown): void;
  readonly widget_manager?: {
    readonly kernel?: Kernel | null;
    readonly context?: { readonly sessionContext?: { readonly kernelChanged?: Signal<unknown> } };
  } & Manager;
}

/** The default export of a widget's module. */
interface Door {
  render(context: { model: Model; el: HTMLElement }): () => void;
}

/**
 * Keeps what is typed on a part of the view from being a command of the notebook around it: there `x` cuts the
 * cell and `d d` deletes it. Shortcuts with a modifier, running the cell and leaving the view still work.
 */
function keepPlainKeys(event: KeyboardEvent): void {
  const shortcut = event.ctrlKey || event.metaKey || event.altKey;
  if (!shortcut && event.key !== 'Escape' && !(event.key === 'Enter' && event.shiftKey)) {
    event.stopPropagation();
  }
}

/** One widget on one page: the view, and the way its events take. */
class Shown<S, E> {
  private readonly host: LinkedHost;
  private readonly view: View<S>;
  private readonly own: Outbox;
  private readonly body = h('div', { class: 'wb-widget' });
  private link: KernelLink | null = null;
  private endLink: (() => void) | null = null;
  private drawing = false;

  constructor(
    private readonly model: Model,
    root: HTMLElement,
    mount: Mount<S, E>
  ) {
    replace(root, this.body);
    this.body.addEventListener('keydown', keepPlainKeys);
    this.own = new Outbox({
      write: gesture => model.send({ type: 'event', version: PROTOCOL_VERSION, ...gesture }),
      changed: () => this.host.refresh()
    });
    this.own.open(model.get('kernel'));
    this.findLink();
    this.host = new LinkedHost({
      send: event => this.send(event),
      status: () => this.status(),
      waiting: () =>
        this.own.waiting(model.get('view_model')) + (this.link?.waiting(model.get('view_model')) ?? 0),
      link: () => this.link,
      openIn: () => this.opener(),
      openView: () => this.otherOpener(),
      write: code => findWriter()?.(code, this.body) ?? false
    });
    this.view = mount(this.body, this.host as never);
    model.on('change:state', this.schedule);
    model.on('change:change', this.schedule);
    model.on('change:buffers', this.schedule);
    model.on('msg:custom', this.onReply);
    this.kernelChanged?.connect(this.onKernel);
    keepPictures(model.widget_manager);
    this.draw();
  }

  /** Takes everything down. */
  readonly end = (): void => {
    this.model.off('change:state', this.schedule);
    this.model.off('change:change', this.schedule);
    this.model.off('change:buffers', this.schedule);
    this.model.off('msg:custom', this.onReply);
    this.kernelChanged?.disconnect(this.onKernel);
    this.endLink?.();
    this.own.close();
    this.host.end();
    this.view.destroy();
  };

  private get kernelChanged(): Signal<unknown> | undefined {
    return this.model.widget_manager?.context?.sessionContext?.kernelChanged;
  }

  /** True where the front end lets widgets see its kernel, even if there is none at the moment. */
  private get seesKernel(): boolean {
    const manager = this.model.widget_manager;
    return manager !== undefined && 'kernel' in manager;
  }

  private findLink(): void {
    this.endLink?.();
    const kernel = this.model.widget_manager?.kernel;
    this.link = kernel ? KernelLink.of(kernel) : null;
    this.endLink = this.link?.listen(() => this.refresh()) ?? null;
  }

  private refresh(): void {
    const refusal = this.link?.takeRefusal(this.model.get('view_model')) ?? '';
    if (refusal !== '') {
      this.host.refuse(refusal);
    }
    this.host.refresh();
  }

  private readonly onKernel = (): void => {
    this.findLink();
    this.host.refresh();
  };

  private status(): Status {
    if (!this.seesKernel) {
      return freshness(this.state);
    }
    if (!this.link) {
      return { kind: 'disconnected', reason: 'no kernel' };
    }
    if (this.link.status !== 'open') {
      const reason = this.link.status === 'absent' ? 'kernel restarted' : this.link.brief;
      return { kind: 'disconnected', reason };
    }
    // A kernel that was restarted has the same connection: only its process tells.
    if (this.link.processId !== this.model.get('kernel')) {
      return { kind: 'disconnected', reason: 'kernel restarted' };
    }
    return freshness(this.state);
  }

  /** Opens this view elsewhere on the same view model; undefined where no panel of this page can show it. */
  private opener(): ((place: Place) => void) | undefined {
    const open = this.seesKernel ? findOpener() : undefined;
    const view = this.model.get('view') as ViewName;
    return open && (place => open(view, place, this.model.get('view_model')));
  }

  private otherOpener(): ((view: ViewName) => void) | undefined {
    const open = this.seesKernel ? findOpener() : undefined;
    return open && (view => open(view, 'side', null));
  }

  private async send(event: PlainEvent): Promise<Answer | undefined> {
    const target = this.model.get('view_model');
    if (!this.seesKernel) {
      return this.own.send(target, event, this.model.get('kernel')); // waits for the running cell: this front end has no other way
    }
    const status = this.status();
    // While the link is lost, or not there yet, it keeps what is sent.
    const may = this.link !== null && ['open', 'lost', 'connecting'].includes(this.link.status);
    if (!this.link || !may || (this.link.status === 'open' && status.kind === 'disconnected')) {
      const reason = status.kind === 'disconnected' ? status.reason : 'no kernel';
      throw new Error(`${reason}; run the cell again`);
    }
    return this.link.request(target, event, this.model.get('kernel'));
  }

  private readonly onReply = (content: never): void => {
    const reply = content as Reply;
    if (reply?.type === 'reply') {
      this.own.answer(reply);
    }
  };

  /** State and buffers arrive as two changes of one message: they are drawn together. */
  private readonly schedule = (): void => {
    if (!this.drawing) {
      this.drawing = true;
      queueMicrotask(() => {
        this.drawing = false;
        this.draw();
      });
    }
  };

  /** The picture with what has changed of it since. */
  private get state(): Readonly<Record<string, unknown>> {
    return { ...this.model.get('state'), ...this.model.get('change') };
  }

  private draw(): void {
    this.view.update(this.state as S, this.model.get('buffers') ?? []);
    this.host.refresh();
  }
}

/** The module of one widget: puts a view into a cell. */
export function door<S, E>(mount: Mount<S, E>): Door {
  return {
    render({ model, el }) {
      // A notebook that was saved may hold widgets of another version.
      const version = model.get('version');
      if (version !== PROTOCOL_VERSION) {
        const words = `This picture was made by another version of the workbench (its messages are version ${version}, `;
        replace(
          el,
          h('p', { role: 'status' }, `${words}these are ${PROTOCOL_VERSION}). Run the cell again.`)
        );
        return () => undefined;
      }
      return new Shown(model, el, mount).end;
    }
  };
}
