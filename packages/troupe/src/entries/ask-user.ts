/** Entry `troupe/ask-user`: questions of models and tools to a person. */

export type { UserAnswer, UserQuestion } from '../message/user-question.ts';
export { askUserTool, type AskUserToolOptions } from '../toolkit/tool/ask-user-tool.ts';
export { decideOnTerminal, type DecideOnTerminalOptions } from '../user/decide-on-terminal.ts';
export type { AskedQuestion, ToolQuestion, ToolQuestionOptions } from '../toolkit/tool/tool-suspension.ts';
