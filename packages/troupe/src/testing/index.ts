export {
  abortAtEvery,
  failAtEvery,
  InjectedFault,
  interruptAtEvery,
  leaveAtEvery,
  type DriverReport,
  type Outcome,
  type Scenario,
} from './drivers.ts';
export { FakeClock } from './fake-clock.ts';
export { fakeIds } from './fake-ids.ts';
export { ScriptedModel, type ScriptedToolCall, type ScriptedTurn } from './scripted-model.ts';
