/**
 * Where a person's own steps have led, while Python still answers earlier ones: the next key starts from there, and not
 * from what an older picture shows. Pictures come in order but may leave steps out, and come later than answers.
 */
export class Aim {
  /** What was chosen and is not seen in a picture yet, the oldest first. */
  private ahead: string[] = [];
  private shown: string | null = null;
  private last: string | null = null;

  /** Where the next step starts. */
  get at(): string | null {
    return this.ahead.length > 0 ? this.last : this.shown;
  }

  /** A person chose this; `answer` says whether it was done. */
  choose(id: string, answer: Promise<{ readonly accepted: boolean } | void>): void {
    this.ahead.push(id);
    this.last = id;
    void answer.then(said => {
      if (said && !said.accepted) {
        this.ahead = this.ahead.filter(one => one !== id);
        this.last = this.ahead.at(-1) ?? null;
      }
    });
  }

  /** A picture shows this as chosen. */
  show(id: string | null): void {
    if (id === this.shown) {
      return; // the same step once more: it stands for no later one
    }
    const step = id === null ? -1 : this.ahead.indexOf(id);
    if (step >= 0) {
      this.ahead.splice(0, step + 1);
    } else {
      this.ahead = []; // chosen elsewhere
    }
    this.shown = id;
  }
}
