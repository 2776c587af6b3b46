import { isJsonObject, readJson } from '../util/json.ts';
import { readAnswer } from '../util/net/background-http.ts';
import { requestInBackground } from '#background-http';
import { backgroundDeadline } from './background-deadline.ts';

export interface SocketIoOptions {
  /** Address of the server. Its path does not count. */
  readonly url: string;
  readonly namespace: string;
  readonly auth: Readonly<Record<string, string>>;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** Called once when the namespace has accepted the client. */
  readonly onConnect: () => void;
  readonly onEvent: (name: string, args: readonly unknown[]) => void;
  readonly signal: AbortSignal;
}

const SEPARATOR = '\x1e';
const MAX_CHARS = 32 * 1024 * 1024;
const GOODBYE_MS = 2000;

/**
 * Receives the events of one namespace of a socket.io server (protocol 5, engine.io 4) by long polling: plain requests, which every server
 * of the protocol answers, and which do not keep the program running. Rejects when the connection ends.
 */
export async function listenToSocketIo(options: SocketIoOptions): Promise<never> {
  const { namespace, auth } = options;
  const { origin } = new URL(options.url);
  const address = (sid?: string): string =>
    `${origin}/socket.io/?EIO=4&transport=polling${sid === undefined ? '' : `&sid=${encodeURIComponent(sid)}`}`;
  const post = async (sid: string, body: string): Promise<void> => {
    await exchange(options, 'POST', address(sid), body);
  };

  const open = readJson((await exchange(options, 'GET', address())).replace(/^0/, ''));
  const sid = isJsonObject(open) ? open['sid'] : undefined;
  if (typeof sid !== 'string') throw new Error('the server does not speak socket.io');
  try {
    await post(sid, `40${namespace},${JSON.stringify(auth)}`);
    return await receive(
      options,
      () => exchange(options, 'GET', address(sid)),
      (body) => post(sid, body),
    );
  } finally {
    // Between two requests, the server would notice the end only after its time for pings.
    const { signal, clear } = backgroundDeadline(GOODBYE_MS);
    exchange({ ...options, signal }, 'POST', address(sid), `41${namespace},`).then(clear, clear);
  }
}

/** Reads packets until the connection ends. */
async function receive(
  { namespace, onConnect, onEvent }: SocketIoOptions,
  poll: () => Promise<string>,
  post: (body: string) => Promise<void>,
): Promise<never> {
  for (;;) {
    const packets = (await poll()).split(SEPARATOR);
    for (const packet of packets) {
      if (packet === '2') await post('3');
      else if (packet === '1' || packet.startsWith('41')) throw new Error('the server closed the connection');
      else if (packet.startsWith(`44${namespace},`)) throw new Error('the server refused the connection');
      else if (packet.startsWith(`40${namespace}`)) onConnect();
      else if (packet.startsWith(`42${namespace},`)) {
        // an acknowledgement number may stand before the list
        const args = readJson(packet.slice(namespace.length + 3).replace(/^\d*/, ''));
        const [name, ...rest] = Array.isArray(args) ? (args as readonly unknown[]) : [];
        if (typeof name === 'string') onEvent(name, rest);
      }
    }
  }
}

async function exchange(
  { headers, signal }: SocketIoOptions,
  method: 'GET' | 'POST',
  url: string,
  body?: string,
): Promise<string> {
  const answer = await requestInBackground(url, {
    method,
    headers: { ...headers, ...(body !== undefined && { 'content-type': 'text/plain;charset=UTF-8' }) },
    body,
    signal,
  });
  const text = await readAnswer(answer, MAX_CHARS);
  if (answer.status !== 200) throw new Error(`status ${answer.status}`);
  return text;
}
