import type { Msg } from '../../message/msg.ts';

/** Content of a resource: text, or bytes. */
export type McpResourceContent = string | Uint8Array;

/** Context of a request for a resource or prompt. */
export interface McpReadContext {
  /** Aborted when the client cancels its request or disconnects. */
  readonly signal: AbortSignal;
}

/**
 * Suggests values of an argument, best first.
 * @param value the first characters of the value
 * @param others values of other arguments that the client knows
 */
export type McpComplete = (
  value: string,
  others: Readonly<Record<string, string>>,
) => readonly string[] | Promise<readonly string[]>;

interface ResourceDescription {
  readonly name: string;
  readonly title?: string;
  readonly description?: string;
  /** @default 'text/plain' for text, 'application/octet-stream' for bytes */
  readonly mimeType?: string;
}

/** Resource that a server offers. */
export interface McpServedResource extends ResourceDescription {
  readonly uri: string;
  readonly read: (context: McpReadContext) => McpResourceContent | Promise<McpResourceContent>;
}

/** Resources of a server under a pattern of addresses, such as `notes://{day}/{topic}`. */
export interface McpServedTemplate extends ResourceDescription {
  readonly uriTemplate: string;
  /** @param variables the parts of the address, as the client wrote them: untrusted */
  readonly read: (
    uri: string,
    variables: Readonly<Record<string, string>>,
    context: McpReadContext,
  ) => McpResourceContent | Promise<McpResourceContent>;
  /** Suggestions for the variables, by name. */
  readonly complete?: Readonly<Record<string, McpComplete>>;
}

export interface McpServedArgument {
  readonly name: string;
  readonly description?: string;
  readonly required?: boolean;
  readonly complete?: McpComplete;
}

/** Prompt that a server offers. */
export interface McpServedPrompt {
  readonly name: string;
  readonly title?: string;
  readonly description?: string;
  readonly arguments?: readonly McpServedArgument[];
  /** Makes the messages. A string is one message of the user. */
  readonly get: (
    args: Readonly<Record<string, string>>,
    context: McpReadContext,
  ) => string | readonly Msg[] | Promise<string | readonly Msg[]>;
}

/** Change that clients are told about. `resource` is the address of a resource with new content. */
export type ContentChange = 'resources' | 'prompts' | { readonly resource: string };

/** Resources and prompts of a server, shared by all clients. */
export class ServedContent {
  readonly resources = new Map<string, McpServedResource>();
  readonly templates: readonly McpServedTemplate[];
  readonly prompts = new Map<string, McpServedPrompt>();
  readonly #offersResources: boolean;
  readonly #offersPrompts: boolean;
  readonly #listeners = new Set<(change: ContentChange) => void>();

  constructor(
    resources: readonly McpServedResource[] | undefined,
    templates: readonly McpServedTemplate[] | undefined,
    prompts: readonly McpServedPrompt[] | undefined,
  ) {
    for (const resource of resources ?? []) this.resources.set(resource.uri, resource);
    for (const prompt of prompts ?? []) this.prompts.set(prompt.name, prompt);
    this.templates = templates ?? [];
    this.#offersResources = resources !== undefined || templates !== undefined;
    this.#offersPrompts = prompts !== undefined;
  }

  /** Whether clients are told that there are resources; an empty list given to the server counts. */
  get hasResources(): boolean {
    return this.#offersResources || this.resources.size > 0;
  }

  get hasPrompts(): boolean {
    return this.#offersPrompts || this.prompts.size > 0;
  }

  /** Adds a listener. The returned function removes it. */
  onChange(listener: (change: ContentChange) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  tell(change: ContentChange): void {
    for (const listener of this.#listeners) listener(change);
  }
}
