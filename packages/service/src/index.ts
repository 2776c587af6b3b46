export { createService, type ListenOptions, type Service, type ServiceOptions } from './create-service.ts';
export type { Authenticate, Caller } from './auth/authenticate.ts';
export { BearerTokens, type TokenInfo } from './auth/bearer-tokens.ts';
export type { SessionFileLimits } from './files/session-files.ts';
export { jwtAuth, type JwtAuthOptions } from './auth/jwt-auth.ts';
export { currentIdempotencyKey } from './journal/idempotency-key.ts';
export type { DurableRunner, RecordedResult, RunWorker, StepResults } from './runs/durable-runner.ts';
export type { UserLimits } from './limits/user-limits.ts';
export type { SchedulerOptions } from './runs/run-scheduler.ts';
export type {
  AgentContext,
  AgentFactory,
  OnBusySession,
  ServedAgent,
  ServedAgents,
} from './runs/served-agent.ts';
export type { ServiceDatabase, SqlQueries, SqlRow, SqlValue } from './store/database.ts';
export { postgresStorage, sqliteStorage, type ServiceStorage } from './store/service-store.ts';
