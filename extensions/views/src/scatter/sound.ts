/** Plays the sound of a point when it has come. */
import type { ScatterClip } from '../protocol';

/** One clip at a time, and only those that were asked for here: a state that is drawn again is not heard again. */
export class Sound {
  private audio: HTMLAudioElement | null = null;
  private url = '';
  private wanted: number | null = null;

  /** Waits for the sound of a point. */
  want(point: number): void {
    this.wanted = point;
  }

  /** Plays what was waited for, if this is it; says whether it was. */
  take(clip: ScatterClip | null, buffers: readonly DataView[]): boolean {
    const data = clip?.point === this.wanted ? buffers[clip?.buffer ?? -1] : undefined;
    if (!data) {
      return false;
    }
    this.wanted = null;
    this.stop();
    const bytes = new Uint8Array(data.buffer, data.byteOffset, data.byteLength).slice();
    this.url = URL.createObjectURL(new Blob([bytes], { type: 'audio/wav' }));
    this.audio = new Audio(this.url);
    // A browser that may not play now is not to be argued with: the key plays it again.
    void this.audio.play().catch(() => undefined);
    return true;
  }

  /** Ends what plays. */
  stop(): void {
    this.audio?.pause();
    this.audio = null;
    URL.revokeObjectURL(this.url);
  }
}
