import type { ToolResultBlock } from '../../../message/blocks.ts';
import type { Msg } from '../../../message/msg.ts';
import type { ToolSchema } from '../../../model/tool-schema.ts';
import type { RealtimeEvent } from '../../../realtime/realtime-event.ts';
import type { RealtimeSetup } from '../../../realtime/realtime-model-base.ts';
import type { RealtimeUsage } from '../../../realtime/realtime-usage.ts';
import type { RealtimeWire } from '../../../realtime/wire/realtime-wire.ts';
import {
  imagesOf,
  numberIn,
  objectIn,
  objectsIn,
  partsOfHistory,
  stringIn,
  textOfMsg,
  textOfResult,
} from '../../../realtime/wire/wire-values.ts';
import { BYTES_PER_SAMPLE, type PcmAudio } from '../../../util/audio/pcm.ts';
import { fromBase64, toBase64 } from '../../../util/base64.ts';
import { newId } from '../../../util/ids.ts';
import { isJsonObject, type JsonObject } from '../../../util/json.ts';

type Frames = readonly JsonObject[];

export interface GeminiLiveWireOptions {
  readonly model: string;
  readonly voice: string | undefined;
  readonly toolScheduling: string | undefined;
  readonly setup: JsonObject;
}

/** Rate of the sound of the model, where its media type names none. */
const OUTPUT_RATE = 24_000;

/**
 * One connection in the frames of Gemini Live. The API has no ids for turns and items: they are made here. A frame may hold several things at
 * once, each of which is read.
 */
export class GeminiLiveWire implements RealtimeWire {
  readonly #options: GeminiLiveWireOptions;
  isReady = false;
  #agentName = '';
  #responseId: string | undefined;
  /** Turn of the person that is being written down. */
  #inputId: string | undefined;
  #inputText = '';
  #usage: RealtimeUsage | undefined;
  #hasSound = false;
  readonly #callIds = new Set<string>();

  constructor(options: GeminiLiveWireOptions) {
    this.#options = options;
  }

  start({ instructions, tools, history, agentName, turns, handle }: RealtimeSetup): Frames {
    const { model, voice, setup } = this.#options;
    this.#agentName = agentName;
    const isResumed = handle !== undefined;
    const past = isResumed ? [] : turnsOf(history, agentName);
    const voiceConfig = voice === undefined ? {} : { prebuiltVoiceConfig: { voiceName: voice } };
    const own = {
      model,
      generationConfig: {
        responseModalities: ['AUDIO'],
        ...(voice !== undefined && { speechConfig: { voiceConfig } }),
      },
      ...(instructions !== '' && { systemInstruction: { parts: [{ text: instructions }] } }),
      ...(tools.length > 0 && { tools: [{ functionDeclarations: tools.map(toolOf) }] }),
      inputAudioTranscription: {},
      outputAudioTranscription: {},
      sessionResumption: isResumed ? { handle } : {},
      contextWindowCompression: { slidingWindow: {} },
      ...(turns === 'caller' && { realtimeInputConfig: { automaticActivityDetection: { disabled: true } } }),
      ...(past.length > 0 && { historyConfig: { initialHistoryInClientContent: true } }),
    };
    const content = { clientContent: { turns: past, turnComplete: false } };
    return [{ setup: { ...own, ...setup } }, ...(past.length > 0 ? [content] : [])];
  }

  *read(frame: JsonObject): Iterable<RealtimeEvent> {
    if (isJsonObject(frame['usageMetadata'])) this.#usage = usageOf(frame['usageMetadata']);
    if (isJsonObject(frame['setupComplete'])) {
      this.isReady = true;
      const sessionId = stringIn(frame['setupComplete']['sessionId']) || newId('session_');
      yield { type: 'session_created', sessionId };
    }
    if (isJsonObject(frame['serverContent'])) yield* this.#content(frame['serverContent']);
    if (isJsonObject(frame['toolCall'])) yield* this.#toolCalls(frame['toolCall']);
    const cancelled = objectIn(frame['toolCallCancellation'])['ids'];
    if (Array.isArray(cancelled)) yield { type: 'tool_calls_cancelled', ids: cancelled.map(stringIn) };
    const { newHandle, resumable } = objectIn(frame['sessionResumptionUpdate']);
    if (resumable === true && stringIn(newHandle) !== '')
      yield { type: 'resumable', handle: stringIn(newHandle) };
    if (isJsonObject(frame['goAway']))
      yield { type: 'expiring', ms: (Number.parseFloat(stringIn(frame['goAway']['timeLeft'])) || 0) * 1000 };
  }

