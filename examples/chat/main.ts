// `npm run chat`: a chat in the terminal with an agent that has a few tools.

import { InputEndedError, interruptOnCtrlC, TerminalUserInput, UserAgent, type Msg } from 'troupe';

import { chatAgent } from './chat-agent.ts';
import { chooseModel } from './choose-model.ts';
import { readInput } from './commands.ts';

// slow enough to look like typing
const { model, description } = await chooseModel(process.env, process.stdout.isTTY ? 30 : 0);

const BANNER = `Troupe: chat with an agent that has tools, ${description}.
Try: What is 12 * (3 + 4)?   What time is it?   List the files
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
    } catch (error) {
      console.error(error instanceof Error ? error.message : error);
    }
  }
}

// Ctrl-C interrupts the agent during an answer, and otherwise cancels the empty prompt, which ends the chat.
const stopListening = interruptOnCtrlC(() => [agent], { exit: () => void user.interrupt() });
await chat().finally(stopListening);
