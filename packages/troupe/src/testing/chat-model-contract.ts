import { Msg } from '../message/msg.ts';
import type { ChatModelBase, ModelRequest, ToolSchema } from '../model/chat-model-base.ts';
import type { JsonObject } from '../util/json.ts';
import type { ContractScenario, ContractSubject } from './chat-model-case.ts';
import { CASES } from './cases/chat-model-cases.ts';
import { frozen } from './contract-checks.ts';

export interface ContractOptions {
  /** Scenarios to test. @default all */
  readonly scenarios?: readonly ContractScenario[] | undefined;
  /** Text of the model in the scenario `text`. @default CONTRACT_TEXT */
  readonly text?: string | undefined;
  /** Secret text, absent from all errors, such as the model's API key. */
  readonly secret?: string | undefined;
  /**
   * Number of requests that the model has sent to its provider. If given, a request aborted before the start
   * must send none.
   */
  readonly workOf?: ((model: ChatModelBase) => number) | undefined;
  /** Number of running requests of a model. If given, none may run after an abort or an abandoned stream. */
  readonly runningOf?: ((model: ChatModelBase) => number) | undefined;
}

/** Named case. `run` throws an Error that describes the problem. */
export interface ContractCase {
  readonly name: string;
  run(): Promise<void>;
}

/** Text of the model in the scenario `text`: several lines and scripts, characters of one to four bytes. */
export const CONTRACT_TEXT =
  'Déjà vu: “naïve” ☕\n\n日本語 and 👩‍🚀, then \\n, <b>&amp;</b> and {"json": [1]}.\n';

/** Tool calls of the model in the scenario `tools`, in this order. */
export const CONTRACT_CALLS: readonly { readonly name: string; readonly input: JsonObject }[] = frozen([
  { name: 'calculate', input: { expression: '6 * 7' } },
  { name: 'read_file', input: { path: 'notes/crème-☕.txt' } },
]);

/**
 * Cases that every chat model has to pass, for any test runner: `for (const { name, run } of
 * chatModelContract(make)) test(name, run)`.
 * @param make makes a model for a scenario; called for every model that a case needs
 */
export function chatModelContract(
  make: (scenario: ContractScenario) => ChatModelBase | Promise<ChatModelBase>,
  options: ContractOptions = {},
): readonly ContractCase[] {
  const { scenarios, text = CONTRACT_TEXT, secret, workOf = () => 0, runningOf } = options;
  return CASES.filter(
    ({ scenario, needsSecret }) =>
      (scenarios === undefined || scenarios.includes(scenario)) && (!needsSecret || secret !== undefined),
  ).map(({ name, scenario, run }) => {
    const subject: ContractSubject = {
      make: async () => make(scenario),
      request: contractRequest(scenario),
      expected: scenario === 'tools' ? CONTRACT_CALLS : text,
      secret,
      workOf,
      runningOf,
    };
    return { name: `${scenario}: ${name}`, run: () => run(subject) };
  });
}

/** Request of a scenario: always the same, and deeply frozen. */
export function contractRequest(scenario: ContractScenario): ModelRequest {
  return scenario === 'tools' ? TOOL_REQUEST : TEXT_REQUEST;
}

const TIME = '2026-01-01T00:00:00.000Z';

const HISTORY: readonly Msg[] = [
  Msg.system('You are a test subject. Übung macht den Meister.', { id: 'contract-1', timestamp: TIME }),
  Msg.user('Hello!', { id: 'contract-2', timestamp: TIME }),
  Msg.assistant([{ type: 'text', text: 'Hello, what can I do for you?' }], {
    id: 'contract-3',
    timestamp: TIME,
  }),
];

const TEXT_REQUEST: ModelRequest = frozen({
  messages: [...HISTORY, Msg.user('Say your text.', { id: 'contract-4', timestamp: TIME })],
  generation: { maxTokens: 1_000 },
});

const TOOL_REQUEST: ModelRequest = frozen({
  messages: [
    ...HISTORY,
    Msg.user('What is 6 * 7, and what does the file notes/crème-☕.txt say?', {
      id: 'contract-5',
      timestamp: TIME,
    }),
  ],
  tools: [
    tool('calculate', 'Computes an arithmetic expression.', 'expression'),
    tool('read_file', 'Reads a text file.', 'path'),
  ],
  toolChoice: 'auto',
  generation: { maxTokens: 1_000 },
});

function tool(name: string, description: string, parameter: string): ToolSchema {
  const parameters = {
    type: 'object',
    properties: { [parameter]: { type: 'string' } },
    required: [parameter],
  };
  return { name, description, parameters };
}
