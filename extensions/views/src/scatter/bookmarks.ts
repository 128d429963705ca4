/** Arrangements that are kept under a name, and their file. */
import type { ScatterViewEvent } from '../protocol';
import { fileName } from '../common/exporting';
import { h, replace, setText } from '../common/dom';
import { button } from '../common/parts';
import { readBookmarks, writeBookmarks } from './bookmarkfile';
import type { Asks, Part, Scene } from './scene';

const LONGEST_FILE = 16e6;

/** The list, and what is done with it. */
export class Bookmarks implements Part {
  readonly element: HTMLElement;
  private readonly list = h('div', { class: 'wb-bookmarks', 'data-testid': 'wb-bookmarks' });
  private readonly name = h('input', {
    type: 'text',
    class: 'wb-input',
    placeholder: 'name',
    maxlength: 100,
    'aria-label': 'Name of the bookmark',
    'data-testid': 'wb-bookmark-name'
  });
  private readonly problem = h('div', { class: 'wb-problem', role: 'alert', hidden: true });
  private readonly file = h('input', {
    type: 'file',
    accept: '.json,.txt,application/json',
    hidden: true,
    'aria-label': 'File of bookmarks',
    'data-testid': 'wb-bookmark-file'
  });
  private readonly give: HTMLButtonElement;
  private readonly keep: HTMLElement;
  private readonly publish = button('publish as a page', () => void this.tell(this.page()), {
    title: 'One HTML file that needs neither kernel nor network, written beside the notebook',
    'data-testid': 'wb-publish'
  });
  private readonly table = button('write as a table', () => void this.tell({ type: 'write_table' }), {
    title: 'One CSV file of all points, every coordinate to the last bit, written beside the notebook',
    'data-testid': 'wb-write-table'
  });
  private readonly written = h('p', {
    class: 'wb-quiet wb-note',
    role: 'status',
    'data-testid': 'wb-published',
    hidden: true
  });
  private scene: Scene | null = null;
  private key = '';

  constructor(private readonly asks: Asks) {
    this.give = button('export', () => this.save(), {
      title: 'All bookmarks as a file that TensorBoard reads, too',
      'data-testid': 'wb-bookmark-export'
    });
    this.keep = h(
      'div',
      { class: 'wb-line' },
      this.name,
      button('keep', () => void this.take(), {
        title: 'Keep the camera, filters, selection, labels, colours and method under this name',
        'data-testid': 'wb-bookmark-keep'
      })
    );
    this.element = h(
      'div',
      { class: 'wb-part' },
      h('h3', {}, 'bookmarks'),
      this.list,
      this.keep,
      h(
        'div',
        { class: 'wb-line' },
        this.give,
        button('import', () => this.file.click(), {
          title: 'Read a file of bookmarks, ours or TensorBoard’s'
        }),
        this.file
      ),
      this.problem,
      this.publish,
      this.table,
      this.written
    );
    this.name.addEventListener('keydown', event => {
      if (event.key === 'Enter') {
        void this.take();
        event.preventDefault();
      }
      event.stopPropagation();
    });
    this.file.addEventListener('change', () => void this.read());
  }

  update(scene: Scene): void {
    this.scene = scene;
    const { bookmarks } = scene.state;
    const key = JSON.stringify(bookmarks);
    this.give.disabled = bookmarks.length === 0;
    this.publish.hidden = this.table.hidden = scene.alone;
    this.written.hidden = scene.state.published === '';
    setText(this.written, `written to ${scene.state.published}`);
    if (key !== this.key) {
      this.key = key;
      replace(
        this.list,
        ...bookmarks.map(({ name, arrangement }) =>
          h(
            'div',
            { class: 'wb-line' },
            button(name, () => this.asks.arrange(arrangement), {
              class: 'wb-button wb-bookmark',
              title: `Go to ${name}`,
              'data-testid': 'wb-bookmark'
            }),
            button('×', () => void this.asks.send({ type: 'remove_bookmark', name }), {
              class: 'wb-button wb-button-plain',
              'aria-label': `Remove the bookmark ${name}`
            })
          )
        )
      );
    }
  }

  private say(text: string): void {
    setText(this.problem, text);
    this.problem.hidden = text === '';
  }

  private async take(): Promise<void> {
    const taken = new Set(this.scene?.state.bookmarks.map(one => one.name));
    let name = this.name.value.trim();
    for (let at = taken.size + 1; name === ''; at++) {
      name = taken.has(`view ${at}`) ? '' : `view ${at}`;
    }
    const answer = await this.asks.send({
      type: 'save_bookmark',
      name,
      arrangement: this.asks.arrangement()
    });
    this.say(answer && !answer.accepted ? answer.reason : '');
    if (!answer || answer.accepted) {
      this.name.value = '';
    }
  }

  private page(): ScatterViewEvent {
    return { type: 'publish', arrangement: this.asks.arrangement() };
  }

  private async tell(event: ScatterViewEvent): Promise<void> {
    const answer = await this.asks.send(event);
    this.say(answer && !answer.accepted ? answer.reason : '');
  }

  private save(): void {
    const { scene } = this;
    if (scene) {
      const text = writeBookmarks(scene.state.bookmarks, [scene.state.total, scene.state.dims]);
      this.asks.save(
        fileName(`${scene.state.head.title} bookmarks`, 'json'),
        new Blob([text], { type: 'application/json' })
      );
    }
  }

  private async read(): Promise<void> {
    const file = this.file.files?.[0];
    if (!file) {
      return;
    }
    this.file.value = '';
    try {
      if (file.size > LONGEST_FILE) {
        throw new Error(`${file.name} has ${Math.round(file.size / 1e6)} MB; bookmarks have at most 16`);
      }
      for (const { name, arrangement } of readBookmarks(await file.text())) {
        await this.asks.send({ type: 'save_bookmark', name, arrangement });
      }
      this.say('');
    } catch (error) {
      this.say(error instanceof Error ? error.message : String(error));
    }
  }
}
