import { getLogger } from '../config/run-config.ts';
import { messageOf } from '../errors.ts';
import type { AuthorizeRequest, ToolVerdict } from '../toolkit/call/tool-call.ts';
import { isConfinement, type Confinement } from '../toolkit/tool/confinement.ts';
import type { Tool } from '../toolkit/tool/tool.ts';
import { copyJsonObject, type JsonObject } from '../util/json.ts';
import type { OpenExchange } from './open-exchange.ts';
import type { PermissionPolicy } from '../permission/permission-policy.ts';

interface AuthorizeOptions {
  readonly permissionPolicy?: PermissionPolicy | undefined;
  readonly toolContext?: unknown;
}

/** The agent call that makes a tool call. */
interface AuthorizedCaller {
  readonly agentPath: readonly string[];
  /** Has the state saved before an action that can't be undone. */
  checkpoint(): Promise<void>;
}

/**
 * Decides whether a tool call may run, with the arguments that the tool will get. A denial of the policy counts more than any
 * decision. A tool call that the policy asks about runs only after a decision allowed exactly it, and never where nobody can
 * be asked. The start of a tool with a side effect is saved before it runs. A tool call with limits that its tool can't keep
 * is not allowed without asking.
 */
export function authorize(
  request: AuthorizeRequest,
  options: AuthorizeOptions,
  open: OpenExchange | undefined,
  caller: AuthorizedCaller,
): ToolVerdict | Promise<ToolVerdict> {
  const isFree = options.permissionPolicy === undefined && !request.tool.sideEffect && !open?.hasLifted;
  return isFree ? ALLOWED : judge(request, options, open, caller);
}

const ALLOWED: ToolVerdict = Object.freeze({ behavior: 'allow' });

async function judge(
  request: AuthorizeRequest,
  { permissionPolicy, toolContext: context }: AuthorizeOptions,
  open: OpenExchange | undefined,
  caller: AuthorizedCaller,
): Promise<ToolVerdict> {
  const { call, tool } = request;
  const given: ToolVerdict =
    permissionPolicy === undefined
      ? ALLOWED
      : await verdictOf(() => permissionPolicy.decide({ call, tool, agentPath: caller.agentPath, context }));
  const verdict = await withConfinement(given, request);
  if (verdict.behavior === 'deny') return verdict;
  if (verdict.behavior === 'ask' && !open?.isGranted(request, verdict.isAskedEachTime))
    return open === undefined ? { behavior: 'deny', reason: 'nobody can be asked here' } : verdict;
  const confinement = open?.isLifted(request) ? 'none' : verdict.confinement;
  const allowed: ToolVerdict = { behavior: 'allow', ...(confinement !== undefined && { confinement }) };
  if (!tool.sideEffect) return allowed;
  open?.started.add(call.id);
  try {
    await caller.checkpoint();
    return allowed;
  } catch (error) {
    // The model reads the reason: what a store said, with the id of a session, is for the program.
    getLogger().log(
      'warn',
      `The tool '${tool.name}' did not run, as its start was not saved: ${messageOf(error)}`,
    );
    return { behavior: 'deny', reason: 'its start could not be saved' };
  }
}

/** Asks about an allowed tool call, or denies it, if its tool can't keep the limits of the verdict. */
async function withConfinement(verdict: ToolVerdict, { call, tool }: AuthorizeRequest): Promise<ToolVerdict> {
  const { behavior, confinement, suggestions, unconfined = 'ask' } = verdict;
  if (behavior !== 'allow' || confinement === undefined || confinement === 'none') return verdict;
  const problem = await confinementProblem(tool, call.input, confinement);
  if (problem === undefined) return verdict;
  // An approval does not change what programs can do in explore, unless the approval lifts the limits.
  const kept = confinement.profile === 'explore' && { confinement };
  return { behavior: unconfined, reason: problem, suggestions, ...kept };
}

async function confinementProblem(
  { name, checkConfinement }: Tool,
  input: JsonObject,
  confinement: Confinement,
): Promise<string | undefined> {
  if (checkConfinement === undefined) return `the tool '${name}' can't confine its commands`;
  try {
    return await checkConfinement(input, confinement);
  } catch (error) {
    return messageOf(error);
  }
}

/** The verdict of a policy, read once. An invalid verdict, or one that could not be saved with a pending tool call, denies. */
async function verdictOf(decide: () => ToolVerdict | Promise<ToolVerdict>): Promise<ToolVerdict> {
  try {
    const { behavior, reason, suggestions, isAskedEachTime, confinement, unconfined } = await decide();
    const isKnown = behavior === 'allow' || behavior === 'ask' || behavior === 'deny';
    const isConfined = confinement === undefined || isConfinement(confinement);
    if (!isKnown || !isConfined || (reason !== undefined && typeof reason !== 'string'))
      return { behavior: 'deny', reason: 'the policy gave no verdict' };
    return {
      behavior,
      reason,
      suggestions: suggestions?.map((rule) => copyJsonObject(rule, 'a suggested rule')),
      isAskedEachTime: Boolean(isAskedEachTime),
      ...(confinement !== undefined && {
        confinement,
        unconfined: unconfined === 'deny' ? unconfined : 'ask',
      }),
    };
  } catch (error) {
    getLogger().log('warn', `A permission policy failed: ${messageOf(error)}`);
    return { behavior: 'deny', reason: 'the policy failed' };
  }
}
