/** Makes text that can be read out, from Markdown that arrives in pieces. Called with whole lines and parts of lines. */
export interface SpeakableFilter {
  /** Text to read out of the next piece; may be empty. */
  feed(text: string): string;
  /** The rest, after the last piece. */
  end(): string;
}

const FENCE = /^ {0,3}(`{3,}|~{3,})/;
const RULE = /^ {0,3}([-*_=])( *\1){2,} *$/;
/** Character that is neither space nor part of a mark: prose, or a table. */
const DECIDED = /[^\s>#\-*+_=`~[\]xX]/;

/** Leaves out code blocks, tables and rules, and the marks of Markdown. Passes whole words on while their line still grows. */
export class MarkdownSpeech implements SpeakableFilter {
  /** Start of the current line, while its kind is undecided. */
  #start = '';
  #line: 'undecided' | 'prose' | 'skipped' = 'undecided';
  #fence: string | undefined;
  /** Last word of the prose so far, or the start of a link or tag: it may go on. */
  #held = '';

  feed(text: string): string {
    let spoken = '';
    for (const [i, part] of text.split('\n').entries()) {
      if (i > 0) spoken += this.#endLine();
      spoken += this.#feedLine(part);
    }
    return spoken;
  }

  end(): string {
    return this.#endLine().trimEnd();
  }

