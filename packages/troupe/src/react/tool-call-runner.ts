import { currentToolCallId, runInToolCall } from '../agent/turn/current-turn.ts';
import { authorize } from '../approval/authorize.ts';
import type { OpenExchange } from '../approval/open-exchange.ts';
import { getLogger } from '../config/run-config.ts';
import { HookError, messageOf } from '../errors.ts';
import type { ToolResultBlock, ToolUseBlock } from '../message/blocks.ts';
import type { PendingCall } from '../message/pending-call.ts';
import {
  isSuspended,
  type SuspendedToolCall,
  type ToolCallOutcome,
} from '../toolkit/call/tool-call-outcome.ts';
import type { CallToolOptions } from '../toolkit/call/tool-call.ts';
import type { Suspension } from '../toolkit/tool/tool-suspension.ts';
import { forEachConcurrently } from '../util/async/for-each-concurrently.ts';
import { newId } from '../util/ids.ts';
import type { ReplyState } from './reply-state.ts';

/** `acting` of the agent, with its hooks. */
type Act = (call: ToolUseBlock) => Promise<ToolResultBlock | SuspendedToolCall>;

/**
 * Runs the tool calls of an exchange that have no result and are not pending, one after the other or concurrently. Each
 * gets one result, or becomes pending; run one after the other, a pending tool call holds back the rest.
 */
export async function runToolCalls(open: OpenExchange, reply: ReplyState, act: Act): Promise<void> {
  const { parallelToolCalls = false, maxToolCalls = 128 } = reply.options;
  const { control, agent } = reply;
  const { exchange } = open;
  const maxConcurrent =
    typeof parallelToolCalls === 'number' ? parallelToolCalls : parallelToolCalls ? Infinity : 1;
  await forEachConcurrently(open.toRun, maxConcurrent, async (call) => {
    if (maxConcurrent === 1 && open.statuses.hasPending) return;
    control.signal.throwIfAborted();
    const waits = open.begin(call.id) ? control.emit({ type: 'tool_start', call }) : undefined;
    if (waits) await waits;
    const isTooMany = exchange.calls.indexOf(call) >= maxToolCalls;
    if (isTooMany) open.addResult(tooMany(call, maxToolCalls));
    else await actOn(call, open, reply, act);
    const result = exchange.resultOf(call.id);
    if (result === undefined || exchange.isClosed) return; // pending, or too late
    const told = reply.tell(open, [result]);
    if (told) await told;
    await agent.self.print(exchange.resultMsg(result));
  });
}

/** Records the outcome of one tool call. If that fails, the result is kept, or withheld if `postActing` hooks may have had to change it. */
async function actOn(call: ToolUseBlock, open: OpenExchange, reply: ReplyState, act: Act): Promise<void> {
  const { id, name } = call;
  try {
    const acted = await runInToolCall(id, () => act(open.runnable(call)));
    if (isSuspended(acted)) return await suspend(call, acted.suspension, open, reply);
    const result = acted.id === id && acted.name === name ? acted : { ...acted, id, name };
    const isAnswer = result.responseMsg !== undefined || reply.toolkit.get(name)?.returnDirect === true;
    open.addResult(isAnswer ? result : open.withNote(result));
  } catch (error) {
    const result = reply.unhookedResults.get(id);
    const isWithheld = reply.agent.self.hooksOf('postActing').length > 0;
    if (result !== undefined) open.addResult(isWithheld ? withheld(call) : { ...result, id, name });
    if (error instanceof HookError && reply.control.signal.aborted) getLogger().log('warn', error.message); // the interrupt is told instead
    throw error;
  } finally {
    reply.unhookedResults.delete(id);
  }
}

/** Withholds the results of tool calls whose `postActing` hooks were cut off. */
export function withholdUnhooked(open: OpenExchange, { unhookedResults }: ReplyState): void {
  for (const call of open.exchange.calls) if (unhookedResults.has(call.id)) open.addResult(withheld(call));
}

