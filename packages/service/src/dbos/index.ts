export { dbosRunner, type DbosRunnerOptions } from './dbos-runner.ts';
