import { getLogger } from '../config/run-config.ts';
import { messageOf } from '../errors.ts';
import type { AuthorizeRequest, ToolVerdict } from '../toolkit/tool-call.ts';
import type { OpenExchange } from './open-exchange.ts';
import type { ReActAgentOptions } from './react-agent-options.ts';
import type { Turn } from './turn.ts';

/**
 * Whether a call may run, with the arguments that its tool will get. What a policy denies stays denied, whoever allows it; what
 * it asks about runs when somebody has allowed just that, and not at all where nobody can be asked. A call that changes something is noted
 * before it starts.
 */
export async function authorize(
  request: AuthorizeRequest,
  { permission, toolContext: context }: Pick<ReActAgentOptions, 'permission' | 'toolContext'>,
  open: OpenExchange | undefined,
  turn: Pick<Turn, 'agentPath' | 'checkpoint'>,
): Promise<ToolVerdict> {
  const { call, tool } = request;
  const verdict: ToolVerdict =
    permission === undefined
      ? { behavior: 'allow' }
      : await verdictOf(() => permission.decide({ call, tool, agentPath: turn.agentPath, context }));
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

async function verdictOf(decide: () => ToolVerdict | Promise<ToolVerdict>): Promise<ToolVerdict> {
  try {
    const { behavior, reason, suggestions, isAskedEachTime } = await decide();
    if (behavior === 'allow' || behavior === 'ask' || behavior === 'deny')
      return { behavior, reason, suggestions, isAskedEachTime };
    return { behavior: 'deny', reason: 'the policy gave no verdict' };
  } catch (error) {
    getLogger().log('warn', `A permission policy failed: ${messageOf(error)}`);
    return { behavior: 'deny', reason: 'the policy failed' };
  }
}
