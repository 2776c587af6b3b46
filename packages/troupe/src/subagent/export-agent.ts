import { filesOf } from '../file-tools/file-tool.ts';
import { InMemoryMemory } from '../memory/in-memory-memory.ts';
import { withDeadline } from '../util/async/deadline.ts';
import { BASIC_GROUP } from '../toolkit/tool/registered-tool.ts';
import type { AuthorizeRequest, ToolVerdict } from '../toolkit/call/tool-call.ts';
import { ToolResponse } from '../toolkit/tool/tool-response.ts';
import { Toolkit } from '../toolkit/toolkit.ts';
import { authorize } from '../approval/authorize.ts';
import { currentControl } from '../agent/turn/current-turn.ts';
import { bindTo } from './grants/sub-agent-binding.ts';
import { CountedModel } from './limits/counted-model.ts';
import { forbiddenTo } from './grants/forbidden-tools.ts';
import { boundToFiles, fileToolsFor } from './grants/granted-files.ts';
import { permissionsFrom } from './grants/granted-resources.ts';
import { assertToolsExist, grantedTools } from './grants/granted-tools.ts';
import type { SubAgentPermissions } from './grants/permission-bundle.ts';
import { SubAgentUnavailable } from './sub-agent-error.ts';
import { policyOf, type SubAgentResourceName } from './grants/sub-agent-resources.ts';
import { checkSpec, type CheckedSpec, type SubAgentSpec } from './sub-agent-spec.ts';
import type { ExportAgentOptions, SubAgent, SubAgentInit } from './sub-agent.ts';
import { redactedMessage } from '../util/redaction/redacted-text.ts';
import { setTaskTimeout } from './limits/time-limits.ts';

const HEALTHCHECK_LIMIT_MS = 10_000;

/** Switches off resources whose policy is `off`. */
const SILENCERS: Readonly<Partial<Record<SubAgentResourceName, (agent: SubAgent) => void>>> = {
  console: (agent) => agent.setConsoleOutputEnabled(false),
  msgQueue: (agent) => agent.setMsgQueueEnabled(false),
};

/**
 * Makes a sub-agent with exactly the granted resources. Used as a static method of sub-agent classes.
 * @throws SubAgentUnavailable if making it or its health check fails; TroupeError if the spec is wrong.
 */
export async function exportAgent<Agent extends SubAgent>(
  this: new (init: SubAgentInit) => Agent,
  options: ExportAgentOptions,
): Promise<Agent> {
  const { hostToolkit = new Toolkit(), hostModel, runHealthcheck = false } = options;
  const spec = checkSpec(options.spec);
  try {
    const permissions = permissionsFrom(options.permissions, spec, hostToolkit);
    const isMadeByProgram = permissions !== options.permissions;
    if (isMadeByProgram) assertToolsExist(spec, hostToolkit, permissions.supervisorName);
    if (isMadeByProgram && !runHealthcheck) permissions.budget.begin();
    const toolkit = toolkitFor(spec, permissions, hostToolkit);
    const model =
      spec.modelOverride ?? (policyOf('model', spec.resources) === 'inherited' ? hostModel : undefined);
    const agent = new this({
      name: spec.name,
      spec,
      permissions,
      toolkit,
      memory: new InMemoryMemory(),
      model: model && new CountedModel(model, permissions.budget),
    });
    for (const [resource, silence] of Object.entries(SILENCERS)) {
      if (policyOf(resource as SubAgentResourceName, spec.resources) === 'off') silence(agent);
    }
    for (const name of toolkit.names) {
      const bound = bindTo(toolkit.get(name), agent);
      if (bound !== undefined) toolkit.registerToolFunction(bound, { namesakeStrategy: 'override' });
    }
    hideFromState(agent, [permissions.longTermMemory, permissions.permissionPolicy]);
    if (isMadeByProgram) setTaskTimeout(agent, spec.timeoutMs);
    if (runHealthcheck) await assertHealthy(agent, spec);
    return agent;
  } catch (error) {
    if (SubAgentUnavailable.isInstance(error)) throw error;
    throw unavailable(spec, "it can't be made", error);
  }
}

/**
 * Makes the toolkit of a sub-agent: the granted tools of the host, shared, and the tools of the spec,
 * registered anew so that agents among them are part of the sub-agent's state. Tools for the granted files are added
 * unless the spec has file tools.
 * @throws TroupeError if a granted file tool can't be bound to the files of the sub-agent.
 */
