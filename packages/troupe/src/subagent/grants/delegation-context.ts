import type { FileSystemHandle } from '../../filesystem/file-system-handle.ts';
import { Msg } from '../../message/msg.ts';
import { canonicalJson } from '../../util/canonical-json.ts';
import { fingerprint } from '../../util/hash.ts';
import { copyJson, copyJsonObject, isJsonObject, type JsonObject, type JsonValue } from '../../util/json.ts';
import { cutText } from '../../util/text.ts';
import { contextText, type DelegationContext } from './context-text.ts';
import { MAX_PREVIEW, MAX_RECENT_EVENTS, recentEvents } from './recent-events.ts';

/**
 * Context of the host, from which the delegation context is made. Read only, and never given to a sub-agent.
 */
export interface ContextBundle {
  readonly conversation: readonly Msg[];
  /**
   * The newest messages with tool results, oldest first. Those of tool calls in the model message that still runs
   * are here only.
   */
  readonly recentToolResults: readonly Msg[];
  /** References to the long-term memory and knowledge bases that the sub-agent can query, with `id` and `description`. */
  readonly longTermRefs: readonly JsonObject[];
  /** Files granted to the sub-agent. */
  readonly workspace: FileSystemHandle | undefined;
  readonly safetyFlags: JsonObject;
}

const MAX_SUMMARY = 2000;
/** Limits of the context, which a model reads and the metadata of the result contains. */
const MAX_CONTEXT = { maxDepth: 32, maxSize: 256 * 1024 };

/** Default compression of the host's context: the task, previews of the most relevant events, and pointers to more. */
export function compressContext(parentContext: ContextBundle, task: string): DelegationContext {
  const { conversation, recentToolResults, longTermRefs, workspace, safetyFlags } = parentContext;
  const known = new Set(conversation.map(({ id }) => id));
  const events = [...conversation, ...recentToolResults.filter(({ id }) => !known.has(id))];
  return toDelegationContext({
    task_summary: task,
    recent_events: recentEvents(events, task),
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
  return Msg.user(contextText(context, supervisor), {
    id: `delegation_${fingerprint(canonicalJson(context))}`,
    name: supervisor,
    metadata: { delegation_context: context },
  });
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