  audio({ data, rate }: PcmAudio): Frames {
    return [{ realtimeInput: { audio: { mimeType: `audio/pcm;rate=${rate}`, data: toBase64(data) } } }];
  }

  beginTurn(): Frames {
    return [{ realtimeInput: { activityStart: {} } }];
  }

  commit(): Frames {
    return [{ realtimeInput: { activityEnd: {} } }];
  }

  msg(msg: Msg): Frames {
    const text = textOfMsg(msg, this.#agentName);
    const images = imagesOf(msg).map(({ mediaType, data }) => ({
      realtimeInput: { video: { mimeType: mediaType, data } },
    }));
    if (text === '') return images;
    const turns = [{ role: 'user', parts: [{ text }] }];
    return [...images, { clientContent: { turns, turnComplete: false } }];
  }

  toolResult(result: ToolResultBlock): Frames {
    const { id, name, status } = result;
    const text = textOfResult(result);
    if (!this.#callIds.has(id)) {
      // After a reconnect without a handle, the new conversation does not have the tool call.
      const turns = [{ role: 'user', parts: [{ text: `Result of the tool ${name}: ${text}` }] }];
      return [{ clientContent: { turns, turnComplete: true } }];
    }
    const response = status === 'ok' ? { output: text } : { error: text };
    const { toolScheduling: scheduling } = this.#options;
    const functionResponse = { id, name, response, ...(scheduling !== undefined && { scheduling }) };
    return [{ toolResponse: { functionResponses: [functionResponse] } }];
  }

  respond(instructions?: string): Frames {
    const turns =
      instructions === undefined ? {} : { turns: [{ role: 'user', parts: [{ text: instructions }] }] };
    return [{ clientContent: { ...turns, turnComplete: true } }];
  }

  cancel(_responseId: string): Frames {
    return []; // only the person's voice ends a response
  }

  truncate(_itemId: string, _ms: number): Frames {
    return [];
  }

  discard(_itemId: string): Frames {
    return [];
  }

  update(_setup: Pick<RealtimeSetup, 'instructions' | 'tools'>): Frames {
    return [];
  }

  *#content(content: JsonObject): Generator<RealtimeEvent, void, void> {
    const said = objectIn(content['inputTranscription']);
    if (stringIn(said['text']) !== '') yield* this.#input(stringIn(said['text']));
    if (content['interrupted'] === true) {
      yield { type: 'interrupted' };
      yield* this.#end('cancelled');
    }
    for (const part of objectsIn(objectIn(content['modelTurn'])['parts'])) yield* this.#part(part);
    const words = stringIn(objectIn(content['outputTranscription'])['text']);
    if (words !== '') {
      const responseId = yield* this.#response();
      yield { type: 'transcript_delta', responseId, itemId: itemOf(responseId), text: words };
    }
    const responseId = this.#responseId;
    if (content['generationComplete'] === true && responseId !== undefined && this.#hasSound)
      yield { type: 'audio_done', responseId, itemId: itemOf(responseId) };
    if (content['turnComplete'] === true) yield* this.#end('completed');
  }

  *#input(text: string): Generator<RealtimeEvent, void, void> {
    if (this.#inputId === undefined) {
      this.#inputId = newId('input_');
      this.#inputText = '';
      yield { type: 'speech_started', itemId: this.#inputId };
    }
    this.#inputText += text;
    yield { type: 'input_transcript_delta', itemId: this.#inputId, text };
  }

  *#part(part: JsonObject): Generator<RealtimeEvent, void, void> {
    const { data, mimeType } = objectIn(part['inlineData']);
    if (part['thought'] === true || stringIn(data) === '') return;
    const responseId = yield* this.#response();
    const bytes = fromBase64(stringIn(data));
    const rate = Number(/rate=(\d+)/.exec(stringIn(mimeType))?.[1] ?? OUTPUT_RATE);
    this.#hasSound = true;
    yield {
      type: 'audio_delta',
      responseId,
      itemId: itemOf(responseId),
      audio: { data: bytes.subarray(0, bytes.length - (bytes.length % BYTES_PER_SAMPLE)), rate },
    };
  }

  /** The open response. A new one ends the turn of the person. */
  *#response(): Generator<RealtimeEvent, string, void> {
    if (this.#responseId !== undefined) return this.#responseId;
    yield* this.#endInput();
    this.#responseId = newId('response_');
    this.#hasSound = false;
    yield { type: 'response_created', responseId: this.#responseId };
    return this.#responseId;
  }

  *#endInput(): Generator<RealtimeEvent, void, void> {
    const itemId = this.#inputId;
    if (itemId === undefined) return;
    this.#inputId = undefined;
    yield { type: 'speech_stopped', itemId };
    yield { type: 'input_transcript_done', itemId, text: this.#inputText };
  }

  *#toolCalls(toolCall: JsonObject): Generator<RealtimeEvent, void, void> {
    const responseId = yield* this.#response();
    for (const { id, name, args } of objectsIn(toolCall['functionCalls'])) {
      const call = {
        id: stringIn(id) || newId('call_'),
        name: stringIn(name),
        json: JSON.stringify(objectIn(args)),
      };
      this.#callIds.add(call.id);
      yield { type: 'tool_call', responseId, call };
    }
    yield* this.#end('completed'); // the turn goes on only after the results
  }

  *#end(status: 'completed' | 'cancelled'): Generator<RealtimeEvent, void, void> {
    const responseId = this.#responseId;
    if (responseId === undefined) return;
    this.#responseId = undefined;
    const usage = this.#usage;
    this.#usage = undefined;
    yield { type: 'response_done', responseId, status, ...(usage !== undefined && { usage }) };
  }
}

