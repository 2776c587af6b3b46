import { expect, test } from 'vitest';
import { ChatFormatter } from '../formatter/chat-formatter.ts';
import { lineLogger } from '../config/logger.ts';
import { withRunConfig } from '../config/run-config.ts';
import { Msg } from '../message/msg.ts';
import { PLAIN_CAPABILITIES } from './chat-model-base.ts';
import { PromptMaker } from './prompt-maker.ts';

const { signal } = new AbortController();
const ghost = Msg.system([{ type: 'tool_result', id: 'ghost', name: 'look', output: 'x', status: 'ok' }]);
const options = { modelName: 'm', capabilities: PLAIN_CAPABILITIES };

test('the same history gives the very same items, so that a model writes each of them once', async () => {
  const maker = new PromptMaker(options);
  const messages = [Msg.user('Hi.'), Msg.assistant('Hello.')];
  const first = await maker.make({ messages }, signal);
  const second = await maker.make({ messages: [...messages, Msg.user('So?')] }, signal);
  expect(first.items.every((item, i) => item === second.items[i])).toBe(true);
  expect(second.items).toHaveLength(3);
});

test('repairs go to onRepair, otherwise to the log', async () => {
  const told: unknown[] = [];
  await new PromptMaker({ ...options, onRepair: (repairs) => told.push(repairs) }).make(
    { messages: [ghost] },
    signal,
  );
  expect(told).toEqual([["left out a result of 'look' without a tool call"]]);
  const lines: string[] = [];
  await withRunConfig({ logging: lineLogger('warn', (line) => lines.push(line)) }, () =>
    new PromptMaker(options).make({ messages: [ghost] }, signal),
  );
  expect(lines).toHaveLength(1);
  expect(lines[0]).toContain('The history was repaired for m:');
});

test('the formatter of a request wins', async () => {
  let asked = 0;
  class Counting extends ChatFormatter {
    override format(msgs: readonly Msg[]) {
      asked++;
      return super.format(msgs);
    }
  }
  await new PromptMaker(options).make({ messages: [Msg.user('Hi.')], formatter: new Counting() }, signal);
  expect(asked).toBe(1);
});
