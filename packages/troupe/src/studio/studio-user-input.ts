import { getLogger, getRunConfig, type RunConfig } from '../config/run-config.ts';
import { TroupeError } from '../errors.ts';
import { UserInputBase, type UserInputData, type UserInputRequest } from '../user/user-input.ts';
import { problemText } from '../user/user-form.ts';
import { whenAborted } from '../util/abort.ts';
import { checkNumber, MAX_TIMER_MS } from '../util/check-number.ts';
import { startTimer } from '../util/clock.ts';
import { newId } from '../util/ids.ts';
import { copyJson, copyJsonObject, type JsonObject } from '../util/json.ts';
import { toJsonSchema, validateWith } from '../util/schema.ts';
import { holdProgram } from '#background-http';
import { AgentScopeAnswers, type AgentScopeReply } from './agentscope-answers.ts';
import { AgentScopeApi } from './agentscope-api.ts';
import { fromAgentScopeBlocks } from './agentscope-blocks.ts';

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

/**
 * Asks a person in AgentScope's Studio. A Studio that is away or restarted is asked again, with growing pauses, until the answer is there,
 * the time is over or the question is withdrawn. An answer that does not fit its schema is asked for again.
 */
export class StudioUserInput extends UserInputBase {
  readonly #api: AgentScopeApi;
  readonly #runId: string | undefined;
  readonly #timeoutMs: number;
  readonly #answers = new Map<string, AgentScopeAnswers>();

  constructor({ studioUrl, runId, timeoutMs = TIMEOUT_MS, headers = {} }: StudioUserInputOptions) {
    super();
    checkNumber('timeoutMs', timeoutMs, { least: 0, most: MAX_TIMER_MS });
    this.#api = new AgentScopeApi(studioUrl.replace(/\/+$/, ''), headers);
    this.#runId = runId;
    this.#timeoutMs = timeoutMs;
  }

  /** Opens the connection of a run before its first question. The returned function closes it, which ends the run in the Studio. */
  connect(config: RunConfig = getRunConfig()): () => void {
    const answers = this.#answersOf(config);
    answers.open();
    return () => answers.close();
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
  #askOnce(request: UserInputRequest, signal: AbortSignal): Promise<AgentScopeReply> {
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
    return this.#answersOf({ ...config, runId }).ask(requestId, input, signal);
  }

  /** Questions of one run, which share a connection. Runs without questions are forgotten when there are many. */
  #answersOf(config: RunConfig): AgentScopeAnswers {
    const known = this.#answers.get(config.runId);
    if (known !== undefined) return known;
    for (const [runId, { isIdle }] of this.#answers) if (isIdle) this.#answers.delete(runId);
    const answers = new AgentScopeAnswers(this.#api, config);
    this.#answers.set(config.runId, answers);
    return answers;
  }
}
