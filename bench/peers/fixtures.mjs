// Tools and histories shared by every scenario.
const RESULT = JSON.stringify({
  ok: true,
  value: 42,
  note: 'a tool result of a usual size, not tiny and not huge. '.repeat(3),
});
const parameters = {
  type: 'object',
  properties: { x: { type: 'number', description: 'which one' } },
  required: ['x'],
  additionalProperties: false,
};

/** The usual tool: returns about 200 characters at once, or after `ms`. Counts calls and overlap. */
export function lookupTool({ ms = 0 } = {}) {
  const t = {
    name: 'lookup',
    description: 'Looks something up.',
    parameters,
    calls: 0,
    active: 0,
    maxActive: 0,
    async execute() {
      t.calls++;
      if (ms) {
        t.maxActive = Math.max(t.maxActive, ++t.active);
        await new Promise((r) => setTimeout(r, ms));
        t.active--;
      }
      return RESULT;
    },
  };
  return t;
}

/** Tool that runs for `ms` and stops when its signal is aborted; a deaf tool does not stop. */
export function slowTool({ ms = 10_000, deaf = false, onStart } = {}) {
  const t = {
    name: 'slow',
    description: 'Takes long.',
    parameters,
    gotSignal: false,
    execute(_args, signal) {
      t.gotSignal = signal instanceof AbortSignal;
      onStart?.();
      return new Promise((res, rej) => {
        const timer = setTimeout(() => res(RESULT), ms);
        if (!deaf)
          signal?.addEventListener(
            'abort',
            () => {
              clearTimeout(timer);
              rej(signal.reason ?? new Error('aborted'));
            },
            { once: true },
          );
      });
    },
  };
  return t;
}

/** n messages in the neutral form adapters convert: user, assistant with a tool call, tool, assistant. */
export function history(n) {
  const out = [];
  for (let i = 0; out.length < n; i++) {
    const id = `call_h${i}`;
    out.push(
      {
        role: 'user',
        content: `Question ${i}: what is the state of item ${i}, and of those that depend on it? Please be brief.`,
      },
      { role: 'assistant', toolCalls: [{ id, name: 'lookup', args: { x: i } }] },
      { role: 'tool', toolCallId: id, toolName: 'lookup', content: RESULT },
      {
        role: 'assistant',
        content:
          `Item ${i} is fine, and so is everything that depends on it; nothing needs to be done about it today. `.repeat(
            2,
          ),
      },
    );
  }
  return out.slice(0, n);
}

/** One model client per endpoint, shared by all agents of a process, as an application would do. */
export function perURL(make) {
  const known = new Map();
  return (url) => known.get(url) ?? known.set(url, make(url)).get(url);
}
