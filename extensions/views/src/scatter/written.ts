/** A table that Python writes because the menu was asked for one: where it lies is said above the picture. */
import type { Answer } from '../host';
import { Notice } from '../common/parts';

/** Asks for the table, and waits for the state that says where it is. */
export class Written {
  private readonly notice = new Notice('done', 'wb-written', () => this.notice.say(''));
  /** What was written last, and what was when the menu asked; null where it waits for nothing. */
  private last = '';
  private before: string | null = null;

  constructor(private readonly send: () => Promise<Answer | void>) {}

  get element(): HTMLElement {
    return this.notice.element;
  }

  async ask(): Promise<void> {
    this.before = this.last;
    this.notice.say('');
    const answer = await this.send();
    if (answer && !answer.accepted) {
      this.before = null;
    }
  }

  /** Takes where Python has written something last; empty where it has not. */
  update(published: string): void {
    this.last = published;
    if (this.before !== null && published !== this.before) {
      this.before = null;
      this.notice.say(`Written to ${published}`);
    }
  }
}
