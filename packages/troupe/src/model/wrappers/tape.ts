import { TroupeError } from '../../errors.ts';
import type { ModelDelta } from '../../message/model-delta.ts';
import { describe, isJsonObject, parseJson, type JsonObject, type JsonValue } from '../../util/json.ts';
import { isList, withSortedKeys } from './canonical-request.ts';
import { PLAIN_CAPABILITIES, type ChatModelBase, type ModelCapabilities } from '../chat-model-base.ts';
import type { ModelErrorDetails } from '../model-error.ts';

/** Delta with the milliseconds since the request. */
export type TimedDelta = readonly [ms: number, delta: ModelDelta];

/** Recorded error. Only a ModelError has a kind. */
export interface TapedError extends Partial<
  Omit<ModelErrorDetails, 'body' | 'cause' | 'deadline' | 'requestId'>
> {
  /** The message; of a ModelError without the advice, which is made anew. */
  readonly message: string;
}

/** Recorded model call. */
export interface TapedCall {
  /** Request in canonical form. */
  readonly request: JsonObject;
  readonly deltas: readonly TimedDelta[];
  /** Total duration. */
  readonly ms: number;
  readonly error?: TapedError;
  /** True if the caller aborted or left the response before its end. */
  readonly aborted?: true;
}

/**
 * Recording of model calls: requests and responses. The text format is JSON lines: a header for the model,
 * then one line per model call.
 */
export interface Tape {
  readonly model: string;
  readonly capabilities: ModelCapabilities;
  readonly calls: readonly TapedCall[];
}

const VERSION = 1;

/** First line of a tape. */
export function tapeHeader({
  modelName,
  capabilities,
}: Pick<ChatModelBase, 'modelName' | 'capabilities'>): string {
  return `${JSON.stringify({ tape: VERSION, model: modelName, capabilities })}\n`;
}

/**
 * Parses a tape; concatenated tapes form one.
 * @throws TroupeError with the line number
 */
export function parseTape(text: string): Tape {
  let header: Omit<Tape, 'calls'> | undefined;
  const calls: TapedCall[] = [];
  const lines = text.replace(/^\uFEFF/, '').split('\n');
  for (const [i, line] of lines.entries()) {
    if (line.trim() === '') continue;
    const fail: Fail = (problem) => {
      throw new TroupeError('script_failed', `Line ${i + 1} of the tape ${problem}.`);
    };
    const fields = readLine(line, fail);
    if (fields['tape'] !== undefined) header ??= readHeader(fields, fail);
    else if (header === undefined) fail('is not the header of a tape: {"tape":1,"model":…}');
    else calls.push(readCall(fields, fail));
  }
  if (header === undefined) throw new TroupeError('script_failed', 'The tape is empty.');
  return { ...header, calls };
}

/** Throws for an invalid line. */
type Fail = (problem: string) => never;

const DELTA_TYPES: Readonly<Record<ModelDelta['type'], true>> = {
  text: true,
  thinking: true,
  tool_use_start: true,
  tool_input: true,
  tool_use_end: true,
  audio: true,
  citations: true,
  partial_image: true,
  block: true,
  usage: true,
  finish: true,
  response_id: true,
  provider_meta: true,
  answered_by: true,
  reset: true,
};

function readLine(line: string, fail: Fail): JsonObject {
  let fields: JsonValue;
  try {
    fields = parseJson(line);
  } catch {
    return fail('is not JSON; it may be truncated');
  }
  return isJsonObject(fields) ? fields : fail(`is ${describe(fields)}, not an object`);
}

function readHeader({ tape, model, capabilities }: JsonObject, fail: Fail): Omit<Tape, 'calls'> {
  if (tape !== VERSION) {
    return fail(`is of version ${JSON.stringify(tape)}, and this library reads version ${VERSION}`);
  }
  if (typeof model !== 'string') return fail(`needs a model, which is a string, not ${describe(model)}`);
  const known = isJsonObject(capabilities) ? (capabilities as JsonObject & Partial<ModelCapabilities>) : {};
  return { model, capabilities: Object.freeze({ ...PLAIN_CAPABILITIES, ...known }) };
}

function readCall({ request, deltas, ms = 0, error, aborted }: JsonObject, fail: Fail): TapedCall {
  if (!isJsonObject(request)) return fail(`needs a request, which is an object, not ${describe(request)}`);
  if (!isList(deltas)) return fail(`needs deltas, which are a list, not ${describe(deltas)}`);
  if (typeof ms !== 'number') return fail(`needs ms, which is a number, not ${describe(ms)}`);
  return {
    request: withSortedKeys(request) as JsonObject,
    deltas: deltas.map((delta, i) => readDelta(delta, i, fail)),
    ms,
    ...(error !== undefined && { error: readError(error, fail) }),
    ...(aborted === true && { aborted }),
  };
}

function readDelta(value: JsonValue, i: number, fail: Fail): TimedDelta {
  const [ms, delta] = isList(value) ? value : [];
  const type = isJsonObject(delta) ? delta['type'] : undefined;
  if (typeof ms === 'number' && typeof type === 'string' && Object.hasOwn(DELTA_TYPES, type)) {
    return [ms, delta as JsonObject & ModelDelta];
  }
  return fail(`has an invalid delta ${i + 1}; expected [milliseconds, {"type":…}]`);
}

function readError(error: JsonValue, fail: Fail): TapedError {
  if (isJsonObject(error) && typeof error['message'] === 'string') return error as JsonObject & TapedError;
  return fail('has an invalid error; expected {"message":…}');
}
