import { TroupeError } from '../../errors.ts';

/** `inherited`: the host's resource, restricted for the sub-agent. `own`: made anew. `off`: none. */
export type ResourcePolicy = 'inherited' | 'own' | 'off';

export interface SubAgentResource {
  readonly policy: ResourcePolicy;
  /** Other policies that a spec may choose. */
  readonly mayBe: readonly ResourcePolicy[];
  /** Explanation for readers of the docs. */
  readonly meaning: string;
}

/**
 * Resources of a sub-agent and their policies: which are shared with the host, which are new, which are off.
 * `exportAgent` and `permissionsFor` follow this table, and the docs show it.
 */
export const SUBAGENT_RESOURCES = {
  config: {
    policy: 'inherited',
    mayBe: [],
    meaning: 'the run configuration and its logger, the very same',
  },
  tracer: {
    policy: 'inherited',
    mayBe: ['off'],
    meaning: 'the same tracer; each delegation is a span under the span around it',
  },
  filesystem: {
    policy: 'inherited',
    mayBe: ['off'],
    meaning:
      'the same files, narrowed to `/workspace/subagents/<name>/` and what `fileGrants` adds of the host’s, with the tools to use them',
  },
  session: {
    policy: 'inherited',
    mayBe: ['off'],
    meaning: 'the same store, with `sub@<name>@` before every id',
  },
  longTermMemory: {
    policy: 'inherited',
    mayBe: ['off'],
    meaning: 'the very same; what is read and written is up to the sub-agent',
  },
  knowledge: {
    policy: 'inherited',
    mayBe: ['off'],
    meaning: 'the very same knowledge bases; what is searched is up to the sub-agent',
  },
  permissionPolicy: {
    policy: 'inherited',
    mayBe: [],
    meaning: 'the host’s policy decides about the tool calls of the sub-agent too',
  },
  safetyLimits: {
    policy: 'inherited',
    mayBe: [],
    meaning: 'a copy; those of the spec can only be stricter; counted together',
  },
  model: {
    policy: 'inherited',
    mayBe: ['own'],
    meaning: 'the host’s model, or `modelOverride`',
  },
  toolkit: {
    policy: 'own',
    mayBe: [],
    meaning:
      'the tools of `toolsAllowlist` and `tools`, none by default, and file tools; never forbidden ones',
  },
  memory: {
    policy: 'own',
    mayBe: [],
    meaning: 'empty but for the delegation context, and emptied afterwards',
  },
  hooks: {
    policy: 'own',
    mayBe: [],
    meaning: 'those of its class and of the classes above it; none of the host’s own',
  },
  runState: {
    policy: 'own',
    mayBe: [],
    meaning: 'a new instance for every delegation',
  },
  console: {
    policy: 'off',
    mayBe: [],
    meaning: 'it prints nothing',
  },
  msgQueue: {
    policy: 'off',
    mayBe: [],
    meaning: 'messages of the sub-agent stay out of the host’s queue',
  },
  msgHub: {
    policy: 'off',
    mayBe: [],
    meaning: 'the sub-agent joins no hub of the host',
  },
} as const satisfies Readonly<Record<string, SubAgentResource>>;

export type SubAgentResourceName = keyof typeof SUBAGENT_RESOURCES;

/** Policies in a spec that differ from the table. */
export type ResourceOverrides = Readonly<Partial<Record<SubAgentResourceName, ResourcePolicy | undefined>>>;

/** @throws TroupeError if a resource is unknown, or the policy is not allowed for it. */
export function checkOverrides(name: string, overrides: ResourceOverrides): void {
  for (const [resource, wanted] of Object.entries(overrides)) {
    const known: Readonly<Record<string, SubAgentResource>> = SUBAGENT_RESOURCES;
    const entry = Object.hasOwn(known, resource) ? known[resource] : undefined;
    if (wanted === undefined || entry?.policy === wanted || entry?.mayBe.includes(wanted)) continue;
    const choice = [entry?.policy, ...(entry?.mayBe ?? [])].join(' or ');
    const problem = entry === undefined ? 'There is no such resource' : `It is ${choice}`;
    throw new TroupeError(
      'invalid_config',
      `The resource '${resource.slice(0, 64)}' of the sub-agent '${name}' can't be set like this. ${problem}.`,
    );
  }
}

/** Effective policy of a resource. */
export function policyOf(resource: SubAgentResourceName, overrides: ResourceOverrides = {}): ResourcePolicy {
  return overrides[resource] ?? SUBAGENT_RESOURCES[resource].policy;
}
