import { gunzipSync, gzipSync } from 'node:zlib';

import {
  Msg,
  ReActAgent,
  type AgentBase,
  type JsonObject,
  type PendingDecision,
  type Step,
  type StepRunner,
} from 'troupe';
import { redactKeys } from 'troupe/studio';

/** One step of an agent call: its key, and its result as JSON. */
export interface TapeStep extends Step {
  readonly result: unknown;
  /** Plan and tool groups of the agent after a tool call that changed them. */
  readonly state?: ToolState;
}

/** State of the parts of an agent that its tools change: plan and tool groups. */
interface ToolState {
  readonly plan?: JsonObject;
  readonly toolkit?: JsonObject;
}

/** One agent call: its decisions, and the results of its steps. */
export interface CallTape {
  readonly decisions: readonly PendingDecision[];
  readonly steps: readonly TapeStep[];
}

/** Maximum bytes of a packed state or list of steps. Larger ones are not kept: no branch or replay of that turn. */
const MAX_PACKED_BYTES = 8 * 1024 * 1024;
const MAX_UNPACKED_BYTES = 128 * 1024 * 1024;

/** Packs a value for the database, without keys; undefined if it is too large or no JSON. */
export function pack(value: unknown): Uint8Array | undefined {
  try {
    const packed = gzipSync(redactKeys(JSON.stringify(value)), { level: 1 });
    return packed.byteLength > MAX_PACKED_BYTES ? undefined : packed;
  } catch {
    return undefined; // the result of a step of the program's own is no JSON
  }
}

export function unpack<T>(packed: Uint8Array): T {
  return JSON.parse(gunzipSync(packed, { maxOutputLength: MAX_UNPACKED_BYTES }).toString('utf8')) as T;
}

/** The recording of a packed agent call. Calls without decisions were once kept as a list of their steps. */
export function unpackCall(packed: Uint8Array): CallTape {
  const tape = unpack<CallTape | readonly TapeStep[]>(packed);
  return 'steps' in tape ? tape : { decisions: [], steps: tape };
}

/** A runner that runs every step of an agent and notes its result. */
export function recordingSteps(agent: AgentBase, steps: TapeStep[]): StepRunner {
  let before = JSON.stringify(toolState(agent));
  return async ({ kind, name, key }, body) => {
    const result = await body();
    const state = kind === 'tool' ? toolState(agent) : undefined;
    const now = state === undefined ? before : JSON.stringify(state);
    const isChanged = state !== undefined && now !== before;
    before = now;
    steps.push({ kind, name, key, result, ...(isChanged && { state }) });
    return result;
  };
}

function toolState(agent: AgentBase): ToolState | undefined {
  if (!(agent instanceof ReActAgent)) return undefined;
  const plan = agent.planNotebook?.stateDict();
  return { ...(plan && { plan }), toolkit: agent.toolkit.stateDict() };
}

function loadToolState(agent: AgentBase, { plan, toolkit }: ToolState): void {
  if (!(agent instanceof ReActAgent)) return;
  if (plan !== undefined) agent.planNotebook?.loadStateDict(plan);
  if (toolkit !== undefined) agent.toolkit.loadStateDict(toolkit);
}

/** Ends a replay: the code takes a step that the tape does not have. */
export class OffTapeError extends Error {
  override readonly name = 'OffTapeError';

  constructor(readonly step: Step) {
    super(`The tape has no step ${step.name}.`);
  }
}

/** A runner that gives the recorded results, and runs nothing but writes to the agent's own memory. */
export function replayingSteps(
  agent: AgentBase,
  steps: readonly TapeStep[],
  onStep: (step: Step) => void,
): StepRunner {
  const byKey = new Map(steps.map((step) => [step.key, step]));
  return async <T>(step: Step, body: () => Promise<T>): Promise<T> => {
    if (step.kind === 'write') return body();
    const recorded = byKey.get(step.key);
    if (recorded === undefined || recorded.kind !== step.kind) throw new OffTapeError(step);
    onStep(step);
    if (recorded.state !== undefined) loadToolState(agent, recorded.state);
    return recorded.result as T;
  };
}

/** A runner for a branch that gives recorded results of the same tool calls, and runs everything else. */
export function recordedTools(agent: AgentBase, steps: readonly TapeStep[], made: TapeStep[]): StepRunner {
  const record = recordingSteps(agent, made);
  const byKey = new Map(steps.filter(({ kind }) => kind === 'tool').map((step) => [step.key, step]));
  return async <T>(step: Step, body: () => Promise<T>): Promise<T> => {
    const recorded = step.kind === 'tool' ? byKey.get(step.key) : undefined;
    if (recorded === undefined || recorded.name !== step.name) return record(step, body);
    made.push(recorded);
    if (recorded.state !== undefined) loadToolState(agent, recorded.state);
    return recorded.result as T;
  };
}

/** Messages of a tape as messages. */
export function toMsgs(messages: readonly unknown[]): Msg[] {
  return messages.map((msg) => Msg.from(msg));
}
