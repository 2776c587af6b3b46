import type { ToolResultBlock, ToolUseBlock } from 'troupe';
import type { BlockView, MsgView } from 'troupe/events';

import type { ApprovalWaiting } from '../../../src/protocol.ts';
import { callKeyOf, keyOf, type Notice, type TapeFold, type ToolTimes } from '../live/tape-fold.ts';

interface RowBase {
  readonly key: string;
  /** Number of agents around. */
  readonly depth: number;
  readonly seq: number;
}

export interface MessageRow extends RowBase {
  readonly kind: 'message';
  readonly msg: MsgView;
  readonly colour: number;
  readonly at: string | undefined;
  /** False if the message before is of the same agent. */
  readonly hasHeader: boolean;
}

export type ToolState =
  | 'writing'
  | 'running'
  | 'waiting'
  | 'ok'
  | 'error'
  | 'interrupted'
  | 'denied'
  | 'unavailable'
  | 'open';

export interface ToolRow extends RowBase {
  readonly kind: 'tool';
  readonly msgId: string;
  readonly call: (ToolUseBlock & { readonly isPartial?: true }) | undefined;
  readonly result: (ToolResultBlock & { readonly isPartial?: true }) | undefined;
  readonly path: readonly string[];
  readonly colour: number;
  readonly state: ToolState;
  readonly times: ToolTimes | undefined;
  readonly waiting: ApprovalWaiting | undefined;
  readonly isOpen: boolean;
  /** Name of the sub-agent that the tool call started, and the number of its messages. */
  readonly subAgent:
    | { readonly name: string; readonly messages: number; readonly colour: number }
    | undefined;
  readonly at: string | undefined;
}

/** Finished tool calls of one message, as one line. */
export interface ToolsRow extends RowBase {
  readonly kind: 'tools';
  readonly names: readonly string[];
  readonly isOpen: boolean;
  readonly colour: number;
}

export interface NoticeRow extends RowBase {
  readonly kind: 'notice';
  readonly notice: Notice;
}

export type Row = MessageRow | ToolRow | ToolsRow | NoticeRow;

export interface RowOptions {
  /** Rows that a person opened or closed, by key. */
  readonly folds: ReadonlyMap<string, boolean>;
  readonly showsThinking: boolean;
  readonly showsTools: boolean;
  /** Agents to show; undefined: all. */
  readonly agent: string | undefined;
}

/** Finished tool calls of a message from this number on are one line. */
const MIN_GROUP = 3;

type ResultBlock = ToolResultBlock & { readonly isPartial?: true };

/** The rows of a conversation: messages, tool calls with the sub-agents that they started, and notices, in order. */
export function rowsOf(fold: TapeFold, options: RowOptions): readonly Row[] {
  return new RowMaker(fold, options).make();
}

class RowMaker {
  readonly #fold: TapeFold;
  readonly #options: RowOptions;
  readonly #rows: Row[] = [];
  readonly #results = new Map<string, ResultBlock>();
  readonly #called = new Set<string>();
  /** Messages below a tool call, by `callKeyOf`. */
  readonly #children = new Map<string, MsgView[]>();
  readonly #waiting = new Map<string, ApprovalWaiting>();
  #lastSpeaker: string | undefined;

  constructor(fold: TapeFold, options: RowOptions) {
    this.#fold = fold;
    this.#options = options;
    for (const waiting of fold.waiting.values()) {
      if (waiting.kind === 'approval')
        this.#waiting.set(callKeyOf(waiting.agentPath, waiting.pending.call.id), waiting);
    }
  }

  make(): readonly Row[] {
    const roots = this.#sort();
    const { notices } = this.#fold;
    let next = 0;
    for (const msg of roots) {
      const seq = this.#seqOf(msg);
      for (; next < notices.length && (notices[next]?.seq ?? 0) < seq; next++)
        this.#notice(notices[next], next);
      this.#message(msg, 0);
    }
    for (; next < notices.length; next++) this.#notice(notices[next], next);
    return this.#rows;
  }

  /** Notes results and messages of sub-agents. Returns the other messages. */
  #sort(): MsgView[] {
    const roots: MsgView[] = [];
    for (const msg of this.#fold.conversation.messages) {
      let hasOther = false;
      for (const block of msg.content) {
        if (block.type === 'tool_result') this.#results.set(callKeyOf(msg.agentPath, block.id), block);
        else hasOther = true;
        if (block.type === 'tool_use') this.#called.add(callKeyOf(msg.agentPath, block.id));
      }
      const parent = msg.replyId === undefined ? undefined : this.#fold.parents.get(msg.replyId);
      if (!hasOther && msg.content.every((block) => this.#isCalled(msg, block))) continue;
      if (parent === undefined) {
        roots.push(msg);
        continue;
      }
      const key = callKeyOf(parent.parentPath, parent.toolCallId);
      const siblings = this.#children.get(key);
      if (siblings === undefined) this.#children.set(key, [msg]);
      else siblings.push(msg);
    }
    return roots;
  }

  #isCalled(msg: MsgView, block: BlockView): boolean {
    return block.type === 'tool_result' && this.#called.has(callKeyOf(msg.agentPath, block.id));
  }

