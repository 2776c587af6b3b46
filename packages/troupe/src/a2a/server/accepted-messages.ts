import { createHash } from 'node:crypto';

import { Message } from '@a2a-js/sdk';

interface Accepted {
  readonly content: string;
  /** The id of the task that it began, or went on with. */
  readonly taskId: Promise<string>;
}

/** How many messages are remembered. */
const MAX_MESSAGES = 10_000;

/** What was accepted lately. A client that did not hear of it sends the same message again, and means the same task. */
export class AcceptedMessages {
  readonly #messages = new Map<string, Accepted>();

  /** The id of the task that this very message was accepted for. @param key whose it is, and its id */
  taskOf(key: string, message: Message): Promise<string> | undefined {
    const known = this.#messages.get(key);
    return known?.content === contentOf(message) ? known.taskId : undefined;
  }

  /** Remembers a message that is being accepted, unless it is refused. */
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
  const text = JSON.stringify(Message.toJSON(message));
  return createHash('sha256').update(text).digest('base64');
}
