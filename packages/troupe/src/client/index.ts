export {
  ServiceClient,
  ServiceError,
  type FileView,
  type ForkRunOptions,
  type NumberedEvent,
  type RunView,
  type ServiceClientOptions,
  type ServiceInput,
  type SessionView,
  type StartRunOptions,
  type StepView,
} from './service-client.ts';
