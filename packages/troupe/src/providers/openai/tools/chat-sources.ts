import type { Citation } from '../../../message/citation.ts';
import type { ModelDelta } from '../../../message/model-delta.ts';
import { objectOf, objectsOf, stringOf } from '../../../model/http/wire-values.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../../../util/json.ts';
import { toCitation } from './responses-annotations.ts';

/** Fields of a count that are read as tokens. The others, such as costs and numbers of searches, are kept. */
const COUNTED = /^(?:prompt|completion|total|reasoning|cached|num_cached)_tokens|^prompt_cache_|_time$/;

/** Fields of a chunk and of a choice that are read, or that say nothing about the answer. All others are kept. */
const CHUNK_FIELDS =
  /^(?:id|object|created|choices|usage|error|x_groq|base_resp|obfuscation|input_sensitive|output_sensitive)$/;
const CHOICE_FIELDS = /^(?:index|delta|message|finish_reason|logprobs|usage|token_ids)$/;

/**
 * Collects the sources of an answer, which vendors give as annotations of the text or as a list beside it, and what else an
 * answer says besides its text.
 */
export class ChatSources {
  readonly #vendorName: string;
  readonly #annotations = new Map<string, JsonObject>();
  readonly #logprobs: JsonObject[] = [];
  /** Annotations that came before any text, or behind something else than text. */
  readonly #early: JsonObject[] = [];
  /** Sources of parts of the content that came before any text. */
  readonly #earlySources: Citation[] = [];
  /** Parts of the content of which only the vendor knows the meaning. */
  readonly #parts: JsonObject[] = [];
  /** Whether the last block is text, to which sources can be added. */
  #isInText = false;
  /** Length of the text in the current block. */
  #length = 0;
  #said: Record<string, JsonValue> = {};

  constructor(vendorName: string) {
    this.#vendorName = vendorName;
  }

  readChunk(chunk: JsonObject): void {
    for (const key in chunk) if (!CHUNK_FIELDS.test(key)) this.#keep(key, chunk[key]);
    if (chunk['x_groq'] !== undefined)
      this.#keep('usage_breakdown', objectOf(chunk['x_groq'])['usage_breakdown']);
    if (!isJsonObject(chunk['usage'])) return;
    const counts = Object.entries(chunk['usage']).filter(
      ([key, value]) => !COUNTED.test(key) && value !== null,
    );
    if (counts.length > 0) this.#said = { ...this.#said, usage: Object.fromEntries(counts) };
  }

  /** Keeps what is in a part of an answer, but has no place in a message. */
  readUnknown(holder: JsonObject, known: readonly string[]): void {
    for (const [key, value] of Object.entries(holder)) if (!known.includes(key)) this.#keep(key, value);
  }

  readChoice(choice: JsonObject): void {
    const { logprobs } = choice;
    for (const key in choice) if (!CHOICE_FIELDS.test(key)) this.#keep(key, choice[key]);
    if (typeof logprobs === 'object' && logprobs !== null && 'content' in logprobs)
      this.#logprobs.push(...objectsOf(logprobs.content));
  }

  /** Reports annotations that were not told before. A file's is kept, because it saves reading the file again. */
  *readAnnotations(annotations: unknown): Generator<ModelDelta, void, void> {
    const fresh = objectsOf(annotations).filter((one) => !this.#annotations.has(JSON.stringify(one)));
    for (const annotation of fresh) this.#annotations.set(JSON.stringify(annotation), annotation);
    this.#early.push(...fresh.filter(({ type }) => type !== 'file'));
    const citations = this.#isInText ? this.noteText(0) : undefined;
    if (citations !== undefined) yield citations;
  }

  /** Notes a piece of text, and gives the citations before the first one: OpenRouter tells the sources first. */
  noteText(length: number): ModelDelta | undefined {
    this.#isInText = true;
    this.#length += length;
    if (this.#early.length === 0 && this.#earlySources.length === 0) return undefined;
    const early = this.#early.splice(0).map((one) => toCitation(one));
    return { type: 'citations', citations: [...this.#earlySources.splice(0), ...early] };
  }

  /** Notes that something else than text comes: the next text is in another block. */
  endText(): void {
    this.#isInText = false;
    this.#length = 0;
  }

  /** Reports sources of the last piece of text, or of all text so far if that piece is empty. */
  *cite(citations: readonly Citation[], length: number): Generator<ModelDelta, void, void> {
    const range = length > 0 && { start: this.#length - length, end: this.#length };
    const cited = citations.map((one) => ({ ...range, ...one }));
    if (this.#length > 0) yield { type: 'citations', citations: cited };
    else this.#earlySources.push(...cited);
  }

  /** Keeps a part of the content as it came. */
  keepPart(part: JsonObject): void {
    this.#parts.push(part);
  }

  *end(): Generator<ModelDelta, void, void> {
    const listed = this.#annotations.size > 0 ? [] : this.#listed();
    if (listed.length > 0) yield { type: 'citations', citations: listed };
    const files = [...this.#annotations.values()].filter(({ type }) => type === 'file');
    const unplaced = [...files, ...this.#early];
    const said: JsonObject = {
      ...this.#said,
      ...(this.#logprobs.length > 0 && { logprobs: this.#logprobs }),
      ...(unplaced.length > 0 && { annotations: unplaced }),
      ...(this.#parts.length > 0 && { parts: this.#parts }),
    };
    if (Object.keys(said).length > 0)
      yield { type: 'provider_meta', providerMeta: { [this.#vendorName]: said } };
  }

  /** Sources of the whole answer: a list with titles, in the field of the vendor, or of addresses alone. */
  #listed(): readonly Citation[] {
    const { search_results, web_search, search_info, references, citations } = this.#said;
    const found = [search_results, web_search, objectOf(search_info)['search_results'], references]
      .map(objectsOf)
      .find((list) => list.length > 0);
    if (found !== undefined) return found.map(toSource);
    const urls = Array.isArray(citations) ? citations : [];
    return urls.flatMap((url) => (stringOf(url) === '' ? [] : [{ url: stringOf(url) }]));
  }

  #keep(key: string, value: JsonValue | undefined): void {
    if (value === undefined || value === null || value === this.#said[key]) return; // most chunks repeat the same texts
    if (typeof value === 'object' && Object.keys(value).length === 0) return;
    this.#said = { ...this.#said, [key]: value };
  }
}

/** A source in the words of Perplexity, Zhipu, Hunyuan or Volcengine. */
function toSource(one: JsonObject): Citation {
  const url = stringOf(one['url']) || stringOf(one['link']);
  const quote =
    ['snippet', 'content', 'summary', 'text'].map((key) => stringOf(one[key])).find(Boolean) ?? '';
  return toCitation({ title: stringOf(one['title']), url, content: quote });
}
