// VoltAgent (built on the AI SDK 6). store: none = memory: false, memory = InMemoryStorageAdapter,
// disk = LibSQL file. Its default in-process observability stays on, as users get it.
import { Agent, InMemoryStorageAdapter, Memory, createTool } from '@voltagent/core';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { z } from 'zod';
import { perURL } from '../../fixtures.mjs';

const modelOf = perURL((baseURL) =>
  createOpenAICompatible({ name: 'fake', baseURL, apiKey: 'x', includeUsage: true }).chatModel('fake'),
);

export const info = {
  name: 'VoltAgent',
  packages: ['@voltagent/core', 'ai', '@ai-sdk/openai-compatible', 'zod'],
  extras: ['@voltagent/libsql'],
  modes: ['stream', 'generate'],
  stores: { memory: 'Memory + InMemoryStorageAdapter', disk: 'Memory + LibSQLMemoryAdapter file' },
};

let n = 0;
export async function create({ baseURL, tools, maxRounds, history = [], store, dir }) {
  const conversationId = `c${++n}`,
    userId = 'u1';
  let memory = false;
  if (store === 'memory' || store === 'disk') {
    memory = new Memory({
      storage:
        store === 'memory'
          ? new InMemoryStorageAdapter()
          : new (await import('@voltagent/libsql')).LibSQLMemoryAdapter({ url: `file:${dir}/voltagent.db` }),
    });
    if (history.length) {
      await memory.createConversation({
        id: conversationId,
        resourceId: 'bench',
        userId,
        title: '',
        metadata: {},
      });
      await memory.addMessages(toUi(history), userId, conversationId);
    }
  }
  const agent = new Agent({
    name: 'bench',
    instructions: '',
    model: modelOf(baseURL),
    memory,
    maxRetries: 0,
    tools: tools.map((t) =>
      createTool({
        name: t.name,
        description: t.description,
        parameters: z.object({ x: z.number() }),
        execute: (args, o) => t.execute(args, o?.toolContext?.abortSignal ?? o?.abortController?.signal),
      }),
    ),
  });

  return {
    async run(prompt, { signal, onDelta, stream = true } = {}) {
      const opts = {
        maxSteps: maxRounds + 1,
        abortSignal: signal,
        contextLimit: 100_000,
        ...(memory && { conversationId, userId }),
      };
      if (!stream) return (await agent.generateText(prompt, opts)).text;
      const r = await agent.streamText(prompt, opts);
      let failure;
      for await (const p of r.fullStream) {
        if (p.type === 'text-delta') onDelta?.(p.text);
        else if (p.type === 'error') failure = p.error;
        else if (p.type === 'abort') failure = new Error('aborted');
      }
      if (failure) throw failure;
      return r.text;
    },
  };
}

/** One UI message per assistant turn, the tool call and its result as one part. */
function toUi(history) {
  const out = [];
  history.forEach((m, i) => {
    const last = out.at(-1),
      make = (role, parts) => out.push({ id: `h${i}`, role, parts });
    if (m.role === 'user') make('user', [{ type: 'text', text: m.content }]);
    else if (m.toolCalls)
      make(
        'assistant',
        m.toolCalls.map((t) => ({
          type: `tool-${t.name}`,
          toolCallId: t.id,
          state: 'input-available',
          input: t.args,
        })),
      );
    else if (m.role === 'tool')
      for (const p of last.parts) {
        if (p.toolCallId === m.toolCallId) Object.assign(p, { state: 'output-available', output: m.content });
      }
    else if (last?.role === 'assistant')
      last.parts.push({ type: 'step-start' }, { type: 'text', text: m.content });
    else make('assistant', [{ type: 'text', text: m.content }]);
  });
  return out;
}
