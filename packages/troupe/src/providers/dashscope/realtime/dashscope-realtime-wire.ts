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
import { newId } from '../../../util/ids.ts';
import type { JsonObject } from '../../../util/json.ts';

type Frames = readonly JsonObject[];

export interface DashScopeRealtimeWireOptions {
  readonly voice: string | undefined;
  readonly turnDetection: 'semantic_vad' | 'server_vad';
  readonly transcriptionModel: string | false;
  readonly outputRate: number;
  readonly session: JsonObject;
}

/** One connection in the frames of DashScope's realtime API for Qwen-Omni. */
export class DashScopeRealtimeWire implements RealtimeWire {
  readonly #options: DashScopeRealtimeWireOptions;
  readonly #reader: ItemEventReader;
  #agentName = '';
  #isManual = false;
  /** Tool calls whose results are not sent. */
  #openCalls = 0;

  constructor(options: DashScopeRealtimeWireOptions) {
    this.#options = options;
    this.#reader = new ItemEventReader(options.outputRate);
  }

  get isReady(): boolean {
    return this.#reader.isReady;
  }

  start({ instructions, tools, history, agentName, turns }: RealtimeSetup): Frames {
    const { voice, turnDetection, transcriptionModel, session } = this.#options;
    this.#agentName = agentName;
    this.#isManual = turns === 'caller';
    const own = {
      modalities: ['text', 'audio'],
      ...(voice !== undefined && { voice }), // an empty voice is an error
      instructions,
      input_audio_format: 'pcm',
      output_audio_format: 'pcm',
      ...(transcriptionModel !== false && { input_audio_transcription: { model: transcriptionModel } }),
      turn_detection: this.#isManual ? null : { type: turnDetection },
      ...(tools.length > 0 && { tools: tools.map(toolOf) }),
    };
    const items = partsOfHistory(history, agentName).flatMap((part): Frames => {
      if (part.type === 'words') return [words(part.role, part.text)];
      if (part.type === 'call') return [];
      return [words('system', `Result of the tool ${part.result.name}: ${textOfResult(part.result)}`)];
    });
    return [frame('session.update', { session: { ...own, ...session } }), ...items];
  }

  *read(event: JsonObject): Iterable<RealtimeEvent> {
    for (const one of this.#reader.read(event)) {
      if (one.type === 'tool_call') this.#openCalls++;
      yield one;
    }
  }

  audio({ data }: PcmAudio): Frames {
    return [frame('input_audio_buffer.append', { audio: toBase64(data) })];
  }

  beginTurn(): Frames {
    return [];
  }

  /** Without a detector of turns, the model waits to be asked. */
  commit(): Frames {
    return [frame('input_audio_buffer.commit'), frame('response.create')];
  }

  /** Images count as frames of a camera, and are taken as JPEG only. */
  msg(msg: Msg): Frames {
    const text = textOfMsg(msg, this.#agentName);
    const images = imagesOf(msg)
      .filter(({ mediaType }) => mediaType === 'image/jpeg')
      .map(({ data }) => frame('input_image_buffer.append', { image: data }));
    return text === '' ? images : [...images, words(msg.role === 'system' ? 'system' : 'user', text)];
  }

  toolResult(result: ToolResultBlock): Frames {
    const { id: call_id, name } = result;
    const output = textOfResult(result);
    // After a reconnect, the new conversation does not have the tool call.
    if (!this.#reader.callIds.has(call_id))
      return [words('system', `Result of the tool ${name}: ${output}`), frame('response.create')];
    this.#openCalls = Math.max(0, this.#openCalls - 1);
    const item = { type: 'function_call_output', call_id, output };
    const ask = this.#isManual && this.#openCalls === 0 ? [frame('response.create')] : [];
    return [frame('conversation.item.create', { item }), ...ask];
  }

  /** The API has no instructions for one response: a message before the response has them. */
  respond(instructions?: string): Frames {
    const before = instructions === undefined ? [] : [words('system', instructions)];
    return [...before, frame('response.create')];
  }

  cancel(_responseId: string): Frames {
    return [frame('response.cancel')];
  }

  truncate(_itemId: string, _ms: number): Frames {
    return [];
  }

  discard(_itemId: string): Frames {
    return [];
  }

  update({ instructions, tools }: Pick<RealtimeSetup, 'instructions' | 'tools'>): Frames {
    return [frame('session.update', { session: { instructions, tools: tools.map(toolOf) } })];
  }
}

function frame(type: string, fields: JsonObject = {}): JsonObject {
  return { event_id: newId('event_'), type, ...fields };
}

function words(role: 'user' | 'assistant' | 'system', text: string): JsonObject {
  const type = role === 'assistant' ? 'text' : 'input_text';
  return frame('conversation.item.create', { item: { type: 'message', role, content: [{ type, text }] } });
}

function toolOf({ name, description = '', parameters }: ToolSchema): JsonObject {
  return { type: 'function', function: { name, description, parameters } };
}
