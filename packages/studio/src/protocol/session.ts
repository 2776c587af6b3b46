/** Saved sessions of conversations. */

import type { JsonObject } from 'troupe';

/** `GET api/sessions?cursor=&limit=` → `SessionList`. */
export interface SessionList {
  readonly sessions: readonly StudioSession[];
  readonly next?: string;
}

export interface StudioSession {
  readonly id: string;
  readonly agentKey?: string;
  readonly title?: string;
  readonly updatedAt: string;
  readonly revision: number;
  /** Run of the conversation, if it is open. */
  readonly runId?: string;
}

/** `POST api/sessions/:id/resume`: `{}` → `StudioRun`, the conversation with this session. */
/** `POST api/sessions/:id/branch`: `{}` → `StudioRun`, a conversation with a copy of this session. */
/** `GET api/sessions/:id/export` → `SessionFile`, as an attachment. */
/** `POST api/sessions/import`: `SessionFile` → `StudioSession`, under a new id. */
/** `POST api/sessions/delete`: `{ ids: string[] }` → `{ deleted: number }`. */
export interface SessionFile {
  readonly format: 'troupe-studio-session';
  readonly version: 1;
  readonly agentKey?: string;
  readonly title?: string;
  readonly state: JsonObject;
}
