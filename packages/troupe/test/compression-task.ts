// Conversations and compression tasks for tests.
import type { AutoContextMemory } from '../src/compression/auto-context/auto-context-memory.ts';
import type { CompressionTask } from '../src/compression/context-compressor.ts';
import type { CompressionEvent } from '../src/event/agent-event.ts';
import type { ContentBlock, ToolResultBlock, ToolUseBlock } from '../src/message/blocks.ts';
import { Msg } from '../src/message/msg.ts';
import type { Usage } from '../src/message/usage.ts';
import { ScriptedModel, type ScriptedTurn } from '../src/testing/scripted-model.ts';

export interface FakeTask extends CompressionTask {
  readonly events: CompressionEvent[];
  readonly usages: Usage[];
}

/** Task with recorded events and usage, as an agent would pass it. */
export function taskWith(model: ScriptedModel, changes: Partial<CompressionTask> = {}): FakeTask {
  const events: CompressionEvent[] = [];
  const usages: Usage[] = [];
  return {
    signal: new AbortController().signal,
    model,
    formatter: undefined,
    sysPrompt: '',
    tools: [],
    hints: [],
    agentName: 'Friday',
    requestIds: new Set(),
    force: false,
    planHint: undefined,
    step: (_step, body) => body(),
    emit: (event) => void events.push(event),
    addUsage: (usage) => void (usage && usages.push(usage)),
    events,
    usages,
    ...changes,
  };
}

/** A model that always answers with the same summary. */
export function summingModel(turn: string | ScriptedTurn = 'In short: done.'): ScriptedModel {
  const answer = typeof turn === 'string' ? { text: turn } : turn;
  return new ScriptedModel([{ ...answer, when: () => true }]);
}

export const call = (
  id: string,
  name = 'search',
  input: ToolUseBlock['input'] = { q: id },
): ToolUseBlock => ({
  type: 'tool_use',
  id,
  name,
  input,
});

export const result = (
  id: string,
  output: ToolResultBlock['output'] = 'found',
  name = 'search',
): ToolResultBlock => ({
  type: 'tool_result',
  id,
  name,
  output,
  status: 'ok',
});

export const thought = (...blocks: ContentBlock[]): Msg => Msg.assistant(blocks, { name: 'Friday' });
export const results = (...blocks: ToolResultBlock[]): Msg => Msg.system(blocks);

/** A tool call and its result, as two messages. */
export function pair(id: string, output: ToolResultBlock['output'] = 'found', name = 'search'): Msg[] {
  return [thought(call(id, name)), results(result(id, output, name))];
}

export function pairs(prefix: string, count: number, output: ToolResultBlock['output'] = 'found'): Msg[] {
  return Array.from({ length: count }, (_, i) => pair(`${prefix}${i}`, output)).flat();
}

/** All messages visible or reloadable, visible ones first. */
export function reachable(memory: AutoContextMemory, shown: readonly Msg[]): ReadonlySet<Msg> {
  const found = new Set<Msg>(shown);
  for (const msg of found) {
    const uuids = JSON.stringify(msg.content).matchAll(/CONTEXT_OFFLOAD: uuid=(\S+) -->/g);
    for (const [, uuid = ''] of uuids) for (const inner of memory.reload(uuid)) found.add(inner);
  }
  return found;
}
