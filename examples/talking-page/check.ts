// Checks the page's side of the conversation without a browser: a client that speaks, listens and interrupts.

import assert from 'node:assert/strict';
import { setTimeout as wait } from 'node:timers/promises';

const RATE = 16_000;

/** Base64 of a sound of 16 kHz. */
function sound(ms: number, amplitude: number): string {
  const samples = Int16Array.from({ length: (RATE * ms) / 1000 }, (_, i) => amplitude * Math.sin(i / 3));
  return Buffer.from(samples.buffer).toString('base64');
}

export async function check(url: string): Promise<void> {
  const made = await fetch(`${url}/api/sessions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ agent: 'friday' }),
  });
  const { id } = (await made.json()) as { readonly id: string };
  const socket = new WebSocket(`${url.replace('http', 'ws')}/api/sessions/${id}/talk`, ['troupe.talk']);
  const events: { readonly type: string; readonly [field: string]: unknown }[] = [];
  const waiting = new Set<() => void>();
  socket.addEventListener('message', ({ data }) => {
    events.push(JSON.parse(String(data)));
    for (const look of waiting) look();
  });
  const until = (what: string, isThere: () => boolean): Promise<void> =>
    Promise.race([
      new Promise<void>((resolve) => {
        const look = (): void => void (isThere() && waiting.delete(look) && resolve());
        waiting.add(look);
        look();
      }),
      wait(15_000, undefined, { ref: false }).then(() => assert.fail(`Never: ${what}`)),
    ]);
  const has = (type: string) => (): boolean => events.some((event) => event.type === type);
  const send = (event: object): void => socket.send(JSON.stringify(event));
  const speak = (): void => {
    for (const [ms, amplitude] of [
      [300, 5],
      [600, 8000],
      [900, 5],
    ] as const)
      send({
        type: 'client_audio_append',
        audio: sound(ms, amplitude),
        format: { type: 'audio/pcm', rate: RATE },
      });
  };

  await new Promise((resolve) => socket.addEventListener('open', resolve));
  send({ type: 'client_session_create' });
  await until('a conversation', has('agent_ready'));
  speak();
  await until('speech', () => events.filter(({ type }) => type === 'agent_response_audio_delta').length > 20);
  speak(); // over the agent
  await until('an interruption', has('agent_cut'));
  assert.ok(typeof events.find(({ type }) => type === 'agent_cut')?.['heard'] === 'string');
  const closed = new Promise((resolve) => socket.addEventListener('close', resolve));
  send({ type: 'client_session_end' });
  await closed;
  const types = new Set(events.map(({ type }) => type));
  for (const type of [
    'agent_input_started',
    'agent_input_transcription_done',
    'agent_paused',
    'server_session_ended',
  ])
    assert.ok(types.has(type), type);
  const answer = await fetch(`${url}/api/sessions/${id}/messages`);
  const { data } = (await answer.json()) as { readonly data: readonly { readonly role: string }[] };
  assert.equal(data[0]?.role, 'user');
  console.log('A sound was answered aloud, and the answer was interrupted by another sound.');
}
