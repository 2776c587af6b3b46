import type { AgentBase } from '../agent/agent-base.ts';
import { AutoContextMemory } from '../compression/auto-context/auto-context-memory.ts';
import type { HookedModule } from '../hooks/hooked-module.ts';
import { classHooks, type AnyClass } from '../hooks/class-hooks.ts';
import type { MemoryBase } from '../memory/memory-base.ts';
import type { Msg } from '../message/msg.ts';
import type { Plan } from '../plan/plan.ts';
import { ReActAgent } from '../react/react-agent.ts';
import { SubAgentBase } from '../subagent/sub-agent-base.ts';
import { TaskSubAgent } from '../subagent/task-sub-agent.ts';
import type { Toolkit } from '../toolkit/toolkit.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../util/json.ts';
import type { InsideFacts } from './program-protocol.ts';

/** Maximum characters of one part. Larger parts are left out, and named. */
const MAX_PART_CHARS = 1_000_000;
/** Maximum messages of one list: the latest ones. */
const MAX_MSGS = 500;

/** Reads the memory, plan, tools, hooks and state of an agent, as JSON for the Studio. */
export async function readInside(agent: AgentBase): Promise<InsideFacts> {
  const data: { [key: string]: JsonValue } = {};
  const leftOut: string[] = [];
  const put = async (name: string, read: () => JsonValue | undefined | Promise<JsonValue | undefined>) => {
    try {
      const value = await read();
      if (value === undefined) return;
      if (JSON.stringify(value).length > MAX_PART_CHARS) leftOut.push(name);
      else data[name] = value;
    } catch {
      leftOut.push(name); // a part of the program's own that can not be read
    }
  };
  const state = stateOf(agent);
  await put('state', () => state);
  await put('hooks', () => hooksOf(agent));
  const { memory, toolkit, plan, sysPrompt } = partsOf(agent);
  if (memory !== undefined) await put('memory', () => memoryInside(memory));
  if (toolkit !== undefined) await put('toolGroups', () => toolGroupsOf(toolkit));
  if (plan !== undefined) await put('plan', () => (plan.current === undefined ? null : planOf(plan.current)));
  if (agent instanceof SubAgentBase || agent instanceof TaskSubAgent)
    await put('budgets', () => agent.permissions.budget.describe().map((facts) => ({ ...facts })));
  if (sysPrompt !== undefined) await put('sysPrompt', () => sysPrompt);
  return { agentId: agent.id, data, leftOut };
}

/** The parts of an agent that the Studio shows. */
interface AgentParts {
  readonly memory?: MemoryBase | undefined;
  readonly toolkit?: Toolkit | undefined;
  readonly plan?: { readonly current: Plan | undefined } | undefined;
  readonly sysPrompt?: string | undefined;
}

/** The parts of an agent that have a place in the view. */
function partsOf(agent: AgentBase): AgentParts {
  if (agent instanceof ReActAgent) {
    const { memory, toolkit, planNotebook, sysPrompt } = agent;
    return {
      memory,
      toolkit,
      ...(planNotebook && { plan: { current: planNotebook.currentPlan } }),
      ...(typeof sysPrompt === 'string' && { sysPrompt }),
    };
  }
  if (agent instanceof SubAgentBase) {
    const { memory, toolkit, sysPrompt } = agent;
    return { memory, toolkit, sysPrompt };
  }
  return {};
}

/** JSON Schema of the arguments of a tool of an agent. */
export function toolSchemaOf(agent: AgentBase | undefined, toolName: string): JsonObject | undefined {
  const { toolkit } = agent === undefined ? {} : partsOf(agent);
  return toolkit?.getJsonSchemas().find(({ name }) => name === toolName)?.parameters;
}

/** Name of the model of an agent. */
export function modelNameOf(agent: AgentBase): string | undefined {
  return agent instanceof ReActAgent ? agent.model.modelName : undefined;
}

function stateOf(agent: AgentBase): JsonObject | undefined {
  try {
    return agent.stateDict();
  } catch {
    return undefined; // a state that can not be saved now
  }
}

const latest = (msgs: readonly Msg[]): readonly Msg[] => msgs.slice(-MAX_MSGS);

async function memoryInside(memory: MemoryBase): Promise<JsonObject> {
  const working = latest(await memory.getMemory());
  const marks = marksIn(memory);
  const toJson = (msg: Msg): JsonObject => ({ msg: msg.toJSON(), marks: marks.get(msg.id) ?? [] });
  const className = memory.constructor.name;
  if (!(memory instanceof AutoContextMemory))
    return { className, working: working.map(toJson), compressions: [] };
  return {
    className,
    working: working.map(toJson),
    original: latest(memory.getOriginalMemoryMsgs()).map(toJson),
    offloaded: [...memory.getOffloadContext()].map(([id, msgs]) => ({
      id,
      messages: msgs.map((msg) => msg.toJSON()),
    })),
    compressions: memory.getCompressionEvents().map((event) => ({
      at: event.timestamp,
      strategy: event.eventType,
      tokensBefore: event.metadata.tokenBefore,
      tokensAfter: event.metadata.tokenAfter,
      removed: event.compressedMessageCount,
      ...(event.compressedMessageId !== null && { summaryId: event.compressedMessageId }),
    })),
  };
}

/** Marks of messages, from the saved form of a memory: `[message, marks]`. */
function marksIn(memory: MemoryBase): ReadonlyMap<string, readonly JsonValue[]> {
  const marks = new Map<string, readonly JsonValue[]>();
  for (const list of Object.values(memory.stateDict())) {
    for (const entry of Array.isArray(list) ? (list as readonly JsonValue[]) : []) {
      const [msg, found] = Array.isArray(entry) ? (entry as readonly JsonValue[]) : [];
      if (isJsonObject(msg) && typeof msg['id'] === 'string' && Array.isArray(found))
        marks.set(msg['id'], found as readonly JsonValue[]);
    }
  }
  return marks;
}

function toolGroupsOf(toolkit: Toolkit): JsonValue {
  return toolkit.describeGroups().map(({ name, description, isActive, tools }) => ({
    name,
    description,
    isActive,
    tools: tools.map((tool) => ({
      name: tool.name,
      description: tool.description ?? '',
      schema: tool.parameters,
    })),
  }));
}

function planOf(plan: Plan): JsonObject {
  const { name, description, state, outcome, subtasks } = plan;
  return {
    name,
    description,
    state,
    ...(outcome !== undefined && { outcome }),
    subtasks: subtasks.map((task) => ({
      name: task.name,
      description: task.description,
      state: task.state,
      ...(task.outcome !== undefined && { outcome: task.outcome }),
    })),
  };
}

function hooksOf(agent: AgentBase): JsonValue {
  const { hookPoints, otherHookTypes } = agent.constructor as typeof HookedModule;
  const types = [...hookPoints.flatMap(({ pre, post }) => [pre, post]), ...otherHookTypes];
  return types.flatMap((type) => {
    const shared = new Set(classHooks(agent.constructor as AnyClass, type));
    return agent.hooksOf(type).map((hook) => ({
      type,
      name: hook.name,
      level: shared.has(hook) ? 'class' : 'instance',
    }));
  });
}
