/** Help of the chat. */
export const HELP = `Commands
  /help   shows this help
  /exit   ends the chat
Keys
  Enter   sends the message;
          pasted lines are one message
  Ctrl-C  stops an answer,
          clears a half-typed line, or
          leaves at an empty prompt
  Ctrl-D  leaves at an empty prompt
Try
  What is 12 * (3 + 4)?
  What time is it?
  List the files
  Ask me "Which colour?"
  Read package.json`;

/** Input of the user: a message for the agent, or a command with the answer to print; without an answer the chat ends. */
export type ChatInput =
  | { readonly kind: 'message' }
  | { readonly kind: 'command'; readonly answer: string | undefined };

/** Tells commands from messages. A path such as /etc/hosts, and a text of several lines, are messages. */
export function readInput(text: string): ChatInput {
  const command = /^\s*(\/[a-z]*)(?=\s|$)[^\n]*$/i.exec(text.trimEnd())?.[1];
  if (command === undefined) return { kind: 'message' };
  switch (command.toLowerCase()) {
    case '/exit':
    case '/quit':
      return { kind: 'command', answer: undefined };
    case '/help':
      return { kind: 'command', answer: HELP };
    default:
      return { kind: 'command', answer: `There is no command ${command}. See /help.` };
  }
}
