import type { ProviderToolBlock } from '../../message/blocks.ts';
import { sourceLines, type Citation } from '../../message/citation.ts';
import type { ModelDelta } from '../../message/model-delta.ts';
import { numberOf, objectOf, objectsOf, stringOf } from '../../model/http/wire-values.ts';
import type { JsonObject, JsonValue } from '../../util/json.ts';
import { GEMINI_KEY } from './google-parts.ts';

/** Fields of a candidate that say something about the answer as a whole. */
const ANSWER_FIELDS = [
  'groundingMetadata',
  'urlContextMetadata',
  'citationMetadata',
  'safetyRatings',
  'logprobsResult',
  'avgLogprobs',
  'finishMessage',
];

/** Collects what Google says about the sources of an answer, and reports it when the answer ends. */
export class Grounding {
  readonly #said: Record<string, JsonValue> = {};
  /** The last text of the answer: the one that citations are about. */
  #text = '';
  #isInText = false;
  #hasToolCalls = false;

  /** Reads a chunk's candidate. Fields of later chunks replace those of earlier chunks. */
  read(candidate: JsonObject): void {
    for (const key of ANSWER_FIELDS) {
      const value = candidate[key];
      if (value !== undefined && value !== null) this.#said[key] = value;
    }
  }

  /** Reads what a chunk says about the answer as a whole, beside its candidates. */
  readAnswer({ modelVersion, usageMetadata, promptFeedback }: JsonObject): void {
    const { serviceTier, trafficType } = objectOf(usageMetadata);
    for (const [key, value] of Object.entries({ modelVersion, serviceTier, trafficType, promptFeedback }))
      if (value !== undefined && value !== null) this.#said[key] = value;
  }

  /** Notes a piece of text; undefined for a part that is no text. */
  note(text: string | undefined): void {
    this.#text = this.#isInText ? this.#text + (text ?? '') : (text ?? '');
    this.#isInText = text !== undefined;
  }

  /** Notes that searches are parts of the answer, and need not be told again. */
  noteToolCall(): void {
    this.#hasToolCalls = true;
  }

  *end(): Generator<ModelDelta, void, void> {
    const citations = this.#isInText ? this.#citations() : [];
    if (citations.length > 0) yield { type: 'citations', citations };
    if (!this.#hasToolCalls) for (const block of this.#tools()) yield { type: 'block', block };
    if (Object.keys(this.#said).length > 0)
      yield { type: 'provider_meta', providerMeta: { [GEMINI_KEY]: { ...this.#said } } };
  }

  #citations(): readonly Citation[] {
    const { groundingChunks, groundingSupports } = objectOf(this.#said['groundingMetadata']);
    const sources = objectsOf(groundingChunks).map(toSource);
    const supports = objectsOf(groundingSupports);
    const cited = supports.flatMap(({ segment, groundingChunkIndices }) =>
      indexesOf(groundingChunkIndices).flatMap((index) => {
        const source = sources[index];
        return source === undefined ? [] : [{ ...rangeOf(objectOf(segment), this.#text), ...source }];
      }),
    );
    const { citationSources, citations } = objectOf(this.#said['citationMetadata']);
    const quoted = objectsOf(citationSources ?? citations).map((one) => ({
      ...rangeOf(one, this.#text),
      ...toSource({ web: one }),
    }));
    return [...(supports.length > 0 ? cited : sources), ...quoted];
  }

  /** Calls of tools without parts in the answer, only with findings. */
  *#tools(): Generator<ProviderToolBlock, void, void> {
    const { webSearchQueries: queries, groundingChunks } = objectOf(this.#said['groundingMetadata']);
    const { urlMetadata } = objectOf(this.#said['urlContextMetadata']);
    if (Array.isArray(queries) && queries.length > 0) {
      const found = sourceLines(objectsOf(groundingChunks).map(toSource));
      yield* told('google_search', { queries: queries as JsonValue }, found.join('\n'), true);
    }
    const pages = objectsOf(urlMetadata);
    if (pages.length === 0) return;
    const urls = pages.map((page) => stringOf(page['retrievedUrl']));
    const lines = pages.map((page, i) => `${urls[i]}: ${stringOf(page['urlRetrievalStatus'])}`);
    const isOk = lines.some((line) => line.endsWith('SUCCESS'));
    yield* told('url_context', { urls }, lines.join('\n'), isOk);
  }
}

/** The blocks of a call of which nothing goes back to Google. */
function* told(
  name: string,
  input: JsonObject,
  output: string,
  isOk: boolean,
): Generator<ProviderToolBlock, void, void> {
  const tool = { id: name, name, executedBy: GEMINI_KEY, providerMeta: { [GEMINI_KEY]: {} } };
  yield { type: 'provider_tool_use', ...tool, input };
  yield { type: 'provider_tool_result', ...tool, output, status: isOk ? 'ok' : 'error' };
}

function toSource(chunk: JsonObject): Citation {
  const { web, retrievedContext, maps } = chunk;
  const fields = objectOf(web ?? retrievedContext ?? maps);
  const texts = {
    url: stringOf(fields['uri']),
    title: stringOf(fields['title']),
    quote: stringOf(fields['text']),
  };
  return Object.fromEntries(Object.entries(texts).filter(([, text]) => text !== ''));
}

/** Range of a segment. Google counts bytes of UTF-8; a segment that is not there gets no range. */
function rangeOf(segment: JsonObject, text: string): Pick<Citation, 'start' | 'end'> {
  const bytes = new TextEncoder().encode(text);
  const decoder = new TextDecoder();
  const end = numberOf(segment['endIndex']);
  if (end === undefined) return {};
  const start = decoder.decode(bytes.subarray(0, numberOf(segment['startIndex']) ?? 0)).length;
  const range = { start, end: decoder.decode(bytes.subarray(0, end)).length };
  const said = stringOf(segment['text']);
  if (said === '' || text.slice(range.start, range.end) === said) return range;
  const found = text.indexOf(said);
  return found === -1 ? {} : { start: found, end: found + said.length };
}

function indexesOf(value: JsonValue | undefined): readonly number[] {
  return Array.isArray(value) ? value.filter((index) => typeof index === 'number') : [];
}
