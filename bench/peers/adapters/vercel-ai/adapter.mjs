// Vercel AI SDK: ToolLoopAgent. It has no session store: the caller keeps the message array.
import { ToolLoopAgent, isStepCount, tool } from 'ai';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { z } from 'zod';
import { perURL } from '../../fixtures.mjs';

const modelOf = perURL((baseURL) =>
  createOpenAICompatible({ name: 'fake', baseURL, apiKey: 'x', includeUsage: true }).chatModel('fake'),
);

export const info = {
  name: 'Vercel AI SDK',
  packages: ['ai', '@ai-sdk/openai-compatible', 'zod'],
  modes: ['stream', 'generate'],
  stores: { memory: 'caller-held array' },
};

export function create({ baseURL, tools, maxRounds, history = [] }) {
  const agent = new ToolLoopAgent({
    model: modelOf(baseURL),
    stopWhen: isStepCount(maxRounds + 1),
    maxRetries: 0,
    tools: Object.fromEntries(
      tools.map((t) => [
        t.name,
        tool({
          description: t.description,
          inputSchema: z.object({ x: z.number() }),
          execute: (args, { abortSignal }) => t.execute(args, abortSignal),
        }),
      ]),
    ),
  });
  let messages = history.map(toModelMessage);

  return {
    async run(prompt, { signal, onDelta, stream = true } = {}) {
      const input = [...messages, { role: 'user', content: prompt }];
      if (!stream) {
        const r = await agent.generate({ messages: input, abortSignal: signal });
        messages = [...input, ...r.responseMessages];
        return r.text;
      }
      const r = await agent.stream({ messages: input, abortSignal: signal });
      let failure;
      for await (const part of r.stream) {
        if (part.type === 'text-delta') onDelta?.(part.text);
        else if (part.type === 'error') failure = part.error;
        else if (part.type === 'abort') failure = new Error('aborted');
      }
      if (failure) throw new Error('The stream failed', { cause: failure });
      messages = [...input, ...(await r.responseMessages)];
      return r.text;
    },
  };
}

const toModelMessage = (m) =>
  m.role === 'tool'
    ? {
        role: 'tool',
        content: [
          {
            type: 'tool-result',
            toolCallId: m.toolCallId,
            toolName: m.toolName,
            output: { type: 'text', value: m.content },
          },
        ],
      }
    : m.toolCalls
      ? {
          role: 'assistant',
          content: m.toolCalls.map((t) => ({
            type: 'tool-call',
            toolCallId: t.id,
            toolName: t.name,
            input: t.args,
          })),
        }
      : { role: m.role, content: m.content };
