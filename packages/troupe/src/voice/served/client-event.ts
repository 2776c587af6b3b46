import { TroupeError } from '../../errors.ts';
import type { ToolOutputBlock } from '../../message/blocks.ts';
import { describe, isJsonObject, readJson, type JsonObject } from '../../util/json.ts';

/** Format of sound or of an image, as front ends of AgentScope send it. */
export interface MediaFormat {
  readonly type: string;
  readonly rate?: number;
}

/** Event of a front end. The names and fields are those of AgentScope; the last two are additions. */
export type ClientEvent =
  | {
      readonly type: 'client_session_create';
      /** `reports_playback: true` promises `client_playback` for all sound. The rest is ignored: a client gives no instructions. */
      readonly config?: JsonObject;
    }
  | { readonly type: 'client_session_end'; readonly session_id?: string }
  | { readonly type: 'client_response_create'; readonly session_id?: string }
  | { readonly type: 'client_response_cancel'; readonly session_id?: string }
  | { readonly type: 'client_audio_commit'; readonly session_id?: string }
  | { readonly type: 'client_text_append'; readonly session_id?: string; readonly text: string }
  | {
      readonly type: 'client_audio_append';
      readonly session_id?: string;
      /** Base64. */
      readonly audio: string;
      readonly format: MediaFormat;
    }
  | {
      readonly type: 'client_image_append';
      readonly session_id?: string;
      /** Base64. */
      readonly image: string;
      readonly format: MediaFormat;
    }
  | {
      readonly type: 'client_tool_result';
      readonly session_id?: string;
      readonly id: string;
      readonly name: string;
      readonly output: string | readonly ToolOutputBlock[];
    }
  /** Decides about a pending tool call. */
  | {
      readonly type: 'client_decision';
      readonly session_id?: string;
      readonly id: string;
      readonly verdict: 'allow' | 'deny';
    }
  /** Tells how much of an item the front end has played. */
  | {
      readonly type: 'client_playback';
      readonly session_id?: string;
      readonly item_id: string;
      readonly played_ms: number;
    };

type Check = (value: unknown) => boolean;

const isText: Check = (value) => typeof value === 'string';
const isObject: Check = (value) => isJsonObject(value);
const isFormat: Check = (value) =>
  isJsonObject(value) && typeof value['type'] === 'string' && isRate(value['rate']);
const isRate: Check = (value) =>
  value === undefined || (Number.isInteger(value) && Number(value) >= 8000 && Number(value) <= 192_000);
const isOutput: Check = (value) =>
  typeof value === 'string' || (Array.isArray(value) && value.every(isObject));
const isVerdict: Check = (value) => value === 'allow' || value === 'deny';
const isMs: Check = (value) => typeof value === 'number' && value >= 0;

/** Required fields of each type. */
const FIELDS: Readonly<Record<ClientEvent['type'], Readonly<Record<string, Check>>>> = {
  client_session_create: {},
  client_session_end: {},
  client_response_create: {},
  client_response_cancel: {},
  client_audio_commit: {},
  client_text_append: { text: isText },
  client_audio_append: { audio: isText, format: isFormat },
  client_image_append: { image: isText, format: isFormat },
  client_tool_result: { id: isText, name: isText, output: isOutput },
  client_decision: { id: isText, verdict: isVerdict },
  client_playback: { item_id: isText, played_ms: isMs },
};

/** Reads an event of a front end. @throws TroupeError if it is none */
export function readClientEvent(json: string): ClientEvent {
  const event = readJson(json);
  if (!isJsonObject(event)) throw invalid(`must be a JSON object, not ${describe(event)}`);
  const { type } = event;
  if (typeof type !== 'string') throw invalid("has no field 'type'");
  const problem = problemOf(event, type);
  if (problem !== '') throw invalid(problem);
  return event as JsonObject & ClientEvent;
}

/** The first thing that is wrong with an event; empty if nothing is. */
function problemOf(event: JsonObject, type: string): string {
  const fields = Object.hasOwn(FIELDS, type) ? FIELDS[type as ClientEvent['type']] : undefined;
  if (fields === undefined) return `has the unknown type ${JSON.stringify(type.slice(0, 100))}`;
  const session = event['session_id'];
  if (session !== undefined && typeof session !== 'string')
    return `${type} has an invalid field 'session_id'`;
  const wrong = Object.entries(fields).find(([name, check]) => !check(event[name]));
  return wrong === undefined ? '' : `${type} has no valid field '${wrong[0]}'`;
}

function invalid(problem: string): TroupeError {
  return new TroupeError('invalid_input', `An event of a client ${problem}.`);
}
