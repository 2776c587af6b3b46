import { TroupeError } from '../errors.ts';
import { Msg } from '../message/msg.ts';
import { notifyOnReturn } from '../util/async/stoppable.ts';
import { isJsonObject, readJson } from '../util/json.ts';
import { SseFraming, type WireEvent } from '../util/net/framing.ts';
import type { AgentEvent } from './agent-event.ts';

/** Maximum characters of a body without events that are read, and of its message in an error. */
const MAX_BODY = 65_536;
const MAX_MESSAGE = 500;

/**
 * Reads the events of a response that `stream.toResponse()` made, as `agent.stream()` gives them. Leaving the loop cancels the response, which
 * interrupts the run on the server.
 * @throws TroupeError with the code `stream_failed` if the server refused the request, or the response ends before its run.
 *
 * @example
 * ```ts
 * import { ReActAgent } from 'troupe';
 * import { readEvents } from 'troupe/events';
 * import { ScriptedModel } from 'troupe/testing';
 *
 * const agent = new ReActAgent({ name: 'Friday', model: new ScriptedModel(['Hello!']), console: false });
 * const response = agent.stream('Hi!').toResponse(); // in a browser: await fetch('/chat', { method: 'POST', body: 'Hi!' })
 * for await (const event of readEvents(response)) console.log(event.type);
 * ```
 */
export function readEvents(response: Response): AsyncGenerator<AgentEvent, void, void> {
  let hasLeft = false;
  let reader: ReadableStreamDefaultReader<Uint8Array> | undefined;
  const leave = (): void => {
    hasLeft = true;
    reader?.cancel().catch(() => {}); // the connection may be gone
  };
  async function* events(): AsyncGenerator<AgentEvent, void, void> {
    if (response.bodyUsed || response.body?.locked === true)
      throw failure('The response was read before. Read it once, and keep its events.');
    reader = response.body?.getReader();
    let depth = Infinity;
    let hasEnded = false;
    try {
      for await (const { data } of framesOf(await checkedReader(response, reader))) {
        const event = toEvent(data);
        depth = Math.min(depth, event.agentPath.length);
        hasEnded = event.type === 'run_end' && event.agentPath.length === depth;
        yield event;
      }
      if (!hasEnded && !hasLeft) throw failure('The response ended before its run.');
    } finally {
      leave();
    }
  }
  return notifyOnReturn(events(), leave);
}

/** The reader, if the response has events. @throws TroupeError with the server's message otherwise */
async function checkedReader(
  { ok, status, headers }: Response,
  reader: ReadableStreamDefaultReader<Uint8Array> | undefined,
): Promise<ReadableStreamDefaultReader<Uint8Array>> {
  const type = headers.get('content-type') ?? 'no content type';
  if (ok && reader !== undefined && type.startsWith('text/event-stream')) return reader;
  const isJson = reader !== undefined && type.startsWith('application/json');
  const said = isJson ? await messageIn(reader).catch(() => '') : '';
  const advice =
    status === 409
      ? 'The agent refused the call: wait until it is free, or decide its pending tool calls.'
      : 'Look at response.status before readEvents.';
  const what = `The server answered with status ${status} and ${type}, not with server-sent events`;
  const why = said === '' ? '' : `: ${said}`;
  throw failure(`${what}${why}${/[.!?]$/.test(said) ? '' : '.'} ${advice}`);
}

/** The `message` in a body of JSON; an empty text if there is none. */
async function messageIn(reader: ReadableStreamDefaultReader<Uint8Array>): Promise<string> {
  const decoder = new TextDecoder();
  let text = '';
  for (let item = await reader.read(); !item.done && text.length < MAX_BODY; item = await reader.read())
    text += decoder.decode(item.value, { stream: true });
  const json = readJson(text);
  const said = isJsonObject(json) ? json['message'] : undefined;
  return typeof said === 'string' ? said.slice(0, MAX_MESSAGE) : '';
}

async function* framesOf(
  reader: ReadableStreamDefaultReader<Uint8Array>,
): AsyncGenerator<WireEvent, void, void> {
  const framing = new SseFraming();
  const decoder = new TextDecoder();
  for (let item = await reader.read(); !item.done; item = await reader.read())
    yield* framing.feed(decoder.decode(item.value, { stream: true }));
}

/** An event from its JSON, with a message that is a `Msg` again. */
export function toEvent(data: string): AgentEvent {
  const event = readJson(data);
  if (!isEvent(event)) throw failure('The response has something that is no event.');
  if (!('msg' in event) || event.msg === undefined) return event;
  return { ...event, msg: Msg.from(event.msg) };
}

/** Whether a value has what all events have. Types of events that this version doesn't know are events. */
function isEvent(value: unknown): value is AgentEvent {
  if (!isJsonObject(value)) return false;
  const { type, runId, replyId, seq, agentPath } = value;
  const isPlaced = typeof seq === 'number' && Array.isArray(agentPath);
  return isPlaced && [type, runId, replyId].every((one) => typeof one === 'string');
}

function failure(problem: string): TroupeError {
  return new TroupeError('stream_failed', problem);
}
