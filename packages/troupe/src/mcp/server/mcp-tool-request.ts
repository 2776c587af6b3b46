import type { InputRequest, SpecTypes } from '@modelcontextprotocol/server';

import { TroupeError } from '../../errors.ts';
import { Msg } from '../../message/msg.ts';
import type { ToolContext, ToolInput } from '../../toolkit/tool/tool.ts';
import type { JsonObject } from '../../util/json.ts';
import { toJsonSchema, validateWith, type AnySchema } from '../../util/schema.ts';
import { mcpServerSdk } from '../protocol/sdk.ts';
import { readSpecType } from '../protocol/spec-type.ts';
import { toSamplingContent, toSampledMsg } from '../protocol/sampling-content.ts';
import type { ClientSide } from './client-rounds.ts';
import type { ProgressSender } from './progress-sender.ts';

/** Answer of the person at the client: data that has passed the schema, a refusal, or nothing. */
export type McpElicited<T> =
  | { readonly action: 'accept'; readonly content: T }
  | { readonly action: 'decline' | 'cancel' };

export interface McpElicitOptions<S extends AnySchema> {
  readonly message: string;
  /** Form: a flat object of strings, numbers, booleans and choices. */
  readonly schema: S;
}

export interface McpSampleOptions {
  /** The conversation; a string is one message of the user. */
  readonly messages: string | readonly Msg[];
  readonly maxTokens: number;
  readonly sysPrompt?: string;
  readonly temperature?: number;
  readonly stopSequences?: readonly string[];
}

/** Features of a client that a tool may ask for. */
export interface McpClientFeatures {
  readonly elicitation?:
    | { readonly form?: object | undefined; readonly url?: object | undefined }
    | undefined;
  readonly sampling?: object | undefined;
  readonly roots?: object | undefined;
}

/** Parts of a request. `release` ends the HTTP response, where the client can fetch the rest later. */
export interface RequestParts {
  readonly client: ClientSide;
  readonly features: McpClientFeatures;
  readonly progress: ProgressSender;
  readonly release: (() => void) | undefined;
}

/** The client of a tool call that came over MCP: what the tool may ask and tell. Made by `McpServer`; a tool gets it by `mcpRequestOf`. */
export class McpToolRequest {
  readonly #parts: RequestParts;

  constructor(parts: RequestParts) {
    this.#parts = parts;
  }

  /** Whether the client can show forms to a person. */
  get canElicit(): boolean {
    const { elicitation } = this.#parts.features;
    return elicitation !== undefined && (elicitation.form !== undefined || elicitation.url === undefined);
  }

  /** Whether the client can ask a person to visit a page. */
  get canElicitUrl(): boolean {
    return this.#parts.features.elicitation?.url !== undefined;
  }

  /** Whether the client has a model for tools. */
  get canSample(): boolean {
    return this.#parts.features.sampling !== undefined;
  }

  /** Whether the client names folders to work in. */
  get canListRoots(): boolean {
    return this.#parts.features.roots !== undefined;
  }

  /**
   * Asks the person at the client to fill in a form.
   * @throws TroupeError if the client can't ask, fails, or gives an answer that does not fit the schema.
   */
  async elicit<S extends AnySchema>({
    message,
    schema,
  }: McpElicitOptions<S>): Promise<McpElicited<ToolInput<S>>> {
    this.#require(this.canElicit, 'show forms');
    const { $schema: _, ...requestedSchema } = toJsonSchema(schema);
    const params = { mode: 'form', message, requestedSchema };
    const { action, content } = await this.#elicit(params);
    if (action !== 'accept') return { action };
    const checked = await validateWith(schema, content ?? {});
    if (checked.ok) return { action, content: checked.value as ToolInput<S> };
    const problems = checked.problems.map((one) => `${one.path} ${one.message}`).join(', ');
    throw failed(`The client sent an answer that does not fit the form: ${problems}`);
  }

