import type {
  Client,
  ClientCapabilities,
  ClientContext,
  ElicitRequest,
  ElicitResult,
} from '@modelcontextprotocol/client';

import type { Turn } from '../../../agent/turn/turn.ts';
import { checkedAnswer } from '../../../approval/answers.ts';
import { getLogger } from '../../../config/run-config.ts';
import { messageOf } from '../../../errors.ts';
import type { UserQuestion } from '../../../message/user-question.ts';
import { whenAborted } from '../../../util/abort.ts';
import { DeadlineError, withDeadline, type UntimedWait } from '../../../util/async/deadline.ts';
import { isJsonObject, setOwn, type JsonObject } from '../../../util/json.ts';
import { createAsyncScope } from '#platform';
import { mcpClientSdk } from '../../protocol/sdk.ts';
import { readSpecType } from '../../protocol/spec-type.ts';
import {
  answerSampling,
  readSampling,
  type McpSamplingOptions,
  type SamplingParams,
  type SamplingResult,
} from './mcp-sampling.ts';
import type { McpRoot } from '../mcp-transport.ts';
import {
  ALLOW,
  samplingQuestion,
  toServerQuestion,
  type McpAnswer,
  type McpQuestionHandler,
} from './server-question.ts';

/** Requests of a server that the client answers. Folder `mcp/client/requests`: start here. */
export interface ServerRequestOptions {
  /** Name of the client, for the person who is asked. */
  readonly name: string;
  readonly elicitation: 'ask' | false | McpQuestionHandler;
  readonly sampling: McpSamplingOptions | undefined;
  readonly roots: readonly McpRoot[] | undefined;
  readonly questionTimeoutMs: number;
}

/** A tool call at the server. */
export interface AskableToolCall {
  /** Puts a question to the person behind the tool call. */
  readonly onQuestion: McpQuestionHandler | undefined;
  /** Pauses the time limit of the tool call. */
  readonly untimed: UntimedWait;
  /** The agent call that pays for the model; undefined outside of one. */
  readonly turn: () => Turn | undefined;
}

interface RunningToolCall extends AskableToolCall {
  questions: number;
  samplings: number;
  /** Aborted when the tool call is over, also for a server that still waits for an answer. */
  readonly over: AbortSignal;
}

/** Maximum questions during one tool call; further ones are cancelled. */
const MAX_QUESTIONS = 20;
const CANCEL: McpAnswer = { action: 'cancel' };

/**
 * Requests of a server to its client: questions to a person, use of the model, and folders. A question belongs to the tool call on
 * whose response it came, or else to the only one that the server has not answered; where neither is known, the question is
 * cancelled, because another person could see it.
 */
export class ServerRequests {
  readonly #options: ServerRequestOptions;
  readonly #running = new Set<RunningToolCall>();
  readonly #scope = createAsyncScope<RunningToolCall>();
  /** Whether a tool call ended without an answer of the server, which may still ask for it. */
  #mayAskLate = false;

  constructor(options: ServerRequestOptions) {
    this.#options = options;
  }

  get capabilities(): ClientCapabilities {
    const { elicitation, sampling, roots } = this.#options;
    return {
      ...(elicitation !== false && { elicitation: { form: {}, url: {} } }),
      ...(sampling !== undefined && { sampling: {} }),
      ...(roots !== undefined && { roots: {} }),
    };
  }

  /** Adds the handlers of requests that the client has declared. */
  install(client: Client): void {
    const { elicitation, sampling, roots } = this.#options;
    if (elicitation !== false)
      client.setRequestHandler('elicitation/create', ({ params }, { mcpReq }) =>
        this.#elicit(params, mcpReq.signal),
      );
    if (sampling !== undefined)
      client.setRequestHandler('sampling/createMessage', ({ params }, context) =>
        this.#sample(params, sampling, context),
      );
    if (roots !== undefined)
      client.setRequestHandler('roots/list', () => ({ roots: roots.map((root) => ({ ...root })) }));
  }

  /** Runs a tool call at the server, and connects questions of the server with the tool call. */
  async run<T>(askable: AskableToolCall, work: () => Promise<T>): Promise<T> {
    const end = new AbortController();
    const call: RunningToolCall = { ...askable, questions: 0, samplings: 0, over: end.signal };
    this.#running.add(call);
    try {
      return await this.#scope.run(call, () => this.#afterVisits(call, work));
    } catch (error) {
      this.#mayAskLate ||= !(error instanceof mcpClientSdk.ProtocolError);
      throw error;
    } finally {
      this.#running.delete(call);
      end.abort();
    }
  }

  /** Repeats a tool call that the server refused until a person has been to its pages. The refused one has had no effect. */
  async #afterVisits<T>({ over }: RunningToolCall, work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      const pages = this.#options.elicitation === false ? [] : requiredPages(error);
      if (pages.length === 0) throw error;
      for (const page of pages) if ((await this.#elicit(page, over)).action !== 'accept') throw error;
      return work();
    }
  }

