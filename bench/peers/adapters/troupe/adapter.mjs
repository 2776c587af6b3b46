// Troupe: a ReActAgent on OpenAIChatModel, through the public entries only. With store memory the agent itself is the
// conversation; disk adds a JsonSession with autosave, so a turn is on disk before it is told.
import { Msg, ReActAgent, tool } from 'troupe';
import { OpenAIChatModel } from 'troupe/openai';
import { z } from 'zod';
import { perURL } from '../../fixtures.mjs';

const modelsOf = perURL((baseUrl) => {
  const options = { modelName: 'fake', baseUrl, apiKey: 'x' };
  return {
    streaming: new OpenAIChatModel(options),
    whole: new OpenAIChatModel({ ...options, stream: false }),
  };
});

export const info = {
  name: 'Troupe',
  packages: ['troupe', 'zod'],
  modes: ['stream', 'generate'],
  stores: { memory: 'agent.memory', disk: 'JsonSession, autosave' },
};

export async function create({ baseURL, tools, maxRounds, store, dir, history = [] }) {
  const { streaming, whole } = modelsOf(baseURL);
  const parts = {
    name: 'peer',
    tools: tools.map(({ name, description, execute }) =>
      tool({
        name,
        description,
        schema: z.object({ x: z.number() }),
        execute: (args, { signal }) => execute(args, signal),
      }),
    ),
    maxIters: maxRounds + 1,
    parallelToolCalls: true,
    console: false,
  };
  const agent = new ReActAgent({ ...parts, model: streaming });
  if (history.length > 0) await agent.memory.add(history.map(toMsg));
  if (store === 'disk') await saveInto(dir, agent);
  let generating; // made only where it is asked for

  return {
    async run(prompt, { signal, onDelta, stream = true } = {}) {
      if (!stream)
        return (await (generating ??= new ReActAgent({ ...parts, model: whole })).call(prompt, { signal }))
          .text;
      if (onDelta === undefined) return (await agent.call(prompt, { signal })).text;
      const answer = agent.stream(prompt, { signal });
      for await (const text of answer.text) onDelta(text);
      return (await answer.answer).text;
    },
  };
}

async function saveInto(dir, agent) {
  const [{ SessionManager }, { JsonSession }] = await Promise.all([
    import('troupe'),
    import('troupe/stores/json'),
  ]);
  const session = SessionManager.forSessionId('peer').withSession(new JsonSession(dir)).addComponent(agent);
  await session.saveSession();
  session.autoSave();
}

function toMsg({ role, content, toolCalls, toolCallId: id, toolName: name }) {
  if (role === 'user') return Msg.user(content);
  if (role === 'tool') return Msg.system([{ type: 'tool_result', id, name, output: content, status: 'ok' }]);
  if (toolCalls === undefined) return Msg.assistant(content);
  return Msg.assistant(toolCalls.map(({ id, name, args }) => ({ type: 'tool_use', id, name, input: args })));
}
