/** Entry `troupe/events`: reads and folds events, in a browser or in the program of the agent. Small, for pages without a bundler. */

export { ConversationView, type ConversationState } from '../event/conversation-view.ts';
export { foldEvents } from '../event/fold-events.ts';
export type { BlockView, MsgView, ViewableMsg } from '../event/msg-fold.ts';
export { readEvents } from '../event/read-events.ts';