  /** The tool call that a request belongs to. Undefined for one that may belong to a tool call that is over. */
  #current(): RunningToolCall | undefined {
    const exact = this.#scope.getStore();
    if (exact !== undefined) return this.#running.has(exact) ? exact : undefined;
    const [only, ...others] = this.#running;
    return others.length === 0 && !this.#mayAskLate ? only : undefined;
  }

  async #elicit(params: ElicitRequest['params'], signal: AbortSignal): Promise<ElicitResult> {
    let question: UserQuestion;
    try {
      question = toServerQuestion(this.#options.name, params);
    } catch (error) {
      getLogger().log('warn', `${this.#options.name} asked what can't be shown: ${messageOf(error)}`);
      return { action: 'cancel' };
    }
    const { elicitation } = this.#options;
    const handler = typeof elicitation === 'function' ? elicitation : undefined;
    const answer = await this.#ask(question, handler, this.#current(), signal);
    if (answer.action !== 'accept') return { action: answer.action };
    if (params.mode === 'url') return { action: 'accept' };
    const content = question.schema === undefined ? {} : await checkedAnswer(question, answer.content ?? {});
    return { action: 'accept', content: isJsonObject(content) ? toFormContent(content) : {} };
  }

  async #sample(
    params: SamplingParams,
    sampling: McpSamplingOptions,
    { mcpReq }: ClientContext,
  ): Promise<SamplingResult> {
    const { maxRequests = 5, approval = 'ask' } = sampling;
    const call = this.#current();
    if (call === undefined) throw refused('The model is only there during a tool call');
    call.samplings += 1;
    if (call.samplings > maxRequests)
      throw refused(`The model answers at most ${maxRequests} times during a tool call`);
    try {
      const request = readSampling(params, sampling);
      if (approval === 'ask') {
        const question = samplingQuestion(this.#options.name, request.shown);
        const answer = await this.#ask(question, undefined, call, mcpReq.signal);
        if (answer.action !== 'accept' || answer.content !== ALLOW)
          throw new Error('the user did not allow it');
      }
      const turn = call.turn();
      // a step, so that the budgets around the tool call count the model call too, and may refuse it
      await turn?.step({ kind: 'model', name: `sampling for ${this.#options.name}` }, async () => null);
      return await untilOver(call, mcpReq.signal, (signal) =>
        answerSampling(request, params, sampling, { signal, onUsage: (usage) => turn?.addUsage(usage) }),
      );
    } catch (error) {
      throw refused(`The model was not asked: ${messageOf(error)}`);
    }
  }

  /** Puts a question to a handler, or to the person behind the tool call. Without either, and when the time is over, it is cancelled. */
  async #ask(
    question: UserQuestion,
    handler: McpQuestionHandler | undefined,
    call: RunningToolCall | undefined,
    requestSignal: AbortSignal,
  ): Promise<McpAnswer> {
    const ask = handler ?? call?.onQuestion;
    if (call === undefined && handler === undefined && this.#running.size > 0) this.#warn();
    if (call !== undefined) call.questions += 1;
    if (ask === undefined || (call !== undefined && call.questions > MAX_QUESTIONS)) return CANCEL;
    const { questionTimeoutMs: timeoutMs } = this.#options;
    return untilOver(call, requestSignal, async (signal) => {
      const asked = withDeadline({ timeoutMs, signal }, async (stop) => ask(question, { signal: stop }));
      try {
        return await (call === undefined ? asked : call.untimed(asked));
      } catch (error) {
        if (error instanceof DeadlineError || signal.aborted) return CANCEL;
        throw error;
      }
    });
  }

  #warn(): void {
    const reason = this.#mayAskLate
      ? 'after a tool call that ended without its answer'
      : 'while several of its tool calls ran';
    const advice = 'Let it have one tool call at a time, or make the client with stateful: false.';
    getLogger().log('warn', `${this.#options.name} asked ${reason}. ${advice}`);
  }
}

/** Pages that a server names in its refusal of a tool call. Empty for other errors. */
function requiredPages(error: unknown): readonly ElicitRequest['params'][] {
  const { ProtocolError, ProtocolErrorCode, specTypeSchemas } = mcpClientSdk;
  const isRefusal = error instanceof ProtocolError && error.code === ProtocolErrorCode.UrlElicitationRequired;
  const { elicitations } = isRefusal && isJsonObject(error.data) ? error.data : {};
  return (Array.isArray(elicitations) ? elicitations : []).map((one: unknown) => {
    const read = readSpecType(specTypeSchemas.ElicitRequestURLParams, one);
    if (read !== undefined) return read;
    throw error;
  });
}

/** Works with a signal that is aborted when the server withdraws its request, or the tool call is over. */
async function untilOver<T>(
  call: RunningToolCall | undefined,
  request: AbortSignal,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const stop = new AbortController();
  const links = [request, call?.over].map((one) => whenAborted(one, (reason) => stop.abort(reason)));
  try {
    return await work(stop.signal);
  } finally {
    for (const unlink of links) unlink();
  }
}

/** Values of a form, as the protocol has them. */
function toFormContent(content: JsonObject): NonNullable<ElicitResult['content']> {
  const values: NonNullable<ElicitResult['content']> = {};
  for (const [key, value] of Object.entries(content)) {
    if (Array.isArray(value)) setOwn(values, key, value.map(String));
    else if (typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean')
      setOwn(values, key, value);
  }
  return values;
}

function refused(problem: string): Error {
  return new mcpClientSdk.ProtocolError(mcpClientSdk.ProtocolErrorCode.InvalidRequest, `${problem}.`);
}
