import type { ToolResultBlock } from '../../../message/blocks.ts';
import type { Msg } from '../../../message/msg.ts';
import type { ToolSchema } from '../../../model/tool-schema.ts';
import type { RealtimeEvent } from '../../../realtime/realtime-event.ts';
import type { RealtimeSetup } from '../../../realtime/realtime-model-base.ts';
import { ItemEventReader } from '../../../realtime/wire/item-event-reader.ts';
import type { RealtimeWire } from '../../../realtime/wire/realtime-wire.ts';
import { imagesOf, partsOfHistory, textOfMsg, textOfResult } from '../../../realtime/wire/wire-values.ts';
import type { PcmAudio } from '../../../util/audio/pcm.ts';
import { toBase64 } from '../../../util/base64.ts';
import type { JsonObject } from '../../../util/json.ts';

type Frames = readonly JsonObject[];

export interface OpenAIRealtimeWireOptions {
  readonly voice: string | undefined;
  readonly speed: number | undefined;
  readonly turnDetection: 'semantic_vad' | 'server_vad';
  readonly transcriptionModel: string | false;
  readonly session: JsonObject;
}

/** Largest piece of sound in one frame, far below the limit of 15 MiB. */
const MAX_AUDIO_BYTES = 1024 * 1024;
const RATE = 24_000;
const FORMAT = { type: 'audio/pcm', rate: RATE };

/** One connection in the frames of OpenAI's Realtime API. */
export class OpenAIRealtimeWire implements RealtimeWire {
  readonly #options: OpenAIRealtimeWireOptions;
  readonly #reader = new ItemEventReader(RATE);
  #agentName = '';

  constructor(options: OpenAIRealtimeWireOptions) {
    this.#options = options;
  }

  get isReady(): boolean {
    return this.#reader.isReady;
  }

  start({ instructions, tools, history, agentName, turns }: RealtimeSetup): Frames {
    const { voice, speed, turnDetection, transcriptionModel, session } = this.#options;
    this.#agentName = agentName;
    // Noise must neither begin nor end a response: the adapter does both.
    const detection = { type: turnDetection, create_response: false, interrupt_response: false };
    const audio = {
      input: {
        format: FORMAT,
        ...(transcriptionModel !== false && { transcription: { model: transcriptionModel } }),
        turn_detection: turns === 'model' ? detection : null,
      },
      output: {
        format: FORMAT,
        ...(voice !== undefined && { voice }),
        ...(speed !== undefined && { speed }),
      },
    };
    const own = {
      type: 'realtime',
      output_modalities: ['audio'],
      instructions,
      tools: tools.map(toolOf),
      audio,
    };
    const items = partsOfHistory(history, agentName).flatMap((part) => {
      if (part.type === 'words') return [words(part.role, part.text)];
      if (part.type === 'call') return [this.#call(part.id, part.name, JSON.stringify(part.input))];
      return this.toolResult(part.result);
    });
    return [{ type: 'session.update', session: { ...own, ...session } }, ...items];
  }

  read(frame: JsonObject): Iterable<RealtimeEvent> {
    return this.#reader.read(frame);
  }

  audio({ data }: PcmAudio): Frames {
    const frames: JsonObject[] = [];
    for (let at = 0; at < data.length; at += MAX_AUDIO_BYTES) {
      const audio = toBase64(data.subarray(at, at + MAX_AUDIO_BYTES));
      frames.push({ type: 'input_audio_buffer.append', audio });
    }
    return frames;
  }

  beginTurn(): Frames {
    return [];
  }

  commit(): Frames {
    return [{ type: 'input_audio_buffer.commit' }];
  }

  msg(msg: Msg): Frames {
    const text = textOfMsg(msg, this.#agentName);
    const images = imagesOf(msg).map(({ mediaType, data }) => ({
      type: 'input_image',
      image_url: `data:${mediaType};base64,${data}`,
    }));
    const content = [...(text === '' ? [] : [{ type: 'input_text', text }]), ...images];
    if (content.length === 0) return [];
    const role = msg.role === 'system' ? 'system' : 'user';
    return [{ type: 'conversation.item.create', item: { type: 'message', role, content } }];
  }

  toolResult(result: ToolResultBlock): Frames {
    const { id: call_id, name } = result;
    const output = textOfResult(result);
    const item = { type: 'function_call_output', call_id, output };
    // After a reconnect, the new conversation does not have the tool call.
    const missing = this.#reader.callIds.has(call_id) ? [] : [this.#call(call_id, name, '{}')];
    return [...missing, { type: 'conversation.item.create', item }];
  }

  respond(instructions?: string): Frames {
    const response = instructions === undefined ? {} : { response: { instructions } };
    return [{ type: 'response.create', ...response }];
  }

  cancel(responseId: string): Frames {
    return [{ type: 'response.cancel', response_id: responseId }];
  }

  truncate(itemId: string, ms: number): Frames {
    if (ms <= 0) return [{ type: 'conversation.item.delete', item_id: itemId }]; // a cut at 0 is refused
    return [{ type: 'conversation.item.truncate', item_id: itemId, content_index: 0, audio_end_ms: ms }];
  }

  discard(itemId: string): Frames {
    return [{ type: 'conversation.item.delete', item_id: itemId }];
  }

  update({ instructions, tools }: Pick<RealtimeSetup, 'instructions' | 'tools'>): Frames {
    return [
      { type: 'session.update', session: { type: 'realtime', instructions, tools: tools.map(toolOf) } },
    ];
  }

  #call(call_id: string, name: string, args: string): JsonObject {
    this.#reader.callIds.add(call_id);
    const item = { type: 'function_call', call_id, name, arguments: args };
    return { type: 'conversation.item.create', item };
  }
}

function words(role: 'user' | 'assistant' | 'system', text: string): JsonObject {
  const type = role === 'assistant' ? 'output_text' : 'input_text';
  return { type: 'conversation.item.create', item: { type: 'message', role, content: [{ type, text }] } };
}

function toolOf({ name, description = '', parameters }: ToolSchema): JsonObject {
  return { type: 'function', name, description, parameters };
}
