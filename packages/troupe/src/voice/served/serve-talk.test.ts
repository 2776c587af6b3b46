import assert from 'node:assert/strict';
import { getEventListeners } from 'node:events';

import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { z } from 'zod';

import { TroupeError } from '../../errors.ts';
import { PermissionRules } from '../../permission/permission-rules.ts';
import { ReActAgent } from '../../react/react-agent.ts';
import { FakeClock } from '../../testing/fake-clock.ts';
import { ScriptedModel } from '../../testing/scripted-model.ts';
import { ScriptedRealtimeModel, type ScriptedResponse } from '../../testing/voice/scripted-realtime-model.ts';
import { ScriptedSttModel } from '../../testing/voice/scripted-stt-model.ts';
import { ToneTtsModel } from '../../testing/voice/tone-tts-model.ts';
import { tool } from '../../toolkit/tool/tool.ts';
import { toBase64 } from '../../util/base64.ts';
import { isJsonObject, readJson, type JsonObject } from '../../util/json.ts';
import { RealtimeAgent, type RealtimeAgentOptions } from '../realtime-agent.ts';
import { VoicePipeline } from '../pipeline/voice-pipeline.ts';
import { readClientEvent } from './client-event.ts';
import { ModelEventWriter } from './model-event.ts';
import { serveTalk, type TalkSocket } from './serve-talk.ts';
import { toServerEvent } from './server-event.ts';

let clock: FakeClock;
beforeEach(() => void (clock = new FakeClock().install()));
afterEach(() => {
  assert.equal(clock.pendingTimers, 0); // no timer is left
  clock[Symbol.dispose]();
});

/** The server's end of a socket, and the client behind it. */
class FakeSocket implements TalkSocket {
  bufferedAmount = 0;
  readonly events: JsonObject[] = [];
  closeCode: number | undefined;
  isPaused = false;
  readonly #messages: ((event: { readonly data: unknown }) => void)[] = [];
  readonly #ends: (() => void)[] = [];

