import { Widget } from '@lumino/widgets';
import type { Message } from '@lumino/messaging';
import type { Status, View } from '../../views/src/host';
import type { ViewName } from '../../protocol/src/index';
import { mounts, VIEWS } from '../../views/src/index';
import { h, replace, setText } from '../../views/src/common/dom';
import { freshness, LinkedHost } from '../../widgets/src/shared/host';
import type { KernelLink } from '../../widgets/src/shared/link';
import { findWriter, type Opener } from '../../widgets/src/shared/places';
import type { Shown } from '../../widgets/src/shared/pictures';
import type { IFrontLink } from './tokens';

const NEWEST = '';

/**
 * One view of the kernel in front: the newest of its view models, or the one that a person has chosen.
 *
 * The kernel makes pictures of this view only while the section can be seen.
 */
export class ViewSection extends Widget {
  private readonly choice = h('select', {
    class: 'wb-section-choice',
    'aria-label': 'Which of them is shown',
    'data-testid': 'wb-choice',
    hidden: true
  });
  private readonly trouble = h('p', { class: 'wb-section-trouble', role: 'status', hidden: true });
  private readonly root = h('div', { class: 'wb-section-view' });
  private view: View<unknown> | null = null;
  private host: LinkedHost | null = null;
  private link: KernelLink | null = null;
  private drawn: Shown | null = null;
  private chosen = NEWEST;
  /** What is to be chosen as soon as its picture is there. */
  private wanted = NEWEST;
  private awaited: { readonly drawn: () => void; readonly until: number } | null = null;
  private endWatch: (() => void) | null = null;
  private endLink: (() => void) | null = null;
  private frame = 0;

  constructor(
    readonly name: ViewName,
    private readonly front: IFrontLink,
    private readonly open: Opener
  ) {
    super();
    this.addClass('wb-section-body');
    this.node.dataset.testid = `wb-section-${name}`;
    this.node.style.setProperty('--wb-section-height', `${VIEWS[name].height}px`);
    this.node.append(this.choice, this.trouble, this.root);
    this.choice.addEventListener('change', () => {
      this.chosen = this.choice.value;
      this.draw();
    });
    front.changed.connect(this.follow, this);
    this.follow();
  }

  /**
   * Shows one view model, until it goes or a person chooses another; the newest if it is null. `drawn` is called when it
   * has another picture soon after: it may be as high as the place only then.
   */
  choose(model: string | null, drawn: () => void = () => undefined): void {
    this.awaited = { drawn, until: Date.now() + 2000 };
    this.chosen = NEWEST;
    this.wanted = model ?? NEWEST;
    this.draw();
  }

  override dispose(): void {
    if (!this.isDisposed) {
      this.front.changed.disconnect(this.follow, this);
      cancelAnimationFrame(this.frame);
      this.rest();
      this.endLink?.();
      this.unmount();
      super.dispose();
    }
  }

  protected override onAfterShow(_message: Message): void {
    this.attend();
  }

  protected override onAfterAttach(_message: Message): void {
    this.attend();
  }

  protected override onAfterHide(_message: Message): void {
    this.rest();
  }

  protected override onBeforeDetach(_message: Message): void {
    this.rest();
  }

  protected override onResize(_message: Message): void {
    this.view?.resize();
  }

  /** Asks the kernel for pictures, as long as they can be seen. */
  private attend(): void {
    if (this.isVisible && this.link && !this.endWatch) {
      this.endWatch = this.link.watch(this.name);
      this.draw();
    }
  }

  private rest(): void {
    this.endWatch?.();
    this.endWatch = null;
  }

  private follow(): void {
    if (this.front.link !== this.link || !this.view) {
      this.rest();
      this.endLink?.();
      this.link = this.front.link;
      this.chosen = NEWEST;
      this.remount();
      this.endLink = this.link?.listen(() => this.schedule()) ?? null;
      this.attend();
    }
    this.schedule();
  }

  private unmount(): void {
    this.host?.end();
    this.view?.destroy();
    this.host = null;
    this.view = null;
    this.drawn = null;
  }

