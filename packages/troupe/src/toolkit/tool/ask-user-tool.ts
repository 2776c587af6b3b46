import { QUESTION_LIMITS, toUserQuestion, type QuestionLimits } from '../../message/user-question.ts';
import { checkNumber } from '../../util/check-number.ts';
import type { JsonObject } from '../../util/json.ts';
import { ToolSuspension } from './tool-suspension.ts';
import { tool, type Tool, type ToolSettings } from './tool.ts';

/** Options of `askUserTool`. Each limit has a default that a person can still read. */
export interface AskUserToolOptions
  extends Partial<QuestionLimits>, Pick<ToolSettings, 'group' | 'maxOutputChars' | 'postProcess' | 'tags'> {
  /** @default 'ask_user' */
  readonly name?: string;
  /** Purpose of the tool, for the model. */
  readonly description?: string;
  /** Maximum questions in one reply. @default 10 */
  readonly maxQuestions?: number;
}

const DESCRIPTION =
  'Asks the user a question, and waits for the answer. Use it when only the user can know or decide something that you need to go on, and not for what you can find out yourself. ' +
  'Give `choices` if the answer is one of a few, `schema` to ask for several things at once, or only the question for an answer in words.';

const SCHEMA: JsonObject = {
  type: 'object',
  properties: {
    question: {
      type: 'string',
      description: 'The question, in full: the user may not see the conversation.',
    },
    choices: { type: 'array', items: { type: 'string' }, description: 'The answers to choose from.' },
    multiple: { type: 'boolean', description: 'Whether the user may take several choices.' },
    schema: {
      type: 'object',
      description:
        'A form: the JSON Schema of a flat object, with properties of type string (also with enum), number, integer, boolean, ' +
        'or array of strings with enum, each with a description, and a default where there is one.',
    },
  },
  required: ['question'],
};

/**
 * Makes a tool by which a model asks the person a question: in words, with choices, or as a form. The tool call is pending until
 * a decision answers it, at any depth of agents and in another process too. Asking has no side effect.
 *
 * @example
 * ```ts
 * import { ReActAgent } from 'troupe';
 * import { askUserTool } from 'troupe/ask-user';
 * import { OfflineModel } from 'troupe/offline';
 *
 * const agent = new ReActAgent({ name: 'Friday', model: new OfflineModel(), tools: [askUserTool()] });
 * await agent.call('Hello!');
 * for (const { id, question } of agent.pendingCalls) {
 *   console.log(question?.message);
 *   await agent.call(undefined, { decisions: [{ id, verdict: 'answer', answer: 'Blue.' }] });
 * }
 * ```
 */
export function askUserTool(options: AskUserToolOptions = {}): Tool {
  const { name = 'ask_user', description = DESCRIPTION, maxQuestions = 10, ...others } = options;
  const {
    maxChars = QUESTION_LIMITS.maxChars,
    maxChoices = QUESTION_LIMITS.maxChoices,
    maxChoiceChars = QUESTION_LIMITS.maxChoiceChars,
    maxFields = QUESTION_LIMITS.maxFields,
    ...settings
  } = others;
  const limits = { maxChars, maxChoices, maxChoiceChars, maxFields };
  for (const [key, value] of Object.entries({ ...limits, maxQuestions }))
    checkNumber(key, value, { least: 1 });
  return tool({
    ...settings,
    name,
    description,
    schema: SCHEMA,
    readOnly: true,
    execute: ({ question: message, choices, multiple, schema }, { isBackground = false }) => {
      if (isBackground) throw new Error("The user can't be asked from a background task.");
      const question = { message, choices, schema, ...(multiple !== undefined && { multiple }) };
      throw ToolSuspension.ask(toUserQuestion(question, limits), { maxQuestions });
    },
  });
}
