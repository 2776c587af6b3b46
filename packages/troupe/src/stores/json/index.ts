export { JsonSession } from './json-session.ts';
