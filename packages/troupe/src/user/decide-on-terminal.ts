import { answerFromText } from '../approval/answer-from-text.ts';
import { checkedAnswer, questionText } from '../approval/answers.ts';
import { inputText } from '../approval/input-text.ts';
import { InputEndedError, messageOf } from '../errors.ts';
import type { PendingCall, PendingDecision } from '../message/pending-call.ts';
import type { UserAnswer, UserQuestion } from '../message/user-question.ts';
import { openTerminal } from '#platform';
import type { JsonObject } from '../util/json.ts';
import { oneLine } from '../util/text.ts';
import { UserForm, type Respondent } from './user-form.ts';

export interface DecideOnTerminalOptions {
  /** Withdraws the questions when aborted: the tool calls stay pending. */
  readonly signal?: AbortSignal | undefined;
  /** Where rules go when a person says "always", such as `PermissionRules`. @default "always" is not offered */
  readonly rules?: { addRule(rule: JsonObject): void } | undefined;
  /** Whether the questions themselves are shown, and not only the prompts; false if the console shows them already. @default true */
  readonly showsQuestions?: boolean | undefined;
}

const DECLINE = /^\/decline\b\s*(.*)$/s;

/** Thrown out of a prompt when the person declines. */
class Declined extends Error {
  constructor(readonly reason: string) {
    super(reason);
  }
}

/**
 * Asks a person on the terminal about pending tool calls, one after the other: a question with numbered choices, a form field by field,
 * an approval by yes or no, and a result from outside as a line of text. `/decline` and a reason declines to answer. An answer that does
 * not fit is asked for again. Text of models and tools is shown without control characters.
 * @throws InputEndedError at the end of the input; the tool calls stay pending
 *
 * @example
 * ```ts no-run
 * import { ReActAgent } from 'troupe';
 * import { askUserTool, decideOnTerminal } from 'troupe/ask-user';
 * import { OfflineModel } from 'troupe/offline';
 *
 * const agent = new ReActAgent({ name: 'Friday', model: new OfflineModel(), tools: [askUserTool()] });
 * await agent.call('Ask me "Which colour?"');
 * while (agent.pendingCalls.length > 0)
 *   await agent.call(undefined, { decisions: await decideOnTerminal(agent.pendingCalls) });
 * ```
 */
export async function decideOnTerminal(
  pending: readonly PendingCall[],
  { signal = new AbortController().signal, rules, showsQuestions = true }: DecideOnTerminalOptions = {},
): Promise<readonly PendingDecision[]> {
  const terminal = await openTerminal(signal);
  const person: Respondent = {
    say: (line) => terminal.say(line),
    ask: async (prompt) => {
      const line = await terminal.ask(prompt);
      if (line === undefined) throw new InputEndedError('There is no more input on the terminal.');
      const declined = DECLINE.exec(line.trim());
      if (declined !== null) throw new Declined(declined[1] ?? '');
      return line;
    },
  };
  try {
    const decisions: PendingDecision[] = [];
    for (const one of pending) {
      if (showsQuestions) for (const line of linesOf(one)) person.say(line);
      decisions.push(await decide(one, person, rules));
    }
    return decisions;
  } finally {
    terminal.close();
  }
}

async function decide(
  pending: PendingCall,
  person: Respondent,
  rules: DecideOnTerminalOptions['rules'],
): Promise<PendingDecision> {
  const { id, kind, question } = pending;
  try {
    if (question !== undefined) return { id, verdict: 'answer', answer: await answerTo(question, person) };
    if (kind === 'approval') return await approve(pending, person, rules);
    return { id, verdict: 'result', output: await person.ask('  result: ') };
  } catch (error) {
    if (error instanceof Declined) return { id, verdict: 'deny', reason: error.reason };
    throw error;
  }
}

async function answerTo(question: UserQuestion, person: Respondent): Promise<UserAnswer | undefined> {
  const { choices, multiple = false, schema, url } = question;
  if (url !== undefined) return visited(person);
  const several = multiple ? 'numbers, with commas between them' : 'number';
  const prompt = choices === undefined ? '  answer: ' : `  ${several}: `;
  for (;;) {
    try {
      if (schema !== undefined)
        return await checkedAnswer(question, await new UserForm(schema).fillIn(person));
      return await answerFromText(question, await person.ask(prompt));
    } catch (error) {
      if (!(error instanceof TypeError)) throw error;
      person.say(oneLine(`  ! ${messageOf(error)} (or /decline)`));
    }
  }
}

/** Waits for an empty line; words such as "no" are no consent. */
async function visited(person: Respondent): Promise<undefined> {
  for (;;) if ((await person.ask('  Enter when you are done there, or /decline: ')).trim() === '') return;
}

async function approve(
  { id, suggestions = [] }: PendingCall,
  person: Respondent,
  rules: DecideOnTerminalOptions['rules'],
): Promise<PendingDecision> {
  const mayAlways = rules !== undefined && suggestions.length > 0;
  for (;;) {
    const line = await person.ask(mayAlways ? '  yes, no, always: ' : '  yes, no: ');
    const said = line.trim().toLowerCase();
    if (said === 'n' || said === 'no') return { id, verdict: 'deny' };
    const isAlways = mayAlways && (said === 'a' || said === 'always');
    if (isAlways) for (const rule of suggestions) rules.addRule(rule);
    if (isAlways || said === 'y' || said === 'yes') return { id, verdict: 'allow' };
  }
}

/** A pending tool call as lines for a person; lines of a model are indented, so that they can't pose as a prompt. */
function linesOf(pending: PendingCall): readonly string[] {
  const { kind, question, agentPath } = pending;
  if (question === undefined)
    return [oneLine(`${kind === 'approval' ? 'May I call' : 'I need the result of'} ${calledIn(pending)}`)];
  const asker = agentPath.length === 0 ? 'A tool' : agentPath.map(oneLine).join(' > ');
  return [
    `${asker} asks:`,
    ...questionText(question)
      .split('\n')
      .map((line) => `  ${line}`),
  ];
}

function calledIn({ call, reason, agentPath }: PendingCall): string {
  const why = reason === undefined ? '' : ` (${reason})`;
  const where = agentPath.length > 1 ? ` in ${agentPath.join(' > ')}` : '';
  return `${call.name} with ${inputText(call.input)}${where}?${why}`;
}
