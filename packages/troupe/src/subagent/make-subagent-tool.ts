import { TroupeError } from '../errors.ts';
import type { Tool } from '../toolkit/tool/tool.ts';
import { Delegation, type SubAgentOptions } from './delegation.ts';
import type { SubAgentHost } from './sub-agent-host.ts';
import { checkSpec, type SubAgentSpec } from './sub-agent-spec.ts';
import type { SubAgent, SubAgentClass } from './sub-agent.ts';

export interface SubAgentToolOptions extends SubAgentOptions {
  /** Whose sub-agents they are. */
  readonly host: SubAgentHost;
}

/**
 * Makes a tool of a class of sub-agents: every call of it has a new one work on a task, and gives one result, whatever happens. The
 * tool can be registered with the host's toolkit, or be one of the `tools` of another sub-agent, whose own it is then.
 * @throws SubAgentUnavailable if one can't be made now, or is not well.
 * @throws TroupeError if the spec is wrong.
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
