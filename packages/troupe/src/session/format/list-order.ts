import type { ListCursor, SessionInfo } from './session-store.ts';

/** Sort order of sessions: newest first, then by user and session. */
export function compareInfos(a: SessionInfo | ListCursor, b: SessionInfo | ListCursor): number {
  return (
    b.savedAt - a.savedAt || compareText(a.user ?? '', b.user ?? '') || compareText(a.session, b.session)
  );
}

function compareText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
