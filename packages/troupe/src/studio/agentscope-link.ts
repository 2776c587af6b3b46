import { getLogger, type RunConfig } from '../config/run-config.ts';
import { ConversationView } from '../event/conversation-view.ts';
import type { MsgView } from '../event/msg-fold.ts';
import type { UserInputData, UserInputRequest } from '../user/user-input.ts';
import { timestamp } from '../util/clock.ts';
import { copyJsonObject } from '../util/json.ts';
import { redactedMessage } from '../util/redaction/redacted-text.ts';
import { AgentScopeApi, AgentScopeApiError, agentScopeTime } from './agentscope-api.ts';
import { toAgentScopeBlocks } from './agentscope-blocks.ts';
import type { ItemBuffer } from './item-buffer.ts';
import type { ProgramItem } from './program-protocol.ts';
import { StudioUserInput } from './studio-user-input.ts';

export interface AgentScopeLinkOptions {
  readonly base: string;
  readonly buffer: ItemBuffer;
  readonly signal: AbortSignal;
}

/** Messages of one agent call so far, and the forms sent last. */
interface Conversation {
  readonly view: ConversationView;
  readonly sent: Map<string, MsgView>;
  /** Whether the agent call is over. */
  isOver: boolean;
}

const BATCH_CHARS = 1_000_000;

/**
 * The connection to a Studio of AgentScope: registers the run, and sends each message whenever it has grown, under the same id. Only the
 * latest form of a message is sent, so that a slow Studio gets fewer forms, not old ones.
 */
export class AgentScopeLink {
  readonly #api: AgentScopeApi;
  readonly #options: AgentScopeLinkOptions;
  readonly #input: StudioUserInput;
  readonly #conversations = new Map<string, Conversation>();
  /** Names of the agents with the role of a user. */
  readonly #users = new Set<string>();
  #wake: (() => void) | undefined;
  #runId = '';
  #disconnect: (() => void) | undefined;

  constructor(options: AgentScopeLinkOptions) {
    this.#options = options;
    this.#api = new AgentScopeApi(options.base);
    this.#input = new StudioUserInput({ studioUrl: options.base });
  }

  ask(request: UserInputRequest): Promise<UserInputData> {
    return this.#input.ask(request);
  }

  wake(): void {
    this.#wake?.();
  }

  /** Sends messages until the connection fails. */
  async run(config: RunConfig): Promise<never> {
    const { signal, buffer } = this.#options;
    this.#runId = config.runId;
    await this.#api.registerRun(config, signal);
    if (this.#disconnect === undefined) {
      // As long as its socket is open, a run counts as running.
      this.#disconnect = this.#input.connect(config);
      signal.addEventListener('abort', this.#disconnect, { once: true });
    }
    for (;;) {
      signal.throwIfAborted();
      if (buffer.size === 0) await new Promise<void>((resolve) => (this.#wake = resolve));
      this.#wake = undefined;
      await this.flush();
    }
  }

  async flush(): Promise<void> {
    const { buffer } = this.#options;
    while (buffer.size > 0) {
      for (const item of buffer.take(BATCH_CHARS)) this.#add(item);
      const dropped = buffer.takeDropped();
      if (dropped > 0)
        getLogger().log('warn', `${dropped} events did not reach the Studio: it was too slow.`);
    }
    await this.#sendChanges();
  }

  #add(item: ProgramItem): void {
    if (item.kind === 'agent' && item.agent.className === 'UserAgent') this.#users.add(item.agent.name);
    if (item.kind !== 'event') return;
    const { event } = item;
    let conversation = this.#conversations.get(event.runId);
    if (conversation === undefined) {
      conversation = { view: new ConversationView(), sent: new Map(), isOver: false };
      this.#conversations.set(event.runId, conversation);
    }
    conversation.view.add(event);
    if (event.type === 'run_end' && event.agentPath.length === 1) conversation.isOver = true;
  }

  async #sendChanges(): Promise<void> {
    for (const [callId, { view, sent, isOver }] of this.#conversations) {
      for (const msg of view.messages) {
        if (sent.get(msg.id) === msg) continue;
        await this.#push(msg);
        sent.set(msg.id, msg);
      }
      if (isOver) this.#conversations.delete(callId);
    }
  }

  async #push(msg: MsgView): Promise<void> {
    const { id, name, role, content, metadata = {}, replyId = id, agentPath } = msg;
    const replyName = agentPath.at(-1) ?? name;
    const time = agentScopeTime(msg.timestamp ?? timestamp());
    try {
      const blocks = toAgentScopeBlocks(content);
      await this.#api.call(
        'pushMessage',
        copyJsonObject(
          {
            runId: this.#runId,
            replyId,
            replyName,
            replyRole: this.#users.has(replyName) ? 'user' : 'assistant',
            msg: { id, name, role, content: blocks, metadata, timestamp: time },
          },
          'the message',
        ),
        this.#options.signal,
      );
    } catch (error) {
      // A refused message is lost. Without an answer, the message is sent again.
      if (!(error instanceof AgentScopeApiError) || error.status >= 500) throw error;
      getLogger().log('warn', `The Studio refused a message: ${redactedMessage(error)}`);
    }
  }
}
