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

/** Rows by key of the building before. Rows that did not change stay the same objects, so that only changed rows are rendered again. */
export type RowCache = Map<string, Row>;

/** The rows of a conversation: messages, tool calls with the sub-agents that they started, and notices, in order. */
export function rowsOf(fold: TapeFold, options: RowOptions, cache: RowCache = new Map()): readonly Row[] {
  return new RowMaker(fold, options, cache).make();
}

/** Facts of a message that never change: messages are immutable. */
interface MsgFacts {
  readonly pathKey: string;
  readonly hasTools: boolean;
  readonly hasOther: boolean;
  readonly isSpoken: boolean;
  readonly isSpokenWithThinking: boolean;
}

const facts = new WeakMap<MsgView, MsgFacts>();

function factsOf(msg: MsgView): MsgFacts {
  let known = facts.get(msg);
  if (known === undefined) {
    const { content } = msg;
    known = {
      pathKey: keyOf(msg.agentPath),
      hasTools: content.some(({ type }) => type === 'tool_use' || type === 'tool_result'),
      hasOther: content.some(({ type }) => type !== 'tool_result'),
      isSpoken: content.some((block) => isSpoken(block, false)),
      isSpokenWithThinking: content.some((block) => isSpoken(block, true)),
    };
    facts.set(msg, known);
  }
  return known;
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
  readonly #cache: RowCache;
  /** Whose message was last, as long as nothing stood between. */
  #lastSpeaker: string | undefined;
  #lastDepth = 0;

  constructor(fold: TapeFold, options: RowOptions, cache: RowCache) {
    this.#fold = fold;
    this.#options = options;
    this.#cache = cache;
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
      const { hasTools, hasOther } = factsOf(msg);
      if (hasTools) this.#noteTools(msg);
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

  #noteTools(msg: MsgView): void {
    for (const block of msg.content) {
      if (block.type === 'tool_result') this.#results.set(callKeyOf(msg.agentPath, block.id), block);
      if (block.type === 'tool_use') this.#called.add(callKeyOf(msg.agentPath, block.id));
    }
  }

  /** Adds a row, or the same row of the building before. */
  #push(row: Row): void {
    const before = this.#cache.get(row.key);
    if (
      before !== undefined &&
      (row.kind === 'message' ? isSameMessage(before, row) : isSameRow(before, row))
    )
      this.#rows.push(before);
    else {
      this.#cache.set(row.key, row);
      this.#rows.push(row);
    }
  }

  #isCalled(msg: MsgView, block: BlockView): boolean {
    return block.type === 'tool_result' && this.#called.has(callKeyOf(msg.agentPath, block.id));
  }

  #message(msg: MsgView, depth: number): void {
    const { agent, showsThinking } = this.#options;
    const { pathKey, hasTools, ...spoken } = factsOf(msg);
    const isHidden = agent !== undefined && pathKey !== agent && !(msg.agentPath.length === 0 && depth === 0);
    const place = this.#fold.places.get(msg.id);
    const seq = place?.seq ?? 0;
    const colour = this.#fold.colourOf(msg.agentPath);
    const isShown = showsThinking ? spoken.isSpokenWithThinking : spoken.isSpoken;
    if (isShown && !isHidden) {
      const speaker = pathKey || msg.name;
      const hasHeader = speaker !== this.#lastSpeaker || depth !== this.#lastDepth;
      this.#lastSpeaker = speaker;
      this.#lastDepth = depth;
      const at = msg.timestamp ?? place?.at;
      this.#push({ kind: 'message', key: msg.id, msg, depth, seq, colour, at, hasHeader });
    }
    if (hasTools) this.#tools(msg, depth, seq, colour, isHidden);
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
      this.#push({ kind: 'tools', key: groupKey, depth, seq, names, isOpen, colour });
    }
    for (const row of rows) {
      const isInGroup = isGroup && isQuiet(row);
      if (isInGroup && !isOpen) continue;
      if (!isHidden && !(isQuiet(row) && !this.#options.showsTools)) this.#push(row);
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
    this.#push({
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

function isSameMessage(a: Row, b: MessageRow): boolean {
  if (a.kind !== 'message' || a.msg !== b.msg) return false;
  return (
    a.depth === b.depth &&
    a.seq === b.seq &&
    a.colour === b.colour &&
    a.hasHeader === b.hasHeader &&
    a.at === b.at
  );
}

/** Whether two rows show the same. Lists and small records are compared by their values. */
function isSameRow(a: Row, b: Row): boolean {
  const before = Object.entries(a);
  const after: Readonly<Record<string, unknown>> = { ...b };
  return (
    before.length === Object.keys(after).length &&
    before.every(([key, value]) => isSameValue(value, after[key]))
  );
}

function isSameValue(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (Array.isArray(a) && Array.isArray(b))
    return a.length === b.length && a.every((one, at) => one === b[at]);
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false;
  return 'messages' in a && 'messages' in b && JSON.stringify(a) === JSON.stringify(b); // a sub-agent
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
