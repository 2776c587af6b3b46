export {
  ServiceClient,
  ServiceError,
  type NumberedEvent,
  type RunView,
  type ServiceClientOptions,
  type ServiceInput,
  type SessionView,
  type StartRunOptions,
} from './service-client.ts';
