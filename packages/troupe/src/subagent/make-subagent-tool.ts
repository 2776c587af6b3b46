import { TroupeError } from '../errors.ts';
import type { Tool } from '../toolkit/tool/tool.ts';
import { Delegation, type SubAgentOptions } from './delegation.ts';
import type { SubAgentHost } from './sub-agent-host.ts';
import { checkSpec, type SubAgentSpec } from './sub-agent-spec.ts';
import type { SubAgent, SubAgentClass } from './sub-agent.ts';

export interface SubAgentToolOptions extends SubAgentOptions {
  /** Agent that the sub-agents work for. */
  readonly host: SubAgentHost;
}

/**
 * Makes a tool from a class of sub-agents. Every tool call makes a new sub-agent for one task and gives one
 * result, also on failure. Register the tool with the host's toolkit, or list it in the `tools` of another
 * sub-agent, which is then the host.
 * @throws SubAgentUnavailable if an instance can't be made, or its health check fails.
 * @throws TroupeError if the spec is wrong.
 *
 * @example
 * ```ts
 * import { makeSubagentTool, ReActAgent, TaskSubAgent } from 'troupe';
 * import { OfflineModel } from 'troupe/offline';
 *
 * const host = new ReActAgent({ name: 'Friday', model: new OfflineModel(), console: false });
 * const research = await makeSubagentTool(TaskSubAgent, { name: 'research', description: 'Finds things out.' }, { host });
 * host.toolkit.registerToolFunction(research);
 * console.log(research.name); // agent_research
 * ```
 */
export async function makeSubagentTool<Agent extends SubAgent>(
  cls: SubAgentClass<Agent>,
  spec: SubAgentSpec,
  { host, ...options }: SubAgentToolOptions,
): Promise<Tool> {
  if (typeof cls?.exportAgent !== 'function')
    throw new TroupeError('invalid_config', 'Give a class that extends SubAgentBase or TaskSubAgent.');
  if (host?.toolkit === undefined)
    throw new TroupeError('invalid_config', 'A sub-agent needs a host: an agent with a toolkit.');
  const delegation = new Delegation(cls, checkSpec(spec), options);
  const made = delegation.toolFor(host);
  await delegation.probe(host);
  return made;
}