function itemOf(responseId: string): string {
  return `${responseId}_sound`;
}

function turnsOf(history: readonly Msg[], agentName: string): readonly JsonObject[] {
  return partsOfHistory(history, agentName).map((part) => {
    if (part.type === 'words')
      return { role: part.role === 'assistant' ? 'model' : 'user', parts: [{ text: part.text }] };
    const { name } = part.type === 'call' ? part : part.result;
    const text =
      part.type === 'call'
        ? `(tool call ${name}: ${JSON.stringify(part.input)})`
        : `Result of the tool ${name}: ${textOfResult(part.result)}`;
    return { role: part.type === 'call' ? 'model' : 'user', parts: [{ text }] };
  });
}

function toolOf({ name, description = '', parameters }: ToolSchema): JsonObject {
  return { name, description, parametersJsonSchema: parameters };
}

function usageOf(usage: JsonObject): RealtimeUsage {
  const ofKind = (details: unknown, kind: string): number | undefined => {
    const found = objectsIn(details).filter(({ modality }) => modality === kind);
    return found.length === 0
      ? undefined
      : found.reduce((sum, { tokenCount }) => sum + (numberIn(tokenCount) ?? 0), 0);
  };
  const [input, output] = [usage['promptTokensDetails'], usage['responseTokensDetails']];
  return {
    inputTokens: numberIn(usage['promptTokenCount']) ?? 0,
    outputTokens: (numberIn(usage['responseTokenCount']) ?? 0) + (numberIn(usage['thoughtsTokenCount']) ?? 0),
    cachedTokens: numberIn(usage['cachedContentTokenCount']),
    inputAudioTokens: ofKind(input, 'AUDIO'),
    inputTextTokens: ofKind(input, 'TEXT'),
    inputImageTokens: ofKind(input, 'IMAGE') ?? ofKind(input, 'VIDEO'),
    outputAudioTokens: ofKind(output, 'AUDIO'),
    outputTextTokens: ofKind(output, 'TEXT'),
  };
}
