import type { Artifact, Message, Part, StreamResponse, Task, TaskState, TaskStatus } from '@a2a-js/sdk';

import { isPendingCall, type PendingCall } from '../../message/pending-call.ts';
import { abortable } from '../../util/abort.ts';
import { timestamp } from '../../util/clock.ts';
import { newId } from '../../util/ids.ts';
import { copyJsonObject, isJsonObject, type JsonObject, type JsonValue } from '../../util/json.ts';
import { textPart } from '../protocol/parts.ts';
import { toResponseSchema } from '../protocol/response-schema.ts';
import { a2aSdk } from '../protocol/sdk.ts';

const MAX_HISTORY = 50;
const STOPPED = 'The server was stopped while the agent worked on this.';

/** Piece of an answer, with the index of the block in the agent's message. */
interface Piece {
  readonly part: Part;
  readonly block: number;
}

type Status = TaskStatus & { readonly timestamp: string };

/** Position of a reader in the updates of a task. */
interface Position {
  readonly edition: number;
  readonly pieces: number;
  readonly statuses: number;
  readonly changes: number;
}

export interface SnapshotOptions {
  /** Maximum messages of the history, newest kept. @default all */
  readonly historyLength?: number | undefined;
  readonly withArtifacts?: boolean;
}

export interface UpdateOptions extends SnapshotOptions {
  /** Whether updates go on while the task waits for input, until it has ended. @default false */
  readonly untilEnd?: boolean;
}

/**
 * Task that an agent works on. The answer is one artifact, which grows piece by piece or is replaced. A
 * reader holds a position and reads on from there, so that slow readers need no queue.
 */
