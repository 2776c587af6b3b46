/** Pipelines of agents that pay, for tests that kill their process. Payments and answers are written to files, which outlive the process. */
import { appendFileSync } from 'node:fs';
import { join } from 'node:path';

import type { ModelRequest } from '../src/model/chat-model-base.ts';
import { FanoutPipeline } from '../src/pipeline/fanout-pipeline.ts';
import { MsgHub } from '../src/pipeline/msg-hub.ts';
import { SequentialPipeline } from '../src/pipeline/sequential-pipeline.ts';
import { ReActAgent } from '../src/react/react-agent.ts';
import { SqliteDatabase } from '../src/stores/sqlite/sqlite-database.ts';
import { SqliteMemory } from '../src/stores/sqlite/sqlite-memory.ts';
import type { MemoryBase } from '../src/memory/memory-base.ts';
import { SessionManager } from '../src/session/session-manager.ts';
import { ScriptedModel } from '../src/testing/scripted-model.ts';
import { tool } from '../src/toolkit/tool/tool.ts';
import type { JsonObject } from '../src/util/json.ts';
import { openPlace } from './session-places.ts';

/** `hub`: a sequence whose agents are in a hub. `stored`: a sequence whose agents have memories that are stored on their own. */
export type PipelineKind = 'sequence' | 'fanout' | 'hub' | 'stored';

const NAMES = ['ann', 'bob', 'eve'] as const;

/** Files in the folder of a story. */
export const PAID = 'paid.txt';
export const TOLD = 'told.jsonl';

export interface PipelineStory {
  readonly agents: readonly ReActAgent[];
  readonly pipeline: SequentialPipeline | FanoutPipeline;
  readonly manager: SessionManager;
}

const answers = ({ messages }: ModelRequest): boolean =>
  messages.at(-1)?.hasContentBlocks('tool_result') ?? false;

/**
 * Makes a pipeline of three agents, saved by `manager`. Each agent that is called looks and pays in one model message, and then
 * answers. Paying has a side effect; bob has to ask for it.
 * @param moment called at every moment at which the process may be killed
 */
export function pipelineStory(
  kind: PipelineKind,
  folder: string,
  moment: () => void = () => {},
): PipelineStory {
  const database = kind === 'stored' ? new SqliteDatabase(join(folder, 'memory.db')) : undefined;
  const agents = NAMES.map((name) => {
    const memory = database && new SqliteMemory(database, { sessionId: name });
    return payer(name, folder, moment, memory);
  });
  const pipeline = kind === 'fanout' ? new FanoutPipeline(agents) : new SequentialPipeline(agents);
  const manager = SessionManager.forSessionId('story')
    .withSession(openPlace('json', join(folder, 'sessions'), moment))
    .addComponent('pipeline', pipeline);
  return { agents, pipeline, manager };
}

function payer(name: string, folder: string, moment: () => void, memory: MemoryBase | undefined): ReActAgent {
  const look = tool({
    name: 'look',
    execute: async () => {
      moment();
      return 'seen';
    },
  });
  const pay = tool({
    name: 'pay',
    sideEffect: true,
    execute: async () => {
      moment();
      appendFileSync(join(folder, PAID), `${name}\n`);
      moment();
      return 'paid';
    },
  });
  const agent = new ReActAgent({
    name,
    model: new ScriptedModel([
      { when: answers, text: `${name} is done.` },
      {
        when: () => true,
        toolCalls: [
          { name: 'look', input: {} },
          { name: 'pay', input: {} },
        ],
      },
    ]),
    tools: [look, pay],
    memory,
    permissionPolicy: {
      decide: ({ call }) => ({ behavior: name === 'bob' && call.name === 'pay' ? 'ask' : 'allow' }),
    },
    console: false,
  });
  const tell = (line: JsonObject): void =>
    appendFileSync(join(folder, TOLD), `${JSON.stringify({ agent: name, ...line })}\n`);
  agent.on('*', (event) => {
    moment();
    if (event.type === 'approval_needed') tell({ asked: event.pending.id });
    if (event.type === 'run_end' && event.status === 'finished') tell({ answer: event.msg?.id ?? '' });
  });
  return agent;
}

/** Runs or resumes the pipeline of a story to its end, and allows what is asked. */
export async function runStory(
  kind: PipelineKind,
  folder: string,
  { agents, pipeline }: PipelineStory,
): Promise<void> {
  await using _hub = await MsgHub.open({ participants: kind === 'hub' ? agents : [] });
  const isBegun = pipeline.stateDict()['progress'] !== null;
  await pipeline.call(isBegun ? undefined : 'Pay the bills.');
  while (pipeline.pendingCalls.length > 0) {
    const decisions = pipeline.pendingCalls.map(({ id }) => ({ id, verdict: 'allow' as const }));
    for (const { id } of decisions)
      appendFileSync(join(folder, TOLD), `${JSON.stringify({ agent: 'user', decided: id })}\n`);
    await pipeline.call(undefined, { decisions });
  }
  appendFileSync(join(folder, TOLD), `${JSON.stringify({ agent: 'user', finished: true })}\n`);
}
