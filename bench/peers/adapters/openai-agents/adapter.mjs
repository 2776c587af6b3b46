// OpenAI Agents SDK with the chat-completions model. Tracing is off: it exports to api.openai.com.
import { Agent, MemorySession, OpenAIChatCompletionsModel, Runner, tool } from '@openai/agents';
import OpenAI from 'openai';
import { z } from 'zod';
import { perURL } from '../../fixtures.mjs';

const modelOf = perURL(
  (baseURL) => new OpenAIChatCompletionsModel(new OpenAI({ baseURL, apiKey: 'x', maxRetries: 0 }), 'fake'),
);

export const info = {
  name: 'OpenAI Agents',
  packages: ['@openai/agents', 'openai', 'zod'],
  modes: ['stream', 'generate'],
  stores: { memory: 'MemorySession' }, // no file or SQLite session in the JS SDK
};

export async function create({ baseURL, tools, maxRounds, history = [], store }) {
  const agent = new Agent({
    name: 'bench',
    model: modelOf(baseURL),
    tools: tools.map((t) =>
      tool({
        name: t.name,
        description: t.description,
        parameters: z.object({ x: z.number() }),
        errorFunction: null,
        execute: (args, _ctx, details) => t.execute(args, details?.signal),
      }),
    ),
  });
  const runner = new Runner({ tracingDisabled: true });
  const session =
    store === 'memory' ? new MemorySession({ initialItems: history.flatMap(toItems) }) : undefined;

  return {
    async run(prompt, { signal, onDelta, stream = true } = {}) {
      const r = await runner.run(agent, prompt, { stream, signal, session, maxTurns: maxRounds + 1 });
      if (stream) {
        for await (const e of r)
          if (e.type === 'raw_model_stream_event' && e.data.type === 'output_text_delta')
            onDelta?.(e.data.delta);
        await r.completed;
        if (r.error) throw r.error;
      }
      return r.finalOutput;
    },
  };
}

const toItems = (m) =>
  m.role === 'tool'
    ? [
        {
          type: 'function_call_result',
          name: m.toolName,
          callId: m.toolCallId,
          status: 'completed',
          output: { type: 'text', text: m.content },
        },
      ]
    : m.toolCalls
      ? m.toolCalls.map((t) => ({
          type: 'function_call',
          name: t.name,
          callId: t.id,
          status: 'completed',
          arguments: JSON.stringify(t.args),
        }))
      : m.role === 'assistant'
        ? [
            {
              type: 'message',
              role: 'assistant',
              status: 'completed',
              content: [{ type: 'output_text', text: m.content }],
            },
          ]
        : [{ type: 'message', role: 'user', content: m.content }];
