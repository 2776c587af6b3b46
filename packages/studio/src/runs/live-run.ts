import type { AgentEvent } from 'troupe';

import type { RunAbilities, StudioRun, StudioRunStatus, UsageSum } from '../protocol.ts';

export const NO_USAGE: UsageSum = {
  modelCalls: 0,
  inputTokens: 0,
  outputTokens: 0,
  cachedTokens: 0,
  cost: 0,
};
const NOTHING: RunAbilities = { send: false, stepIn: false, branch: false, replay: false };

/** First line of a text, short. */
export function firstLine(text: string, max = 160): string {
  const [line = ''] = text.trim().split('\n', 1);
  return line.length > max ? `${line.slice(0, max)}…` : line;
}

/** A message as it was sent last. */
export interface PushedMsg {
  /** Entry that is replaced by the next form of the message; undefined after the first form, which is kept. */
  readonly seq: number | undefined;
  readonly text: string;
}

/** A run in memory: its record, and the counts that only matter while it runs. */
export class LiveRun {
  #record: StudioRun;
  /** Agent calls of outermost agents that run. */
  readonly #running = new Set<string>();
  readonly #runningAgents = new Map<string, number>();
  #hasEnded: boolean;
  #hasFailed = false;
  /** Time in which a person was asked while agent calls ran: it is no work. */
  #askedMs = 0;
  /** Number of the last prompt; the prompts of replies without an outcome. */
  prompts = 0;
  readonly openPrompts = new Map<string, number>();
  /** Messages of a program that sends the whole message at each growth, by id. */
  readonly pushed = new Map<string, PushedMsg>();

  constructor(record: StudioRun) {
    this.#record = record;
    this.#hasEnded = record.status === 'done';
    this.#hasFailed = record.status === 'failed';
  }

  static create(
    fields: Pick<StudioRun, 'id' | 'project' | 'name' | 'source' | 'createdAt'> & Partial<StudioRun>,
  ): LiveRun {
    return new LiveRun({
      status: fields.source === 'otlp' ? 'done' : 'idle',
      updatedAt: fields.createdAt,
      lastSeq: 0,
      removedUpTo: 0,
      isConnected: false,
      messages: 0,
      errors: 0,
      waiting: 0,
      workMs: 0,
      waitMs: 0,
      usage: NO_USAGE,
      dropped: 0,
      can: NOTHING,
      ...fields,
    });
  }

  get record(): StudioRun {
    return this.#record;
  }

  get isBusy(): boolean {
    return this.#running.size > 0;
  }

  isAgentRunning(agentId: string): boolean {
    return (this.#runningAgents.get(agentId) ?? 0) > 0;
  }

  change(changes: Partial<StudioRun>): void {
    const record = { ...this.#record, ...changes };
    this.#record = { ...record, status: this.#statusOf(record) };
  }

  /** Ends the run, or opens it again. */
  setEnded(hasEnded: boolean): void {
    this.#hasEnded = hasEnded;
    if (hasEnded) this.#running.clear();
    this.change({});
  }

  /** Adds time in which a person was asked. */
  addWait(ms: number): void {
    if (this.isBusy) this.#askedMs += ms;
    this.change({ waitMs: this.#record.waitMs + ms });
  }

  /** Forgets agent calls whose end nobody will tell. */
  stopAll(): void {
    this.#running.clear();
    this.#runningAgents.clear();
  }

  /** @param redact removes keys from the text of a preview */
  addEvent(event: AgentEvent, agentId: string, redact: (text: string) => string): void {
    const isRoot = event.agentPath.length === 1;
    const { messages, errors, workMs } = this.#record;
    switch (event.type) {
      case 'reply_start':
        this.#runningAgents.set(agentId, 1);
        if (!isRoot) return;
        this.#running.add(event.runId);
        this.#hasFailed = false;
        this.#hasEnded = false;
        return this.change({ rootAgent: this.#record.rootAgent ?? event.name });
      case 'block_start':
        if (event.index === 0) this.change({ messages: messages + 1 });
        return;
      case 'error':
        return this.change({ errors: errors + 1 });
      case 'tool_result':
        if (event.result.status === 'error') this.change({ errors: errors + 1 });
        return;
      case 'model_end':
        return this.#addModelCall(event);
      case 'run_end': {
        this.#runningAgents.delete(agentId);
        if (!isRoot) return;
        this.#running.delete(event.runId);
        this.#hasFailed = event.status === 'failed';
        const text = event.msg === undefined ? undefined : textOf(event.msg.content);
        const work = Math.max(0, event.durationMs - this.#askedMs);
        if (!this.isBusy) this.#askedMs = 0;
        return this.change({
          workMs: workMs + work,
          errors: errors + (this.#hasFailed ? 1 : 0),
          ...(text && { preview: firstLine(redact(text)) }),
        });
      }
      default:
    }
  }

  #addModelCall({ usage }: AgentEvent & { type: 'model_end' }): void {
    const sum = this.#record.usage;
    this.change({
      usage: {
        modelCalls: sum.modelCalls + 1,
        inputTokens: sum.inputTokens + (usage?.inputTokens ?? 0),
        outputTokens: sum.outputTokens + (usage?.outputTokens ?? 0),
        cachedTokens: sum.cachedTokens + (usage?.cachedTokens ?? 0),
        cost: sum.cost + (usage?.cost ?? 0),
      },
    });
  }

  #statusOf({ waiting, isConnected, source }: StudioRun): StudioRunStatus {
    if (this.#hasEnded) return this.#hasFailed ? 'failed' : 'done';
    if (!isConnected && source !== 'conversation') return source === 'otlp' ? 'done' : 'lost';
    if (waiting > 0) return 'waiting';
    if (this.#running.size > 0) return 'running';
    return this.#hasFailed ? 'failed' : 'idle';
  }
}

/** Text of a message. */
export function textOf(content: unknown): string {
  if (typeof content === 'string') return content;
  if (!Array.isArray(content)) return '';
  return content
    .flatMap((block: { type?: unknown; text?: unknown }) =>
      block?.type === 'text' && typeof block.text === 'string' ? [block.text] : [],
    )
    .join('\n');
}
