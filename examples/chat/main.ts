// `npm start`: a chat in the terminal with an agent that has a few tools.

import { InputEndedError, interruptOnCtrlC, TerminalUserInput, UserAgent, type Msg } from 'troupe';

import { chatAgent } from './chat-agent.ts';
import { chooseModel } from './choose-model.ts';

// slow enough to look like typing
const { model, description } = await chooseModel(process.env, process.stdout.isTTY ? 30 : 0);

const BANNER = `Troupe: chat with an agent that has tools, ${description}.
Try: What is 12 * (3 + 4)?   What time is it?   List the files   Read package.json
Ctrl-C stops an answer. To leave: /exit, Ctrl-D, or Ctrl-C at the prompt.
`;

const agent = chatAgent(model, process.cwd());
const user = new UserAgent({ name: 'you', input: new TerminalUserInput({ prompt: 'you: ' }) });
user.setConsoleOutputEnabled(false); // the terminal already shows the typed text

/** Next input of the user, or undefined at the end of the chat. */
async function ask(): Promise<Msg | undefined> {
  try {
    const msg = await user.call();
    const isOver = msg.metadata['_is_interrupted'] === true || msg.text.trim() === '/exit';
    return isOver ? undefined : msg;
  } catch (error) {
    if (error instanceof InputEndedError) return undefined;
    throw error;
  }
}

async function chat(): Promise<void> {
  console.log(BANNER);
  for (let msg = await ask(); msg !== undefined; msg = await ask()) {
    if (msg.text.trim() === '') continue;
    try {
      await agent.call(msg);
    } catch (error) {
      console.error(error instanceof Error ? error.message : error);
    }
  }
}

// Ctrl-C interrupts the agent during an answer, and otherwise cancels the prompt, which ends the chat.
const stopListening = interruptOnCtrlC(() => [agent], { exit: () => void user.interrupt() });
await chat().finally(stopListening);