  #message(msg: MsgView, depth: number): void {
    const { agent, showsThinking } = this.#options;
    const pathKey = keyOf(msg.agentPath);
    const isHidden = agent !== undefined && pathKey !== agent && !(msg.agentPath.length === 0 && depth === 0);
    const place = this.#fold.places.get(msg.id);
    const seq = place?.seq ?? 0;
    const colour = this.#fold.colourOf(msg.agentPath);
    const isShown = msg.content.some((block) => isSpoken(block, showsThinking));
    if (isShown && !isHidden) {
      const speaker = `${depth}:${pathKey || msg.name}`;
      const hasHeader = speaker !== this.#lastSpeaker;
      this.#lastSpeaker = speaker;
      const at = msg.timestamp ?? place?.at;
      this.#rows.push({ kind: 'message', key: msg.id, msg, depth, seq, colour, at, hasHeader });
    }
    this.#tools(msg, depth, seq, colour, isHidden);
  }

  #tools(msg: MsgView, depth: number, seq: number, colour: number, isHidden: boolean): void {
    const rows = msg.content.flatMap((block) => this.#toolRow(msg, block, depth, seq, colour) ?? []);
    if (rows.length === 0) return;
    const isQuiet = (row: ToolRow): boolean => row.state === 'ok' && row.subAgent === undefined;
    const quiet = rows.filter(isQuiet);
    const groupKey = `${msg.id}:tools`;
    const isGroup = !isHidden && quiet.length >= MIN_GROUP;
    const isOpen = this.#options.folds.get(groupKey) ?? false;
    if (isGroup) {
      const names = quiet.map(({ call, result }) => call?.name ?? result?.name ?? '');
      this.#rows.push({ kind: 'tools', key: groupKey, depth, seq, names, isOpen, colour });
    }
    for (const row of rows) {
      const isInGroup = isGroup && isQuiet(row);
      if (isInGroup && !isOpen) continue;
      if (!isHidden && !(isQuiet(row) && !this.#options.showsTools)) this.#rows.push(row);
      const id = row.call?.id ?? row.result?.id ?? '';
      if (!row.isOpen && this.#options.agent === undefined) continue;
      const children = this.#children.get(callKeyOf(msg.agentPath, id)) ?? [];
      for (const child of children) this.#message(child, depth + 1);
      if (children.length > 0) this.#lastSpeaker = undefined;
    }
  }

  #toolRow(msg: MsgView, block: BlockView, depth: number, seq: number, colour: number): ToolRow | undefined {
    if (block.type === 'tool_result') {
      if (this.#isCalled(msg, block)) return undefined;
    } else if (block.type !== 'tool_use') return undefined;
    const key = callKeyOf(msg.agentPath, block.id);
    const result = this.#results.get(key);
    const times = this.#fold.tools.get(key);
    const call = block.type === 'tool_use' ? block : undefined;
    const waiting = this.#waiting.get(key);
    const children = this.#children.get(key) ?? [];
    const state = stateOf(call, result, times, waiting);
    const child = children[0];
    const subAgent = child && {
      name: child.agentPath.at(-1) ?? child.name,
      messages: children.length,
      colour: this.#fold.colourOf(child.agentPath),
    };
    const isOpen = this.#options.folds.get(key) ?? opensByItself(state, subAgent !== undefined);
    return {
      kind: 'tool',
      key,
      msgId: msg.id,
      call,
      result,
      path: msg.agentPath,
      depth,
      seq: times?.seq ?? seq,
      colour,
      state,
      times,
      waiting,
      isOpen,
      subAgent,
      at: times?.at,
    };
  }

  #notice(notice: Notice | undefined, index: number): void {
    if (notice === undefined || (notice.kind === 'action' && !isTold(notice.action.type))) return;
    this.#rows.push({
      kind: 'notice',
      key: `notice:${index}:${notice.seq}`,
      depth: 0,
      seq: notice.seq,
      notice,
    });
    this.#lastSpeaker = undefined;
  }

  #seqOf(msg: MsgView): number {
    return this.#fold.places.get(msg.id)?.seq ?? 0;
  }
}

/** Actions that are no message by themselves. */
function isTold(type: string): boolean {
  return type === 'interrupt' || type === 'steer' || type === 'follow_up' || type === 'decide';
}

/** Whether a block is text, thinking or media, and not empty. */
export function isSpoken(block: BlockView, showsThinking: boolean): boolean {
  if (block.type === 'tool_use' || block.type === 'tool_result') return false;
  if (block.type === 'thinking') return showsThinking && block.thinking !== '';
  return block.type !== 'text' || block.text.trim() !== '';
}

/** Failed, denied and waiting tool calls stay open; sub-agents are open while they work. */
function opensByItself(state: ToolState, hasSubAgent: boolean): boolean {
  if (state === 'ok' || state === 'interrupted' || state === 'open') return false;
  if (state === 'running') return true;
  return state !== 'writing' || hasSubAgent;
}

function stateOf(
  call: ToolRow['call'],
  result: ToolRow['result'],
  times: ToolTimes | undefined,
  waiting: ApprovalWaiting | undefined,
): ToolState {
  if (result !== undefined && result.isPartial !== true) return result.status;
  if (waiting?.state === 'waiting' || waiting?.state === 'sent') return 'waiting';
  if (result?.isPartial === true || times?.isRunning === true) return 'running';
  return call?.isPartial === true ? 'writing' : 'open';
}
