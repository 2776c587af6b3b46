import type { FileSystemHandle } from '../../filesystem/file-system-handle.ts';
import { Msg } from '../../message/msg.ts';
import { canonicalJson } from '../../util/canonical-json.ts';
import { fingerprint } from '../../util/hash.ts';
import { redactKeys } from '../../util/redaction/key-patterns.ts';
import { copyJson, copyJsonObject, isJsonObject, type JsonObject, type JsonValue } from '../../util/json.ts';
import { cutText, oneLine } from '../../util/text.ts';

/** What of a host may matter for a task. It is read, never changed, and no sub-agent sees it. */
export interface ContextBundle {
  readonly conversation: readonly Msg[];
  /** The newest messages with results of tools, oldest first. */
  readonly recentToolResults: readonly Msg[];
  /** What the sub-agent can look up in the long-term memory: where, and a few words. */
  readonly longTermRefs: readonly JsonObject[];
  /** The files that the sub-agent may use. */
  readonly workspace: FileSystemHandle | undefined;
  readonly safetyFlags: JsonObject;
}

/** Something that happened before, in a few words. */
export type RecentEvent = {
  readonly id: string;
  readonly role: string;
  readonly name: string;
  readonly preview: string;
  readonly timestamp: string;
};

/** What a sub-agent is told about its task: JSON, always with these keys in this order. A host may add others. */
export type DelegationContext = {
  readonly task_summary: string;
  /** At most 4, oldest first. */
  readonly recent_events: readonly RecentEvent[];
  readonly long_term_refs: readonly JsonObject[];
  readonly workspace_pointers: readonly string[];
  readonly safety_flags: JsonObject;
} & JsonObject;

export const MAX_RECENT_EVENTS = 4;
const MAX_PREVIEW = 200;
const MAX_SUMMARY = 2000;
/** It is told to a model, and is in the metadata of the result. */
const MAX_CONTEXT = { maxDepth: 32, maxSize: 256 * 1024 };

/** The default way to make a large context small: the task, what the last tools gave, and where there is more. */
export function compressContext(parentContext: ContextBundle, task: string): DelegationContext {
  const { conversation, recentToolResults, longTermRefs, workspace, safetyFlags } = parentContext;
  const events = recentToolResults.length > 0 ? recentToolResults : conversation;
  return toDelegationContext({
    task_summary: task,
    recent_events: events.slice(recentToolResults.length > 0 ? -MAX_RECENT_EVENTS : -1).map(toEvent),
    long_term_refs: longTermRefs,
    workspace_pointers: workspace?.allowedDirectories.map(({ path }) => path) ?? [],
    safety_flags: safetyFlags,
  });
}

/** A delegation context from whatever came of one: keys that are missing or wrong are empty, and lists no longer than they may be. */
export function toDelegationContext(value: unknown): DelegationContext {
  if (isChecked(value)) return value;
  const given = isJsonObject(value) ? value : {};
  const {
    task_summary: task,
    recent_events,
    long_term_refs,
    workspace_pointers,
    safety_flags,
    ...others
  } = given;
  const context = copyJsonObject(
    {
      task_summary: typeof task === 'string' ? cutText(task, MAX_SUMMARY) : '',
      recent_events: objectsIn(recent_events).slice(-MAX_RECENT_EVENTS).map(cutPreview),
      long_term_refs: objectsIn(long_term_refs),
      workspace_pointers: listIn(workspace_pointers).filter((path) => typeof path === 'string'),
      safety_flags: isJsonObject(safety_flags) ? safety_flags : {},
      ...others,
    },
    'the delegation context',
    MAX_CONTEXT,
  ) as DelegationContext;
  checked.add(context);
  return context;
}

/** The contexts that were made here. They are frozen, so they stay what they are. */
const checked = new WeakSet<object>();

function isChecked(value: unknown): value is DelegationContext {
  return typeof value === 'object' && value !== null && checked.has(value);
}

/** The context as a message that a model can read. The same context is always the same message, so a memory keeps it once. */
export function contextMsg(context: DelegationContext, supervisor: string): Msg {
  const { task_summary: _, ...rest } = context; // the task itself comes as a message of its own
  const told = Object.entries(rest).filter(([, value]) => !isEmpty(value));
  const text = [`You work on a task of ${supervisor}, which follows. It sees only your answer.`];
  if (told.length > 0) text.push('What you may need to know:', JSON.stringify(Object.fromEntries(told)));
  return Msg.user(text.join('\n'), {
    id: `delegation_${fingerprint(canonicalJson(context))}`,
    name: supervisor,
    metadata: { delegation_context: context },
  });
}

function toEvent(msg: Msg): RecentEvent {
  const results = msg.getContentBlocks('tool_result').map(({ name, output, status }) => {
    const texts =
      typeof output === 'string'
        ? [output]
        : output.flatMap((block) => (block.type === 'text' ? [block.text] : []));
    return `${name} (${status}): ${texts.join(' ')}`;
  });
  const { id, role, name, timestamp } = msg;
  const text = [msg.text, ...results]
    .join(' ')
    .trim()
    .slice(0, 5 * MAX_PREVIEW);
  const preview = cutText(redactKeys(oneLine(text)), MAX_PREVIEW); // another vendor's model may read it
  return { id, role, name, preview, timestamp };
}

function cutPreview(event: JsonObject): JsonObject {
  const { preview } = event;
  return typeof preview === 'string' ? { ...event, preview: cutText(preview, MAX_PREVIEW) } : event;
}

function listIn(value: JsonValue | undefined): readonly JsonValue[] {
  return Array.isArray(value) ? (copyJson(value, 'the list') as readonly JsonValue[]) : [];
}

function objectsIn(value: JsonValue | undefined): readonly JsonObject[] {
  return listIn(value).filter(isJsonObject);
}

function isEmpty(value: JsonValue): boolean {
  return typeof value === 'object' && value !== null && Object.keys(value).length === 0;
}