export class ServedTask {
  readonly id: string;
  readonly contextId: string;
  readonly #artifactId: string;
  #history: readonly Message[] = [];
  #pieces: Piece[] = [];
  /** Number of times the answer was replaced. */
  #edition = 0;
  #status: Status = {
    state: a2aSdk.TaskState.TASK_STATE_SUBMITTED,
    message: undefined,
    timestamp: timestamp(),
  };
  /** Next status, announced once saved. */
  #nextStatus: Status | undefined;
  #record: { readonly changes: number; readonly status: Status; readonly json: JsonObject } | undefined;
  #statuses = 0;
  #changes = 0;
  #change = Promise.withResolvers<void>();
  /** Pending tool calls of the agent. */
  pending: readonly PendingCall[] = [];
  /** Schema of the structured output that the client wants. */
  responseSchema: JsonObject | undefined;
  #isReleased = false;
  /** Stops the work on the task; undefined when there is none. */
  cancel: (() => Promise<void>) | undefined;

  constructor(contextId: string, id = newId(), artifactId = newId()) {
    this.contextId = contextId;
    this.id = id;
    this.#artifactId = artifactId;
  }

  get state(): TaskState {
    return this.#status.state;
  }

  get hasEnded(): boolean {
    const { TaskState } = a2aSdk;
    switch (this.state) {
      case TaskState.TASK_STATE_COMPLETED:
      case TaskState.TASK_STATE_FAILED:
      case TaskState.TASK_STATE_CANCELED:
      case TaskState.TASK_STATE_REJECTED:
        return true;
      default:
        return false;
    }
  }

  /** Whether a message continues the task. */
  get isWaiting(): boolean {
    return this.state === a2aSdk.TaskState.TASK_STATE_INPUT_REQUIRED && this.#nextStatus === undefined;
  }

  /** Whether the task has ended or waits for input. */
  get isSettled(): boolean {
    return this.hasEnded || this.isWaiting;
  }

  get changedAt(): string {
    return this.#status.timestamp;
  }

  /** Whether the same message was submitted before. */
  hasMessage({ messageId, parts }: Message): boolean {
    const isSame = (old: Message): boolean =>
      old.messageId === messageId && JSON.stringify(old.parts) === JSON.stringify(parts);
    return messageId !== '' && this.#history.some(isSame);
  }

  /** Adds a message to the history, after the question answered by the message. The returned function undoes the change. */
  submit(message: Message, responseSchema?: JsonObject): () => void {
    const [history, status, schema] = [this.#history, this.#status, this.responseSchema];
    this.responseSchema = responseSchema;
    const asked = status.message === undefined ? [] : [status.message];
    const submitted = { ...message, taskId: this.id, contextId: this.contextId };
    this.#history = [...history, ...asked, submitted].slice(-MAX_HISTORY);
    this.setState(a2aSdk.TaskState.TASK_STATE_SUBMITTED);
    return () => {
      this.#history = history;
      this.responseSchema = schema;
      this.#setStatus(status);
    };
  }

  /** Adds text to the answer. @param block index of the block in the agent's message */
  addText(text: string, block: number): void {
    this.#pieces.push({ part: textPart(text), block });
    this.#changed();
  }

  /** Drops the answer so far and starts a new one. */
  startAnswer(): void {
    this.#pieces = [];
    this.#edition++;
  }

  /** Sets the complete answer. Nothing changes if it equals the pieces so far. */
  setAnswer(parts: readonly Part[]): void {
    const pieces = parts.map((part, block) => ({ part, block }));
    if (JSON.stringify(joined(this.#pieces, 0)) === JSON.stringify(joined(pieces, 0))) return;
    this.startAnswer();
    this.#pieces = pieces;
    this.#changed();
  }

  setState(state: TaskState, parts: readonly Part[] = []): void {
    this.#setStatus(this.#statusOf(state, parts));
  }

  /** Changes to a state that becomes visible only after saving. */
  async settle(state: TaskState, parts: readonly Part[], save: () => Promise<void>): Promise<void> {
    const status = this.#statusOf(state, parts);
    this.#nextStatus = status;
    await save();
    this.#nextStatus = undefined;
    this.#setStatus(status);
  }

  #setStatus(status: Status): void {
    this.#status = status;
    this.#statuses++;
    this.#changed();
  }

  #statusOf(state: TaskState, parts: readonly Part[]): Status {
    const message = parts.length === 0 ? undefined : this.#message(parts);
    return { state, message, timestamp: timestamp() };
  }

  /** Returns the same object until something changes. */
  toJSON(): JsonObject {
    const status = this.#nextStatus ?? this.#status;
    if (this.#record?.changes !== this.#changes || this.#record.status !== status) {
      const task = a2aSdk.Task.toJSON({ ...this.snapshot(), status });
      const { pending, responseSchema } = this;
      const json = copyJsonObject(
        { task, artifactId: this.#artifactId, pending, responseSchema },
        'the task',
      );
      this.#record = { changes: this.#changes, status, json };
    }
    return this.#record.json;
  }

  /** Reads a saved task. A task that was running has failed. @throws TypeError if the JSON is no task. */
  static fromJson(json: JsonValue): ServedTask {
    if (!isJsonObject(json)) throw new TypeError('it is no object');
    const { artifactId, pending, task: saved } = json;
    if (typeof artifactId !== 'string' || !Array.isArray(pending) || !pending.every(isPendingCall))
      throw new TypeError('it is no task');
    const { id, contextId, status, artifacts, history } = a2aSdk.Task.fromJSON(saved);
    if (id === '' || status === undefined) throw new TypeError('it has no id or status');
    const task = new ServedTask(contextId, id, artifactId);
    task.#history = history;
    task.#pieces = artifacts.flatMap(({ parts }) => parts.map((part, block) => ({ part, block })));
    task.#status = { ...status, timestamp: status.timestamp ?? timestamp() };
    task.pending = pending;
    task.responseSchema = toResponseSchema(json['responseSchema']);
    if (!task.isSettled) task.setState(a2aSdk.TaskState.TASK_STATE_FAILED, [textPart(STOPPED)]);
    return task;
  }

  /** Current state of the task. */
  snapshot({ historyLength = Infinity, withArtifacts = true }: SnapshotOptions = {}): Task {
    return {
      id: this.id,
      contextId: this.contextId,
      status: this.#status,
      artifacts: withArtifacts && this.#pieces.length > 0 ? [this.#artifact(0)] : [],
      history: historyLength > 0 ? this.#history.slice(-historyLength) : [],
      metadata: undefined,
    };
  }

  /** Resolves when the task has ended or waits for input. Rejects with the reason of an aborted signal. */
  async settled(signal: AbortSignal): Promise<void> {
    while (!this.isSettled) await abortable(this.#change.promise, signal);
  }

  /** Current state of the task, then all updates until the task has ended or, unless `untilEnd`, waits for input. */
  updates(options: UpdateOptions, signal: AbortSignal): AsyncGenerator<StreamResponse, void, void> {
    const { untilEnd = false } = options;
    return this.#updates(this.snapshot(options), this.#position(), signal, untilEnd);
  }

  /** Ends all streams of updates: the conversation is closed. */
  release(): void {
    this.#isReleased = true;
    this.#changed();
  }

  async *#updates(
    now: Task,
    from: Position,
    signal: AbortSignal,
    untilEnd: boolean,
  ): AsyncGenerator<StreamResponse, void, void> {
    yield { payload: { $case: 'task', value: now } };
    const { id: taskId, contextId } = this;
    const about = { taskId, contextId, metadata: undefined };
    for (let at = from; ;) {
      const here = this.#position();
      const { isSettled } = this;
      const isLast = this.#isReleased || (untilEnd ? this.hasEnded : isSettled);
      const append = here.edition === at.edition && at.pieces > 0;
      const artifact = this.#artifact(append ? at.pieces : 0);
      const status = here.statuses === at.statuses ? undefined : this.#status;
      const isNew = here.edition !== at.edition || here.pieces !== at.pieces;
      at = here; // later changes come in the next round
      if (isNew && artifact.parts.length > 0) {
        const value = { ...about, artifact, append, lastChunk: isSettled };
        yield { payload: { $case: 'artifactUpdate', value } };
      }
      if (status !== undefined) yield { payload: { $case: 'statusUpdate', value: { ...about, status } } };
      if (isLast) return;
      if (this.#changes === here.changes) await abortable(this.#change.promise, signal);
    }
  }

  #position(): Position {
    const { length: pieces } = this.#pieces;
    return { edition: this.#edition, pieces, statuses: this.#statuses, changes: this.#changes };
  }

  #message(parts: readonly Part[]): Message {
    return {
      messageId: newId(),
      contextId: this.contextId,
      taskId: this.id,
      role: a2aSdk.Role.ROLE_AGENT,
      parts: [...parts],
      metadata: undefined,
      extensions: [],
      referenceTaskIds: [],
    };
  }

  #artifact(start: number): Artifact {
    const parts = joined(this.#pieces, start);
    return {
      artifactId: this.#artifactId,
      name: 'answer',
      description: '',
      parts,
      metadata: undefined,
      extensions: [],
    };
  }

  #changed(): void {
    this.#changes++;
    this.#change.resolve();
    this.#change = Promise.withResolvers();
  }
}

/**
 * Joins pieces from an index on. Adjacent texts become one text, with a line break between blocks, because
 * clients that append parts can't tell texts apart.
 */
function joined(pieces: readonly Piece[], start: number): Part[] {
  const parts: Part[] = [];
  let texts: string[] = [];
  const close = (): void => {
    if (texts.length > 0) parts.push(textPart(texts.join('')));
    texts = [];
  };
  for (let i = start; i < pieces.length; i++) {
    const [piece, before] = [pieces[i], pieces[i - 1]];
    if (piece?.part.content?.$case === 'text') {
      const isNewLine = before?.part.content?.$case === 'text' && before.block !== piece.block;
      texts.push(isNewLine ? '\n' : '', piece.part.content.value);
    } else if (piece !== undefined) {
      close();
      parts.push(piece.part);
    }
  }
  close();
  return parts;
}
