// A fake, strict OpenAI chat-completions server on 127.0.0.1. Zero think time, pre-serialised answers.
//
//   node fake-openai.mjs [port]     prints {"port":N} on stdout once it listens
//
// The last user message is the script (anything around the keyword is ignored):
//   tools:N        N rounds of one call of tool `lookup`, then a final text
//   par:K          one round with K parallel calls of `lookup`, then a final text
//   slow:N         like tools:N, but calls tool `slow`
//   text:T         T content deltas of 4 chars, coalesced into 64 KB writes (framework CPU dominates)
//   each:T         T content deltas, one socket write per delta (what a real network looks like)
//   pace:T         T content deltas, ten per millisecond (so a stream can be aborted half-way)
//   args:T         one `lookup` call with 4 × T chars of arguments in T deltas, large writes, then a final text
//   paceargs:T     the same, two deltas per millisecond
//   anything else  a short final text
//
// POST /r/<run>/v1/chat/completions    <run> is any token; counters are kept per run
// GET  /stats/<run>                    counters of that run, then forgotten
//
// Strict like the real API: a tool call without a result, a result without a call, or an assistant
// message with neither content nor tool calls gets HTTP 400.
import http from 'node:http';

const runs = new Map();
const newRun = () => ({
  requests: 0,
  streamed: 0,
  withUsage: 0,
  bad: 0,
  errors: [],
  other: [],
  maxMessages: 0,
  lastMessages: 0,
  lastRoles: '',
  bodyBytes: 0,
  sockets: new Set(),
  cutStreams: 0,
  cutAfterMs: [],
  badArgs: 0,
  cpu0: process.cpuUsage(),
});
let seq = 0;

// ---------------------------------------------------------------- pre-serialised answers
// Every chunk is HEAD + id + a constant string; ids are unique per response, because some frameworks
// (LangGraph) merge messages that carry the same id.
const HEAD = 'data: {"id":"chatcmpl-';
const REST =
  '","object":"chat.completion.chunk","created":1760000000,"model":"fake","service_tier":"default","system_fingerprint":"fp_fake",';
const body = (delta, finish = '') =>
  `${REST}"choices":[{"index":0,"delta":${delta},"logprobs":null,"finish_reason":${finish ? `"${finish}"` : 'null'}}],"usage":null}\n\n`;
const usageOf = (n) =>
  `{"prompt_tokens":100,"completion_tokens":${n},"total_tokens":${100 + n},"prompt_tokens_details":{"cached_tokens":0,"audio_tokens":0},"completion_tokens_details":{"reasoning_tokens":0,"audio_tokens":0,"accepted_prediction_tokens":0,"rejected_prediction_tokens":0}}`;
const ROLE = body('{"role":"assistant","content":"","refusal":null}');
const STOP = { stop: body('{}', 'stop'), tool_calls: body('{}', 'tool_calls') };
const WORDS = ['abcd', 'efgh', 'ijk ', 'lmno', 'pqr ', 'stuv', 'wx, ', 'yz. '];
const DELTAS = WORDS.map((w) => body(`{"content":"${w}"}`));
const FINAL = ['done', ' and', ' out'];
const FINALS = FINAL.map((w) => body(`{"content":"${w}"}`));
const tail = (h, finish, n, withUsage) =>
  h +
  STOP[finish] +
  (withUsage ? `${h}${REST}"choices":[],"usage":${usageOf(n)}}\n\n` : '') +
  'data: [DONE]\n\n';

/** A text stream as strings of about 64 KB. */
function* textBlocks(h, n, withUsage) {
  let s = h + ROLE;
  for (let i = 0; i < n; i++) {
    s += h + DELTAS[i & 7];
    if (s.length > 65536) {
      yield s;
      s = '';
    }
  }
  yield s + tail(h, 'stop', n, withUsage);
}
const finalStream = (h, withUsage) =>
  h + ROLE + FINALS.map((f) => h + f).join('') + tail(h, 'stop', 3, withUsage);