  send(data: string): void {
    const event = readJson(data);
    if (isJsonObject(event)) this.events.push(event);
  }
  close(code?: number): void {
    this.closeCode = code ?? 1005;
    for (const end of this.#ends) end();
  }
  pause(): void {
    this.isPaused = true;
  }
  resume(): void {
    this.isPaused = false;
  }
  addEventListener(
    type: 'message' | 'close' | 'error',
    listener: ((event: { readonly data: unknown }) => void) | (() => void),
  ): void {
    if (type === 'message') this.#messages.push(listener);
    else if (type === 'close') this.#ends.push(listener as () => void);
  }
  say(event: unknown): void {
    for (const listener of this.#messages) listener({ data: JSON.stringify(event) });
  }
  leave(): void {
    for (const end of this.#ends) end();
  }
  of(...types: string[]): JsonObject[] {
    return this.events.filter(({ type }) => types.includes(String(type)));
  }
  get types(): string[] {
    const types = this.events.map(({ type }) => String(type));
    return types.filter((type, i) => type !== types[i - 1]);
  }
  /** Milliseconds of sound that came. */
  get soundMs(): number {
    return this.of('agent_response_audio_delta').reduce(
      (sum, { delta }) => sum + Buffer.from(String(delta), 'base64').length / 48,
      0,
    );
  }
}

async function serve(
  script: readonly ScriptedResponse[],
  options: Partial<RealtimeAgentOptions> = {},
  config: JsonObject = {},
) {
  const model = new ScriptedRealtimeModel(script);
  const agent = new RealtimeAgent({ name: 'Friday', realtimeModel: model, console: false, ...options });
  const socket = new FakeSocket();
  const done = serveTalk(socket, agent, { sessionId: 's1' });
  socket.say({ type: 'client_session_create', config });
  await clock.advance(0);
  const history = async (): Promise<string[]> =>
    (await agent.memory.getMemory()).map(({ name, text }) => `${name}: ${text}`);
  return { model, agent, socket, done, history };
}

const AGENT = { agent_name: 'Friday' };
const KEY = `sk-proj-${'a1B2'.repeat(10)}`;

describe('serveTalk', () => {
  it('has a conversation in the events of AgentScope, with sound in real time', async () => {
    const { model, agent, socket, done, history } = await serve([{ text: 'It is sunny.' }]);
    socket.say({
      type: 'client_audio_append',
      session_id: 's1',
      audio: toBase64(new Uint8Array(3200)),
      format: { type: 'audio/pcm', rate: 16_000 },
    });
    expect(model.connection.heardMs).toBe(100);
    model.connection.say('How is the weather?');
    await clock.advance(300);
    expect(socket.soundMs).toBeGreaterThanOrEqual(300);
    expect(socket.soundMs).toBeLessThanOrEqual(340); // the model has sent all 600 ms long ago
    await clock.advance(1000);
    expect(socket.types).toEqual([
      'server_session_created',
      'agent_ready',
      'agent_input_started',
      'agent_input_transcription_delta',
      'agent_input_done',
      'agent_input_transcription_done',
      'agent_response_created',
      'agent_response_audio_transcript_delta',
      'agent_response_audio_delta',
      'agent_response_audio_transcript_delta',
      'agent_response_done',
      'agent_response_audio_delta',
      'agent_response_audio_done',
    ]);
    const ids = { response_id: 'resp_1', item_id: 'item_1', agent_id: agent.id, ...AGENT };
    expect(socket.of('agent_response_audio_delta')[0]).toMatchObject({
      ...ids,
      format: { type: 'audio/pcm', rate: 24_000 },
    });
    expect(socket.of('agent_response_done')).toEqual([
      {
        type: 'agent_response_done',
        response_id: 'resp_1',
        input_tokens: 10,
        output_tokens: 20,
        metadata: { status: 'completed' },
        agent_id: agent.id,
        ...AGENT,
      },
    ]);
    expect(await history()).toEqual(['user: How is the weather?', 'Friday: It is sunny.']);
    socket.say({ type: 'client_session_end', session_id: 's1' });
    await done;
    expect([socket.closeCode, socket.types.at(-1), agent.talk]).toEqual([
      1000,
      'server_session_ended',
      undefined,
    ]);
  });

  it('keeps what the front end says it has played when the person interrupts', async () => {
    const text = 'One two three four five six seven eight nine ten.'; // 50 ms for each character
    const { model, socket, done, history } = await serve(
      [{ text }, { text: 'Yes?' }],
      {},
      { reports_playback: true },
    );
    model.connection.say('Count.');
    for (let ms = 0; ms <= 700; ms += 100) {
      socket.say({ type: 'client_playback', item_id: 'item_1', played_ms: ms }); // at the end 'One two three '
      await clock.advance(120);
    }
    model.connection.say('Stop!');
    await clock.advance(1000);
    expect((await history()).slice(0, 3)).toEqual(['user: Count.', 'Friday: One two three', 'user: Stop!']);
    expect(model.connection.sent).toContainEqual({ type: 'truncate', itemId: 'item_1', ms: 700 });
    expect(socket.of('agent_cut')).toMatchObject([{ response_id: 'resp_1', heard: 'One two three' }]);
    expect(socket.types).toContain('agent_paused');
    socket.leave();
    await done;
  });

  it('names the item of each sound, also after the person has cut off an open response', async () => {
    const first = { text: 'One two three four five six seven.', isOpen: true };
    const { model, socket, done, history } = await serve(
      [first, { text: 'Yes, please.' }],
      {},
      { reports_playback: true },
    );
    const playedMs = new Map<string, number>();
    const play = async (ms: number): Promise<void> => {
      const known = socket.of('agent_response_audio_delta').length;
      for (let i = 0; i < ms; i += 20) await clock.advance(20);
      for (const { item_id, delta } of socket.of('agent_response_audio_delta').slice(known)) {
        const item = String(item_id);
        playedMs.set(item, (playedMs.get(item) ?? 0) + Buffer.from(String(delta), 'base64').length / 48);
        socket.say({ type: 'client_playback', item_id: item, played_ms: playedMs.get(item) });
      }
    };
    model.connection.say('Count.');
    await play(700);
    model.connection.say('Stop!'); // the model answers that the response was cancelled
    await play(1000);
    expect([...playedMs.keys()]).toEqual(['item_1', 'item_2']);
    expect(playedMs.get('item_2')).toBe(600);
    expect((await history()).at(-1)).toBe('Friday: Yes, please.');
    socket.leave();
    await done;
  });

  it('never counts more than was sent as played', async () => {
    const { model, socket, done, history } = await serve([{ text: 'One two three four five six seven.' }]);
    model.connection.say('Count.');
    await clock.advance(500);
    socket.say({ type: 'client_playback', item_id: 'item_1', played_ms: 100_000 });
    socket.leave();
    await done;
    expect(await history()).toEqual(['user: Count.', 'Friday: One two']);
  });

  it('waits for a slow reader, whose position stands still', async () => {
    const { model, socket, done } = await serve([{ text: 'One two three four five six seven.' }]);
    model.connection.say('Count.');
    await clock.advance(200);
    socket.bufferedAmount = 1_000_000;
    await clock.advance(40);
    const { soundMs } = socket;
    await clock.advance(5000);
    expect(socket.soundMs).toBe(soundMs);
    socket.bufferedAmount = 0;
    await clock.advance(500);
    expect(socket.soundMs).toBeGreaterThan(soundMs + 300);
    socket.leave();
    await done;
  });

  it('reads nothing while the model is behind', async () => {
    const { model, socket, done } = await serve([]);
    Object.defineProperty(model.connection, 'bufferedBytes', { value: 2_000_000, configurable: true });
    const sound = { audio: toBase64(new Uint8Array(320)), format: { type: 'audio/pcm', rate: 16_000 } };
    socket.say({ type: 'client_audio_append', ...sound });
    await clock.advance(100);
    expect(socket.isPaused).toBe(true);
    Object.defineProperty(model.connection, 'bufferedBytes', { value: 0 });
    await clock.advance(100);
    expect(socket.isPaused).toBe(false);
    socket.leave();
    await done;
  });

  it('takes text, images, decisions and results of tools', async () => {
    const pay = tool({ name: 'pay', schema: z.object({}), execute: () => 'Paid.' });
    const { agent, socket, done, history } = await serve(
      [{ text: 'Hello.' }, { calls: [{ id: 'call_1', name: 'pay' }] }, { text: 'It is paid.' }],
      { tools: [pay], permissionPolicy: new PermissionRules({ rules: [{ tool: 'pay', behavior: 'ask' }] }) },
    );
    socket.say({ type: 'client_image_append', image: 'AAAA', format: { type: 'image/jpeg' } });
    socket.say({ type: 'client_text_append', text: 'Hi.' });
    await clock.advance(1000);
    socket.say({ type: 'client_text_append', text: 'Pay it.' });
    await clock.advance(1000);
    const [needed] = socket.of('agent_approval_needed');
    assert(needed && Array.isArray(needed['pending']) && isJsonObject(needed['pending'][0]));
    socket.say({ type: 'client_decision', id: needed['pending'][0]['id'], verdict: 'allow' });
    await clock.advance(2000);
    expect(socket.of('agent_response_tool_result')).toMatchObject([
      { tool_result: { type: 'tool_result', id: 'call_1', name: 'pay', output: 'Paid.' }, ...AGENT },
    ]);
    expect(socket.of('agent_response_tool_use_done')).toMatchObject([
      { tool_use: { type: 'tool_use', id: 'call_1', name: 'pay', input: {}, raw_input: '{}' } },
    ]);
    expect((await history()).at(-1)).toBe('Friday: It is paid.');
    expect(agent.pendingCalls).toEqual([]);
    socket.leave();
    await done;
  });

  it('cancels an answer, and asks for one', async () => {
    const { socket, done, history } = await serve([{ text: 'One two three four five.' }]);
    socket.say({ type: 'client_response_create', session_id: 's1' });
    await clock.advance(400);
    socket.say({ type: 'client_response_cancel', session_id: 's1' });
    await clock.advance(100);
    const { soundMs } = socket;
    await clock.advance(2000);
    expect(socket.soundMs).toBe(soundMs);
    expect(await history()).toEqual(['Friday: One two']);
    socket.leave();
    await done;
  });

  it('refuses what is no event, and closes after many', async () => {
    const { socket, done } = await serve([]);
    socket.say('hello');
    socket.say({ type: 'client_audio_append', audio: '****', format: { type: 'audio/pcm' } });
    expect(socket.of('agent_error').map(({ message }) => message)).toEqual([
      'An event of a client must be a JSON object, not a string.',
      'is not base64',
    ]);
    for (let i = 0; i < 18; i++) socket.say({ type: 'nonsense' });
    await done;
    expect(socket.closeCode).toBe(1008);
  });

  it('tells why an agent can not be connected', async () => {
    const realtimeModel = new ScriptedRealtimeModel();
    realtimeModel.connect = () => Promise.reject(new TroupeError('model_failed', `no such model for ${KEY}`));
    const agent = new RealtimeAgent({ name: 'Friday', realtimeModel, console: false });
    const socket = new FakeSocket();
    const done = serveTalk(socket, agent);
    socket.say({ type: 'client_session_create' });
    await done;
    expect(socket.of('agent_error')).toMatchObject([
      { code: 'not_connected', message: expect.stringMatching(/^no such model for (?!sk-proj)/) },
    ]);
    expect(socket.closeCode).toBe(1011);
  });

  it('ends when a conversation that was still connecting is closed', async () => {
    const connected = Promise.withResolvers<void>();
    const realtimeModel = new ScriptedRealtimeModel();
    const connect = realtimeModel.connect.bind(realtimeModel);
    realtimeModel.connect = async (...args) => {
      await connected.promise;
      return connect(...args);
    };
    const agent = new RealtimeAgent({ name: 'Friday', realtimeModel, console: false });
    const socket = new FakeSocket();
    let isDone = false;
    const done = serveTalk(socket, agent).then(() => void (isDone = true));
    socket.say({ type: 'client_session_create' });
    await clock.advance(0);
    socket.leave();
    await clock.advance(0);
    expect(isDone).toBe(false);
    connected.resolve();
    await done;
    expect([realtimeModel.connection.isClosed, agent.talk]).toEqual([true, undefined]);
  });

  it('leaves nothing on its signal', async () => {
    const stop = new AbortController();
    const realtimeModel = new ScriptedRealtimeModel();
    const agent = new RealtimeAgent({ name: 'Friday', realtimeModel, console: false });
    for (let i = 0; i < 3; i++) {
      const socket = new FakeSocket();
      const done = serveTalk(socket, agent, { signal: stop.signal });
      expect(getEventListeners(stop.signal, 'abort')).toHaveLength(1);
      socket.leave();
      await done;
    }
    expect(getEventListeners(stop.signal, 'abort')).toEqual([]);
  });

  it('keeps errors of the program to its log', async () => {
    const realtimeModel = new ScriptedRealtimeModel();
    realtimeModel.connect = () => Promise.reject(new Error('connect postgres://admin:secret@db failed'));
    const agent = new RealtimeAgent({ name: 'Friday', realtimeModel, console: false });
    const socket = new FakeSocket();
    const done = serveTalk(socket, agent);
    socket.say({ type: 'client_session_create' });
    await done;
    expect(socket.of('agent_error')).toMatchObject([
      { code: 'not_connected', message: 'Something failed. It was logged.' },
    ]);
  });

  it('closes a connection that opens no conversation, or reads nothing', async () => {
    const agent = new RealtimeAgent({
      name: 'Friday',
      realtimeModel: new ScriptedRealtimeModel(),
      console: false,
    });
    const silent = new FakeSocket();
    const over = serveTalk(silent, agent);
    await clock.advance(29_000);
    expect(silent.closeCode).toBeUndefined();
    await clock.advance(1000);
    await over;
    expect(silent.closeCode).toBe(1008);
    const { model, socket, done } = await serve([{ text: 'Hello.' }]);
    socket.bufferedAmount = 9 * 1024 * 1024;
    model.connection.say('Hi.');
    await done;
    expect(socket.closeCode).toBe(1013);
  });

  it('lets twenty texts wait, and answers none when the client has left', async () => {
    const model = new ScriptedModel([{ text: 'One two three.', stall: true }, 'Two.', 'Three.']);
    const agent = new ReActAgent({ name: 'Friday', model, console: false });
    const pipeline = new VoicePipeline({
      agent,
      sttModel: new ScriptedSttModel([]),
      ttsModel: new ToneTtsModel(),
    });
    const socket = new FakeSocket();
    const done = serveTalk(socket, pipeline);
    socket.say({ type: 'client_session_create' });
    await clock.advance(0);
    socket.say({ type: 'client_text_append', text: 'Text 0.' });
    await clock.advance(10);
    for (let i = 1; i <= 22; i++) socket.say({ type: 'client_text_append', text: `Text ${i}.` });
    expect(socket.of('agent_error').map(({ message }) => message)).toEqual(
      Array.from({ length: 2 }, () => 'More than 20 texts and decisions wait for the agent.'),
    );
    await clock.advance(50);
    socket.leave();
    await done;
    await clock.advance(1000);
    expect([model.requests.length, agent.isRunning]).toEqual([1, false]);
  });

  it('ends the conversation with its signal', async () => {
    const stop = new AbortController();
    const realtimeModel = new ScriptedRealtimeModel();
    const agent = new RealtimeAgent({ name: 'Friday', realtimeModel, console: false });
    const socket = new FakeSocket();
    const done = serveTalk(socket, agent, { signal: stop.signal });
    socket.say({ type: 'client_session_create' });
    await clock.advance(0);
    stop.abort();
    await done;
    expect([socket.closeCode, realtimeModel.connection.isClosed]).toEqual([1001, true]);
  });
});

describe('readClientEvent', () => {
  it.each([
    ['[]', 'must be a JSON object'],
    ['{"text":"x"}', "has no field 'type'"],
    ['{"type":"client_dance"}', 'has the unknown type "client_dance"'],
    ['{"type":"toString"}', 'has the unknown type "toString"'],
    ['{"type":"client_text_append"}', "client_text_append has no valid field 'text'"],
    [
      '{"type":"client_audio_append","audio":"","format":{"type":"audio/pcm","rate":-1}}',
      "no valid field 'format'",
    ],
    ['{"type":"client_tool_result","id":"a","name":"b","output":[1]}', "no valid field 'output'"],
    ['{"type":"client_session_end","session_id":7}', "invalid field 'session_id'"],
    ['no json', 'must be a JSON object'],
  ])('refuses %s', (json, problem) => {
    expect(() => readClientEvent(json)).toThrow(problem);
  });

  it('reads every event of AgentScope', () => {
    const session_id = 's1';
    const format = { type: 'audio/pcm', rate: 16_000 };
    const events = [
      { type: 'client_session_create', config: { instructions: 'x' } },
      { type: 'client_session_end', session_id },
      { type: 'client_response_create', session_id },
      { type: 'client_response_cancel', session_id },
      { type: 'client_audio_commit', session_id },
      { type: 'client_text_append', session_id, text: 'Hi.' },
      { type: 'client_audio_append', session_id, audio: 'AAAA', format },
      { type: 'client_image_append', session_id, image: 'AAAA', format: { type: 'image/png' } },
      { type: 'client_tool_result', session_id, id: 'c', name: 'n', output: [{ type: 'text', text: 'x' }] },
    ];
    for (const event of events) expect(readClientEvent(JSON.stringify(event))).toEqual(event);
  });
});

describe('ModelEventWriter and toServerEvent', () => {
  const agent = { id: 'a1', name: 'Friday' };
  const part = { agent_id: 'a1', agent_name: 'Friday' };

  it('write tool calls with all arguments so far', () => {
    const writer = new ModelEventWriter('s1');
    const call = { responseId: 'r1', id: 'c1', name: 'look_up' };
    const events = ['{"city":', '"Rome"}'].map((json) =>
      writer.write({ type: 'tool_call_delta', ...call, json }),
    );
    expect(events.map((event) => event?.type === 'model_response_tool_use_delta' && event.tool_use)).toEqual([
      { type: 'tool_use', id: 'c1', name: 'look_up', input: {}, raw_input: '{"city":' },
      { type: 'tool_use', id: 'c1', name: 'look_up', input: { city: 'Rome' }, raw_input: '{"city":"Rome"}' },
    ]);
  });

  it('name the events of an agent as AgentScope does', () => {
    const writer = new ModelEventWriter('s1');
    const sent = [
      writer.write({ type: 'session_created', sessionId: 's1' }),
      writer.write({ type: 'input_transcript_done', itemId: 'i1', text: 'Hi.' }),
      writer.write({ type: 'speech_started', itemId: 'i1', atMs: 40 }),
      writer.write({ type: 'speech_stopped', itemId: 'i1', atMs: 90 }),
      writer.write({ type: 'error', message: 'no', code: 'bad' }),
      writer.write({ type: 'closed', message: 'gone', canReconnect: false }),
    ].map((event) => event && toServerEvent(event, agent));
    expect(sent).toEqual([
      { type: 'agent_ready', ...part },
      { type: 'agent_input_transcription_done', item_id: 'i1', transcript: 'Hi.', ...part },
      { type: 'agent_input_started', item_id: 'i1', audio_start_ms: 40, ...part },
      { type: 'agent_input_done', item_id: 'i1', audio_end_ms: 90, ...part },
      { type: 'agent_error', error_type: 'error', code: 'bad', message: 'no', ...part },
      { type: 'agent_ended', ...part },
    ]);
    expect(writer.write({ type: 'interrupted' })).toBeUndefined();
  });
});