  /** Starts with an empty view: what belonged to another kernel, or was withdrawn, must not stay. */
  private remount(): void {
    this.unmount();
    const link = this.link;
    this.host = new LinkedHost({
      send: async event => {
        if (!link || !this.drawn) {
          throw new Error(this.front.absence);
        }
        if (this.drawn.past) {
          throw new Error('kernel restarted; run the cell again');
        }
        return link.request(this.drawn.model, event);
      },
      status: () => this.status(),
      waiting: () => (this.drawn ? (link?.waiting(this.drawn.model) ?? 0) : 0),
      link: () => link,
      openView: () => view => this.open(view, 'side', null),
      write: code => findWriter()?.(code, null) ?? false,
      openIn: () => place => this.open(this.name, place, this.drawn?.model ?? null)
    });
    replace(this.root);
    const options = { empty: VIEWS[this.name].run };
    this.view = mounts[this.name](this.root, this.host as never, options) as View<unknown>;
  }

  private status(): Status {
    if (!this.link) {
      return { kind: 'disconnected', reason: 'no kernel' };
    }
    if (this.link.status !== 'open') {
      return { kind: 'disconnected', reason: this.link.brief };
    }
    if (this.drawn?.past) {
      return { kind: 'disconnected', reason: 'kernel restarted' };
    }
    return this.drawn ? freshness(this.drawn.state) : { kind: 'live' };
  }

  /** Draws at most once a frame, whatever arrives. */
  private schedule(): void {
    if (this.frame === 0 && !this.isDisposed) {
      this.frame = requestAnimationFrame(() => {
        this.frame = 0;
        this.draw();
      });
    }
  }

  private draw(): void {
    const all = this.link?.shown(this.name) ?? [];
    if (this.wanted !== NEWEST && all.some(entry => entry.model === this.wanted)) {
      this.chosen = this.wanted;
      this.wanted = NEWEST;
    }
    const shown = all.find(entry => entry.model === this.chosen) ?? all.at(-1) ?? null;
    this.offer(all, shown);
    const trouble = shown?.trouble ?? '';
    setText(this.trouble, trouble);
    this.trouble.hidden = trouble === '';
    this.node.classList.toggle('wb-mod-filled', shown?.state !== undefined && shown?.state !== null);
    if (shown === null && this.drawn !== null) {
      this.remount();
    } else if (shown?.state && shown !== this.drawn) {
      this.drawn = shown;
      this.view?.update(shown.state, shown.buffers);
      if (this.awaited && Date.now() < this.awaited.until) {
        requestAnimationFrame(this.awaited.drawn);
      }
    }
    const refusal = this.drawn ? (this.link?.takeRefusal(this.drawn.model) ?? '') : '';
    if (refusal !== '') {
      this.host?.refuse(refusal);
    }
    this.host?.refresh();
  }

  /** Fills the list of view models, if there is more than one. */
  private offer(all: readonly Shown[], shown: Shown | null): void {
    const wanted = [
      { value: NEWEST, text: `Newest ${VIEWS[this.name].title.toLowerCase()}` },
      ...[...all].reverse().map(entry => ({ value: entry.model, text: titleOf(entry) }))
    ];
    const options = [...this.choice.options];
    // Only where it has changed: the list closes when its options are replaced.
    if (options.length !== wanted.length || wanted.some((one, at) => one.value !== options[at]?.value)) {
      replace(this.choice, ...wanted.map(one => h('option', { value: one.value }, one.text)));
    } else {
      wanted.forEach((one, at) => setText(options[at] as Node, one.text));
    }
    this.choice.hidden = all.length < 2;
    // What was chosen is gone.
    if (shown === null || shown.model !== this.chosen) {
      this.chosen = NEWEST;
    }
    this.choice.value = this.chosen;
  }
}

function titleOf(shown: Shown): string {
  const head = (shown.state as { head?: { title?: unknown } } | null)?.head;
  return typeof head?.title === 'string' ? head.title : shown.model;
}
