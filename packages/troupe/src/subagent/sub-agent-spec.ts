import { checkNumber } from '../util/check-number.ts';
import { TroupeError } from '../errors.ts';
import type { FileGrantInput } from '../filesystem/file-policy.ts';
import type { ChatModelBase } from '../model/chat-model-base.ts';
import type { Tool } from '../toolkit/tool/tool.ts';
import { describe } from '../util/json.ts';
import type { AnySchema } from '../util/schema.ts';
import type { SubAgentPermissions } from './grants/permission-bundle.ts';
import { copyLimits, type SafetyLimits } from './limits/safety-limits.ts';
import { checkOverrides, type ResourceOverrides } from './grants/sub-agent-resources.ts';

/**
 * Describes one kind of sub-agent. Without the optional fields it has no tools, and the resources of
 * `SUBAGENT_RESOURCES`.
 */
export interface SubAgentSpec {
  /**
   * At most 32 lower-case letters, digits, `_` and `-`, a letter first. Part of tool names, paths and session
   * ids.
   */
  readonly name: string;
  /** Purpose of the sub-agent, for the model that chooses tools. */
  readonly description: string;
  /** System prompt; wins over that of the class. @default a prompt with the description and the granted files */
  readonly sysPrompt?: string | undefined;
  /**
   * Names of the host's tools and tool groups that the sub-agent may use. A tool that joins a group later needs
   * registering the sub-agent anew. File tools work on the sub-agent's own files.
   * @default none
   */
  readonly toolsAllowlist?: readonly string[] | undefined;
  /**
   * Further tools, not taken from the host. A function makes the tools for each task, e.g. tools for the
   * granted files, which replace the default file tools.
   * @default none
   */
  readonly tools?: readonly Tool[] | ((permissions: SubAgentPermissions) => readonly Tool[]) | undefined;
  /** Model of the sub-agent. @default the host's model */
  readonly modelOverride?: ChatModelBase | undefined;
  /** Labels for selection and audits: on the tool, in the metadata of results, and on the span. */
  readonly tags?: readonly string[] | undefined;
  /** Runs once at registration, together with the health check of the class. */
  readonly healthcheck?: (() => boolean | Promise<boolean>) | undefined;
  /** Arguments of the tool. @default a `query` and an optional `context` */
  readonly inputSchema?: AnySchema | undefined;
  /** Time limit of one task, without the time in which approvals are pending. @default 5 minutes */
  readonly timeoutMs?: number | undefined;
  /** Limits of each task, in addition to the host's limits. */
  readonly safetyLimits?: SafetyLimits | undefined;
  /** Access to files outside of the sub-agent's own folder, at most what the host may do. @default none */
  readonly fileGrants?: readonly FileGrantInput[] | undefined;
  /** Resources to switch off. @default the policies of `SUBAGENT_RESOURCES` */
  readonly resources?: ResourceOverrides | undefined;
  /** Whether the model may continue an earlier task by its id. @default false */
  readonly continuable?: boolean | undefined;
}

const NAME = /^[a-z][a-z0-9_-]{0,31}$/;
/** Device names on some systems, where no folder can have them. */
const DEVICES = /^(?:con|prn|aux|nul|com\d|lpt\d)$/;
const DEFAULT_TIMEOUT_MS = 300_000;

/** Validated and frozen spec. */
export interface CheckedSpec extends SubAgentSpec {
  readonly timeoutMs: number;
  readonly safetyLimits: SafetyLimits;
}

/** Validates and freezes a spec. @throws TroupeError if a field is wrong. */
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
  checkOptionalFields(spec);
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

/** Expected form of each optional field. */
const OPTIONAL_FIELDS: readonly [keyof SubAgentSpec, what: string, isFine: (value: unknown) => boolean][] = [
  ['sysPrompt', 'a text', (value) => typeof value === 'string'],
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

/** @throws TroupeError with the name of the first wrong field. */
function checkOptionalFields(spec: SubAgentSpec): void {
  for (const [part, what, isFine] of OPTIONAL_FIELDS) {
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

/** @throws TroupeError unless the name is safe in paths, session ids and tool names on every system. */
export function checkSubAgentName(name: unknown): void {
  if (typeof name === 'string' && NAME.test(name) && !DEVICES.test(name)) return;
  const shown = typeof name === 'string' ? JSON.stringify(name.slice(0, 48)) : describe(name);
  throw new TroupeError(
    'invalid_id',
    `A sub-agent's name needs 1 to 32 lower-case letters, digits, _ or -, starts with a letter and is no device name; got ${shown}.`,
  );
}
