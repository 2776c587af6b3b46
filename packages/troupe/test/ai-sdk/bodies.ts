// Answers in the shape of the four wires, with all fields of the real answers.

import type { JsonObject, JsonValue } from '../../src/util/json.ts';

export interface WireCall {
  readonly id: string;
  readonly name: string;
  /** The arguments as the model wrote them; perhaps cut off. */
  readonly json: string;
}

export interface WireAnswer {
  readonly thinking?: readonly string[];
  readonly text?: readonly string[];
  readonly refusal?: string;
  readonly calls?: readonly WireCall[];
  /** The vendor's own word; without one the stream just ends. */
  readonly reason?: string;
}

/** Data of thinking that the provider wants back. */
export const SIGNATURE = 'EqQBCgIYAhIM1gbcDa9GJwZA2b3hGgxBdjrkzLoky3dl1pk';
export const ENCRYPTED = 'gAAAAABoISQ24OyVRYbkYfukdJoqdzWT-3uiErKInHDC';

const data = (value: JsonValue): string => `data: ${JSON.stringify(value)}\n\n`;
const event = (value: JsonObject): string => `event: ${String(value['type'])}\n${data(value)}`;
const halves = (text: string): readonly string[] => [
  text.slice(0, text.length >> 1),
  text.slice(text.length >> 1),
];

export function openaiChat({ text = [], refusal, calls = [], reason }: WireAnswer): string {
  const head = {
    id: 'chatcmpl-B9MHDbslfkBeAs8l4bebGdFOJ6PeG',
    object: 'chat.completion.chunk',
    created: 1741570283,
    model: 'gpt-4.1-2025-04-14',
    service_tier: 'default',
    system_fingerprint: 'fp_fc9f1d7035',
  };
  const chunk = (delta: JsonObject, finish: string | null = null): string =>
    data({
      ...head,
      choices: [{ index: 0, delta, logprobs: null, finish_reason: finish }],
      usage: null,
    });
  const pieces = [chunk({ role: 'assistant', content: calls.length > 0 ? null : '', refusal: null })];
  for (const content of text) pieces.push(chunk({ content }));
  if (refusal !== undefined) for (const half of halves(refusal)) pieces.push(chunk({ refusal: half }));
  calls.forEach(({ id, name, json }, index) => {
    const call = { index, id, type: 'function', function: { name, arguments: '' } };
    pieces.push(chunk({ tool_calls: [call] }));
    for (const half of halves(json))
      pieces.push(chunk({ tool_calls: [{ index, function: { arguments: half } }] }));
  });
  if (reason !== undefined) {
    const usage = {
      prompt_tokens: 60,
      completion_tokens: 20,
      total_tokens: 80,
      prompt_tokens_details: { cached_tokens: 32, audio_tokens: 0 },
      completion_tokens_details: { reasoning_tokens: 0, audio_tokens: 0 },
    };
    pieces.push(chunk({}, reason), data({ ...head, choices: [], usage }), 'data: [DONE]\n\n');
  }
  return pieces.join('');
}

export function openaiResponses({
  thinking = [],
  text = [],
  refusal,
  calls = [],
  reason,
}: WireAnswer): string {
  let sequence = 0;
  const say = (type: string, fields: JsonObject): string =>
    event({ type, sequence_number: sequence++, ...fields });
  const response = {
    id: 'resp_67c9fdcecf488190bdd9a0409de3a1ec07b8b0ad4e5eb654',
    object: 'response',
    created_at: 1741290958,
    status: 'in_progress',
    error: null,
    incomplete_details: null,
    model: 'gpt-5-2025-08-07',
    output: [],
    parallel_tool_calls: true,
    service_tier: 'default',
    store: true,
    usage: null,
  };
  const pieces = [say('response.created', { response }), say('response.in_progress', { response })];
  let output_index = 0;
  if (thinking.length > 0) {
    const item = { id: 'rs_6', type: 'reasoning', summary: [] };
    pieces.push(say('response.output_item.added', { output_index, item }));
    thinking.forEach((part, summary_index) => {
      const at = { item_id: 'rs_6', output_index, summary_index };
      const summary = { type: 'summary_text', text: '' };
      pieces.push(say('response.reasoning_summary_part.added', { ...at, part: summary }));
      for (const delta of halves(part))
        pieces.push(say('response.reasoning_summary_text.delta', { ...at, delta }));
      pieces.push(
        say('response.reasoning_summary_text.done', { ...at, text: part }),
        say('response.reasoning_summary_part.done', { ...at, part: { ...summary, text: part } }),
      );
    });
    const summary = thinking.map((text) => ({ type: 'summary_text', text }));
    const done = { ...item, summary, encrypted_content: ENCRYPTED };
    pieces.push(say('response.output_item.done', { output_index, item: done }));
    output_index++;
  }
  if (text.length > 0 || refusal !== undefined) {
    const item = { id: 'msg_7', type: 'message', status: 'in_progress', role: 'assistant', content: [] };
    const at = { item_id: 'msg_7', output_index, content_index: 0 };
    const whole = text.join('');
    pieces.push(say('response.output_item.added', { output_index, item }));
    if (refusal !== undefined) {
      const part = { type: 'refusal', refusal: '' };
      pieces.push(say('response.content_part.added', { ...at, part }));
      for (const delta of halves(refusal)) pieces.push(say('response.refusal.delta', { ...at, delta }));
      pieces.push(say('response.refusal.done', { ...at, refusal }));
    } else {
      const part = { type: 'output_text', text: '', annotations: [] };
      pieces.push(say('response.content_part.added', { ...at, part }));
      for (const delta of text) pieces.push(say('response.output_text.delta', { ...at, delta }));
      pieces.push(
        say('response.output_text.done', { ...at, text: whole }),
        say('response.content_part.done', { ...at, part: { ...part, text: whole } }),
      );
    }
    const content =
      refusal === undefined
        ? [{ type: 'output_text', text: whole, annotations: [] }]
        : [{ type: 'refusal', refusal }];
    const done = { ...item, status: 'completed', content };
    pieces.push(say('response.output_item.done', { output_index, item: done }));
    output_index++;
  }
  calls.forEach(({ id, name, json }, i) => {
    const item = { id: `fc_${i}`, type: 'function_call', call_id: id, name };
    const at = { item_id: item.id, output_index };
    pieces.push(
      say('response.output_item.added', {
        output_index,
        item: { ...item, status: 'in_progress', arguments: '' },
      }),
    );
    for (const delta of halves(json))
      pieces.push(say('response.function_call_arguments.delta', { ...at, delta }));
    pieces.push(
      say('response.function_call_arguments.done', { ...at, arguments: json }),
      say('response.output_item.done', {
        output_index,
        item: { ...item, status: 'completed', arguments: json },
      }),
    );
    output_index++;
  });
  if (reason !== undefined) {
    const isWhole = reason === 'completed';
    const usage = {
      input_tokens: 60,
      input_tokens_details: { cached_tokens: 32 },
      output_tokens: 20,
      output_tokens_details: { reasoning_tokens: 11 },
      total_tokens: 80,
    };
    const status = isWhole ? 'completed' : 'incomplete';
    const incomplete_details = isWhole ? null : { reason };
    pieces.push(say(`response.${status}`, { response: { ...response, status, incomplete_details, usage } }));
  }
  return pieces.join('');
}

