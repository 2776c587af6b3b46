// Strands Agents. The agent object is the conversation. Its default sliding window (40 messages) is
// replaced by NullConversationManager, so that it sends the whole history like the others.
import { Agent, FileStorage, NullConversationManager, SessionManager, tool } from '@strands-agents/sdk';
import { OpenAIModel } from '@strands-agents/sdk/models/openai';
import { z } from 'zod';
import { perURL } from '../../fixtures.mjs';

const modelOf = perURL(
  (baseURL) =>
    new OpenAIModel({ api: 'chat', modelId: 'fake', apiKey: 'x', clientConfig: { baseURL, maxRetries: 0 } }),
);

export const info = {
  name: 'Strands',
  packages: ['@strands-agents/sdk', 'openai', 'zod'],
  modes: ['stream'], // invoke() is stream() drained
  stores: { memory: 'agent.messages', disk: 'SessionManager + FileStorage' },
};

export async function create({ baseURL, tools, maxRounds, history = [], store, dir }) {
  const agent = new Agent({
    model: modelOf(baseURL),
    tools: tools.map((t) =>
      tool({
        name: t.name,
        description: t.description,
        inputSchema: z.object({ x: z.number() }),
        callback: (args, ctx) => t.execute(args, ctx?.cancelSignal),
      }),
    ),
    messages: history.map(toMessageData),
    conversationManager: new NullConversationManager(),
    printer: false,
    retryStrategy: null,
    ...(store === 'disk' && {
      sessionManager: new SessionManager({ sessionId: 's1', storage: { snapshot: new FileStorage(dir) } }),
    }),
  });

  return {
    async run(prompt, { signal, onDelta } = {}) {
      const it = agent.stream(prompt, { cancelSignal: signal, limits: { turns: maxRounds + 1 } });
      let step;
      while (!(step = await it.next()).done) {
        const e = step.value.type === 'modelStreamUpdateEvent' ? step.value.event : step.value;
        if (e.type === 'modelContentBlockDeltaEvent' && e.delta.type === 'textDelta') onDelta?.(e.delta.text);
      }
      if (step.value.stopReason === 'cancelled') throw new Error('cancelled');
      return step.value.lastMessage.content
        .filter((b) => b.type === 'textBlock')
        .map((b) => b.text)
        .join('');
    },
  };
}

const toMessageData = (m) =>
  m.role === 'tool'
    ? {
        role: 'user',
        content: [
          { toolResult: { toolUseId: m.toolCallId, status: 'success', content: [{ text: m.content }] } },
        ],
      }
    : m.toolCalls
      ? {
          role: 'assistant',
          content: m.toolCalls.map((t) => ({ toolUse: { toolUseId: t.id, name: t.name, input: t.args } })),
        }
      : { role: m.role, content: [{ text: m.content }] };
