import { agentTool, ReActAgent, tool, type ModelRequest } from 'troupe';
import { ScriptedModel } from 'troupe/testing';

import { currentIdempotencyKey } from '../src/index.ts';

/** An effect outside of the service: what a tool did, under which key. */
export interface Effect {
  readonly tool: string;
  readonly key: string | undefined;
}

export interface DurableParts {
  /** Called when a tool takes effect, and waited for. */
  readonly take: (effect: Effect) => Promise<void>;
  /** Called at the start of each model call, and waited for. */
  readonly onModel?: () => Promise<void>;
  /** Name of a tool that needs an approval. */
  readonly asks?: string;
}

/** Number of tool results that a model sees. */
function resultsIn({ messages }: { readonly messages: ModelRequest['messages'] }): number {
  return JSON.stringify(messages).split('"tool_result"').length - 1;
}

class WaitingModel extends ScriptedModel {
  readonly #onModel: DurableParts['onModel'];

  constructor(script: ConstructorParameters<typeof ScriptedModel>[0], onModel: DurableParts['onModel']) {
    super(script);
    this.#onModel = onModel;
  }

  override async *stream(...args: Parameters<ScriptedModel['stream']>): ReturnType<ScriptedModel['stream']> {
    await this.#onModel?.();
    yield* super.stream(...args);
  }
}

/**
 * An agent of seven steps that answers by what it sees, so that each attempt can begin anew: a tool with a side effect, a sub-agent
 * with a tool of its own, a tool without a side effect, and an answer.
 */
export function durableAgent({ take, onModel, asks }: DurableParts): ReActAgent {
  const effect = (name: string, sideEffect: boolean): ReturnType<typeof tool> =>
    tool({
      name,
      sideEffect,
      execute: async () => {
        await take({ tool: name, key: currentIdempotencyKey() });
        return `${name} is done.`;
      },
    });
  const call = (id: string, name: string, input = {}): object => ({ toolCalls: [{ id, name, input }] });
  const inner = new ReActAgent({
    name: 'inner',
    model: new WaitingModel(
      [
        { when: (request) => resultsIn(request) === 0, ...call('call_inner', 'store') },
        { when: (request) => resultsIn(request) === 1, text: 'Stored.' },
      ],
      onModel,
    ),
    tools: [effect('store', true)],
    console: false,
  });
  return new ReActAgent({
    name: 'assistant',
    model: new WaitingModel(
      [
        { when: (request) => resultsIn(request) === 0, ...call('call_1', 'charge') },
        { when: (request) => resultsIn(request) === 1, ...call('call_2', 'inner', { query: 'Store it.' }) },
        { when: (request) => resultsIn(request) === 2, ...call('call_3', 'look') },
        { when: (request) => resultsIn(request) === 3, text: 'All is done.', chunkSize: 4 },
      ],
      onModel,
    ),
    tools: [effect('charge', true), agentTool(inner, { description: 'Stores.' }), effect('look', false)],
    console: false,
    permissionPolicy: { decide: ({ call }) => ({ behavior: call.name === asks ? 'ask' : 'allow' }) },
  });
}

/** An agent that gives a task to two sub-agents at the same time, each with a tool of its own that has a side effect. */
export function parallelAgent({ take, onModel }: DurableParts): ReActAgent {
  const inner = (name: string): ReActAgent =>
    new ReActAgent({
      name,
      model: new WaitingModel(
        [
          {
            when: (request) => resultsIn(request) === 0,
            toolCalls: [{ id: `call_${name}`, name: `store_${name}`, input: {} }],
          },
          { when: (request) => resultsIn(request) === 1, text: `${name} has stored it.` },
        ],
        onModel,
      ),
      tools: [
        tool({
          name: `store_${name}`,
          sideEffect: true,
          execute: async () => {
            await take({ tool: `store_${name}`, key: currentIdempotencyKey() });
            return 'Stored.';
          },
        }),
      ],
      console: false,
    });
  return new ReActAgent({
    name: 'assistant',
    model: new WaitingModel(
      [
        {
          when: (request) => resultsIn(request) === 0,
          toolCalls: ['anna', 'ben'].map((name) => ({
            id: `ask_${name}`,
            name,
            input: { query: 'Store it.' },
          })),
        },
        { when: (request) => resultsIn(request) === 2, text: 'All is done.' },
      ],
      onModel,
    ),
    tools: ['anna', 'ben'].map((name) => agentTool(inner(name), { description: 'Stores.' })),
    parallelToolCalls: true,
    console: false,
  });
}
