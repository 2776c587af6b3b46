// Mastra Agent on the AI SDK's openai-compatible model. store: none = no memory,
// memory = Memory + InMemoryStore, disk = Memory + LibSQLStore (file). Usage telemetry is off (env).
import { Agent } from '@mastra/core/agent';
import { createTool } from '@mastra/core/tools';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { z } from 'zod';
import { perURL } from '../../fixtures.mjs';

const modelOf = perURL((baseURL) =>
  createOpenAICompatible({ name: 'fake', baseURL, apiKey: 'x', includeUsage: true }).chatModel('fake'),
);

export const info = {
  name: 'Mastra',
  packages: ['@mastra/core', '@ai-sdk/openai-compatible', 'zod'],
  extras: ['@mastra/memory', '@mastra/libsql'],
  modes: ['stream', 'generate'],
  stores: { memory: 'Memory + InMemoryStore', disk: 'Memory + LibSQLStore file' },
};

let n = 0;
export async function create({ baseURL, tools, maxRounds, history = [], store, dir }) {
  const ids = { thread: `t${++n}`, resource: 'r1' };
  let memory;
  if (store === 'memory' || store === 'disk') {
    const { Memory } = await import('@mastra/memory');
    const storage =
      store === 'memory'
        ? new (await import('@mastra/core/storage')).InMemoryStore()
        : new (await import('@mastra/libsql')).LibSQLStore({ id: 'bench', url: `file:${dir}/mastra.db` });
    await storage.init?.();
    memory = new Memory({
      storage,
      options: {
        lastMessages: 100_000,
        semanticRecall: false,
        workingMemory: { enabled: false },
        generateTitle: false,
      },
    });
    if (history.length) {
      const t0 = Date.now() - 3_600_000;
      await memory.saveThread({
        thread: {
          id: ids.thread,
          resourceId: ids.resource,
          title: '',
          createdAt: new Date(t0),
          updatedAt: new Date(t0),
          metadata: {},
        },
      });
      await memory.saveMessages({ messages: toDb(history, ids, t0) });
    }
  }
  const agent = new Agent({
    id: 'bench',
    name: 'bench',
    instructions: '',
    model: modelOf(baseURL),
    memory,
    maxRetries: 0,
    tools: Object.fromEntries(
      tools.map((t) => [
        t.name,
        createTool({
          id: t.name,
          description: t.description,
          inputSchema: z.object({ x: z.number() }),
          execute: (args, ctx) => t.execute(args, ctx?.abortSignal),
        }),
      ]),
    ),
  });

  return {
    async run(prompt, { signal, onDelta, stream = true } = {}) {
      const opts = {
        maxSteps: maxRounds + 1,
        abortSignal: signal,
        modelSettings: { maxRetries: 0 },
        ...(memory && { memory: ids }),
      };
      if (!stream) return (await agent.generate(prompt, opts)).text;
      const r = await agent.stream(prompt, opts);
      let failure;
      for await (const c of r.fullStream) {
        if (c.type === 'text-delta') onDelta?.(c.payload.text);
        else if (c.type === 'error') failure = c.payload.error;
        else if (c.type === 'abort') failure = new Error('aborted');
      }
      if (failure) throw failure;
      return r.text;
    },
  };
}

/** Mastra keeps one message per assistant turn, with the tool call and its result as one part. */
function toDb(history, { thread, resource }, t0) {
  const out = [];
  history.forEach((m, i) => {
    const last = out.at(-1),
      make = (role, parts) =>
        out.push({
          id: `h${i}`,
          role,
          threadId: thread,
          resourceId: resource,
          createdAt: new Date(t0 + i),
          type: 'v2',
          content: { format: 2, parts },
        });
    if (m.role === 'user') make('user', [{ type: 'text', text: m.content }]);
    else if (m.toolCalls)
      make(
        'assistant',
        m.toolCalls.map((t) => ({
          type: 'tool-invocation',
          toolInvocation: { state: 'call', toolCallId: t.id, toolName: t.name, args: t.args },
        })),
      );
    else if (m.role === 'tool')
      for (const { toolInvocation: v } of last.content.parts) {
        if (v?.toolCallId === m.toolCallId) Object.assign(v, { state: 'result', result: m.content });
      }
    else if (last?.role === 'assistant')
      last.content.parts.push({ type: 'step-start' }, { type: 'text', text: m.content });
    else make('assistant', [{ type: 'text', text: m.content }]);
  });
  return out;
}
