// Fake vendors of realtime models over real WebSockets. The frames have the shapes of the vendors' own types and documentation.

import { once } from 'node:events';
import type { IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';

import { WebSocketServer, type WebSocket } from 'ws';

import { DashScopeRealtimeModel } from '../../src/providers/dashscope/index.ts';
import { GeminiLiveModel } from '../../src/providers/gemini/index.ts';
import { OpenAIRealtimeModel } from '../../src/providers/openai/index.ts';
import type { RealtimeModelBase } from '../../src/realtime/realtime-model-base.ts';
import { toBase64 } from '../../src/util/base64.ts';
import { isJsonObject, readJson, type JsonObject } from '../../src/util/json.ts';

export interface FakeResponse {
  readonly text?: string;
  readonly call?: { readonly id: string; readonly name: string; readonly input: JsonObject };
}

/** Sound of one character. */
export const MS_PER_CHARACTER = 50;
const RATE = 24_000;

/** Frames of a vendor's server. */
interface Dialect {
  readonly newModel: (baseUrl: string) => RealtimeModelBase;
  /** Frames that answer a frame of the client at once. */
  readonly reply: (frame: JsonObject) => readonly JsonObject[];
  /** Whether a frame asks for a response. */
  readonly asks: (frame: JsonObject) => boolean;
  /** Frames of a whole response. */
  readonly response: (n: number, response: FakeResponse) => readonly JsonObject[];
  /** Frames when the person says something. */
  readonly speech: (n: number, text: string) => readonly JsonObject[];
  /** Frames when a person speaks over a response of which some frames were sent. */
  readonly overlap: (n: number) => readonly JsonObject[];
  /** Frames when the client cancels a response. */
  readonly cancelled: (n: number) => readonly JsonObject[];
  /** Whether the server responds to speech and tool results without being asked. */
  readonly isAutomatic: boolean;
}

/** The sound of a text, in pieces of one word each. */
function pieces(text: string): readonly { readonly word: string; readonly audio: string }[] {
  return (text.match(/\S+\s*/g) ?? []).map((word) => {
    const data = new Uint8Array(((word.length * MS_PER_CHARACTER * RATE) / 1000) * 2);
    return { word, audio: toBase64(data) };
  });
}

const USAGE = {
  total_tokens: 130,
  input_tokens: 100,
  output_tokens: 30,
  input_token_details: { text_tokens: 40, audio_tokens: 60, cached_tokens: 20, image_tokens: 0 },
  output_token_details: { text_tokens: 10, audio_tokens: 20 },
};

/** Frames of a response in items, of OpenAI's API and, with other names, of its earlier version. */
function itemResponse(
  n: number,
  { text = '', call }: FakeResponse,
  name: (type: string) => string = (type) => type,
): readonly JsonObject[] {
  const response_id = `resp_${n}`;
  const place = { response_id, item_id: `item_${n}`, output_index: 0, content_index: 0 };
  const toolPlace = { response_id, item_id: `item_${n}_call`, output_index: 1 };
  const frames: JsonObject[] = [
    {
      type: 'response.created',
      response: {
        id: response_id,
        object: 'realtime.response',
        status: 'in_progress',
        output: [],
        usage: null,
      },
    },
  ];
  if (text !== '') {
    frames.push({
      type: name('response.output_item.added'),
      response_id,
      output_index: 0,
      item: { id: place.item_id, type: 'message', status: 'in_progress', role: 'assistant', content: [] },
    });
    frames.push({ type: 'response.content_part.added', ...place, part: { type: 'audio', transcript: '' } });
    for (const { word, audio } of pieces(text)) {
      frames.push({ type: name('response.output_audio_transcript.delta'), ...place, delta: word });
      frames.push({ type: name('response.output_audio.delta'), ...place, delta: audio });
    }
    frames.push({ type: name('response.output_audio.done'), ...place });
    frames.push({ type: name('response.output_audio_transcript.done'), ...place, transcript: text });
    frames.push({ type: 'response.content_part.done', ...place, part: { type: 'audio', transcript: text } });
    frames.push({
      type: name('response.output_item.done'),
      response_id,
      output_index: 0,
      item: { id: place.item_id, type: 'message', status: 'completed' },
    });
  }
  if (call !== undefined) {
    const item = {
      id: toolPlace.item_id,
      type: 'function_call',
      status: 'completed',
      name: call.name,
      call_id: call.id,
    };
    const args = JSON.stringify(call.input);
    frames.push({
      type: name('response.output_item.added'),
      response_id,
      output_index: 1,
      item: { ...item, status: 'in_progress', arguments: '' },
    });
    frames.push({
      type: 'response.function_call_arguments.delta',
      ...toolPlace,
      call_id: call.id,
      delta: args.slice(0, 4),
    });
    frames.push({
      type: 'response.function_call_arguments.delta',
      ...toolPlace,
      call_id: call.id,
      delta: args.slice(4),
    });
    frames.push({
      type: 'response.function_call_arguments.done',
      ...toolPlace,
      call_id: call.id,
      name: call.name,
      arguments: args,
    });
    frames.push({
      type: name('response.output_item.done'),
      response_id,
      output_index: 1,
      item: { ...item, arguments: args },
    });
  }
  frames.push({
    type: 'response.done',
    response: {
      id: response_id,
      object: 'realtime.response',
      status: 'completed',
      status_details: null,
      output: [],
      usage: USAGE,
    },
  });
  frames.push({ type: 'rate_limits.updated', rate_limits: null });
  return frames;
}

function itemSpeech(n: number, text: string): readonly JsonObject[] {
  const item_id = `said_${n}`;
  return [
    { type: 'input_audio_buffer.speech_started', audio_start_ms: 100, item_id },
    { type: 'input_audio_buffer.speech_stopped', audio_end_ms: 900, item_id },
    { type: 'input_audio_buffer.committed', previous_item_id: null, item_id },
    {
      type: 'conversation.item.added',
      previous_item_id: null,
      item: {
        id: item_id,
        type: 'message',
        role: 'user',
        content: [{ type: 'input_audio', transcript: null }],
      },
    },
    { type: 'conversation.item.input_audio_transcription.delta', item_id, content_index: 0, delta: text },
    {
      type: 'conversation.item.input_audio_transcription.completed',
      item_id,
      content_index: 0,
      transcript: text,
      usage: { type: 'duration', seconds: 1 },
    },
  ];
}

const openai: Dialect = {
  newModel: (baseUrl) =>
    new OpenAIRealtimeModel({ modelName: 'gpt-realtime-2.1', apiKey: 'sk-secret', baseUrl: `${baseUrl}/v1` }),
  reply: ({ type, session }) =>
    type === 'session.update'
      ? [
          {
            type: 'session.updated',
            event_id: 'e',
            session: { id: 'sess_1', ...(isJsonObject(session) ? session : {}) },
          },
        ]
      : [],
  asks: ({ type }) => type === 'response.create',
  response: (n, response) => itemResponse(n, response),
  speech: itemSpeech,
  overlap: () => [],
  cancelled: (n) => [
    {
      type: 'response.done',
      response: {
        id: `resp_${n}`,
        status: 'cancelled',
        status_details: { type: 'cancelled', reason: 'client_cancelled' },
        output: [],
        usage: USAGE,
      },
    },
  ],
  isAutomatic: false,
};

/** Names of the earlier version of OpenAI's API. */
const earlier = (type: string): string => type.replace('output_audio', 'audio');

const dashscope: Dialect = {
  ...openai,
  newModel: (baseUrl) =>
    new DashScopeRealtimeModel({
      modelName: 'qwen3.5-omni-plus-realtime',
      apiKey: 'sk-secret',
      baseUrl: `${baseUrl}/api-ws/v1`,
    }),
  response: (n, response) => itemResponse(n, response, earlier),
  // the server stops by itself, and may not say so
  cancelled: () => [],
  isAutomatic: true,
};

const gemini: Dialect = {
  newModel: (baseUrl) => new GeminiLiveModel({ modelName: 'gemini-3.8-live', apiKey: 'sk-secret', baseUrl }),
  reply: ({ setup }) =>
    setup === undefined
      ? []
      : [{ setupComplete: {} }, { sessionResumptionUpdate: { newHandle: 'handle_1', resumable: true } }],
  asks: ({ clientContent }) => isJsonObject(clientContent) && clientContent['turnComplete'] === true,
  response: (_n, { text = '', call }) => [
    ...pieces(text).map(({ word, audio }, i) => ({
      // several things in one frame
      serverContent: {
        modelTurn: {
          role: 'model',
          parts: [
            { text: 'Thinking…', thought: true },
            { inlineData: { mimeType: `audio/pcm;rate=${RATE}`, data: audio } },
          ],
        },
        outputTranscription: { text: word },
        ...(i === 0 && { interimInputTranscription: null }),
      },
    })),
    ...(call === undefined
      ? []
      : [{ toolCall: { functionCalls: [{ id: call.id, name: call.name, args: call.input }] } }]),
    ...(text === '' || call !== undefined
      ? []
      : [
          { serverContent: { generationComplete: true } },
          {
            serverContent: { turnComplete: true },
            usageMetadata: {
              promptTokenCount: 100,
              responseTokenCount: 30,
              totalTokenCount: 130,
              promptTokensDetails: [
                { modality: 'AUDIO', tokenCount: 60 },
                { modality: 'TEXT', tokenCount: 40 },
              ],
              responseTokensDetails: [{ modality: 'AUDIO', tokenCount: 30 }],
            },
          },
        ]),
  ],
  speech: (_n, text) => [{ serverContent: { inputTranscription: { text } } }],
  overlap: () => [{ serverContent: { interrupted: true } }, { serverContent: { turnComplete: true } }],
  cancelled: () => [],
  isAutomatic: true,
};

export const DIALECTS = { openai, gemini, dashscope } as const;
export type VendorName = keyof typeof DIALECTS;

/** A vendor's server. Gives the responses of a script, as many frames of each as a test lets through. */
export class FakeVendor implements AsyncDisposable {
  readonly #server: WebSocketServer;
  readonly #dialect: Dialect;
  readonly #script: FakeResponse[] = [];
  /** Frames of all clients, in order. */
  readonly frames: JsonObject[] = [];
  readonly headers: IncomingHttpHeaders[] = [];
  readonly urls: string[] = [];
  connections = 0;
  /** Maximum frames of the next response that are sent; `sendRest` sends the others. */
  frameLimit = Infinity;
  /** Called when a response was sent as far as the limit. */
  onHeldBack: () => void = () => {};
  #heldBack: readonly JsonObject[] = [];
  #responses = 0;
  #turns = 0;
  #socket: WebSocket | undefined;

  private constructor(dialect: Dialect, server: WebSocketServer) {
    this.#dialect = dialect;
    this.#server = server;
    server.on('connection', (socket, request) => {
      this.connections++;
      this.#socket = socket;
      this.headers.push(request.headers);
      this.urls.push(request.url ?? '');
      if (dialect === openai || dialect === dashscope)
        this.send({ type: 'session.created', event_id: 'e0', session: { id: 'sess_1', expires_at: 0 } });
      socket.on('message', (data: Buffer) => this.#take(data.toString()));
    });
  }

  static async start(name: VendorName, script: readonly FakeResponse[] = []): Promise<FakeVendor> {
    const server = new WebSocketServer({ port: 0, host: '127.0.0.1' });
    await once(server, 'listening');
    const vendor = new FakeVendor(DIALECTS[name], server);
    vendor.#script.push(...script);
    return vendor;
  }

  newModel(): RealtimeModelBase {
    return this.#dialect.newModel(`ws://127.0.0.1:${(this.#server.address() as AddressInfo).port}`);
  }

  get openSockets(): number {
    return this.#server.clients.size;
  }

  send(...frames: readonly JsonObject[]): void {
    for (const frame of frames) this.#socket?.send(JSON.stringify(frame));
  }

  /** Has the person say something; an automatic vendor then responds. */
  say(text: string): void {
    const isOverlap = this.#heldBack.length > 0;
    if (isOverlap) this.send(...this.#dialect.overlap(this.#responses));
    if (this.#dialect.isAutomatic) this.#heldBack = [];
    this.send(...this.#dialect.speech(++this.#turns, text));
    if (this.#dialect.isAutomatic) this.respond();
  }

  /** Sends the next response of the script. */
  respond(): void {
    const frames = this.#dialect.response(++this.#responses, this.#script.shift() ?? { text: 'Over.' });
    this.send(...frames.slice(0, this.frameLimit));
    this.#heldBack = frames.slice(this.frameLimit);
    this.frameLimit = Infinity;
    this.onHeldBack();
  }

  sendRest(): void {
    this.send(...this.#heldBack);
    this.#heldBack = [];
  }

  /** Number of frames of a response. */
  framesOf(response: FakeResponse): number {
    return this.#dialect.response(1, response).length;
  }

  /** Breaks the connection without a goodbye. */
  cut(): void {
    this.#heldBack = [];
    this.#socket?.terminate();
  }

  close(code: number, reason: string): void {
    this.#socket?.close(code, reason);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const client of this.#server.clients) client.terminate();
    await new Promise<void>((resolve) => this.#server.close(() => resolve()));
  }

  #take(text: string): void {
    const frame = readJson(text);
    if (!isJsonObject(frame)) return;
    this.frames.push(frame);
    this.send(...this.#dialect.reply(frame));
    const { type, item, toolResponse } = frame;
    if (type === 'response.cancel') {
      const wasOpen = this.#heldBack.length > 0;
      this.#heldBack = [];
      if (wasOpen) this.send(...this.#dialect.cancelled(this.#responses));
    }
    const isResult =
      toolResponse !== undefined || (isJsonObject(item) && item['type'] === 'function_call_output');
    if (this.#dialect.asks(frame) || (isResult && this.#dialect.isAutomatic)) this.respond();
  }
}
