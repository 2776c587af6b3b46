import type { Artifact, Message, StreamResponse, Task, TaskStatus } from '@a2a-js/sdk';

import type { TextBlock, ToolOutputBlock } from '../../message/blocks.ts';
import { MsgDraft } from '../../message/msg-draft.ts';
import { Msg } from '../../message/msg.ts';
import type { JsonObject } from '../../util/json.ts';
import { A2AError } from '../protocol/a2a-error.ts';
import { namedCalls } from './open-task.ts';
import { blocksOfParts } from '../protocol/parts.ts';
import { a2aSdk } from '../protocol/sdk.ts';
import { remoteStateOf, type RemoteState, type SettledState } from './remote-state.ts';

/** Maximum blocks of an answer. Every printed snapshot contains all blocks. */
const MAX_BLOCKS = 5000;

type Print = (msg: Msg, last: boolean) => Promise<void>;

/**
 * Folds the updates of a remote task into one answer: the artifacts in order, then the content of the last
 * status. Updates in order are printed as they arrive, each piece once; others are sorted at the end. A
 * replaced artifact stays printed as a message. Updates of another task are refused.
 */
export class RemoteReply {
  readonly #name: string;
  readonly #print: Print;
  readonly #expected: string | undefined;
  readonly #artifacts = new Map<string, ToolOutputBlock[]>();
  #draft: MsgDraft;
  #taskId: string | undefined;
  #contextId: string | undefined;
  #state: RemoteState = 'working';
  #closing: readonly ToolOutputBlock[] = [];
  /** Artifact at the end of the draft, to which text can be appended. */
  #openArtifact: string | undefined;
  #isOutOfOrder = false;
  /** Number of blocks in all artifacts. */
  #blocks = 0;

  /** @param expected id of the task, if known */
  constructor(name: string, print: Print, expected?: string) {
    this.#name = name;
    this.#print = print;
    this.#expected = expected;
    this.#draft = new MsgDraft(name);
  }

  get taskId(): string | undefined {
    return this.#taskId;
  }

  get contextId(): string | undefined {
    return this.#contextId;
  }

  /** Final or waiting state of the task; undefined while the task is working. */
  get settled(): SettledState | undefined {
    return this.#state === 'working' ? undefined : this.#state;
  }

  /** @throws A2AError if the update belongs to another task. */
  async take({ payload }: StreamResponse): Promise<void> {
    switch (payload?.$case) {
      case undefined:
        return;
      case 'message':
        return this.#takeMessage(payload.value);
      case 'task':
        return this.takeTask(payload.value);
      case 'statusUpdate': {
        const { taskId, contextId, status } = payload.value;
        this.#identify(taskId, contextId);
        return this.#takeStatus(status);
      }
      case 'artifactUpdate': {
        const { taskId, contextId, artifact, append } = payload.value;
        this.#identify(taskId, contextId);
        return artifact && this.#takeArtifact(artifact, append);
      }
    }
  }

  /** Replaces all artifacts by those of a complete task. */
  async takeTask({ id, contextId, status, artifacts }: Task): Promise<void> {
    this.#identify(id, contextId);
    if (artifacts.length > 0) {
      this.#artifacts.clear();
      this.#blocks = 0;
      for (const { artifactId, parts } of artifacts) {
        const blocks: ToolOutputBlock[] = [];
        // joins the pieces that servers keep after streaming
        for (const block of blocksOfParts(parts)) addTo(blocks, [block]);
        this.#artifacts.set(artifactId, blocks);
        this.#count(blocks.length);
      }
      this.#isOutOfOrder = true;
    }
    await this.#takeStatus(status);
  }

