import { getLogger, getRunConfig, type RunConfig } from '../config/run-config.ts';
import { InputEndedError, TroupeError } from '../errors.ts';
import { UserAgent } from '../user/user-agent.ts';
import { UserInputBase, type UserInputData, type UserInputRequest } from '../user/user-input.ts';
import { whenAborted } from '../util/abort.ts';
import { startTimer } from '../util/clock.ts';
import { newId } from '../util/ids.ts';
import { redactedMessage } from '../util/redaction/redacted-text.ts';
import { holdProgram, onProgramEnd, programFacts, savedStudioToken } from '#background-http';
import { readEnv } from '#platform';
import { AgentScopeLink } from './agentscope-link.ts';
import { backgroundDeadline } from './background-deadline.ts';
import { ItemBuffer, type ItemBufferOptions } from './item-buffer.ts';
import { PROGRAM_PROTOCOL, type ProgramItem } from './program-protocol.ts';
import { StudioLink, waitBeforeRetry } from './studio-link.ts';
import { StudioProgram } from './studio-program.ts';

export interface StudioConnectionOptions extends ItemBufferOptions {
  /** Address of the Studio, such as `http://127.0.0.1:4477`. A fragment `#t=…` is the token. */
  readonly studioUrl: string;
  /** @default the token in the address, in `TROUPE_STUDIO_TOKEN`, or in the file of a Studio of this user on this machine */
  readonly studioToken?: string | undefined;
}

const FLUSH_DELAY_MS = 40;
const FLUSH_LIMIT_MS = 2000;

/**
 * The connection of this program to a Studio: of troupe or of AgentScope, whichever answers. Events go out in the background through a
 * bounded buffer. A Studio that is down, slow or full fails and slows nothing: the connection is made again and again, and dropped items
 * are counted. The program may end at any time; at its natural end the buffer is sent first, for two seconds at most.
 */
export class StudioConnection {
  readonly base: string;
  readonly program: StudioProgram;
  readonly #options: StudioConnectionOptions;
  readonly #buffer: ItemBuffer;
  readonly #closed = new AbortController();
  readonly #runConfig: RunConfig;
  readonly #forget: (() => void)[] = [];
  #link: { wake(): void; flush(): Promise<void> } | undefined;
  #release: (() => void) | undefined;
  #isFlushPlanned = false;
  #agentScope: AgentScopeLink | undefined;
  /** Input of a Studio of this process, which sees all agents without this connection. */
  #local: UserInputBase | undefined;
  /** Resolves with the first answer from the address, which names the kind of server there. */
  readonly #greeted = Promise.withResolvers<void>();

  /** @throws TroupeError if the address is not one of HTTP */
  constructor(options: StudioConnectionOptions) {
    this.base = baseOf(options.studioUrl);
    this.#options = options;
    this.#runConfig = getRunConfig();
    this.#buffer = new ItemBuffer(options);
    this.program = new StudioProgram({
      send: (item, chars) => this.#take(item, chars),
      onQuestions: (isOpen) => this.#hold(isOpen),
    });
    this.program.announceRun(this.#runConfig.runId, this.#runConfig);
    const input = new ConnectionInput(this);
    this.#forget.push(
      UserAgent.overrideClassInputMethod(input),
      onProgramEnd(() => void this.close()),
    );
    this.#greeted.promise.catch(() => {}); // told to questions
    void this.#keepConnected();
  }

  /** Number of items that were dropped and not told yet. */
  get dropped(): number {
    return this.#buffer.dropped;
  }

  /** Asks a person in the Studio. Waits for the Studio, since each kind of Studio is asked in its own way. */
  async ask(request: UserInputRequest): Promise<UserInputData> {
    await this.#untilGreeted(request.signal);
    return this.#local?.ask(request) ?? this.#agentScope?.ask(request) ?? this.program.ask(request);
  }