/** Makes a suspended tool call a pending one. */
async function suspend(
  call: ToolUseBlock,
  suspension: Suspension,
  open: OpenExchange,
  { control }: ReplyState,
): Promise<void> {
  if (suspension.kind === 'nested') return open.setNestedPending(call.id, suspension);
  const isQuestion = suspension.kind === 'question';
  const { maxQuestions = Infinity } = isQuestion ? suspension : {};
  if (isQuestion && ++control.costs.spending.questions > maxQuestions)
    return open.addResult(tooManyQuestions(call, maxQuestions));
  const id = await control.steps.run({ kind: 'id', name: 'pending call', key: call.id }, async () =>
    newId('pending_'),
  );
  const waiting = { id, agentPath: control.place.agentPath, call: { ...suspension.call, id: call.id } };
  if (!isQuestion) return open.setPending({ ...suspension, ...waiting });
  const { question, state, source } = suspension;
  const from = source !== undefined && { source };
  const pending: PendingCall = { ...waiting, ...from, kind: 'question', question };
  if (state === undefined) open.setPending(pending);
  else open.setNestedPending(call.id, { ...from, state, pending: [pending] });
}

/** Runs one tool call as a step, without hooks. An interrupted tool call has its result at once, with the snapshot shown last. */
export async function runToolCallStep(call: ToolUseBlock, reply: ReplyState): Promise<ToolCallOutcome> {
  const { control, agent, open, options } = reply;
  const id = currentToolCallId() ?? call.id; // hooks and middleware may have changed the tool call
  let running: Promise<ToolCallOutcome> | undefined;
  let hookFailure: { readonly error: unknown } | undefined;
  let previous: ToolResultBlock | undefined;
  const { agentPath } = control.place;
  const caller = { agentPath, checkpoint: () => control.savePoints.checkpoint() };
  const callOptions: CallToolOptions = {
    signal: control.signal,
    agentName: agentPath.at(-1),
    context: options.toolContext,
    authorize: (request) => {
      const ownId = {
        sent: request.sent,
        tool: request.tool,
        get call() {
          return { ...request.call, id };
        },
      };
      return authorize(ownId, options, open, caller);
    },
    resume: open?.statuses.resumeOf(id),
    onChunk: async (result) => {
      await control.emit({ type: 'tool_chunk', result });
      if (open !== undefined) await agent.self.print(open.exchange.resultMsg(result), false);
      const before = previous;
      previous = result;
      await agent.actingChunk(call, result, before).catch((error: unknown) => (hookFailure ??= { error }));
    },
  };
  try {
    const hasSideEffect = reply.toolkit.get(call.name)?.sideEffect;
    const outcome = await control.steps.run({ kind: 'tool', name: call.name, key: id, hasSideEffect }, () => {
      running = reply.toolkit.runToolCall(call, callOptions);
      return running;
    });
    if (outcome.kind === 'suspended') return outcome;
    reply.unhookedResults.set(id, outcome.result);
    if (hookFailure !== undefined) throw hookFailure.error; // not thrown into the tool, which is not at fault
    return outcome;
  } catch (error) {
    if (!control.signal.aborted) throw error;
    if (hookFailure !== undefined) getLogger().log('warn', messageOf(hookFailure.error)); // the interrupt is told instead
    const stopped = await running;
    if (stopped?.kind !== 'result') throw error;
    const { result } = stopped;
    if (result.status !== 'interrupted') reply.unhookedResults.set(id, result); // the tool had finished
    return stopped;
  }
}

/** Stands for a result whose hooks failed or were cut off: it may have taken effect, and must not be told unchanged. */
function withheld({ id, name }: ToolUseBlock): ToolResultBlock {
  const output =
    'The tool call was made, but its result is withheld because a hook did not finish. Do not assume that it had no effect.';
  return { type: 'tool_result', id, name, output, status: 'error' };
}

function tooManyQuestions({ id, name }: ToolUseBlock, max: number): ToolResultBlock {
  const output = `Error: too many questions. The user answers at most ${max} for one request: go on with what you know.`;
  return { type: 'tool_result', id, name, output, status: 'error' };
}

function tooMany({ id, name }: ToolUseBlock, max: number): ToolResultBlock {
  const output = `Error: too many calls at once. At most ${max} are made; call the rest later.`;
  return { type: 'tool_result', id, name, output, status: 'error' };
}