export function anthropic({ thinking = [], text = [], calls = [], reason }: WireAnswer): string {
  const message = {
    id: 'msg_01BhHPxbT1sAtjvnvrpXYSXa',
    type: 'message',
    role: 'assistant',
    model: 'claude-sonnet-4-5-20250929',
    content: [],
    stop_reason: null,
    stop_sequence: null,
    usage: {
      input_tokens: 25,
      cache_creation_input_tokens: 5,
      cache_read_input_tokens: 30,
      output_tokens: 1,
      service_tier: 'standard',
    },
  };
  const pieces = [event({ type: 'message_start', message }), event({ type: 'ping' })];
  let index = 0;
  const block = (start: JsonObject, deltas: readonly JsonObject[]): void => {
    pieces.push(event({ type: 'content_block_start', index, content_block: start }));
    for (const delta of deltas) pieces.push(event({ type: 'content_block_delta', index, delta }));
    pieces.push(event({ type: 'content_block_stop', index }));
    index++;
  };
  for (const part of thinking) {
    if (part === '') {
      block({ type: 'redacted_thinking', data: ENCRYPTED }, []);
      continue;
    }
    block({ type: 'thinking', thinking: '', signature: '' }, [
      ...halves(part).map((half) => ({ type: 'thinking_delta', thinking: half })),
      { type: 'signature_delta', signature: SIGNATURE },
    ]);
  }
  if (text.length > 0) {
    block(
      { type: 'text', text: '' },
      text.map((delta) => ({ type: 'text_delta', text: delta })),
    );
  }
  for (const { id, name, json } of calls) {
    block({ type: 'tool_use', id, name, input: {} }, [
      { type: 'input_json_delta', partial_json: '' },
      ...halves(json).map((half) => ({ type: 'input_json_delta', partial_json: half })),
    ]);
  }
  if (reason !== undefined) {
    pieces.push(
      event({
        type: 'message_delta',
        delta: { stop_reason: reason, stop_sequence: null },
        usage: { output_tokens: 20 },
      }),
      event({ type: 'message_stop' }),
    );
  }
  return pieces.join('');
}

export function gemini({ thinking = [], text = [], calls = [], reason }: WireAnswer): string {
  const usageMetadata = {
    promptTokenCount: 60,
    candidatesTokenCount: 9,
    thoughtsTokenCount: 11,
    cachedContentTokenCount: 32,
    totalTokenCount: 80,
  };
  const parts: JsonObject[] = [
    ...thinking.map((thought) => ({ text: thought, thought: true })),
    ...text.map((piece) => ({ text: piece })),
    ...calls.map(({ name, json }, i) => ({
      functionCall: { name, args: JSON.parse(json) as JsonObject },
      ...(i === 0 && { thoughtSignature: SIGNATURE }), // of calls made together, the first one carries it
    })),
  ];
  const chunk = (part: JsonObject | undefined, finishReason?: string): string =>
    `data: ${JSON.stringify({
      candidates: [
        {
          content: { parts: part === undefined ? [] : [part], role: 'model' },
          ...(finishReason !== undefined && { finishReason }),
          index: 0,
        },
      ],
      usageMetadata,
      modelVersion: 'gemini-3-pro-preview',
      responseId: 'KWpTaJ2pHp',
    })}\r\n\r\n`;
  const last = parts.pop();
  return [...parts.map((part) => chunk(part)), chunk(last, reason)].join('');
}
