// `npm run chat`: a chat in the terminal with an agent that has a few tools.

import { InputEndedError, interruptOnCtrlC, TerminalUserInput, UserAgent, type Msg } from 'troupe';

import { decideOnTerminal } from 'troupe/ask-user';

import { chatAgent } from './chat-agent.ts';
import { chooseModel } from './choose-model.ts';
import { readInput } from './commands.ts';

// slow enough to look like typing
const { model, description } = await chooseModel(process.env, process.stdout.isTTY ? 30 : 0);

const BANNER = `Troupe: chat with an agent that has tools, ${description}.
Try: What is 12 * (3 + 4)?   What time is it?   Ask me "Which colour?"
Ctrl-C stops an answer. /help shows more. To leave: /exit
`;

const agent = chatAgent(model, process.cwd());
const user = new UserAgent({ name: 'you', input: new TerminalUserInput({ prompt: 'you: ' }) });
user.setConsoleOutputEnabled(false); // the terminal already shows the typed text

/** Next input of the user, or undefined at the end of the input. */
async function ask(): Promise<Msg | undefined> {
  try {
    const msg = await user.call();
    return msg.metadata['_is_interrupted'] === true ? undefined : msg;
  } catch (error) {
    if (error instanceof InputEndedError) return undefined;
    throw error;
  }
}

/** Questions of the agent that the user is answering. */
let questions: AbortController | undefined;

/** Has the user answer the questions of the agent; Ctrl-C and the end of the input end the questions. */
async function answerQuestions(): Promise<void> {
  const { signal } = (questions = new AbortController());
  try {
    const showsQuestions = agent.pendingCalls.length > 1; // the console shows a single one already
    const decisions = await decideOnTerminal(agent.pendingCalls, { signal, showsQuestions });
    questions = undefined;
    await agent.call(undefined, { decisions });
  } catch (error) {
    if (!signal.aborted && !(error instanceof InputEndedError)) throw error;
    await agent.closePending();
  } finally {
    questions = undefined;
  }
}

async function chat(): Promise<void> {
  console.log(BANNER);
  for (let msg = await ask(); msg !== undefined; msg = await ask()) {
    if (msg.text.trim() === '') continue;
    const input = readInput(msg.text);
    if (input.kind === 'command') {
      if (input.answer === undefined) return;
      console.log(input.answer);
      continue;
    }
    try {
      await agent.call(msg);
      while (agent.pendingCalls.length > 0) await answerQuestions();
    } catch (error) {
      console.error(error instanceof Error ? error.message : error);
    }
  }
}

// Ctrl-C interrupts the agent during an answer, withdraws its questions, and otherwise cancels the empty prompt, which ends the chat.
const stopListening = interruptOnCtrlC(() => [agent], {
  exit: () => (questions === undefined ? void user.interrupt() : questions.abort()),
});
await chat().finally(stopListening);
