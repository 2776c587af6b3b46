import assert from 'node:assert/strict';
import { request } from 'node:http';

import {
  ConversationView,
  foldEvents,
  readEvents,
  type BlockView,
  type ConversationState,
} from 'troupe/events';

import type { RunningServer } from './server.ts';

/** Sends JSON. */
async function post(url: string, body: object, signal?: AbortSignal): Promise<Response> {
  return fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
    ...(signal && { signal }),
  });
}

/** Blocks of a conversation. */
function blocksOf({ messages }: ConversationView): readonly BlockView[] {
  return messages.flatMap(({ content }) => content);
}

/** Status of a request for the page under another name, as a hostile site would make it. */
async function statusFor(url: string, host: string): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    request(url, { headers: { host } }, (response) => {
      response.resume();
      resolve(response.statusCode);
    })
      .on('error', reject)
      .end();
  });
}

/** Plays the part of the page. @param start starts a server over the same conversations */
export async function check(start: (delayMs: number) => Promise<RunningServer>): Promise<void> {
  let server = await start(0);
  try {
    // 1. The page and its modules. `textContent` shows what models write, and the policy runs no other script.
    const page = await fetch(server.url);
    assert.match(page.headers.get('content-security-policy') ?? '', /script-src 'self' 'sha256-/);
    const html = await page.text();
    for (const file of html.matchAll(/"(\/[\w/-]+\.(?:js|css))"/g))
      assert.equal((await fetch(server.url + file[1])).status, 200, file[1]);
    assert.doesNotMatch(await (await fetch(`${server.url}/page/page.js`)).text(), /innerHTML/);

    // 2. A run: the arguments of a tool call are shown while they are written.
    const { id } = (await (await post(`${server.url}/conversations`, {})).json()) as { id: string };
    const path = `/conversations/${id}`;
    let view = new ConversationView();
    const inputs = new Set<string>();
    const ask = await post(`${server.url}${path}/messages`, {
      text: 'Send a postcard: "The sun is out and the sea is blue."',
    });
    for await (const _ of foldEvents(readEvents(ask), view)) {
      for (const block of blocksOf(view))
        if (block.type === 'tool_use' && block.isPartial) inputs.add(JSON.stringify(block.input));
    }
    console.log([...inputs].slice(0, 4).join('\n'));
    assert.ok(inputs.size > 5);

    // 3. The tool call waits. The server ends, and another one takes over.
    assert.equal(view.status, 'suspended');
    await server.close();
    server = await start(0);
    view = new ConversationView((await (await fetch(`${server.url}${path}`)).json()) as ConversationState);
    const [pending] = view.pending;
    console.log(`${pending?.call.name} waits: ${pending?.reason}`);
    const allow = await post(`${server.url}${path}/decisions`, {
      decisions: [{ id: pending?.id, verdict: 'allow' }],
    });
    for await (const _ of foldEvents(readEvents(allow), view));
    assert.deepEqual([view.status, view.pending], ['finished', []]);
    const result = blocksOf(view).find((block) => block.type === 'tool_result');
    console.log(result?.output);
    assert.equal(result?.output, 'A postcard with 9 words is on its way.');

    // 4. Stop: leaving the response interrupts the run. What was written is kept.
    await server.close();
    server = await start(20);
    const controller = new AbortController();
    const talk = await post(`${server.url}${path}/messages`, { text: 'Tell me a story.' }, controller.signal);
    const leave = async (): Promise<void> => {
      for await (const { messages } of foldEvents(readEvents(talk)))
        if (messages[0] !== undefined) controller.abort();
    };
    await assert.rejects(leave(), { name: 'AbortError' });
    const state = (await (await fetch(`${server.url}${path}`)).json()) as ConversationState;
    const last = state.messages.at(-1);
    assert.equal(last?.endReason, 'interrupted');
    console.log(`stopped after ${JSON.stringify(state.messages.at(-2)?.content)}`);

    // 5. A conversation has one run at a time: the second request is refused, and says why.
    const twice = await Promise.all(
      ['One.', 'Two.'].map((text) => post(`${server.url}${path}/messages`, { text })),
    );
    const busy = twice.find(({ status }) => status === 409) ?? assert.fail('no request was refused');
    assert.deepEqual(
      twice.map(({ status }) => status).toSorted((a, b) => a - b),
      [200, 409],
    );
    assert.match(
      ((await busy.json()) as { message: string }).message,
      /^Friday is busy with another call\. /,
    );
    for (const response of twice) if (response !== busy) await response.body?.cancel();

    // 6. What others may not do.
    const port = new URL(server.url).port;
    const json = { 'content-type': 'application/json' };
    const long = { method: 'POST', headers: json, body: JSON.stringify({ text: 'x'.repeat(10_000_000) }) };
    const form = { method: 'POST', headers: { 'content-type': 'text/plain' }, body: '{"text":"Hi!"}' };
    const nobody = `${server.url}/conversations/${crypto.randomUUID()}`;
    const refused = [
      await statusFor(server.url, `evil.example:${port}`),
      (await fetch(`${server.url}${path}/messages`, long)).status,
      (await fetch(`${server.url}${path}/messages`, form)).status,
      (await post(`${server.url}${path}/messages`, { text: ' ' })).status,
      (await fetch(nobody)).status,
      (await fetch(`${server.url}/page/..%2fserver.ts`)).status,
    ];
    assert.deepEqual(refused, [421, 413, 415, 400, 404, 404]);
    console.log('The page, its events, an approval after a restart, and Stop work.');
  } finally {
    await server.close();
  }
}