  #feedLine(part: string): string {
    if (this.#line === 'skipped') return '';
    if (this.#line === 'prose') return this.#prose(part);
    this.#start += part;
    if (this.#fence !== undefined || FENCE.test(this.#start) || !DECIDED.test(this.#start)) return ''; // decided at the end of the line
    this.#line = this.#start.trimStart().startsWith('|') ? 'skipped' : 'prose';
    return this.#line === 'prose' ? this.#prose(withoutLineMarks(this.#start)) : '';
  }

  #endLine(): string {
    const [line, start, held] = [this.#line, this.#start, this.#held];
    this.#line = 'undecided';
    this.#start = '';
    this.#held = '';
    if (line === 'skipped') return '';
    if (line === 'prose') return `${withoutMarks(held)}\n`;
    const mark = FENCE.exec(start)?.[1];
    if (this.#fence !== undefined) {
      if (mark?.startsWith(this.#fence) && start.trim() === mark) this.#fence = undefined;
      return '';
    }
    this.#fence = mark;
    if (mark !== undefined) return '';
    return RULE.test(start) ? '\n' : `${withoutMarks(withoutLineMarks(start))}\n`;
  }

  #prose(part: string): string {
    const text = this.#held + part;
    const end = endOfWholeWords(text);
    this.#held = text.slice(end);
    return withoutMarks(text.slice(0, end));
  }
}

/** Longest word, link or tag that is held back until its end. */
const MAX_HELD = 2000;
const OPEN_LINK_OR_TAG = /(?:!?\[[^\]]*|\[[^\]]*\]\([^)]*|<\/?[a-z][^>]*)$/i;

/** End of the text without its last word, which may go on, and without a link or tag that is still open. */
function endOfWholeWords(text: string): number {
  if (text.length > MAX_HELD) return text.length;
  const words = /\s\S*$/.exec(text);
  if (words === null) return 0;
  const end = words.index + 1;
  return OPEN_LINK_OR_TAG.exec(text.slice(0, end))?.index ?? end;
}

function withoutLineMarks(line: string): string {
  return line.replace(/^\s*(>\s*)*(#{1,6}\s+|[-*+]\s+)?(\[[ xX]\]\s+)?/, '');
}

/** Links and tags end at the next opening mark, so that many open ones are not read again and again. */
function withoutMarks(text: string): string {
  return text
    .replace(/!\[[^[\]]*\]\([^()]*(?:\([^()]*)?\)/g, '')
    .replace(/\[([^[\]]*)\]\([^()]*(?:\([^()]*)?\)/g, '$1')
    .replace(/<\/?[a-z][^<>]*>/gi, '')
    .replace(/https?:\/\/([^\s/)\]]+)\S*/g, '$1')
    .replace(/\*+|`+|~~|(?<![\p{L}\p{N}])_+|_+(?![\p{L}\p{N}])/gu, '');
}

/** Shortest piece that is spoken alone. The first piece of a message may be shorter, so that speech begins early. */
const LEAST_LENGTH = 20;
/** Longest piece; a longer one is cut behind a comma or a word. */
const MOST_LENGTH = 400;
const ABBREVIATION =
  /(?:^|[\s("'])(?:[A-Z]|Mr|Mrs|Ms|Dr|Prof|St|Sr|Jr|No|vs|etc|e\.g|i\.e|approx|Inc|Ltd|Co|Fig|cf|bzw|z\.B|d\.h|ca|Nr)\.$/;
const LIST_NUMBER = /^\d{1,3}[.)]$/;
const WIDE_END = /[。！？]["'」』）]?$/;

/** The last line of a piece without the white space around it, and whether the line has ended. */
function lastLineOf(piece: string): { readonly line: string; readonly isEnded: boolean } {
  const text = piece.trimEnd();
  const line = text.slice(text.lastIndexOf('\n') + 1).trimStart();
  return { line, isEnded: piece.includes('\n', text.length) };
}

/**
 * Cuts text that arrives in pieces into sentences. A sentence is complete when the next one has begun, at the end of a line, or at
 * the end of the text.
 */
export class SentenceSplitter {
  readonly #segmenter: Intl.Segmenter;
  #rest = '';
  #isFirst = true;

  constructor(locale?: string) {
    this.#segmenter = new Intl.Segmenter(locale, { granularity: 'sentence' });
  }

  /** The sentences that are complete now. */
  feed(text: string): readonly string[] {
    this.#rest += text;
    const mayEnd = /[.!?…。！？\n]/.test(this.#rest) || this.#rest.length > MOST_LENGTH;
    return mayEnd ? this.#cut(false) : [];
  }

  /** The rest, after the end of the text. */
  end(): readonly string[] {
    const sentences = this.#cut(true);
    this.#isFirst = true;
    return sentences;
  }

  #cut(isEnd: boolean): readonly string[] {
    const segments = Array.from(this.#segmenter.segment(this.#rest), ({ segment }) => segment);
    const sentences: string[] = [];
    let piece = '';
    for (const [i, segment] of segments.entries()) {
      piece += segment;
      const isLast = i === segments.length - 1;
      const { line, isEnded } = lastLineOf(piece);
      if (isLast && !isEnd && !isEnded && !WIDE_END.test(line)) break;
      if (!isLast && (ABBREVIATION.test(line) || LIST_NUMBER.test(line))) continue;
      const isLong = this.#isFirst || piece.trim().length >= LEAST_LENGTH;
      if (!isLong && !isEnded) continue;
      this.#push(sentences, piece);
      piece = '';
    }
    while (piece.length > MOST_LENGTH) {
      const at = cutAt(piece);
      this.#push(sentences, piece.slice(0, at));
      piece = piece.slice(at);
    }
    if (isEnd) this.#push(sentences, piece);
    this.#rest = isEnd ? '' : piece;
    return sentences;
  }

  #push(sentences: string[], piece: string): void {
    const sentence = piece.replace(/\s+/g, ' ').trim();
    if (!/[\p{L}\p{N}]/u.test(sentence)) return; // nothing to say
    sentences.push(sentence);
    this.#isFirst = false;
  }
}

/** End of the last clause or word within the longest piece. */
function cutAt(text: string): number {
  const head = text.slice(0, MOST_LENGTH);
  const clause = Math.max(
    ...[', ', '; ', ': ', '，', '；', '、'].map((mark) => head.lastIndexOf(mark) + mark.length),
  );
  if (clause > MOST_LENGTH / 2) return clause;
  const word = head.lastIndexOf(' ') + 1;
  return word > 0 ? word : MOST_LENGTH;
}
