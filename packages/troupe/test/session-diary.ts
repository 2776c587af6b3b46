import { StateModule } from '../src/state/state-module.ts';
import { isJsonObject, type JsonValue } from '../src/util/json.ts';

interface Page {
  readonly day: number;
  readonly text: string;
}

/**
 * A state that tells whether it is whole: the day is the number of the last save, and the pages are as many as they should be, each
 * of the right length.
 */
export class Diary extends StateModule {
  day = 0;
  pages: readonly Page[] = [];
  /** Days at which everything was written anew; the pages before are gone. */
  since = 0;

  constructor() {
    super();
    this.registerState('day');
    this.registerState('since');
    this.registerStateList<Page>('pages', { toJson: ({ day, text }) => ({ day, text }), fromJson: toPage });
  }

  /** One more page. */
  write(length: number, text = ''): void {
    this.day++;
    this.pages = [...this.pages, { day: this.day, text: text.padEnd(length, '.') }];
  }

  /** All pages anew, a hundred of them. */
  rewrite(length: number): void {
    this.day++;
    this.since = this.day;
    this.pages = Array.from({ length: 100 }, () => ({ day: this.day, text: ''.padEnd(length / 100, '.') }));
  }

  /** @throws Error if a part of it is not of the same save as the rest. */
  check(): void {
    const days = this.pages.map(({ day }) => day);
    const first = this.since === 0 ? [] : Array<number>(100).fill(this.since);
    const later = Array.from({ length: this.day - this.since }, (_, i) => this.since + i + 1);
    if (days.join() !== [...first, ...later].join())
      throw new Error(`TORN: day ${this.day}, pages ${days.join()}`);
  }
}

function toPage(json: JsonValue): Page {
  if (!isJsonObject(json) || typeof json['day'] !== 'number' || typeof json['text'] !== 'string') {
    throw new TypeError('it is no page');
  }
  return { day: json['day'], text: json['text'] };
}
