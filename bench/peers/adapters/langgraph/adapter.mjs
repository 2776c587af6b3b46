// LangChain createAgent (a LangGraph graph) with ChatOpenAI. store: none = no checkpointer,
// memory = MemorySaver, disk = SqliteSaver (native better-sqlite3, built for the installing Node only).
import { createAgent, tool } from 'langchain';
import { AIMessage, HumanMessage, ToolMessage } from '@langchain/core/messages';
import { ChatOpenAI } from '@langchain/openai';
import { MemorySaver } from '@langchain/langgraph';
import { z } from 'zod';
import { perURL } from '../../fixtures.mjs';

const modelOf = perURL(
  (baseURL) =>
    new ChatOpenAI({
      model: 'fake',
      apiKey: 'x',
      configuration: { baseURL },
      maxRetries: 0,
      streamUsage: true,
      useResponsesApi: false,
    }),
);

export const info = {
  name: 'LangGraph',
  packages: ['langchain', '@langchain/langgraph', '@langchain/core', '@langchain/openai', 'zod'],
  extras: ['@langchain/langgraph-checkpoint-sqlite'],
  modes: ['stream', 'generate'],
  stores: { memory: 'MemorySaver', disk: 'SqliteSaver' },
};

export async function create({ baseURL, tools, maxRounds, history = [], store, dir }) {
  const checkpointer =
    store === 'memory'
      ? new MemorySaver()
      : store === 'disk'
        ? (await import('@langchain/langgraph-checkpoint-sqlite')).SqliteSaver.fromConnString(
            `${dir}/langgraph.db`,
          )
        : undefined;
  const agent = createAgent({
    model: modelOf(baseURL),
    tools: tools.map((t) =>
      tool((args, config) => t.execute(args, config?.signal), {
        name: t.name,
        description: t.description,
        schema: z.object({ x: z.number() }),
      }),
    ),
    checkpointer,
  });
  const config = {
    recursionLimit: 2 * maxRounds + 10,
    ...(checkpointer && { configurable: { thread_id: 't1' } }),
  };
  if (history.length) await agent.graph.updateState(config, { messages: history.map(toMessage) });

  return {
    async run(prompt, { signal, onDelta, stream = true } = {}) {
      const input = { messages: [new HumanMessage(prompt)] };
      if (!stream) return (await agent.invoke(input, { ...config, signal })).messages.at(-1).text;
      let text = '';
      for await (const [m] of await agent.stream(input, { ...config, signal, streamMode: 'messages' })) {
        if (m.type === 'tool') text = '';
        else if (typeof m.content === 'string' && m.content) {
          text += m.content;
          onDelta?.(m.content);
        }
      }
      return text;
    },
  };
}

const toMessage = (m) =>
  m.role === 'tool'
    ? new ToolMessage({ tool_call_id: m.toolCallId, name: m.toolName, content: m.content })
    : m.toolCalls
      ? new AIMessage({
          content: '',
          tool_calls: m.toolCalls.map((t) => ({ id: t.id, name: t.name, args: t.args, type: 'tool_call' })),
        })
      : m.role === 'assistant'
        ? new AIMessage(m.content)
        : new HumanMessage(m.content);
