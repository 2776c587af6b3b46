import { Store, useStore } from '../live/store.ts';

const spoken = new Store('');
const GAP_MS = 3000;
let last = 0;
let timer: number | undefined;

/** Tells screen readers something, at most once in 3 s: the last text counts. */
export function speak(text: string): void {
  window.clearTimeout(timer);
  const wait = Math.max(0, last + GAP_MS - Date.now());
  timer = window.setTimeout(() => {
    last = Date.now();
    spoken.set(text);
  }, wait);
}

/** The hidden status line. The conversation itself is silent, otherwise each token would be spoken. */
export function SpokenStatus() {
  return (
    <div className="hidden" role="status" aria-live="polite">
      {useStore(spoken)}
    </div>
  );
}
