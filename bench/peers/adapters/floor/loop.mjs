// The agent loop with no framework: POST, parse SSE, run tools, repeat. `post(body, signal)` is the
// only thing the two floors differ in; it resolves to an async iterable of Buffers (or throws).

export function makeFloor(post) {
  return ({ baseURL, tools, maxRounds, history = [] }) => {
    const byName = new Map(tools.map((t) => [t.name, t]));
    const toolDefs = tools.map((t) => ({
      type: 'function',
      function: { name: t.name, description: t.description, parameters: t.parameters },
    }));
    let messages = history.map(toWire);

    async function call(stream, signal, onDelta, msgs) {
      const body = JSON.stringify({
        model: 'fake',
        messages: msgs,
        tools: toolDefs,
        ...(stream && { stream, stream_options: { include_usage: true } }),
      });
      const chunks = await post(`${baseURL}/chat/completions`, body, signal);
      const out = { role: 'assistant', content: null };
      if (!stream) {
        const parts = [];
        for await (const c of chunks) parts.push(c);
        const m = JSON.parse(Buffer.concat(parts)).choices[0].message;
        out.content = m.content;
        if (m.tool_calls) out.tool_calls = m.tool_calls;
        return out;
      }
      const dec = new TextDecoder();
      let buf = '',
        text = '';
      for await (const c of chunks) {
        buf += dec.decode(c, { stream: true });
        let from = 0,
          at;
        while ((at = buf.indexOf('\n\n', from)) !== -1) {
          const line = buf.slice(from + 6, at); // after 'data: '
          from = at + 2;
          if (line === '[DONE]') continue;
          const d = JSON.parse(line).choices[0]?.delta;
          if (!d) continue;
          if (d.content) {
            text += d.content;
            onDelta?.(d.content);
          }
          if (d.tool_calls)
            for (const t of d.tool_calls) {
              const list = (out.tool_calls ??= []);
              if (t.id)
                list[t.index] = {
                  id: t.id,
                  type: 'function',
                  function: { name: t.function.name, arguments: t.function.arguments },
                };
              else list[t.index].function.arguments += t.function.arguments;
            }
        }
        buf = buf.slice(from);
      }
      if (text || !out.tool_calls) out.content = text;
      return out;
    }

    return {
      async run(prompt, { signal, onDelta, stream = true } = {}) {
        const msgs = [...messages, { role: 'user', content: prompt }]; // committed only when the turn is whole
        for (let round = 0; round <= maxRounds; round++) {
          const m = await call(stream, signal, onDelta, msgs);
          msgs.push(m);
          if (!m.tool_calls) {
            messages = msgs;
            return m.content;
          }
          const results = await Promise.all(
            m.tool_calls.map((t) =>
              abortable(
                byName.get(t.function.name).execute(JSON.parse(t.function.arguments), signal),
                signal,
              ),
            ),
          );
          m.tool_calls.forEach((t, i) =>
            msgs.push({ role: 'tool', tool_call_id: t.id, content: results[i] }),
          );
        }
        throw new Error('max rounds');
      },
      size: () => messages.length,
    };
  };
}

const abortable = (p, signal) =>
  !signal
    ? p
    : new Promise((res, rej) => {
        const stop = () => rej(signal.reason);
        if (signal.aborted) return stop();
        signal.addEventListener('abort', stop, { once: true });
        Promise.resolve(p)
          .then(res, rej)
          .finally(() => signal.removeEventListener('abort', stop));
      });

const toWire = (m) =>
  m.role === 'tool'
    ? { role: 'tool', tool_call_id: m.toolCallId, content: m.content }
    : m.toolCalls
      ? {
          role: 'assistant',
          content: null,
          tool_calls: m.toolCalls.map((t) => ({
            id: t.id,
            type: 'function',
            function: { name: t.name, arguments: JSON.stringify(t.args) },
          })),
        }
      : { role: m.role, content: m.content };