const argsOf = (i) => `{\\"x\\":${i}}`;
function toolStream(h, name, count, round, withUsage) {
  let s = '';
  for (let i = 0; i < count; i++) {
    const role = i === 0 ? '"role":"assistant","content":null,' : '';
    const a = argsOf(round * 100 + i); // {\"x\":N}, sent in two parts
    s +=
      h +
      body(
        `{${role}"tool_calls":[{"index":${i},"id":"call_${++seq}","type":"function","function":{"name":"${name}","arguments":""}}]}`,
      ) +
      h +
      body(`{"tool_calls":[{"index":${i},"function":{"arguments":"${a.slice(0, 4)}"}}]}`) +
      h +
      body(`{"tool_calls":[{"index":${i},"function":{"arguments":"${a.slice(4)}"}}]}`);
  }
  return s + tail(h, 'tool_calls', 12 * count, withUsage);
}
const whole = (message, finish, n) =>
  `{"id":"chatcmpl-${++seq}","object":"chat.completion","created":1760000000,"model":"fake","choices":[{"index":0,"message":${message},"logprobs":null,"finish_reason":"${finish}"}],"usage":${usageOf(n)},"service_tier":"default","system_fingerprint":"fp_fake"}`;
const wholeText = (text, n) =>
  whole(`{"role":"assistant","content":"${text}","refusal":null,"annotations":[]}`, 'stop', n);
function wholeTools(name, count, round) {
  const calls = [];
  for (let i = 0; i < count; i++)
    calls.push(
      `{"id":"call_${++seq}","type":"function","function":{"name":"${name}","arguments":"${argsOf(round * 100 + i)}"}}`,
    );
  return whole(
    `{"role":"assistant","content":null,"refusal":null,"tool_calls":[${calls.join(',')}]}`,
    'tool_calls',
    12 * count,
  );
}

// ---------------------------------------------------------------- strictness and script
const textOf = (c) =>
  typeof c === 'string' ? c : Array.isArray(c) ? c.map((p) => p?.text ?? '').join('') : '';

function validate(messages, st) {
  if (!Array.isArray(messages) || messages.length === 0)
    return 'Invalid messages: expected a non-empty array.';
  let open = null;
  for (let i = 0; i < messages.length; i++) {
    const m = messages[i];
    if (m.role === 'tool') {
      if (!open?.delete(m.tool_call_id))
        return `Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'. (messages[${i}], ${m.tool_call_id})`;
      continue;
    }
    if (open?.size)
      return `An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The following tool_call_ids did not have response messages: ${[...open].join(', ')}`;
    open = null;
    if (m.role === 'assistant') {
      if (m.tool_calls?.length) {
        open = new Set();
        for (const c of m.tool_calls) {
          open.add(c.id);
          try {
            JSON.parse(c.function.arguments);
          } catch {
            st.badArgs++;
          }
        }
      } else if (m.content == null)
        return `Invalid value for 'content': expected a string, got null. (messages[${i}])`;
    }
  }
  if (open?.size)
    return `An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The following tool_call_ids did not have response messages: ${[...open].join(', ')}`;
  return null;
}

const scripts = new Map();
function scriptOf(text) {
  let s = scripts.get(text);
  if (!s) {
    const m = /\b(tools|par|slow|text|each|pace|args|paceargs):(\d+)/.exec(text);
    s = m ? { kind: m[1], n: Number(m[2]) } : { kind: 'final', n: 0 };
    if (text.length < 200) scripts.set(text, s);
  }
  return s;
}

// ---------------------------------------------------------------- serving
const SSE = { 'content-type': 'text/event-stream; charset=utf-8', 'cache-control': 'no-cache' };

