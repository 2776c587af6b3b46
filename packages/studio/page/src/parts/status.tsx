import type { StudioRunStatus } from '../../../src/protocol.ts';
import { useText } from '../i18n/use-text.ts';

const SIGNS: Readonly<Record<StudioRunStatus, string>> = {
  running: '●',
  waiting: '◆',
  idle: '○',
  done: '✓',
  failed: '✕',
  lost: '⊘',
};

/** Status of a run: sign, word and colour together. */
export function RunStatus({ status }: { status: StudioRunStatus }) {
  const t = useText();
  return (
    <span className={`status status-${status}`}>
      <span aria-hidden="true">{SIGNS[status]}</span> {t.runStatus[status]}
    </span>
  );
}