  /** The answer. @param metadata metadata of the message */
  finish(metadata: JsonObject): Msg {
    if (this.#isOutOfOrder) {
      this.#draft.add({ type: 'reset', reason: 'The answer is whole now.' });
      this.#openArtifact = undefined;
      for (const [id, blocks] of this.#artifacts) this.#write(id, blocks, false);
    }
    const content = [...this.#artifacts.values()].flat();
    const isWaiting = this.#state === 'input_required' || this.#state === 'auth_required';
    // pending tool calls go into the metadata
    const closing = this.#closing.filter((block) => !isWaiting || namedCalls(block) === undefined);
    if (jsonOf(content) !== jsonOf(closing)) this.#write('', closing, false);
    if (content.length + closing.length === 0) this.#draft.add({ type: 'text', text: this.#emptyText });
    return this.#draft.finish(metadata);
  }

  /** The answer so far; undefined if empty. */
  soFar(): Msg | undefined {
    const msg = this.finish({});
    return this.#artifacts.size + this.#closing.length === 0 ? undefined : msg;
  }

  /** Content of the last status. */
  get closing(): readonly ToolOutputBlock[] {
    return this.#closing;
  }

  get #emptyText(): string {
    return this.#state === 'completed' || this.#state === 'working' ? 'Done.' : `(${this.#state})`;
  }

  #takeMessage({ contextId, parts, role }: Message): void {
    if (this.#taskId !== undefined) throw contradiction();
    if (role !== a2aSdk.Role.ROLE_AGENT)
      throw new A2AError('bad_answer', 'The remote agent answered with a message that is not its own.');
    this.#contextId ??= contextId || undefined;
    this.#closing = blocksOfParts(parts);
    this.#state = 'completed';
  }

  #identify(taskId: string, contextId: string): void {
    if (taskId === '' || (this.#taskId ?? this.#expected ?? taskId) !== taskId) throw contradiction();
    this.#taskId = taskId;
    this.#contextId ??= contextId || undefined;
  }

  async #takeStatus(status: TaskStatus | undefined): Promise<void> {
    this.#state = remoteStateOf(status?.state);
    const blocks = blocksOfParts(status?.message?.parts ?? []);
    if (this.#state !== 'working') this.#closing = blocks;
    else if (blocks.length > 0) await this.#print(Msg.assistant(blocks, { name: this.#name }), true);
  }

  async #takeArtifact({ artifactId, parts }: Artifact, append: boolean): Promise<void> {
    const blocks = blocksOfParts(parts);
    const known = this.#artifacts.get(artifactId);
    if (known !== undefined && append) {
      const before = known.length;
      addTo(known, blocks);
      this.#count(known.length - before);
      if (this.#openArtifact !== artifactId) this.#isOutOfOrder = true;
    } else {
      if (known !== undefined) await this.#restart(artifactId);
      this.#artifacts.set(
        artifactId,
        blocks.map((block) => ({ ...block })),
      );
      this.#count(blocks.length - (known?.length ?? 0));
    }
    if (this.#isOutOfOrder) return;
    this.#write(artifactId, blocks, known !== undefined && append);
    await this.#print(this.#draft.snapshot(), false);
  }

  /** @throws A2AError beyond the maximum number of blocks. */
  #count(more: number): void {
    this.#blocks += more;
    if (this.#blocks > MAX_BLOCKS)
      throw new A2AError('too_large', `The remote agent sent an answer of more than ${MAX_BLOCKS} parts.`);
  }

  /** Starts the answer again after an artifact was replaced. The text so far stays as an earlier message. */
  async #restart(replaced: string): Promise<void> {
    this.#artifacts.delete(replaced);
    if (this.#artifacts.size > 0) this.#isOutOfOrder = true;
    if (this.#isOutOfOrder) return;
    await this.#print(this.#draft.finish(), true);
    this.#draft = new MsgDraft(this.#name);
    this.#openArtifact = undefined;
  }

  /** Adds blocks to the draft. With `append`, plain text continues the artifact's last text. */
  #write(artifactId: string, blocks: readonly ToolOutputBlock[], append: boolean): void {
    blocks.forEach((block, i) => {
      const isText = isPlainText(block);
      const continues = append && i === 0 && this.#openArtifact === artifactId;
      if (this.#openArtifact !== undefined && !continues) {
        this.#draft.add({ type: 'text', text: '', providerMeta: { a2a: { artifact: this.#openArtifact } } });
      }
      this.#draft.add(isText ? { type: 'text', text: block.text } : { type: 'block', block });
      this.#openArtifact = isText ? artifactId : undefined;
    });
  }
}

/** Appends blocks to an artifact, joining plain texts. */
function addTo(artifact: ToolOutputBlock[], blocks: readonly ToolOutputBlock[]): void {
  const last = artifact.at(-1);
  const [first, ...rest] = blocks;
  if (last !== undefined && first !== undefined && isPlainText(last) && isPlainText(first)) {
    artifact[artifact.length - 1] = { type: 'text', text: last.text + first.text };
    artifact.push(...rest);
  } else artifact.push(...blocks);
}

function isPlainText(block: ToolOutputBlock): block is TextBlock {
  return block.type === 'text' && block.providerMeta === undefined;
}

function jsonOf(blocks: readonly ToolOutputBlock[]): string {
  return JSON.stringify(blocks);
}

function contradiction(): A2AError {
  return new A2AError('bad_answer', 'The remote agent answered for another task. The answer is discarded.');
}