  /** Rejects with the reason of the signal, or when the connection is closed. */
  async #untilGreeted(signal: AbortSignal | undefined): Promise<void> {
    const over = Promise.withResolvers<never>();
    const stopWatching = whenAborted(signal, over.reject);
    const release = holdProgram();
    try {
      await Promise.race([this.#greeted.promise, over.promise]);
    } finally {
      stopWatching();
      release();
    }
  }

  /** Sends everything so far. Resolves after two seconds at most, also if the Studio does not answer. */
  async flush(): Promise<void> {
    const link = this.#link;
    if (link === undefined) return;
    const { signal, clear } = backgroundDeadline(FLUSH_LIMIT_MS);
    const over = new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()));
    const release = holdProgram();
    try {
      await Promise.race([link.flush(), over]);
    } catch {
      // the Studio is away: items stay in the buffer
    } finally {
      clear();
      release();
    }
  }

  /** Ends the run in the Studio and closes the connection. */
  async close(): Promise<void> {
    if (this.#closed.signal.aborted) return;
    for (const forget of this.#forget.splice(0)) forget();
    for (const runId of this.program.runIds) this.#buffer.add({ runId, kind: 'run_end' });
    await this.flush();
    this.#closed.abort(new Error('The connection to the Studio is closed.'));
    this.#greeted.reject(new InputEndedError('The connection to the Studio was closed.'));
    this.program.close();
    this.#hold(false);
  }

  #take(item: ProgramItem, chars: number): boolean {
    const before = this.#buffer.dropped;
    this.#buffer.add(item, chars);
    this.#planFlush();
    return this.#buffer.dropped === before;
  }

  #planFlush(): void {
    if (this.#isFlushPlanned) return;
    this.#isFlushPlanned = true;
    startTimer(
      FLUSH_DELAY_MS,
      () => {
        this.#isFlushPlanned = false;
        this.#link?.wake();
      },
      true,
    );
  }

  #hold(isOpen: boolean): void {
    this.#release?.();
    this.#release = isOpen ? holdProgram() : undefined;
  }

  async #keepConnected(): Promise<void> {
    const { signal } = this.#closed;
    const link = this.#makeLink();
    let hasWarned = false;
    for (let attempt = 0; !signal.aborted; attempt++) {
      try {
        const greeting = await link.greet();
        if (typeof greeting === 'object') return this.#retire(greeting.local);
        if (greeting === 'refused') throw new Error('the token is missing or wrong');
        if (greeting === 'troupe') {
          attempt = 0;
          hasWarned = false;
          this.#link = link;
          this.#greeted.resolve();
          await link.run();
        } else {
          this.#agentScope ??= new AgentScopeLink({ base: this.base, buffer: this.#buffer, signal });
          this.#link = this.#agentScope;
          this.#greeted.resolve();
          await this.#agentScope.run(this.#runConfig);
        }
      } catch (error) {
        if (signal.aborted) return;
        if (!hasWarned) {
          const problem = redactedMessage(error);
          getLogger().log('warn', `The Studio at ${this.base} can not be reached: ${problem}. Trying again.`);
        }
        hasWarned = true;
      }
      await waitBeforeRetry(attempt, signal).catch(() => {});
    }
  }

  /** Leaves everything to a Studio of this process: what this connection would send is recorded already. */
  #retire(local: UserInputBase): void {
    this.#local = local;
    this.#greeted.resolve();
    for (const forget of this.#forget.splice(0)) forget();
    this.#closed.abort(new Error('The Studio is in this process.'));
    this.program.close();
    this.#hold(false);
  }

  #makeLink(): StudioLink {
    const identity = { id: newId(), library: 'troupe', protocol: PROGRAM_PROTOCOL, ...programFacts() };
    const { program, base } = this;
    const { signal } = this.#closed;
    return new StudioLink({
      base,
      token: () => this.#token(),
      identity,
      program,
      buffer: this.#buffer,
      signal,
    });
  }

  async #token(): Promise<string | undefined> {
    const { studioToken, studioUrl } = this.#options;
    const inUrl = /^#t=(.+)$/.exec(new URL(studioUrl).hash)?.[1];
    return (
      studioToken ??
      inUrl ??
      readEnv('TROUPE_STUDIO_TOKEN') ??
      (await savedStudioToken(new URL(this.base).port))
    );
  }
}

/** The input method of all `UserAgent`s while a connection is open. */
class ConnectionInput extends UserInputBase {
  readonly #connection: StudioConnection;

  constructor(connection: StudioConnection) {
    super();
    this.#connection = connection;
  }

  ask(request: UserInputRequest): Promise<UserInputData> {
    return this.#connection.ask(request);
  }
}

/** The address without fragment, query and slash at the end. @throws TroupeError */
function baseOf(studioUrl: string): string {
  const url = URL.parse(studioUrl);
  if (url === null || !/^https?:$/.test(url.protocol))
    throw new TroupeError(
      'invalid_config',
      'studioUrl must be an address such as http://127.0.0.1:4477, as the Studio prints it.',
    );
  return `${url.origin}${url.pathname.replace(/\/+$/, '')}`;
}
