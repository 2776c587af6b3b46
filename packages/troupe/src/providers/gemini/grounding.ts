import type { ProviderToolBlock } from '../../message/blocks.ts';
import { sourceLines, type Citation } from '../../message/citation.ts';
import type { ModelDelta } from '../../message/model-delta.ts';
import { numberOf, objectOf, objectsOf, stringOf } from '../../model/http/wire-values.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../../util/json.ts';
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

/** Fields with the queries of searches, and the names of the tools. */
const SEARCHES = [
  ['webSearchQueries', 'google_search'],
  ['imageSearchQueries', 'google_image_search'],
  ['retrievalQueries', 'retrieval'],
] as const;

/** Collects what Google says about the sources of an answer, and reports it when the answer ends. */
export class Grounding {
  readonly #said: Record<string, JsonValue> = {};
  /** Sources in the order of the chunks, repeated ones too. */
  readonly #chunks: JsonObject[] = [];
  /** The last text of the answer: the one that citations are about. */
  #text = '';
  #isInText = false;
  #isSigned = false;
  #hasToolCalls = false;

  /** Reads a chunk's candidate. Lists of sources grow from chunk to chunk, other fields of later chunks replace earlier ones. */
  read(candidate: JsonObject): void {
    for (const key of ANSWER_FIELDS) {
      const value = candidate[key];
      if (value === undefined || value === null) continue;
      if (key === 'groundingMetadata') this.#chunks.push(...objectsOf(objectOf(value)['groundingChunks']));
      const before = this.#said[key];
      this.#said[key] = isJsonObject(value) && isJsonObject(before) ? grown(before, value) : value;
    }
  }

  /** Reads what a chunk says about the answer as a whole, beside its candidates. */
  readAnswer({ modelVersion, usageMetadata, promptFeedback }: JsonObject): void {
    const { serviceTier, trafficType } = objectOf(usageMetadata);
    for (const [key, value] of Object.entries({ modelVersion, serviceTier, trafficType, promptFeedback }))
      if (value !== undefined && value !== null) this.#said[key] = value;
  }

  /** Notes a piece of text; undefined for a part that is no text. A signature ends a text: what follows is another one. */
  note(text: string | undefined, isSigned = false): void {
    const goesOn = this.#isInText && !(this.#isSigned && text !== '');
    this.#text = goesOn ? this.#text + (text ?? '') : (text ?? '');
    this.#isSigned = isSigned || (goesOn && this.#isSigned);
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
    const all = this.#chunks.map(toSource); // a file search counts the sources of all chunks, also repeated ones
    const supports = objectsOf(groundingSupports);
    const cited = supports.flatMap(({ segment, groundingChunkIndices }) =>
      indexesOf(groundingChunkIndices).flatMap((index) => {
        const source = sources[index] ?? all[index];
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
    const grounding = objectOf(this.#said['groundingMetadata']);
    const { urlMetadata } = objectOf(this.#said['urlContextMetadata']);
    const sources = objectsOf(grounding['groundingChunks']);
    const isMaps = sources.length > 0 && sources.every(({ maps }) => maps !== undefined);
    for (const [key, tool] of SEARCHES) {
      const queries = grounding[key];
      if (!Array.isArray(queries) || queries.length === 0) continue;
      const found = sourceLines(sources.map(toSource)).join('\n');
      yield* told(isMaps ? 'google_maps' : tool, { queries: queries as JsonValue }, found, true);
    }
    const pages = objectsOf(urlMetadata);
    if (pages.length === 0) return;
    const urls = pages.map((page) => stringOf(page['retrievedUrl']));
    const lines = pages.map((page, i) => `${urls[i]}: ${stringOf(page['urlRetrievalStatus'])}`);
    const isOk = lines.some((line) => line.endsWith('SUCCESS'));
    yield* told('url_context', { urls }, lines.join('\n'), isOk);
  }
}

/** Fields of two chunks. A list that begins like the earlier one has grown; any other is added to it. */
function grown(before: JsonObject, value: JsonObject): JsonObject {
  const lists = Object.entries(value).map(([key, list]) => {
    const earlier = before[key];
    if (!Array.isArray(earlier) || !Array.isArray(list)) return [key, list] as const;
    const isGrown = earlier.every((one, i) => JSON.stringify(one) === JSON.stringify(list[i]));
    return [key, isGrown ? list : [...earlier, ...list]] as const;
  });
  return { ...before, ...Object.fromEntries(lists) };
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
  const { web, retrievedContext, maps, image } = chunk;
  const fields = objectOf(web ?? retrievedContext ?? maps ?? image);
  const page = numberOf(fields['pageNumber']);
  const hasName = stringOf(fields['title']) !== '' || stringOf(fields['uri']) !== '';
  const texts = {
    url: stringOf(fields['uri']) || stringOf(fields['sourceUri']),
    title: stringOf(fields['title']),
    quote: stringOf(fields['text']),
    fileId: stringOf(fields['documentName']) || (hasName ? '' : stringOf(fields['fileSearchStore'])),
  };
  return {
    ...Object.fromEntries(Object.entries(texts).filter(([, text]) => text !== '')),
    ...(page !== undefined && { pages: [page, page] as const }),
  };
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
