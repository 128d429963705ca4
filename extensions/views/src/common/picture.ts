/** What all views do alike: head, theme, notices, the empty state, one redraw a frame, and coming down cleanly. */
import type { Answer, Host, MountOptions, View } from '../host';
import type { Head } from '../protocol';
import { StateError } from './buffers';
import { h, Listeners, replace } from './dom';
import type { Exports } from './exporting';
import { FocusKeeper } from './focus';
import { Tooltip } from './float';
import { Frame, watchSize } from './frame';
import { HeadLine } from './head';
import { emptyState, Notice } from './parts';
import { Press } from './press';
import { COMMON_CSS } from './styles';
import { themeOf, useStyle, watchTheme, type Theme } from './theme';

/** What a view says about itself once. */
export interface Identity {
  /** Name of the view, as messages use it. */
  readonly name: string;
  readonly css: string;
  /** What it would show, in a sentence, while there is nothing to show. */
  readonly emptySentence: string;
  /** The line to run; a mount option can give a better one. */
  readonly emptyCode: string;
}

/** Base of all views. */
export abstract class Picture<S extends { readonly head: Head }, E> implements View<S> {
  protected readonly element: HTMLElement;
  protected readonly content: HTMLElement;
  protected readonly listeners = new Listeners();
  protected readonly frame = new Frame(() => this.redraw());
  protected readonly tooltip: Tooltip;
  protected readonly wrong: Notice;
  protected theme: Theme;
  protected state: S | null = null;
  private readonly head: HeadLine;
  private readonly press: Press;
  private readonly focus: FocusKeeper;
  /** The newest state that arrived during a press. */
  private late: { readonly state: S; readonly buffers: readonly DataView[] } | null = null;
  /** What is said of a state that cannot be drawn: the next one that can takes it back. */
  private complaint = '';
  /** Frames in a row that could draw nothing. */
  private skipped = 0;

  constructor(
    protected readonly root: HTMLElement,
    protected readonly host: Host<E>,
    protected readonly identity: Identity,
    protected readonly options: MountOptions = {}
  ) {
    useStyle(root, 'common', COMMON_CSS);
    useStyle(root, identity.name, identity.css);
    this.element = h('section', {
      class: `wb-view wb-${identity.name}`,
      role: 'group', // a section with a label is a landmark, and a page with twenty of them has none
      'data-testid': `wb-${identity.name}`,
      'aria-label': `${identity.name} view`
    });
    this.content = h('div', { class: 'wb-content' });
    this.wrong = new Notice('wrong', 'wb-wrong', () => this.wrong.say(''));
    this.tooltip = new Tooltip(this.element);
    replace(root, this.element);
    this.theme = themeOf(this.element);
    this.head = new HeadLine(
      this.element,
      host as Host<never>,
      () => this.exports(),
      message => this.wrong.say(message)
    );
    replace(this.element, this.head.element, this.wrong.element, this.content);
    this.applyTheme();
    this.focus = new FocusKeeper(this.element);
    this.press = new Press(this.element, () => this.catchUp());
    this.listeners.add(() => this.press.destroy());
    this.listeners.add(host.onRefused?.(reason => this.wrong.say(`Refused: ${reason}`)));
    this.listeners.add(watchTheme(() => this.applyTheme()));
    this.listeners.add(watchSize(this.element, () => this.resize()));
    this.showEmpty();
  }

  /** Takes a state in: decodes buffers, rebuilds what changed. */
  protected abstract accept(state: S, buffers: readonly DataView[]): void;

  /** Draws what was accepted, at the size there is. */
  protected abstract draw(): void;

  /** What can be saved from the menu. */
  protected abstract exports(): Exports;

  update(state: S, buffers: readonly DataView[]): void {
    if (this.press.holds) {
      this.late = { state, buffers };
    } else {
      this.late = null;
      this.focus.during(() => this.take(state, buffers));
      this.frame.request();
    }
  }

