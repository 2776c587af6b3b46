import { checkNumber } from '../util/check-number.ts';
import { TroupeError } from '../errors.ts';
import type { FileGrantInput } from '../filesystem/file-policy.ts';
import type { ChatModelBase } from '../model/chat-model-base.ts';
import type { Tool } from '../toolkit/tool/tool.ts';
import { describe } from '../util/json.ts';
import type { AnySchema } from '../util/schema.ts';
import type { PermissionBundle } from './grants/permission-bundle.ts';
import { copyLimits, type SafetyLimits } from './limits/safety-limits.ts';
import { checkOverrides, type ResourceOverrides } from './grants/sub-agent-resources.ts';

/** What a kind of sub-agent is, and what it may have. Without the optional parts it has no tools, and whatever the table of resources says. */
export interface SubAgentSpec {
  /** Small letters, digits, `_` and `-`, at most 32, a letter first: it is part of tool names, paths and session ids. */
  readonly name: string;
  /** For whoever chooses it: what it is good for. */
  readonly description: string;
  /** Tools and groups of tools of the host that it may use. @default none */
  readonly toolsAllowlist?: readonly string[] | undefined;
  /** Tools of its own, which the host need not have. A function makes them for each call, e.g. tools for its files. @default none */
  readonly tools?: readonly Tool[] | ((permissions: PermissionBundle) => readonly Tool[]) | undefined;
  /** @default the host's model */
  readonly modelOverride?: ChatModelBase | undefined;
  /** For whoever selects or audits. */
  readonly tags?: readonly string[] | undefined;
  /** Is asked once, when it is registered, besides the sub-agent itself. */
  readonly healthcheck?: (() => boolean | Promise<boolean>) | undefined;
  /** The arguments that the host's model gives. @default a `query`, and a `context` if it likes */
  readonly inputSchema?: AnySchema | undefined;
  /** How long one task may take; time in which somebody is asked doesn't count. @default 5 minutes */
  readonly timeoutMs?: number | undefined;
  /** Limits for each task, besides those of the host. */
  readonly safetyLimits?: SafetyLimits | undefined;
  /** What it may do with other files than its own, as far as the host may. @default nothing */
  readonly fileGrants?: readonly FileGrantInput[] | undefined;
  /** What it does without, though the host has it. @default nothing */
  readonly resources?: ResourceOverrides | undefined;
  /** Whether the model may go on with an earlier task, by its id. @default false */
  readonly continuable?: boolean | undefined;
}

const NAME = /^[a-z][a-z0-9_-]{0,31}$/;
/** Names that are devices on some systems, where they can't be folders. */
const DEVICES = /^(?:con|prn|aux|nul|com\d|lpt\d)$/;
const DEFAULT_TIMEOUT_MS = 300_000;

/** A spec that was checked, and that nobody changes any more. */
export interface CheckedSpec extends SubAgentSpec {
  readonly timeoutMs: number;
  readonly safetyLimits: SafetyLimits;
}

/** @throws TroupeError if anything about it is wrong. */
export function checkSpec(spec: SubAgentSpec): CheckedSpec {
  checkSubAgentName(spec?.name);
  const { name, description, timeoutMs = DEFAULT_TIMEOUT_MS, resources = {} } = spec;
  if (typeof description !== 'string' || description.trim() === '') {
    throw new TroupeError(
      'invalid_config',
      `The sub-agent '${name}' needs a description: a model chooses by it.`,
    );
  }
  checkNumber('timeoutMs', timeoutMs, { least: 1 });
  checkParts(spec);
  checkOverrides(name, resources);
  const { tools, toolsAllowlist = [], fileGrants = [], tags = [] } = spec;
  return Object.freeze({
    ...spec,
    timeoutMs,
    toolsAllowlist: Object.freeze([...toolsAllowlist]),
    tools: Array.isArray(tools) ? Object.freeze([...tools]) : tools,
    fileGrants: Object.freeze(fileGrants.map(copyGrant)),
    tags: Object.freeze([...tags]),
    resources: Object.freeze({ ...resources }),
    safetyLimits: copyLimits(spec.safetyLimits),
  });
}

/** What each part of a spec is, if it is there. */
const PARTS: readonly [keyof SubAgentSpec, what: string, isFine: (value: unknown) => boolean][] = [
  ['toolsAllowlist', 'a list of names', isListOf((one) => typeof one === 'string')],
  ['tools', 'a list of tools, or a function that makes one', (value) => isFunction(value) || isTools(value)],
  ['modelOverride', 'a model', (value) => isObject(value) && 'stream' in value && isFunction(value.stream)],
  ['tags', 'a list of texts', isListOf((one) => typeof one === 'string')],
  ['healthcheck', 'a function', isFunction],
  ['inputSchema', 'a schema', (value) => isObject(value) || isFunction(value)],
  ['fileGrants', 'a list of grants', isListOf((one) => typeof one === 'string' || isObject(one))],
  ['resources', 'an object', isObject],
];

const isTools = isListOf((one) => isObject(one) && 'execute' in one && isFunction(one.execute));

/** @throws TroupeError that names the part which is something else. */
function checkParts(spec: SubAgentSpec): void {
  for (const [part, what, isFine] of PARTS) {
    if (spec[part] === undefined || isFine(spec[part])) continue;
    throw new TroupeError('invalid_config', `'${part}' of the sub-agent '${spec.name}' must be ${what}.`);
  }
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}

function isFunction(value: unknown): boolean {
  return typeof value === 'function';
}

function isListOf(isFine: (one: unknown) => boolean): (value: unknown) => boolean {
  return (value) => Array.isArray(value) && value.every(isFine);
}

function copyGrant(grant: FileGrantInput): FileGrantInput {
  if (typeof grant === 'string') return grant;
  return Object.freeze({ path: grant.path, operations: Object.freeze([...grant.operations]) });
}

/** @throws TroupeError unless the name is safe as a part of paths, keys and tool names everywhere. */
export function checkSubAgentName(name: unknown): void {
  if (typeof name === 'string' && NAME.test(name) && !DEVICES.test(name)) return;
  const shown = typeof name === 'string' ? JSON.stringify(name.slice(0, 48)) : describe(name);
  throw new TroupeError(
    'invalid_id',
    `The name of a sub-agent has 1 to 32 small letters, digits, _ or -, begins with a letter, and is not that of a device; not ${shown}.`,
  );
}
