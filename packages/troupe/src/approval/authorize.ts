import { getLogger } from '../config/run-config.ts';
import { messageOf } from '../errors.ts';
import type { AuthorizeRequest, ToolVerdict } from '../toolkit/call/tool-call.ts';
import { copyJsonObject } from '../util/json.ts';
import type { OpenExchange } from './open-exchange.ts';
import type { PermissionPolicy } from '../permission/permission-policy.ts';
import type { TurnControl } from '../agent/turn-control.ts';

interface AuthorizeOptions {
  readonly permissionPolicy?: PermissionPolicy | undefined;
  readonly toolContext?: unknown;
}

/**
 * Whether a call may run, with the arguments that its tool will get. What a policy denies stays denied, whoever allows it; what
 * it asks about runs when somebody has allowed just that, and not at all where nobody can be asked. A call that changes something is noted
 * before it starts.
 */
export async function authorize(
  request: AuthorizeRequest,
  { permissionPolicy, toolContext: context }: AuthorizeOptions,
  open: OpenExchange | undefined,
  turn: Pick<TurnControl, 'agentPath' | 'checkpoint'>,
): Promise<ToolVerdict> {
  const { call, tool } = request;
  const verdict: ToolVerdict =
    permissionPolicy === undefined
      ? { behavior: 'allow' }
      : await verdictOf(() => permissionPolicy.decide({ call, tool, agentPath: turn.agentPath, context }));
  if (verdict.behavior === 'deny') return verdict;
  if (verdict.behavior === 'ask' && !open?.isGranted(request, verdict.isAskedEachTime))
    return open === undefined ? { behavior: 'deny', reason: 'nobody can be asked here' } : verdict;
  if (!tool.sideEffect) return { behavior: 'allow' };
  open?.start(call.id);
  try {
    await turn.checkpoint();
    return { behavior: 'allow' };
  } catch (error) {
    return { behavior: 'deny', reason: `its start could not be noted: ${messageOf(error)}` };
  }
}

/** What a policy says, once: whatever is no verdict, or could not be saved with a call that waits, denies. */
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
