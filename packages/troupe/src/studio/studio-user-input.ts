import { getLogger, getRunConfig } from '../config/run-config.ts';
import { TroupeError } from '../errors.ts';
import { UserInputBase, type UserInputData, type UserInputRequest } from '../user/user-input.ts';
import { problemText } from '../user/user-form.ts';
import { whenAborted } from '../util/abort.ts';
import { checkNumber, MAX_TIMER_MS } from '../util/check-number.ts';
import { startTimer } from '../util/clock.ts';
import { newId } from '../util/ids.ts';
import { copyJson, copyJsonObject, type JsonObject } from '../util/json.ts';
import { redactedMessage } from '../util/redaction/redacted-text.ts';
import { toJsonSchema, validateWith } from '../util/schema.ts';
import { holdProgram } from '#background-http';
import { AgentScopeApi, AgentScopeApiError } from './agentscope-api.ts';
import { fromAgentScopeBlocks } from './agentscope-blocks.ts';
import { listenToSocketIo } from './socket-io-client.ts';
import { waitBeforeRetry } from './studio-link.ts';

export interface StudioUserInputOptions {
  /** Address of AgentScope's Studio, or of a Studio of troupe that takes AgentScope programs. */
  readonly studioUrl: string;
  /** @default the id of the run configuration */
  readonly runId?: string | undefined;
  /** Maximum time for an answer. @default 30 minutes */
  readonly timeoutMs?: number | undefined;
  /** Headers of each request, such as `authorization`. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
}

const TIMEOUT_MS = 30 * 60_000;

/** An answer of a person: blocks of AgentScope, and data. */
type Answer = readonly [blocks: unknown, structured: unknown];

/**
 * Asks a person in AgentScope's Studio. A Studio that is away or restarted is asked again, with growing pauses, until the answer is there,
 * the time is over or the question is withdrawn. An answer that does not fit its schema is asked for again.
 */
export class StudioUserInput extends UserInputBase {
  readonly #api: AgentScopeApi;
  readonly #runId: string | undefined;
  readonly #timeoutMs: number;

  constructor({ studioUrl, runId, timeoutMs = TIMEOUT_MS, headers = {} }: StudioUserInputOptions) {
    super();
    checkNumber('timeoutMs', timeoutMs, { least: 0, most: MAX_TIMER_MS });
    this.#api = new AgentScopeApi(studioUrl.replace(/\/+$/, ''), headers);
    this.#runId = runId;
    this.#timeoutMs = timeoutMs;
  }

  async ask(request: UserInputRequest): Promise<UserInputData> {
    const stopped = new AbortController();
    const unlink = whenAborted(request.signal, (reason) => stopped.abort(reason));
    const tooLate = (): void =>
      stopped.abort(
        new TroupeError(
          'input_ended',
          `Nobody answered ${request.agentName} in the Studio in ${this.#timeoutMs} ms.`,
        ),
      );
    const cancel = startTimer(this.#timeoutMs, tooLate);
    const release = holdProgram();
    try {
      for (;;) {
        const [blocks, structured] = await this.#askOnce(request, stopped.signal);
        const content = fromAgentScopeBlocks(copyJson(blocks, 'the answer'));
        if (request.structuredModel === undefined) return { content };
        const checked = await validateWith(request.structuredModel, structured ?? {});
        if (checked.ok)
          return { content, structured: copyJsonObject(checked.value, 'the structured answer') };
        const problems = checked.problems.map(problemText).join(' ');
        getLogger().log('warn', `The answer for ${request.agentName} does not fit: ${problems}`);
      }
    } finally {
      cancel();
      unlink();
      release();
      stopped.abort(new Error('The question is over.'));
    }
  }

  /** One question, until it is answered. Connects again as often as needed. */
  async #askOnce(request: UserInputRequest, signal: AbortSignal): Promise<Answer> {
    const config = getRunConfig();
    const runId = this.#runId ?? config.runId;
    const requestId = newId();
    const input: JsonObject = {
      requestId,
      runId,
      agentId: request.agentId,
      agentName: request.agentName,
      structuredInput: request.structuredModel === undefined ? null : toJsonSchema(request.structuredModel),
    };
    for (let attempt = 0; ; attempt++) {
      signal.throwIfAborted();
      const over = new AbortController();
      const unlink = whenAborted(signal, (reason) => over.abort(reason));
      try {
        return await new Promise<Answer>((resolve, reject) => {
          listenToSocketIo({
            url: this.#api.base,
            namespace: '/python',
            auth: { run_id: runId },
            headers: this.#api.headers,
            signal: over.signal,
            onConnect: () => {
              attempt = 0;
              this.#request({ ...config, runId }, input, over.signal).catch(reject);
            },
            onEvent: (name, args) => {
              if (name === 'forwardUserInput' && args[0] === requestId) resolve([args[1], args[2]]);
            },
          }).catch(reject);
        });
      } catch (error) {
        signal.throwIfAborted();
        if (attempt === 0)
          getLogger().log('warn', `The Studio can not be asked: ${redactedMessage(error)}. Trying again.`);
      } finally {
        unlink();
        over.abort(new Error('The attempt is over.'));
      }
      await waitBeforeRetry(attempt, signal);
    }
  }

  /** Sends the question. A Studio that does not know the run, because it was restarted, is told of the run first. */
  async #request(
    config: Parameters<AgentScopeApi['registerRun']>[0],
    input: JsonObject,
    signal: AbortSignal,
  ): Promise<void> {
    try {
      await this.#api.call('requestUserInput', input, signal);
    } catch (error) {
      if (!(error instanceof AgentScopeApiError) || error.status !== 400) throw error;
      await this.#api.registerRun(config, signal);
      await this.#api.call('requestUserInput', input, signal);
    }
  }
}
