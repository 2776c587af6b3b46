import { messageOf, TroupeError } from '../../errors.ts';
import { abortable, whenAborted } from '../../util/abort.ts';
import { startTimer } from '../../util/clock.ts';
import type { Fetch } from '../../util/net/http.ts';
import { A2AError } from '../protocol/a2a-error.ts';
import type { AgentCardResolver, FoundCard } from './agent-card-resolver.ts';
import { MAX_CARD_BYTES, readCard } from './file-agent-card-resolver.ts';
import { limitedFetch, type A2AHeaders } from './limited-fetch.ts';

export interface WellKnownAgentCardResolverOptions {
  /** Path of the card, relative to the address. @default '/.well-known/agent-card.json' */
  readonly path?: string;
  /** Sent only to this address. */
  readonly headers?: A2AHeaders;
  /** Time limit in milliseconds. @default 30 s */
  readonly timeoutMs?: number;
}

const PATH = '/.well-known/agent-card.json';
const TIMEOUT_MS = 30_000;

/**
 * Fetches the card from the agent's server, at the path that the protocol defines. The address comes from
 * you, so it may be private.
 */
export class WellKnownAgentCardResolver implements AgentCardResolver {
  readonly #url: URL;
  readonly #options: WellKnownAgentCardResolverOptions;

  /** @throws TroupeError unless the address is http or https. */
  constructor(baseUrl: string, options: WellKnownAgentCardResolverOptions = {}) {
    const url = URL.parse(options.path ?? PATH, baseUrl);
    if (url === null || !/^https?:$/.test(url.protocol)) {
      const advice = `new WellKnownAgentCardResolver('https://agent.example')`;
      throw new TroupeError('invalid_config', `An agent card needs an http or https address: ${advice}.`);
    }
    this.#url = url;
    this.#options = options;
  }

  async resolve(signal: AbortSignal): Promise<FoundCard> {
    const { headers, timeoutMs = TIMEOUT_MS } = this.#options;
    const { origin } = this.#url;
    const stop = new AbortController();
    const unlink = whenAborted(signal, (reason) => stop.abort(reason));
    const problem = `${origin} gave no agent card within ${timeoutMs} ms.`;
    const stopTimer = startTimer(timeoutMs, () => stop.abort(new A2AError('timed_out', problem)));
    try {
      const get = limitedFetch({ origins: [origin], headers, maxBytes: MAX_CARD_BYTES });
      const text = await abortable(this.#read(get, stop.signal), stop.signal);
      return { card: readCard(text), origin };
    } catch (error) {
      if (stop.signal.aborted) throw stop.signal.reason;
      if (A2AError.isInstance(error)) throw error;
      throw new A2AError('bad_card', `The agent card of ${origin} is not valid: ${messageOf(error)}.`);
    } finally {
      unlink();
      stopTimer();
    }
  }

  async #read(get: Fetch, signal: AbortSignal): Promise<string> {
    const headers = { accept: 'application/json', 'a2a-version': '1.0' };
    const response = await get(this.#url, { headers, signal });
    if (response.ok) return response.text();
    await response.body?.cancel();
    throw new A2AError('refused', `${this.#url.origin} answered with the HTTP status ${response.status}.`);
  }
}
