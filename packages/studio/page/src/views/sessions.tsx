import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { Archive, Download, GitBranch, Play, Trash2, Upload } from 'lucide-react';
import { useRef, useState } from 'react';

import { encoded } from '../encoded.ts';
import type { SessionList, StudioRun, StudioSession } from '../../../src/protocol.ts';
import { useText } from '../i18n/use-text.ts';
import { useStore } from '../live/store.ts';
import { Dialog } from '../parts/dialog.tsx';
import { formatAgo, useNow } from '../parts/format.ts';
import { Empty, Failed, Loading } from '../parts/states.tsx';
import { goTo } from '../route.ts';
import { apiUrl, get, messageOf, post } from '../server/request.ts';
import { settings } from '../settings.ts';
import { useInfo } from './queries.ts';

/** Saved conversations: resume, branch, export, import, delete. */
export function Sessions() {
  const t = useText();
  const info = useInfo();
  const client = useQueryClient();
  const picker = useRef<HTMLInputElement>(null);
  const [doomed, setDoomed] = useState<StudioSession>();
  const sessions = useQuery({
    queryKey: ['runs', 'sessions'],
    queryFn: async () => get<SessionList>('sessions', { limit: 200 }),
    enabled: info.data?.hasSessions === true,
  });
  const open = useMutation({
    mutationFn: async ({ id, verb }: { id: string; verb: 'resume' | 'branch' }) =>
      post<StudioRun>(`sessions/${encoded(id)}/${verb}`, {}),
    onSuccess: ({ id }) => goTo(['runs', id]),
  });
  const renew = async (): Promise<void> => client.invalidateQueries({ queryKey: ['runs', 'sessions'] });
  const remove = useMutation({
    mutationFn: async (id: string) => post('sessions/delete', { ids: [id] }),
    onSuccess: async () => {
      setDoomed(undefined);
      await renew();
    },
  });
  const load = useMutation({
    mutationFn: async (file: File) =>
      post<StudioSession>('sessions/import', JSON.parse(await file.text()) as object),
    onSuccess: renew,
  });
  const problem = open.error ?? load.error ?? remove.error;
  if (info.data?.hasSessions === false)
    return <Empty title={t.noSessionStore} icon={<Archive size={28} />} />;
  return (
    <div className="view">
      <div className="view-head">
        <h1>{t.sessions}</h1>
        <span className="spring" />
        <input
          ref={picker}
          type="file"
          accept="application/json"
          hidden
          onChange={(event) => {
            const file = event.target.files?.[0];
            if (file !== undefined) load.mutate(file);
            event.target.value = '';
          }}
        />
        <button type="button" className="button" onClick={() => picker.current?.click()}>
          <Upload size={14} aria-hidden /> {t.import}
        </button>
      </div>
      {problem !== null && (
        <p role="alert" className="card-problem">
          ✕ {messageOf(problem)}
        </p>
      )}
      {sessions.error !== null && <Failed error={sessions.error} onRetry={() => void sessions.refetch()} />}
      {sessions.data === undefined && sessions.error === null && <Loading />}
      {sessions.data?.sessions.length === 0 && <Empty title={t.noSessions} icon={<Archive size={28} />} />}
      <ul className="sessions">
        {sessions.data?.sessions.map((session) => (
          <SessionLine
            key={session.id}
            session={session}
            onOpen={(verb) => open.mutate({ id: session.id, verb })}
            onDelete={() => setDoomed(session)}
            isBusy={open.isPending}
          />
        ))}
      </ul>
      {doomed !== undefined && (
        <Dialog title={t.deleteSession} onClose={() => setDoomed(undefined)}>
          <p>{doomed.title ?? doomed.id}</p>
          <div className="card-actions">
            <button type="button" className="button danger" onClick={() => remove.mutate(doomed.id)}>
              {t.delete}
            </button>
            <button type="button" className="button" onClick={() => setDoomed(undefined)}>
              {t.cancel}
            </button>
          </div>
        </Dialog>
      )}
    </div>
  );
}

interface SessionLineProps {
  readonly session: StudioSession;
  readonly isBusy: boolean;
  readonly onOpen: (verb: 'resume' | 'branch') => void;
  readonly onDelete: () => void;
}

function SessionLine({ session, isBusy, onOpen, onDelete }: SessionLineProps) {
  const t = useText();
  const { language } = useStore(settings);
  const now = useNow(30_000);
  return (
    <li className="session">
      <div>
        <strong>{session.title ?? session.id}</strong>
        <span className="sub">
          {[session.agentKey, t.revision(session.revision), formatAgo(session.updatedAt, now, language)]
            .filter(Boolean)
            .join(' · ')}
        </span>
      </div>
      <span className="spring" />
      <button
        type="button"
        className="button small primary"
        disabled={isBusy}
        onClick={() => onOpen('resume')}
      >
        <Play size={13} aria-hidden /> {t.resume}
      </button>
      <button type="button" className="button small" disabled={isBusy} onClick={() => onOpen('branch')}>
        <GitBranch size={13} aria-hidden /> {t.branch}
      </button>
      <a className="button small" href={apiUrl(`sessions/${encoded(session.id)}/export`)} download>
        <Download size={13} aria-hidden /> {t.export}
      </a>
      <button type="button" className="icon-button" aria-label={t.deleteSession} onClick={onDelete}>
        <Trash2 size={14} aria-hidden />
      </button>
    </li>
  );
}
