import { TroupeError } from '../../errors.ts';
import { isJsonObject } from '../../util/json.ts';

const MAX_WORD = 100;
const CJK = /[\u3400-\u9fff\uf900-\ufaff]|[\u{20000}-\u{2fa1f}]/gu;
const PUNCTUATION = /[\p{P}$+<=>^`|~]/gu;

/** Tokenizer of BERT: words, split into the longest known pieces. Reads `tokenizer.json` of Hugging Face. */
export class WordPieceTokenizer {
  readonly #ids: ReadonlyMap<string, number>;
  readonly #isLowerCase: boolean;
  readonly #prefix: string;
  readonly #cls: number;
  readonly #sep: number;
  readonly #unknown: number;

  /** @throws TroupeError if the file describes another kind of tokenizer */
  constructor(file: unknown) {
    const model = isJsonObject(file) ? file['model'] : undefined;
    const vocab = isJsonObject(model) ? model['vocab'] : undefined;
    if (!isJsonObject(file) || !isJsonObject(model) || !isJsonObject(vocab) || !('[CLS]' in vocab))
      throw new TroupeError('invalid_config', 'tokenizer.json has no WordPiece vocabulary, as BERT has it.');
    const ids = Object.entries(vocab).filter(
      (entry): entry is [string, number] => typeof entry[1] === 'number',
    );
    this.#ids = new Map(ids);
    const { normalizer } = file;
    this.#isLowerCase = !isJsonObject(normalizer) || normalizer['lowercase'] !== false;
    const prefix = model['continuing_subword_prefix'];
    this.#prefix = typeof prefix === 'string' ? prefix : '##';
    this.#cls = this.#ids.get('[CLS]') ?? 101;
    this.#sep = this.#ids.get('[SEP]') ?? 102;
    this.#unknown = this.#ids.get('[UNK]') ?? 100;
  }

  /** Ids of a text between the marks of its start and end, at most `maxTokens`. */
  encode(text: string, maxTokens: number): readonly number[] {
    const ids = [this.#cls];
    for (const word of this.#words(text)) {
      if (ids.length >= maxTokens - 1) break;
      ids.push(...this.#pieces(word));
    }
    return [...ids.slice(0, maxTokens - 1), this.#sep];
  }

  #words(text: string): readonly string[] {
    const plain = text
      .replace(/[\p{Cc}\p{Cf}\ufffd]/gu, (char) => (/\s/.test(char) ? ' ' : ''))
      .replace(CJK, ' $& ');
    const lower = this.#isLowerCase
      ? plain
          .toLowerCase()
          .normalize('NFD')
          .replace(/\p{Mn}/gu, '')
      : plain;
    return lower
      .replace(PUNCTUATION, ' $& ')
      .split(/\s+/)
      .filter((word) => word !== '');
  }

  #pieces(word: string): readonly number[] {
    const chars = [...word];
    if (chars.length > MAX_WORD) return [this.#unknown];
    const ids: number[] = [];
    for (let start = 0; start < chars.length;) {
      let end = chars.length;
      let id: number | undefined;
      for (; end > start; end--) {
        const piece = chars.slice(start, end).join('');
        id = this.#ids.get(start === 0 ? piece : `${this.#prefix}${piece}`);
        if (id !== undefined) break;
      }
      if (id === undefined) return [this.#unknown];
      ids.push(id);
      start = end;
    }
    return ids;
  }
}
