import type { Citation } from '../../../message/citation.ts';
import type { ModelDelta } from '../../../message/model-delta.ts';
import { objectOf, objectsOf, stringOf } from '../../../model/http/wire-values.ts';
import type { JsonObject, JsonValue } from '../../../util/json.ts';
import { toCitation } from './responses-annotations.ts';

/** Fields of a chunk and of its choice that say something about the answer as a whole. */
const CHUNK_FIELDS = [
  'citations',
  'search_results',
  'images',
  'related_questions',
  'service_tier',
  'system_fingerprint',
  'prompt_filter_results',
  'provider',
];
const CHOICE_FIELDS = ['content_filter_results', 'stop_reason', 'native_finish_reason'];

/** Fields of a count that are read as tokens. The others, such as costs and numbers of searches, are kept. */
const COUNTED = /^(?:prompt|completion|total|reasoning|cached|num_cached)_tokens|^prompt_cache_|_time$/;

/**
 * Collects the sources of an answer, which vendors give as annotations of the text or as a list beside it, and what else an
 * answer says besides its text.
 */
export class ChatSources {
  readonly #vendorName: string;
  readonly #annotations = new Map<string, JsonObject>();
  readonly #logprobs: JsonObject[] = [];
  #said: Record<string, JsonValue> = {};

  constructor(vendorName: string) {
    this.#vendorName = vendorName;
  }

  readChunk(chunk: JsonObject): void {
    this.#keep(chunk, CHUNK_FIELDS);
    this.#keep(objectOf(chunk['x_groq']), ['usage_breakdown']);
    const counts = Object.entries(objectOf(chunk['usage'])).filter(
      ([key, value]) => !COUNTED.test(key) && value !== null,
    );
    if (counts.length > 0) this.#said = { ...this.#said, usage: Object.fromEntries(counts) };
  }

  /** Keeps what is in a delta, but has no place in a message. */
  readUnknown(holder: JsonObject, known: readonly string[]): void {
    this.#keep(
      holder,
      Object.keys(holder).filter((key) => !known.includes(key)),
    );
  }

  readChoice(choice: JsonObject): void {
    this.#keep(choice, CHOICE_FIELDS);
    const { logprobs } = choice;
    if (typeof logprobs === 'object' && logprobs !== null && 'content' in logprobs)
      this.#logprobs.push(...objectsOf(logprobs.content));
  }

  /** Reports annotations that were not told before. A file's is kept, because it saves reading the file again. */
  *readAnnotations(annotations: unknown): Generator<ModelDelta, void, void> {
    const fresh = objectsOf(annotations).filter((one) => !this.#annotations.has(JSON.stringify(one)));
    for (const annotation of fresh) this.#annotations.set(JSON.stringify(annotation), annotation);
    const citations = fresh.filter(({ type }) => type !== 'file').map((one) => toCitation(one));
    if (citations.length > 0) yield { type: 'citations', citations };
  }

  *end(): Generator<ModelDelta, void, void> {
    const listed = this.#annotations.size > 0 ? [] : this.#listed();
    if (listed.length > 0) yield { type: 'citations', citations: listed };
    const files = [...this.#annotations.values()].filter(({ type }) => type === 'file');
    const said: JsonObject = {
      ...this.#said,
      ...(this.#logprobs.length > 0 && { logprobs: this.#logprobs }),
      ...(files.length > 0 && { annotations: files }),
    };
    if (Object.keys(said).length > 0)
      yield { type: 'provider_meta', providerMeta: { [this.#vendorName]: said } };
  }

  /** Sources of the whole answer: a list with titles, or of addresses alone. */
  #listed(): readonly Citation[] {
    const { search_results: results, citations } = this.#said;
    const found = objectsOf(results);
    if (found.length > 0) return found.map((one) => toCitation({ ...one, content: one['snippet'] ?? '' }));
    const urls = Array.isArray(citations) ? citations : [];
    return urls.flatMap((url) => (stringOf(url) === '' ? [] : [{ url: stringOf(url) }]));
  }

  #keep(holder: JsonObject, keys: readonly string[]): void {
    for (const key of keys) {
      const value = holder[key];
      const isEmpty = value === null || (typeof value === 'object' && Object.keys(value).length === 0);
      if (value !== undefined && !isEmpty) this.#said = { ...this.#said, [key]: value };
    }
  }
}
