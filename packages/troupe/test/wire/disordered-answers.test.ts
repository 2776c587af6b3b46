// Recorded answers whose events are left out, repeated, exchanged or changed: the adapters give a message or a ModelError,
// and the next request keeps the rules of the vendor.
import { expect, test } from 'vitest';

import { Msg } from '../../src/message/msg.ts';
import { ModelError } from '../../src/model/model-error.ts';
import type { JsonObject } from '../../src/util/json.ts';
import { OTHER_WIRES } from './checked-wires.ts';
import { TOOLS } from './histories.ts';
import { fetchOf, readFixtures, toBytes, toText, type SentRequest } from './replay.ts';

/** Random numbers that are the same in each run. */
function randomOf(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
    return state / 2_147_483_648;
  };
}

/** One disorder of a list of events. */
function disorder(events: readonly string[], random: () => number): string[] {
  const list = [...events];
  const at = (): number => Math.floor(random() * list.length);
  for (let i = 0; i < 1 + random() * 3; i++) {
    const [from, to] = [at(), at()];
    const event = list[from] ?? '';
    const kind = Math.floor(random() * 5);
    if (kind === 0) list.splice(from, 1);
    else if (kind === 1) list.splice(to, 0, event);
    else if (kind === 2) list.splice(to, 0, ...list.splice(from, 1));
    else if (kind === 3) list[from] = event.replace(/"type":"(\w)/, '"type":"new_$1');
    else list[from] = event.replace(/:"[^"]{1,40}"/, random() < 0.5 ? ':null' : ':{"odd":[1]}');
  }
  return list;
}

test.each(OTHER_WIRES)('$folder', async ({ folder, contentType, plain, makeModel, faultsIn }) => {
  const random = randomOf(17);
  let [answered, failed] = [0, 0];
  for (const [name, bytes] of readFixtures(folder)) {
    const events = toText(bytes).split(folder === 'ollama' ? /(?<=\n)/ : /(?<=\n\n)/);
    for (let round = 0; round < 12; round++) {
      const sent: SentRequest[] = [];
      const pieces = [toBytes(disorder(events, random).join(''))];
      const headers = { 'content-type': contentType };
      const model = makeModel({
        fetch: (url, init) =>
          fetchOf({ pieces: sent.length === 0 ? pieces : [plain], headers }, sent)(url, init),
      });
      const question = Msg.user('Hi.');
      const answer = await model
        .call({ messages: [question], tools: TOOLS })
        .catch((error: unknown) => error);
      if (!(answer instanceof Msg)) {
        expect(ModelError.isInstance(answer), `${name}, round ${round}: ${String(answer)}`).toBe(true);
        failed++;
        continue;
      }
      answered++;
      const results = answer
        .getContentBlocks('tool_use')
        .map(({ id, name }) => ({ type: 'tool_result', id, name, output: 'So.', status: 'ok' }) as const);
      const loaded = Msg.from(JSON.parse(JSON.stringify(answer)));
      const messages = [
        question,
        loaded,
        ...(results.length > 0 ? [Msg.system(results)] : []),
        Msg.user('And?'),
      ];
      await model.call({ messages, tools: TOOLS });
      const body = JSON.parse(sent.at(-1)?.body ?? '{}') as JsonObject;
      const faults = faultsIn(body).filter((fault) => !/[sS]ignature/.test(fault)); // nobody can check a signature
      expect(faults, `${name}, round ${round}: ${JSON.stringify(answer.content)}`).toEqual([]);
    }
  }
  expect(answered).toBeGreaterThan(30);
  expect(failed).toBeGreaterThan(5);
});
