import type { ModelRequest, ToolChoice, ToolSchema } from '../../model/chat-model-base.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../../util/json.ts';
import { readConversation, type Conversation, type PastCall } from './conversation.ts';
import { readFacts, type Facts } from './facts.ts';
import { planOneToolCall, planToolCalls, type PlannedToolCall } from './plan-tool-calls.ts';
import { askForMissing, greeting, help, introduced, isGreeting, refuseTools, report } from './talk.ts';

/** Next action of the model: tool calls with a reason, or text. */
export type Decision =
  | {
      readonly type: 'call';
      readonly calls: readonly { name: string; input: JsonObject }[];
      readonly why: string;
    }
  | { readonly type: 'say'; readonly text: string };

/** Decides by simple rules. The same request always gets the same decision. */
export function decide({ messages, tools = [], toolChoice = 'auto' }: ModelRequest): Decision {
  const conversation = readConversation(messages);
  const facts = readFacts(conversation.question);
  const planned = plan(tools, toolChoice, facts, conversation);
  const possible = planned.filter(
    (call) => call.missing.length === 0 && !hasFailed(call, conversation.pastCalls),
  );
  const mayCall = toolChoice !== 'none' && (toolChoice !== 'auto' || conversation.pastCalls.length === 0);
  if (mayCall && possible.length > 0) {
    return {
      type: 'call',
      calls: possible.map(({ name, input }) => ({ name, input })),
      why: possible.map((call) => call.why).join(' '),
    };
  }
  const text = speak(tools, toolChoice, conversation, planned);
  return { type: 'say', text: conversation.isNew ? introduced(text) : text };
}

function plan(
  tools: readonly ToolSchema[],
  choice: ToolChoice,
  facts: Facts,
  conversation: Conversation,
): readonly PlannedToolCall[] {
  if (typeof choice === 'object' && 'allowed' in choice) {
    const allowed = tools.filter((tool) => choice.allowed.includes(tool.name));
    return plan(allowed, choice.mode ?? 'auto', facts, conversation);
  }
  const { pastCalls } = conversation;
  if (typeof choice === 'object') {
    const rest = pastCalls.length > 0 ? report(pastCalls) : undefined;
    return tools.filter((tool) => tool.name === choice.name).map((tool) => forced(tool, facts, rest));
  }
  const planned = planToolCalls(tools, facts);
  if (choice !== 'required' || planned.some((call) => call.missing.length === 0)) return planned;
  const anyTool = tools
    .map((tool) => forced(tool, facts))
    .find((call) => call.missing.length === 0 && !hasFailed(call, pastCalls));
  return anyTool === undefined ? planned : [anyTool];
}

function forced(tool: ToolSchema, facts: Facts, rest?: string): PlannedToolCall {
  const call = planOneToolCall(tool, facts, 'A tool has to be called.', rest);
  if (call.missing.length === 0 || facts.text === '') return call;
  return planOneToolCall(tool, facts, call.why, facts.text);
}

/** Whether this very call was made for this message already, and did not succeed. */
function hasFailed(planned: PlannedToolCall, pastCalls: readonly PastCall[]): boolean {
  return pastCalls.some(
    ({ call, result }) =>
      result.status !== 'ok' && call.name === planned.name && isEqual(call.input, planned.input),
  );
}

function speak(
  tools: readonly ToolSchema[],
  choice: ToolChoice,
  conversation: Conversation,
  planned: readonly PlannedToolCall[],
): string {
  if (conversation.pastCalls.length > 0) return report(conversation.pastCalls);
  if (planned.length > 0) return choice === 'none' ? refuseTools(planned) : askForMissing(planned);
  return isGreeting(conversation.question) ? greeting(tools) : help(tools);
}

function isEqual(a: JsonValue, b: JsonValue): boolean {
  return stable(a) === stable(b);
}

/** Equal text for equal values, independent of key order. */
function stable(value: JsonValue): string {
  return JSON.stringify(value, (_key, part: JsonValue) =>
    isJsonObject(part)
      ? Object.fromEntries(Object.entries(part).toSorted(([a], [b]) => (a < b ? -1 : 1)))
      : part,
  );
}
