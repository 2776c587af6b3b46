import { getLogger } from '../config/run-config.ts';
import { messageOf } from '../errors.ts';
import type { AuthorizeRequest, ToolVerdict } from '../toolkit/call/tool-call.ts';
import { copyJsonObject } from '../util/json.ts';
import type { OpenExchange } from './open-exchange.ts';
import type { PermissionPolicy } from '../permission/permission-policy.ts';
import type { TurnControl } from '../agent/turn/turn-control.ts';

interface AuthorizeOptions {
  readonly permissionPolicy?: PermissionPolicy | undefined;
  readonly toolContext?: unknown;
}

/**
 * Decides whether a tool call may run, with the arguments that the tool will get. A denial of the policy counts more than any
 * decision. A tool call that the policy asks about runs only after a decision allowed exactly it, and never where nobody can
 * be asked. The start of a tool with a side effect is saved before it runs.
 */
export async function authorize(
  request: AuthorizeRequest,
  { permissionPolicy, toolContext: context }: AuthorizeOptions,
  open: OpenExchange | undefined,
  control: Pick<TurnControl, 'agentPath' | 'checkpoint'>,
): Promise<ToolVerdict> {
  const { call, tool } = request;
  const verdict: ToolVerdict =
    permissionPolicy === undefined
      ? { behavior: 'allow' }
      : await verdictOf(() => permissionPolicy.decide({ call, tool, agentPath: control.agentPath, context }));
  if (verdict.behavior === 'deny') return verdict;
  if (verdict.behavior === 'ask' && !open?.isGranted(request, verdict.isAskedEachTime))
    return open === undefined ? { behavior: 'deny', reason: 'nobody can be asked here' } : verdict;
  if (!tool.sideEffect) return { behavior: 'allow' };
  open?.started.add(call.id);
  try {
    await control.checkpoint();
    return { behavior: 'allow' };
  } catch (error) {
    return { behavior: 'deny', reason: `its start could not be noted: ${messageOf(error)}` };
  }
}

/** The verdict of a policy, read once. An invalid verdict, or one that could not be saved with a pending tool call, denies. */
async function verdictOf(decide: () => ToolVerdict | Promise<ToolVerdict>): Promise<ToolVerdict> {
  try {
    const { behavior, reason, suggestions, isAskedEachTime } = await decide();
    const isKnown = behavior === 'allow' || behavior === 'ask' || behavior === 'deny';
    if (!isKnown || (reason !== undefined && typeof reason !== 'string'))
      return { behavior: 'deny', reason: 'the policy gave no verdict' };
    return {
      behavior,
      reason,
      suggestions: suggestions?.map((rule) => copyJsonObject(rule, 'a suggested rule')),
      isAskedEachTime: Boolean(isAskedEachTime),
    };
  } catch (error) {
    getLogger().log('warn', `A permission policy failed: ${messageOf(error)}`);
    return { behavior: 'deny', reason: 'the policy failed' };
  }
}