  /**
   * Asks the person at the client to visit a page, e.g. to log in. `accept` says that the person agreed, not that the visit is over.
   * @throws TroupeError if the client can't ask, or fails.
   */
  async elicitUrl(message: string, url: string): Promise<'accept' | 'decline' | 'cancel'> {
    this.#require(this.canElicitUrl, 'ask to visit pages');
    const { action } = await this.#elicit({ mode: 'url', message, url });
    return action;
  }

  /**
   * Asks the client's model. The person at the client may see and change both sides.
   * @throws TroupeError if the client has no model for tools, or refuses.
   */
  async sample({
    messages,
    maxTokens,
    sysPrompt,
    temperature,
    stopSequences,
  }: McpSampleOptions): Promise<Msg> {
    this.#require(this.canSample, 'lend its model');
    const msgs = typeof messages === 'string' ? [Msg.user(messages)] : messages;
    const params = {
      messages: msgs.map(toSamplingContent),
      maxTokens,
      ...(sysPrompt !== undefined && { systemPrompt: sysPrompt }),
      ...(temperature !== undefined && { temperature }),
      ...(stopSequences !== undefined && { stopSequences: [...stopSequences] }),
    };
    const answer = await this.#ask({ method: 'sampling/createMessage', params });
    const read = readSpecType(mcpServerSdk.specTypeSchemas.CreateMessageResult, answer);
    if (read === undefined) throw failed('The client sent an answer that is no message');
    return toSampledMsg(read);
  }

  /** Lists the folders that the client wants to be worked in. Empty if it names none. @throws TroupeError if the client fails. */
  async listRoots(): Promise<readonly { readonly uri: string; readonly name?: string | undefined }[]> {
    if (!this.canListRoots) return [];
    const answer = await this.#ask({ method: 'roots/list' });
    const read = readSpecType(mcpServerSdk.specTypeSchemas.ListRootsResult, answer);
    if (read === undefined) throw failed('The client sent a list of roots that is not readable');
    return read.roots;
  }

  /** Sends a log entry, if its level is at least the one that the client has set. */
  async log(level: SpecTypes['LoggingLevel'], data: unknown, logger?: string): Promise<void> {
    // oxlint-disable-next-line typescript/no-deprecated -- part of the protocol for at least another year
    await this.#parts.client.request.log(level, data, logger);
  }

  /** Tells how far the tool call is, to a client that asked for progress. From then on, snapshots are no longer sent. */
  async progress(progress: number, total?: number, message?: string): Promise<void> {
    await this.#parts.progress.send(progress, total, message);
  }

  /**
   * Ends the HTTP response of a long tool call, which runs on. The client connects again for the result. Without effect where
   * there is no such response.
   */
  releaseConnection(): void {
    this.#parts.release?.();
  }

  async #elicit(params: JsonObject): Promise<{ action: 'accept' | 'decline' | 'cancel'; content?: unknown }> {
    const answer = await this.#ask({ method: 'elicitation/create', params } as InputRequest);
    const read = readSpecType(mcpServerSdk.specTypeSchemas.ElicitResult, answer);
    if (read === undefined) throw failed('The client sent an answer that is not readable');
    return read;
  }

  async #ask(request: InputRequest): Promise<unknown> {
    try {
      return await this.#parts.client.ask(request);
    } catch (error) {
      if (TroupeError.isInstance(error)) throw error;
      throw failed(`The client failed at ${request.method}`, error);
    }
  }

  #require(isAble: boolean, what: string): void {
    if (!isAble) throw failed(`The client can't ${what}`);
  }
}

/** The client of the tool call, if the tool call came over MCP. */
export function mcpRequestOf({ context }: Pick<ToolContext, 'context'>): McpToolRequest | undefined {
  return context instanceof McpToolRequest ? context : undefined;
}

function failed(problem: string, cause?: unknown): TroupeError {
  return new TroupeError('mcp_failed', `${problem}.`, { cause });
}
