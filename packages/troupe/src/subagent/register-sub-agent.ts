import { getLogger } from '../config/run-config.ts';
import type { SubAgentOptions } from './delegation.ts';
import { makeSubagentTool } from './make-subagent-tool.ts';
import { SubAgentUnavailable } from './sub-agent-error.ts';
import type { SubAgentHost } from './sub-agent-host.ts';
import type { SubAgentSpec } from './sub-agent-spec.ts';
import type { SubAgent, SubAgentClass } from './sub-agent.ts';
import { inDelegationSpan, type SpanFailure } from '../tracing/tracer.ts';

/**
 * Registers a sub-agent as a tool of the host. Returns the name of the tool, or undefined if the sub-agent is
 * unavailable (can't be made, or its health check fails): then nothing is registered, and a warning and a
 * span record the reason.
 *
 * @throws TroupeError if the spec is wrong, or the tool name is in use.
 *
 * @example
 * ```ts
 * import { ReActAgent, registerSubAgent, TaskSubAgent, tool } from 'troupe';
 * import { OfflineModel } from 'troupe/offline';
 *
 * const host = new ReActAgent({ name: 'Friday', model: new OfflineModel() });
 * const search = tool({ name: 'search_web', execute: () => 'The Moon: 363300 km.' });
 * await registerSubAgent(host, TaskSubAgent, { name: 'research', description: 'Finds things out.', tools: [search] });
 * console.log(host.toolkit.has('agent_research')); // true
 * ```
 */
export function registerSubAgent<Agent extends SubAgent>(
  host: SubAgentHost,
  cls: SubAgentClass<Agent>,
  spec: SubAgentSpec,
  options: SubAgentOptions = {},
): Promise<string | undefined> {
  const tags = Array.isArray(spec?.tags) ? spec.tags.map(String) : []; // not checked yet
  const name = String(spec?.name).slice(0, 64);
  const operation = { type: 'subagent', action: 'register', name, supervisor: host.name, tags } as const;
  const tracer = options.tracer ?? host.permissions?.tracer;
  let failure: SpanFailure | undefined;
  return inDelegationSpan(operation, { tracer, failureOf: () => failure }, async () => {
    try {
      return host.toolkit.registerToolFunction(await makeSubagentTool(cls, spec, { ...options, host }));
    } catch (error) {
      if (!SubAgentUnavailable.isInstance(error)) throw error;
      getLogger().log('warn', `${error.message} It was not registered.`);
      failure = { code: 'unavailable', message: error.message };
      return undefined;
    }
  });
}
