export {
  CONTRACT_CALLS,
  CONTRACT_TEXT,
  chatModelContract,
  contractRequest,
  type ContractCase,
  type ContractOptions,
} from './chat-model-contract.ts';
export type { ContractScenario } from './chat-model-case.ts';
export {
  abortAtEvery,
  failAtEvery,
  InjectedFault,
  interruptAtEvery,
  leaveAtEvery,
  type DriverOptions,
  type DriverReport,
  type Outcome,
  type Scenario,
} from './drivers.ts';
export { FakeClock } from './fake-clock.ts';
export { fakeIds } from './fake-ids.ts';
export { fileSystemContract } from './file-system-contract.ts';
export { memoryContract, type MemoryContractId, type MemoryContractOptions } from './memory-contract.ts';
export { ScriptedModel, type ScriptedToolCall, type ScriptedTurn } from './scripted-model.ts';
export { sessionContract, type OpenSession } from './session-contract.ts';
export { ToneTtsModel, type ToneTtsOptions } from './voice/tone-tts-model.ts';
export { StepJournal } from './step-journal.ts';
export {
  stepRunnerContract,
  type BeginAttempt,
  type StepRunnerContractOptions,
} from './step-runner-contract.ts';
export { vectorStoreContract } from './vector-store-contract.ts';
export { InstantPlayer } from './voice/instant-player.ts';
export { ScriptedSttModel } from './voice/scripted-stt-model.ts';
export {
  ScriptedConnection,
  ScriptedRealtimeModel,
  type ScriptedResponse,
  type SentToModel,
} from './voice/scripted-realtime-model.ts';
