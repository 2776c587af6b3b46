/** Entry `@troupe/studio`. */

export { FILE_SCHEME, STUDIO_HEADER, STUDIO_PROTOCOL } from './protocol.ts';
