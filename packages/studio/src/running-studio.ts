import type { Studio } from './start-studio.ts';

interface Addresses {
  readonly origin: string;
  readonly token: string;
  readonly agentscopeUrl: string;
}

/** A Studio that runs. Its token and its keys can be read, and are not shown when it is logged, inspected or turned into JSON. */
export class RunningStudio implements Studio {
  readonly url: string;
  readonly close: () => Promise<void>;
  readonly #token: string;
  readonly #agentscopeUrl: string;

  constructor({ origin, token, agentscopeUrl }: Addresses, close: () => Promise<void>) {
    this.url = origin;
    this.#token = token;
    this.#agentscopeUrl = agentscopeUrl;
    let closing: Promise<void> | undefined;
    this.close = () => (closing ??= close());
  }

  get token(): string {
    return this.#token;
  }

  get loginUrl(): string {
    return `${this.url}/#t=${this.#token}`;
  }

  get agentscopeUrl(): string {
    return this.#agentscopeUrl;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }
}
