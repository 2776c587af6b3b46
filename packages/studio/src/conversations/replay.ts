import { randomBytes } from 'node:crypto';

import { ReActAgent, withRunConfig, type AgentBase, type JsonObject, type Msg } from 'troupe';
import { observeProgram } from 'troupe/kernel';

import type { MsgJson, PromptPart, ReplayDifference, ReplayReport } from '../protocol.ts';
import { changesOf, CHARS_PER_TOKEN, partText, promptDetail } from '../runs/prompts.ts';
import { isRecord } from '../store/json-text.ts';
import type { StudioStore } from '../store/studio-store.ts';
import { OffTapeError, replayingSteps, toMsgs, unpack, unpackCall } from './tape-steps.ts';

/** Start of the ids of runs that are replays: the Studio does not record them. */
export const REPLAY_PREFIX = 'replay-';

/** A turn as it was recorded. */
export interface RecordedTurn {
  readonly runId: string;
  readonly callId: string;
  /** State of the agent before the turn, and its decisions with the results of its steps; both packed. */
  readonly state: Uint8Array;
  readonly steps: Uint8Array;
  readonly input: readonly MsgJson[];
  readonly answer: string;
}

/** Runs a recorded turn with an agent of the present code and the recorded answers, up to the first difference. Disposes of the agent. */
export async function replayTurn(
  store: StudioStore,
  agent: AgentBase,
  turn: RecordedTurn,
): Promise<ReplayReport> {
  const { callId, answer } = turn;
  const sysPrompt = agent instanceof ReActAgent ? agent.sysPrompt : undefined;
  agent.loadStateDict(unpack<JsonObject>(turn.state));
  // The system prompt is part of the state, and of the code: the present one is what is tried.
  if (agent instanceof ReActAgent && sysPrompt !== undefined) agent.sysPrompt = sysPrompt;
  let steps = 0;
  let difference: ReplayDifference | undefined;
  const stop = new AbortController();
  const replayId = `${REPLAY_PREFIX}${randomBytes(9).toString('base64url')}`;
  const stopObserving = comparePrompts(store, turn, agent, (found) => {
    difference ??= found;
    stop.abort();
  });
  const tape = unpackCall(turn.steps);
  const runStep = replayingSteps(agent, tape.steps, () => steps++);
  try {
    const msg = await withRunConfig({ runId: replayId, logging: 'silent' }, () =>
      agent.call(toMsgs(turn.input), {
        decisions: tape.decisions,
        runStep,
        signal: stop.signal,
        lifetime: 'detached',
      }),
    );
    if (difference === undefined && msg.pending === undefined && msg.text !== answer)
      difference = { kind: 'answer', message: 'The answer differs.', before: answer, after: msg.text };
  } catch (error) {
    difference ??= differenceOf(error);
  } finally {
    stopObserving();
    await agent[Symbol.asyncDispose]();
  }
  return {
    callId,
    steps,
    result: difference === undefined ? 'same' : 'different',
    ...(difference && { difference }),
  };
}

function differenceOf(error: unknown): ReplayDifference {
  if (!(error instanceof OffTapeError))
    return { kind: 'error', message: error instanceof Error ? error.message : 'The turn failed.' };
  const { name, key } = error.step;
  return { kind: 'step', message: `The step '${name}' is not on the tape.`, after: key };
}

/** Compares each prompt of a replay with the recorded one, and tells the first that differs. */
function comparePrompts(
  store: StudioStore,
  { runId, callId }: RecordedTurn,
  agent: AgentBase,
  onDifference: (found: ReplayDifference) => void,
): () => void {
  const recorded = store
    .prompts(runId)
    .filter((prompt) => prompt.callId === callId && prompt.agentPath.length === 1);
  let n = 0;
  return observeProgram({
    onCall() {},
    onEvent() {},
    onPrompt: ({ agentId, messages }) => {
      if (agentId !== agent.id) return;
      const before = recorded[n++];
      if (before === undefined) return;
      const old = promptDetail(store, runId, before).parts.filter(({ kind }) => kind !== 'tool');
      const comparable = old.map((part) => ({ ...part, hash: keyOfStored(part.value) }));
      const changes = changesOf(comparable, messages.map(partOf));
      if (changes.every(({ type }) => type === 'same')) return;
      onDifference({ kind: 'prompt', message: `The prompt of model call ${n} differs.`, changes });
    },
  });
}

/** A message as a part of a prompt. Its key has no id and no time: those are new in a replay. */
function partOf(msg: Msg): PromptPart {
  const value = msg.toJSON();
  const text = partText(value);
  return {
    kind: msg.role === 'system' ? 'system' : 'message',
    hash: keyOfStored(value),
    value,
    text,
    tokens: Math.ceil(text.length / CHARS_PER_TOKEN),
    isCached: false,
  };
}

function keyOfStored(value: unknown): string {
  const { role, name, content } = isRecord(value) ? value : {};
  return `${String(role)} ${JSON.stringify([name, content])}`;
}
