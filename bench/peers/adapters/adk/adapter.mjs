// Google ADK. It ships no OpenAI-compatible model, so this file brings one (a BaseLlm over fetch, about
// as lean as the floor's loop): ADK's figures contain that hand-written model, not a vendor SDK.
import {
  BaseLlm,
  FunctionTool,
  InMemorySessionService,
  LlmAgent,
  LogLevel,
  Runner,
  StreamingMode,
  createEvent,
  setLogLevel,
} from '@google/adk';
import { z } from 'zod';
import { perURL } from '../../fixtures.mjs';

export const info = {
  name: 'Google ADK',
  packages: ['@google/adk', 'zod'],
  extras: ['@mikro-orm/sqlite'],
  modes: ['stream', 'generate'],
  stores: { memory: 'InMemorySessionService', disk: 'DatabaseSessionService (SQLite)' },
};
setLogLevel(LogLevel.ERROR);

class FakeLlm extends BaseLlm {
  constructor(baseURL) {
    super({ model: 'fake' });
    this.url = `${baseURL}/chat/completions`;
  }
  connect() {
    throw new Error('no live mode');
  }

  async *generateContentAsync(req, stream = false, signal) {
    const decls = (req.config?.tools ?? []).flatMap((t) => t.functionDeclarations ?? []);
    const body = JSON.stringify({
      model: 'fake',
      messages: toWire(req),
      tools: decls.map((d) => ({
        type: 'function',
        function: {
          name: d.name,
          description: d.description,
          parameters: d.parametersJsonSchema ?? lower(d.parameters),
        },
      })),
      ...(stream && { stream: true, stream_options: { include_usage: true } }),
    });
    const res = await fetch(this.url, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body,
      signal,
    });
    if (!res.ok) throw new Error(`HTTP ${res.status}: ${await res.text()}`);
    if (!stream) {
      const j = await res.json(),
        m = j.choices[0].message;
      yield { content: content(m.content, m.tool_calls), usageMetadata: usage(j.usage), turnComplete: true };
      return;
    }
    const dec = new TextDecoder();
    let buf = '',
      text = '',
      calls,
      used;
    for await (const c of res.body) {
      buf += dec.decode(c, { stream: true });
      let from = 0,
        at;
      while ((at = buf.indexOf('\n\n', from)) !== -1) {
        const line = buf.slice(from + 6, at);
        from = at + 2;
        if (line === '[DONE]') continue;
        const j = JSON.parse(line),
          d = j.choices[0]?.delta;
        if (j.usage) used = usage(j.usage);
        if (!d) continue;
        if (d.content) {
          text += d.content;
          yield { content: { role: 'model', parts: [{ text: d.content }] }, partial: true };
        }
        if (d.tool_calls)
          for (const t of d.tool_calls) {
            calls ??= [];
            if (t.id)
              calls[t.index] = {
                id: t.id,
                function: { name: t.function.name, arguments: t.function.arguments },
              };
            else calls[t.index].function.arguments += t.function.arguments;
          }
      }
      buf = buf.slice(from);
    }
    yield { content: content(text, calls), usageMetadata: used, partial: false, turnComplete: true };
  }
}

const modelOf = perURL((baseURL) => new FakeLlm(baseURL));

export async function create({ baseURL, tools, maxRounds, history = [], store, dir }) {
  const agent = new LlmAgent({
    name: 'bench',
    instruction: '',
    model: modelOf(baseURL),
    tools: tools.map(
      (t) =>
        new FunctionTool({
          name: t.name,
          description: t.description,
          parameters: z.object({ x: z.number() }),
          execute: (args, ctx) => t.execute(args, ctx?.abortSignal),
        }),
    ),
  });
  const sessionService =
    store === 'disk'
      ? new (await import('@google/adk')).DatabaseSessionService(`sqlite://${dir}/adk.db`)
      : new InMemorySessionService();
  const runner = new Runner({ appName: 'bench', agent, sessionService });
  const key = { appName: 'bench', userId: 'u1', sessionId: 's1' };
  const session = await sessionService.createSession(key);
  for (const m of history) await sessionService.appendEvent({ session, event: toEvent(m) });

  return {
    async run(prompt, { signal, onDelta, stream = true } = {}) {
      let text = '';
      const runConfig = {
        streamingMode: stream ? StreamingMode.SSE : StreamingMode.NONE,
        maxLlmCalls: maxRounds + 5,
      };
      for await (const e of runner.runAsync({
        userId: 'u1',
        sessionId: 's1',
        newMessage: { role: 'user', parts: [{ text: prompt }] },
        runConfig,
        abortSignal: signal,
      })) {
        if (e.errorMessage) throw new Error(e.errorMessage);
        const t = e.content?.parts?.[0]?.text;
        if (t === undefined) continue;
        if (e.partial) onDelta?.(t);
        else text = t;
      }
      if (signal?.aborted) throw new Error('aborted');
      return text;
    },
  };
}

const usage = (u) => ({
  promptTokenCount: u.prompt_tokens,
  candidatesTokenCount: u.completion_tokens,
  totalTokenCount: u.total_tokens,
});
const content = (text, calls) => ({
  role: 'model',
  parts: [
    ...(text ? [{ text }] : []),
    ...(calls ?? []).map((c) => ({
      functionCall: { id: c.id, name: c.function.name, args: JSON.parse(c.function.arguments) },
    })),
  ],
});
const lower = (s) =>
  JSON.parse(
    JSON.stringify(s ?? { type: 'object', properties: {} }, (k, v) =>
      k === 'type' && typeof v === 'string' ? v.toLowerCase() : v,
    ),
  );

function toWire(req) {
  const out = [];
  const sys = req.config?.systemInstruction;
  if (sys)
    out.push({
      role: 'system',
      content: typeof sys === 'string' ? sys : (sys.parts ?? []).map((p) => p.text).join('\n'),
    });
  for (const c of req.contents) {
    const text = [],
      calls = [];
    for (const p of c.parts ?? []) {
      if (p.functionResponse)
        out.push({
          role: 'tool',
          tool_call_id: p.functionResponse.id,
          content: JSON.stringify(p.functionResponse.response),
        });
      else if (p.functionCall)
        calls.push({
          id: p.functionCall.id,
          type: 'function',
          function: { name: p.functionCall.name, arguments: JSON.stringify(p.functionCall.args) },
        });
      else if (p.text) text.push(p.text);
    }
    if (calls.length) out.push({ role: 'assistant', content: text.join('') || null, tool_calls: calls });
    else if (text.length)
      out.push({ role: c.role === 'model' ? 'assistant' : 'user', content: text.join('') });
  }
  return out;
}
const toEvent = (m) =>
  createEvent({
    invocationId: 'h',
    author: m.role === 'user' ? 'user' : 'bench',
    content:
      m.role === 'tool'
        ? {
            role: 'user',
            parts: [
              { functionResponse: { id: m.toolCallId, name: m.toolName, response: { result: m.content } } },
            ],
          }
        : m.toolCalls
          ? {
              role: 'model',
              parts: m.toolCalls.map((t) => ({ functionCall: { id: t.id, name: t.name, args: t.args } })),
            }
          : { role: m.role === 'user' ? 'user' : 'model', parts: [{ text: m.content }] },
  });