function toolkitFor(spec: CheckedSpec, permissions: SubAgentPermissions, hostToolkit: Toolkit): Toolkit {
  const { toolsAllowlist, tools = [] } = spec;
  const { safetyLimits, logger, filesystem } = permissions;
  const own = typeof tools === 'function' ? tools(permissions) : tools;
  if (!Array.isArray(own)) throw new TypeError("its 'tools' gives no list");
  const granted = grantedTools(hostToolkit, toolsAllowlist).names;
  const isForbidden = forbiddenTo(permissions, hostToolkit, own);
  const mayGrant = (name: string): boolean => {
    const tool = hostToolkit.get(name);
    return tool !== undefined && !isForbidden(tool);
  };
  const toolkit = hostToolkit.subset(granted.filter(mayGrant), {
    authorize: (request) => authorizeDirectly(request, spec, permissions),
    adapt: (tool) => boundToFiles(tool, spec.name, permissions),
  });
  const allowed = own.filter((tool) => !isForbidden(tool));
  const hasFileTools = [...own, ...granted.map((name) => hostToolkit.get(name))].some(
    (tool) => tool && filesOf(tool),
  );
  const forFiles = filesystem === undefined || hasFileTools ? [] : fileToolsFor(filesystem);
  for (const tool of [...forFiles.filter((one) => !isForbidden(one) && !toolkit.has(one.name)), ...allowed])
    toolkit.registerToolFunction({ ...tool, group: BASIC_GROUP }, { namesakeStrategy: 'override' });
  if (allowed.length < own.length || !granted.every(mayGrant))
    logger.log(
      'warn',
      `The sub-agent '${spec.name}' has no access to some of its tools: they are forbidden.`,
    );
  if ((safetyLimits.forbiddenTools ?? []).length > 0) {
    // Refuses forbidden tools also when the sub-agent registers them later.
    toolkit.registerMiddleware((call, next) =>
      isForbidden(toolkit.get(call.name) ?? { name: call.name, execute: () => {} })
        ? new ToolResponse('PermissionDenied: No sub-agent may use this tool.', { status: 'denied' })
        : next(call, { mapChunk: (snapshot) => snapshot }),
    );
  }
  return toolkit;
}

/**
 * Applies budget and permission policy to tool calls that a sub-agent makes outside of a ReAct loop.
 * @throws LimitReached
 */
function authorizeDirectly(
  request: AuthorizeRequest,
  { name }: SubAgentSpec,
  { budget, permissionPolicy, supervisorName }: SubAgentPermissions,
): ToolVerdict | Promise<ToolVerdict> {
  budget.beginStep(false);
  const { place, savePoints } = currentControl() ?? {};
  const { agentPath } = place ?? { agentPath: [supervisorName, name] };
  const checkpoint = async (): Promise<void> => savePoints?.checkpoint();
  return authorize(request, { permissionPolicy }, undefined, { agentPath, checkpoint });
}

/**
 * Keeps shared objects out of the sub-agent's state: saving the sub-agent must not save the host's memory or
 * policy, and loading must not reset them.
 */
function hideFromState(agent: SubAgent, shared: readonly (object | undefined)[]): void {
  for (const [name, value] of Object.entries(agent) as [string, unknown][]) {
    if (shared.some((one) => one !== undefined && one === value))
      Object.defineProperty(agent, name, { enumerable: false });
  }
}

async function assertHealthy(agent: SubAgent, spec: SubAgentSpec): Promise<void> {
  const checks = [() => agent.healthcheck(), ...(spec.healthcheck ? [spec.healthcheck] : [])];
  for (const check of checks) {
    const deadline = { timeoutMs: HEALTHCHECK_LIMIT_MS, signal: undefined };
    const isHealthy = await withDeadline(deadline, async () => check()).catch((error: unknown) => {
      throw unavailable(spec, 'its health check failed', error);
    });
    if (isHealthy !== true) throw new SubAgentUnavailable(spec.name, 'its health check failed.');
  }
}

function unavailable({ name }: SubAgentSpec, problem: string, cause: unknown): SubAgentUnavailable {
  return new SubAgentUnavailable(name, `${problem}: ${redactedMessage(cause)}`, { cause });
}
