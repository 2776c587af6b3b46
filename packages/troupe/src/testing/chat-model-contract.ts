import { Msg } from '../message/msg.ts';
import type { ChatModelBase, ModelRequest, ToolSchema } from '../model/chat-model-base.ts';
import type { JsonObject } from '../util/json.ts';
import { CASES, type ContractSubject } from './chat-model-cases.ts';
import { frozen } from './contract-checks.ts';

/**
 * What the model of a case does:
 * - `text`: answers with the text, as often as it is asked.
 * - `tools`: makes the calls side by side, as often as it is asked.
 * - `stall`: says some text, then nothing more until it is aborted or left.
 * - `failure`: fails with a ModelError before it says anything, every time.
 * - `breaks`: says some text, then fails with a ModelError, every time.
 */
export type ContractScenario = 'text' | 'tools' | 'stall' | 'failure' | 'breaks';

export interface ContractOptions {
  /** @default all */
  readonly scenarios?: readonly ContractScenario[] | undefined;
  /** What the model says in `text`. @default CONTRACT_TEXT */
  readonly text?: string | undefined;
  /** What must not be in any error, such as the key that the model was made with. */
  readonly secret?: string | undefined;
  /** How often a model has asked whoever is behind it. If given, a request that is aborted beforehand must not count. */
  readonly workOf?: ((model: ChatModelBase) => number) | undefined;
  /** How many requests are being answered for a model right now. If given, none may be once it was aborted or left. */
  readonly runningOf?: ((model: ChatModelBase) => number) | undefined;
}

/** A case by its name. `run` throws an Error that says what is wrong. */
export interface ContractCase {
  readonly name: string;
  run(): Promise<void>;
}

/** What the model says in `text`: lines, marks of several languages, characters of one to four bytes. */
export const CONTRACT_TEXT =
  'Déjà vu: “naïve” ☕\n\n日本語 and 👩‍🚀, then \\n, <b>&amp;</b> and {"json": [1]}.\n';

/** The calls that the model makes in `tools`, in this order. */
export const CONTRACT_CALLS: readonly { readonly name: string; readonly input: JsonObject }[] = frozen([
  { name: 'calculate', input: { expression: '6 * 7' } },
  { name: 'read_file', input: { path: 'notes/crème-☕.txt' } },
]);

/**
 * The cases that every chat model has to pass, for any test runner:
 * `for (const { name, run } of chatModelContract(make)) test(name, run)`.
 * @param make makes a model that does what the scenario says; called anew for every model that a case needs
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

/** What the model is asked in a scenario: always the same, and deeply frozen. */
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
