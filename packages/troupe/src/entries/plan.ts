/** Entry `troupe/plan`: plans, subtasks, hints and plan storages behind `PlanNotebook`. */

export { InMemoryPlanStorage } from '../plan/in-memory-plan-storage.ts';
export type { FinalState, NewPlan, SettableState } from '../plan/plan-edits.ts';
export { PlanError } from '../plan/plan-error.ts';
export type { PlanHint, PlanHintsByState, PlanRules, PlanToHint } from '../plan/plan-hints.ts';
export type { PlanChangeHook, RegisterPlanToolsOptions } from '../plan/plan-notebook.ts';
export { PlanStorageBase, type AddPlanOptions } from '../plan/plan-storage-base.ts';
export { Plan, type PlanInit } from '../plan/plan.ts';
export { SubTask } from '../plan/sub-task.ts';
export type { WorkItem, WorkItemInit, WorkState, WorkWords } from '../plan/work-item.ts';
