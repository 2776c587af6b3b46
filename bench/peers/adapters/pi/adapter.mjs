// pi: Agent (pi-agent-core) on pi-ai's openai-completions. The agent object is the conversation and
// always streams. store: disk = AgentHarness on a JSONL session file (pi's durable runtime).
// There is no round limit to set. 0.87.1: later versions need packages that the registry lacks.
import { Agent } from '@earendil-works/pi-agent-core';
import { Type, createModels, createProvider } from '@earendil-works/pi-ai';
import { openAICompletionsApi } from '@earendil-works/pi-ai/api/openai-completions.lazy';
import { perURL } from '../../fixtures.mjs';

const modelOf = perURL((baseUrl) => {
  const model = {
    id: 'fake',
    name: 'fake',
    api: 'openai-completions',
    provider: 'fake',
    baseUrl,
    reasoning: false,
    input: ['text'],
    cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 },
    contextWindow: 10_000_000,
    maxTokens: 32_000,
  };
  const models = createModels();
  models.setProvider(
    createProvider({
      id: 'fake',
      name: 'fake',
      baseUrl,
      auth: { apiKey: { name: 'fake', resolve: async () => ({ auth: { apiKey: 'x' } }) } },
      models: [model],
      api: openAICompletionsApi(),
    }),
  );
  return { model, models };
});

export const info = {
  name: 'pi',
  packages: ['@earendil-works/pi-agent-core', '@earendil-works/pi-ai'],
  modes: ['stream'],
  stores: { memory: 'agent.state.messages', disk: 'AgentHarness + JsonlSessionRepo' },
};

export async function create({ baseURL, tools, history = [], store, dir }) {
  const { model, models } = modelOf(baseURL);
  const toolOf = (t, call) => ({
    name: t.name,
    label: t.name,
    description: t.description,
    parameters: Type.Object({ x: Type.Number() }),
    execute: call,
  });
  const result = async (p) => ({ content: [{ type: 'text', text: await p }], details: {} });
  if (store === 'disk')
    return durable({
      model,
      models,
      history,
      dir,
      tools: tools.map((t) =>
        toolOf(t, (_id, args, _up, _tc, _inv, ctx) => result(t.execute(args, ctx?.signal))),
      ),
    });

  let onText, final;
  const agent = new Agent({
    initialState: {
      systemPrompt: '',
      model,
      tools: tools.map((t) => toolOf(t, (_id, args, signal) => result(t.execute(args, signal)))),
    },
    streamFn: (m, ctx, opts) => models.streamSimple(m, ctx, { ...opts, maxRetries: 0 }),
  });
  if (history.length) agent.state.messages = [...agent.state.messages, ...history.map(toMessage)];
  agent.subscribe((e) => {
    if (e.type === 'message_update') {
      if (e.assistantMessageEvent.type === 'text_delta') onText?.(e.assistantMessageEvent.delta);
    } else if (e.type === 'message_end' && e.message.role === 'assistant') final = e.message;
  });

  return {
    async run(prompt, { signal, onDelta } = {}) {
      onText = onDelta;
      const stop = () => agent.abort();
      signal?.addEventListener('abort', stop, { once: true });
      try {
        await agent.prompt(prompt);
      } finally {
        signal?.removeEventListener('abort', stop);
      }
      if (final.stopReason === 'aborted' || final.stopReason === 'error')
        throw new Error(final.errorMessage ?? final.stopReason);
      if (signal?.aborted) throw new Error('aborted');
      return textOf(final);
    },
  };
}

async function durable({ model, models, history, dir, tools }) {
  const {
    AgentHarness,
    BACKGROUND_CONTEXT: ctx,
    JsonlSessionRepo,
    withAbortSignal,
  } = await import('@earendil-works/pi-agent-core');
  const { NodeExecutionEnv } = await import('@earendil-works/pi-agent-core/node');
  const repo = new JsonlSessionRepo({ fileSystem: new NodeExecutionEnv({ cwd: dir }), sessionsRoot: dir });
  const session = await repo.create({ cwd: dir }, ctx);
  const { harness } = await AgentHarness.create(
    {
      session,
      models,
      model,
      tools,
      systemPrompt: '',
      streamOptions: { maxRetries: 0 },
      compaction: { enabled: false, reserveTokens: 0, keepRecentTokens: 0 },
    },
    ctx,
  );
  const lane = await harness.lane('main', ctx);
  for (const m of history) await lane.appendMessage(toMessage(m), ctx);
  let final;
  harness.events.on('message_end', (e) => {
    if (e.message.role === 'assistant') final = e.message;
  });
  return {
    async run(prompt, { signal } = {}) {
      const r = await lane.prompt(prompt, undefined, signal ? withAbortSignal(signal, ctx) : ctx);
      if (!r.ok || r.value.status !== 'completed') throw new Error(JSON.stringify(r.error ?? r.value));
      return textOf(final);
    },
  };
}

const textOf = (m) =>
  m.content
    .filter((c) => c.type === 'text')
    .map((c) => c.text)
    .join('');
const usage = {
  input: 0,
  output: 0,
  cacheRead: 0,
  cacheWrite: 0,
  totalTokens: 0,
  cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 },
};
const base = {
  api: 'openai-completions',
  provider: 'fake',
  model: 'fake',
  usage,
  timestamp: 1_760_000_000_000,
};
const toMessage = (m) =>
  m.role === 'tool'
    ? {
        role: 'toolResult',
        toolCallId: m.toolCallId,
        toolName: m.toolName,
        content: [{ type: 'text', text: m.content }],
        isError: false,
        timestamp: base.timestamp,
      }
    : m.toolCalls
      ? {
          ...base,
          role: 'assistant',
          stopReason: 'toolUse',
          content: m.toolCalls.map((t) => ({ type: 'toolCall', id: t.id, name: t.name, arguments: t.args })),
        }
      : m.role === 'assistant'
        ? { ...base, role: 'assistant', stopReason: 'stop', content: [{ type: 'text', text: m.content }] }
        : { role: 'user', content: m.content, timestamp: base.timestamp };