function answer(req, res, raw, st) {
  st.requests++;
  st.sockets.add(`${req.socket.remotePort}`);
  st.bodyBytes += raw.length;
  const q = JSON.parse(raw);
  const messages = q.messages;
  st.lastMessages = messages?.length ?? 0;
  st.maxMessages = Math.max(st.maxMessages, st.lastMessages);
  st.lastRoles = (messages ?? [])
    .slice(-12)
    .map((m) => m.role[0] + (m.tool_calls?.length ? `(${m.tool_calls.length})` : ''))
    .join(' ');
  if (q.stream) st.streamed++;
  const withUsage = q.stream_options?.include_usage === true;
  if (withUsage) st.withUsage++;

  const problem = validate(messages, st);
  if (problem) {
    st.bad++;
    if (st.errors.length < 3) st.errors.push(problem.slice(0, 200));
    const b = JSON.stringify({
      error: { message: problem, type: 'invalid_request_error', param: 'messages', code: null },
    });
    res.writeHead(400, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(b) });
    return res.end(b);
  }

  let u = messages.length - 1,
    done = 0;
  while (u >= 0 && messages[u].role !== 'user') {
    if (messages[u].tool_calls?.length) done++;
    u--;
  }
  const s = scriptOf(u >= 0 ? textOf(messages[u].content) : '');
  const h = HEAD + ++seq;
  const tools = (name, k) =>
    q.stream
      ? (res.writeHead(200, SSE), res.end(toolStream(h, name, k, done, withUsage)))
      : json(res, wholeTools(name, k, done));

  if (s.kind === 'tools' && done < s.n) return tools('lookup', 1);
  if (s.kind === 'slow' && done < s.n) return tools('slow', 1);
  if (s.kind === 'par' && done < 1) return tools('lookup', s.n);
  if (!q.stream)
    return json(
      res,
      s.kind === 'text'
        ? wholeText(
            WORDS.join('')
              .repeat(Math.ceil(s.n / 8))
              .slice(0, 4 * s.n),
            s.n,
          )
        : wholeText(FINAL.join(''), 3),
    );
  res.writeHead(200, SSE);
  if (s.kind === 'text') return writeBlocks(res, textBlocks(h, s.n, withUsage));
  if (s.kind === 'each') return writeEach(res, h, s.n, withUsage);
  if (s.kind === 'pace')
    return writePaced(res, h + ROLE, (i) => h + DELTAS[i & 7], s.n, tail(h, 'stop', s.n, withUsage), st, 10);
  if (s.kind.endsWith('args') && done < 1) {
    const open =
      h +
      body(
        `{"role":"assistant","content":null,"tool_calls":[{"index":0,"id":"call_${++seq}","type":"function","function":{"name":"lookup","arguments":"{\\"x\\":1,\\"pad\\":\\""}}]}`,
      );
    const part = h + body('{"tool_calls":[{"index":0,"function":{"arguments":"abcd"}}]}');
    const close =
      h +
      body('{"tool_calls":[{"index":0,"function":{"arguments":"\\"}"}}]}') +
      tail(h, 'tool_calls', s.n, withUsage);
    if (s.kind === 'args') return res.end(open + part.repeat(s.n) + close);
    return writePaced(res, open, () => part, s.n, close, st, 2);
  }
  res.end(finalStream(h, withUsage));
}

function json(res, body) {
  res.writeHead(200, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) });
  res.end(body);
}
function writeBlocks(res, blocks) {
  for (let b; !(b = blocks.next()).done;)
    if (!res.write(b.value, 'latin1')) return res.once('drain', () => writeBlocks(res, blocks));
  res.end();
}
function writeEach(res, h, n, withUsage) {
  let i = 0;
  res.write(h + ROLE);
  const step = () => {
    if (res.destroyed) return;
    if (i >= n) return res.end(tail(h, 'stop', n, withUsage));
    if (res.write(h + DELTAS[i++ & 7], 'latin1')) setImmediate(step);
    else res.once('drain', step);
  };
  step();
}
function writePaced(res, head, part, n, end, st, perMs) {
  const t0 = performance.now();
  let i = 0,
    over = false;
  res.write(head);
  const timer = setInterval(() => {
    let s = '';
    for (let k = 0; k < perMs && i < n; k++) s += part(i++);
    res.write(s);
    if (i >= n) {
      over = true;
      clearInterval(timer);
      res.end(end);
    }
  }, 1);
  res.on('close', () => {
    clearInterval(timer);
    if (!over) {
      st.cutStreams++;
      st.cutAfterMs.push(Math.round(performance.now() - t0));
    }
  });
}

const server = http.createServer({ keepAliveTimeout: 3_600_000, noDelay: true }, (req, res) => {
  if (req.url.startsWith('/stats/')) {
    const run = req.url.slice(7),
      st = runs.get(run) ?? newRun();
    runs.delete(run);
    const c = process.cpuUsage(st.cpu0);
    return json(
      res,
      JSON.stringify({
        ...st,
        cpu0: undefined,
        sockets: st.sockets.size,
        serverCpuMs: (c.user + c.system) / 1000,
      }),
    );
  }
  const run = /^\/r\/([^/]+)\//.exec(req.url)?.[1] ?? 'none';
  let st = runs.get(run);
  if (!st) runs.set(run, (st = newRun()));
  if (req.method !== 'POST' || !req.url.endsWith('/chat/completions')) {
    st.other.push(`${req.method} ${req.url}`);
    res.writeHead(404, { 'content-type': 'application/json' });
    return res.end('{"error":{"message":"not found","type":"invalid_request_error"}}');
  }
  const parts = [];
  req.on('data', (d) => parts.push(d));
  req.on('end', () => answer(req, res, parts.length === 1 ? parts[0] : Buffer.concat(parts), st));
});
server.requestTimeout = 0;
server.listen(Number(process.argv[2] ?? 0), '127.0.0.1', 4096, () =>
  console.log(JSON.stringify({ port: server.address().port })),
);
process.on('disconnect', () => process.exit(0));