  private take(state: S, buffers: readonly DataView[]): void {
    const first = this.state === null;
    this.head.update(state.head);
    this.element.setAttribute('aria-label', `${this.identity.name} view: ${state.head.title}`);
    try {
      if (first) {
        replace(this.content);
      }
      this.accept(state, buffers);
      this.state = state;
      this.complain('');
    } catch (error) {
      // Anything else is a fault of ours, which must not be hidden.
      if (!(error instanceof StateError)) {
        throw error;
      }
      this.complain(`This state cannot be drawn: ${error.message}.`);
      if (first) {
        this.showEmpty();
      }
    }
  }

  /** A refusal stays to be read while pictures come: only what is said of a picture goes with it. */
  private complain(text: string): void {
    if (text !== '' || this.wrong.message === this.complaint) {
      this.wrong.say(text);
    }
    this.complaint = text;
  }

  /** A press has ended: what came in the meantime is drawn. */
  private catchUp(): void {
    if (this.late) {
      this.update(this.late.state, this.late.buffers);
    }
    this.frame.request();
  }

  resize(): void {
    // A root that was mounted before it stood in the page gets its styles and theme now.
    useStyle(this.root, 'common', COMMON_CSS);
    useStyle(this.root, this.identity.name, this.identity.css);
    this.applyTheme();
  }

  destroy(): void {
    this.frame.cancel();
    this.tooltip.hide();
    this.head.destroy();
    this.listeners.release();
    this.root.replaceChildren();
  }

  /**
   * Sends an event; says in the view why it was refused or could not be sent. A part that shows a refusal
   * where it belongs asks with `quiet`.
   */
  protected async send(event: E, quiet = false): Promise<Answer | void> {
    try {
      const answer = await this.host.send(event);
      if (!quiet) {
        const refused = answer && !answer.accepted;
        this.wrong.say(refused ? `Refused: ${answer.reason}` : this.complaint);
      }
      return answer;
    } catch (error) {
      this.wrong.say(`Python did not get this: ${error instanceof Error ? error.message : String(error)}`);
      return { accepted: false, reason: '' };
    }
  }

  /** Lets `/`, pressed anywhere in the view but where text is typed, lead to a search field. */
  protected slashLeadsTo(field: HTMLInputElement): void {
    this.listeners.on(this.element, 'keydown', event => {
      if (event.key === '/' && !(event.target instanceof HTMLInputElement)) {
        event.preventDefault();
        event.stopPropagation();
        field.focus();
      }
    });
  }

  /** Width that the content has. */
  protected get width(): number {
    return this.content.clientWidth;
  }

  /** What to show when a state, or a part of one, has nothing in it. */
  protected empty(
    sentence = this.identity.emptySentence,
    code = this.options.empty ?? this.identity.emptyCode
  ): HTMLElement {
    return emptyState(sentence, code, text => this.host.copy(text));
  }

  private showEmpty(): void {
    replace(this.content, this.empty());
  }

  private redraw(): void {
    // Outside of the page, or hidden in it, nothing has a size; a page without layout (in unit tests) hides nothing.
    const hidden = 'checkVisibility' in this.element && !this.element.checkVisibility();
    if (!this.element.isConnected || hidden) {
      this.onceMore();
    } else if (this.state !== null && !this.press.holds) {
      const before = this.skipped;
      this.focus.during(() => this.draw());
      if (this.skipped === before) {
        this.skipped = 0;
      }
    }
  }

  /**
   * Asks for the next frame, too, where this one can draw nothing. A page that takes a view out or hides it (JupyterLab
   * does while it changes themes) and puts it back within a frame tells nobody of another size; one that leaves it out
   * says when it is there again.
   */
  protected onceMore(): void {
    this.skipped += 1;
    if (this.skipped === 1) {
      this.frame.request();
    }
  }

  private applyTheme(): void {
    const before = this.element.dataset['theme'];
    const now = themeOf(this.element).dark ? 'dark' : 'light';
    this.element.dataset['theme'] = now;
    this.theme = themeOf(this.element);
    if (before !== now && this.state !== null) {
      this.themeChanged();
    }
    this.frame.request();
  }

  /** For views that keep colours in elements. */
  protected themeChanged(): void {}
}
