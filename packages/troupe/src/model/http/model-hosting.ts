import type { AnswerFraming } from './answer-framing.ts';
import type { WireCall } from './http-chat-model.ts';

/**
 * Platform that hosts the models of a vendor: it has its own addresses and its own way to sign in, and the
 * requests of the vendor in a form of its own.
 */
export interface ModelHosting {
  /** Name of the platform in errors. */
  readonly title: string;
  readonly baseUrl: string;
  /** Path of a model call. @throws TroupeError if the platform does not host the vendor */
  path(publisher: 'anthropic' | 'google', modelName: string, isStreamed: boolean): string;
  /** Form of Anthropic's requests. */
  readonly anthropic: {
    /** Value of `anthropic_version` in the body. */
    readonly version: string;
    /** Whether the body says if the answer is streamed; otherwise, the path alone does. */
    readonly hasStreamField: boolean;
    /** Place of the names of beta features. */
    readonly betas: 'header' | 'body';
  };
  /** Header of the service tier, which is not in the body. */
  readonly tierHeader: string;
  /** Adds what the platform needs to let the request in. Asked before each request. */
  sign(call: WireCall, signal: AbortSignal): Promise<WireCall>;
  /** Splits a streamed answer into events. @default server-sent events */
  readonly newFraming?: () => AnswerFraming;
}
