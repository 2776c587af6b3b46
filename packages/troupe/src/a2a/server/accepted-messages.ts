import { createHash } from 'node:crypto';

import type { Message } from '@a2a-js/sdk';

import { a2aSdk } from '../protocol/sdk.ts';

interface Accepted {
  readonly content: string;
  /** Id of the task that the message started or continued. */
  readonly taskId: Promise<string>;
}

/** Maximum remembered messages. */
const MAX_MESSAGES = 10_000;

/**
 * Recently accepted messages. A client that missed the answer sends the same message again, and gets the same
 * task.
 */
export class AcceptedMessages {
  readonly #messages = new Map<string, Accepted>();

  /** Id of the task for which this message was accepted. @param key user and message id */
  taskOf(key: string, message: Message): Promise<string> | undefined {
    const known = this.#messages.get(key);
    return known?.content === contentOf(message) ? known.taskId : undefined;
  }

  /** Remembers a message while being accepted; a refused message is forgotten. */
  add(key: string, message: Message, taskId: Promise<string>): void {
    const accepted = { content: contentOf(message), taskId };
    this.#messages.delete(key);
    this.#messages.set(key, accepted);
    taskId.catch(() => this.#messages.get(key) === accepted && this.#messages.delete(key));
    for (const oldest of this.#messages.keys()) {
      if (this.#messages.size <= MAX_MESSAGES) break;
      this.#messages.delete(oldest);
    }
  }
}

function contentOf(message: Message): string {
  const text = JSON.stringify(a2aSdk.Message.toJSON(message));
  return createHash('sha256').update(text).digest('base64');
}
