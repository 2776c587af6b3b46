import type { FileSystemHandle } from '../../filesystem/file-system-handle.ts';
import { Msg } from '../../message/msg.ts';
import { canonicalJson } from '../../util/canonical-json.ts';
import { fingerprint } from '../../util/hash.ts';
import { redactKeys } from '../../util/redaction/key-patterns.ts';
import { copyJson, copyJsonObject, isJsonObject, type JsonObject, type JsonValue } from '../../util/json.ts';
import { cutText, oneLine } from '../../util/text.ts';

/**
 * Context of the host, from which the delegation context is made. Read only, and never given to a sub-agent.
 */
export interface ContextBundle {
  readonly conversation: readonly Msg[];
  /** The newest messages with tool results, oldest first. */
  readonly recentToolResults: readonly Msg[];
  /** References to the long-term memory that the sub-agent can query. */
  readonly longTermRefs: readonly JsonObject[];
  /** Files granted to the sub-agent. */
  readonly workspace: FileSystemHandle | undefined;
  readonly safetyFlags: JsonObject;
}

/** Short form of a recent message of the host. */
export type RecentEvent = {
  readonly id: string;
  readonly role: string;
  readonly name: string;
  readonly preview: string;
  readonly timestamp: string;
};

/**
 * Context that a sub-agent gets with its task: JSON, always with these keys in this order. A host may add
 * further keys.
 */
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
/** Limits of the context, which a model reads and the metadata of the result contains. */
const MAX_CONTEXT = { maxDepth: 32, maxSize: 256 * 1024 };

/**
 * Default compression of the host's context: the task, previews of the newest tool results (otherwise of the
 * last message), and pointers to more.
 */
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

/**
 * Normalises any value to a delegation context: missing and wrong keys become empty, lists and texts are cut
 * to their limits.
 */
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

/** Contexts made by `toDelegationContext`; frozen, so a second check is not needed. */
const checked = new WeakSet<object>();

function isChecked(value: unknown): value is DelegationContext {
  return typeof value === 'object' && value !== null && checked.has(value);
}

/**
 * The context as a message for the model. Equal contexts have the same message id, so a memory adds the
 * message once.
 */
export function contextMsg(context: DelegationContext, supervisor: string): Msg {
  const { task_summary: _, ...rest } = context; // the task is a message by itself
  const filled = Object.entries(rest).filter(([, value]) => !isEmpty(value));
  const text = [`You work on a task of ${supervisor}, which follows. It sees only your answer.`];
  if (filled.length > 0) text.push('What you may need to know:', JSON.stringify(Object.fromEntries(filled)));
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
  // another vendor's model may read the preview
  const preview = cutText(redactKeys(oneLine(text)), MAX_PREVIEW);
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
