/** Entry `troupe/studio`: connects a program to a Studio, and is what a Studio itself is made of. */

export { fromAgentScopeBlocks, toAgentScopeBlocks } from '../studio/agentscope-blocks.ts';
export { fieldProblems } from '../studio/field-problems.ts';
export { disconnectStudio, type StudioInitOptions } from '../studio/init.ts';
export { registerLocalStudio } from '../studio/local-studios.ts';
export { joinedEvent } from '../studio/item-buffer.ts';
export {
  PROGRAM_PROTOCOL,
  STUDIO_MARK,
  type AgentFacts,
  type BatchAnswer,
  type CallInput,
  type CommandBody,
  type CommandContent,
  type CommandFailure,
  type CommandResult,
  type FieldProblem,
  type InsideFacts,
  type ProgramBatch,
  type ProgramCommand,
  type ProgramIdentity,
  type ProgramItem,
  type ProgramItemBody,
  type ProgramWelcome,
  type PromptFacts,
  type QuestionFacts,
  type RunInfo,
} from '../studio/program-protocol.ts';
export { StudioConnection, type StudioConnectionOptions } from '../studio/studio-connection.ts';
export { redactKeys } from '../util/redaction/key-patterns.ts';
export { StudioProgram, type StudioProgramOptions } from '../studio/studio-program.ts';
export { StudioUserInput, type StudioUserInputOptions } from '../studio/studio-user-input.ts';
