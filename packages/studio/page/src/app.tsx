import { useQueryClient } from '@tanstack/react-query';
import { BarChart3, Archive, Inbox, ListTree, Rows3, Settings as SettingsIcon } from 'lucide-react';
import { lazy, Suspense, useEffect, useState, type ReactNode } from 'react';

import { useText } from './i18n/use-text.ts';
import { useKeys } from './keys.ts';
import { live } from './live/live-client.ts';
import { useStore } from './live/store.ts';
import { ErrorBoundary } from './parts/error-boundary.tsx';
import { formatClock } from './parts/format.ts';
import { SpokenStatus, speak } from './parts/speak.tsx';
import { Loading } from './parts/states.tsx';
import { goTo, hrefOf, useRoute, type Route } from './route.ts';
import { access } from './server/request.ts';
import { settings } from './settings.ts';
import { Finder } from './views/finder.tsx';
import { KeyHelp } from './views/key-help.tsx';
import { LogIn } from './views/log-in.tsx';
import { Now } from './views/now.tsx';
import { RunView } from './views/run-view.tsx';
import { Runs } from './views/runs.tsx';

const Charts = lazy(async () => ({ default: (await import('./views/charts.tsx')).ChartsView }));
const Sessions = lazy(async () => ({ default: (await import('./views/sessions.tsx')).Sessions }));
const Compare = lazy(async () => ({ default: (await import('./views/compare.tsx')).Compare }));
const Traces = lazy(async () => ({ default: (await import('./views/traces.tsx')).Traces }));
const SettingsView = lazy(async () => ({
  default: (await import('./views/settings-view.tsx')).SettingsView,
}));

/** The whole page: rail, notices, and the view of the address. */
export function App() {
  const t = useText();
  const route = useRoute();
  const [open, setOpen] = useState<'find' | 'help'>();
  useRunUpdates();
  useTitle(t.waitingCount);
  useKeys({
    '?': () => setOpen('help'),
    'ctrl+k': () => setOpen('find'),
    'g n': () => goTo([]),
    'g r': () => goTo(['runs']),
    'g s': () => goTo(['sessions']),
    'g c': () => goTo(['charts']),
    'g t': () => goTo(['traces']),
    '!': toWaiting,
  });
  if (useStore(access) === 'refused') return <LogIn />;
  const key = route.path.join('/');
  return (
    <div
      className="app"
      data-view={route.path[0] ?? 'now'}
      data-detail={route.path[0] === 'runs' && route.path.length > 1}
    >
      <a
        className="skip"
        href="#main"
        onClick={(event) => (event.preventDefault(), document.getElementById('main')?.focus())}
      >
        {t.skip}
      </a>
      <Rail route={route} />
      <div className="stage">
        <Notices />
        <main id="main" tabIndex={-1}>
          <ErrorBoundary resetKey={key}>
            <Suspense fallback={<Loading />}>{viewOf(route)}</Suspense>
          </ErrorBoundary>
        </main>
      </div>
      {open === 'find' && <Finder onClose={() => setOpen(undefined)} />}
      {open === 'help' && <KeyHelp onClose={() => setOpen(undefined)} />}
      <SpokenStatus />
    </div>
  );
}

/** Frames in which a view is drawn. */
const MAX_FRAMES = 30;

/** Puts the focus into what waits: in the run that is open, otherwise in the first view. */
function toWaiting(): void {
  const focus = (): boolean => {
    const part = document.querySelector<HTMLElement>(
      '.card :is(.approval, .question :is(input, textarea, button))',
    );
    part?.focus();
    return part !== null;
  };
  const focusSoon = (frames: number): void =>
    void requestAnimationFrame(() => focus() || frames === 0 || focusSoon(frames - 1));
  if (focus()) return;
  goTo([]);
  focusSoon(MAX_FRAMES); // the view has to be drawn first
}

function viewOf({ path, query }: Route): ReactNode {
  const [view, id] = path;
  switch (view) {
    case 'runs':
      return id === undefined ? <Runs /> : <RunView key={id} runId={id} />;
    case 'compare':
      return <Compare a={query.get('a') ?? ''} b={query.get('b') ?? ''} />;
    case 'sessions':
      return <Sessions />;
    case 'charts':
      return <Charts />;
    case 'traces':
      return <Traces traceId={id} />;
    case 'settings':
      return <SettingsView />;
    default:
      return <Now />;
  }
}

function Rail({ route }: { route: Route }) {
  const t = useText();
  const waiting = useStore(live.waiting).length;
  const views = [
    { key: '', label: t.now, icon: Inbox, badge: waiting },
    { key: 'runs', label: t.runs, icon: Rows3, badge: 0 },
    { key: 'sessions', label: t.sessions, icon: Archive, badge: 0 },
    { key: 'traces', label: t.traces, icon: ListTree, badge: 0 },
    { key: 'charts', label: t.charts, icon: BarChart3, badge: 0 },
    { key: 'settings', label: t.settings, icon: SettingsIcon, badge: 0 },
  ];
  const chosen = route.path[0] === 'compare' ? 'runs' : (route.path[0] ?? '');
  return (
    <nav className="rail" aria-label={t.mainViews}>
      <a className="brand" href={hrefOf([])} aria-label="Troupe Studio">
        <span aria-hidden="true" className="brand-sign" />
        <span className="brand-name">Troupe</span>
      </a>
      <ul>
        {views.map(({ key, label, icon: Icon, badge }) => (
          <li key={key}>
            <a href={hrefOf(key === '' ? [] : [key])} aria-current={key === chosen ? 'page' : undefined}>
              <Icon size={17} aria-hidden />
              <span>{label}</span>
              {badge > 0 && (
                <span className="badge">
                  {badge}
                  <span className="hidden"> {t.waitingWord}</span>
                </span>
              )}
            </a>
          </li>
        ))}
      </ul>
    </nav>
  );
}

/** Lines below the header: connection, versions, problems of the Studio. */
function Notices() {
  const t = useText();
  const { language } = useStore(settings);
  const connection = useStore(live.connection);
  const problem = useStore(live.problem);
  const protocol = useStore(live.otherProtocol);
  const { state } = connection;
  useEffect(() => {
    if (state === 'lost') speak(t.spokenLost);
    if (state === 'back') speak(t.spokenBack);
  }, [state, t]);
  return (
    <div className="banners">
      {state === 'lost' && (
        <p className="banner" data-kind="lost">
          {t.lost(formatClock(connection.since, language))}
        </p>
      )}
      {state === 'back' && (
        <p className="banner" data-kind="back">
          {t.back(connection.caughtUp)}
        </p>
      )}
      {protocol !== undefined && <p className="banner">{t.otherVersion(protocol)}</p>}
      {problem !== undefined && (
        <p className="banner" data-kind="bad" role="alert">
          {problem}
        </p>
      )}
    </div>
  );
}

/** Renews lists of runs when the server says that a run has changed. */
function useRunUpdates(): void {
  const client = useQueryClient();
  useEffect(() => {
    let timer: number | undefined;
    const stop = live.watchRuns(() => {
      timer ??= window.setTimeout(() => {
        timer = undefined;
        void client.invalidateQueries({ queryKey: ['runs'] });
        void client.invalidateQueries({ queryKey: ['run'] });
      }, 400);
    });
    return () => {
      stop();
      window.clearTimeout(timer);
    };
  }, [client]);
}

/** Shows the number of waiting questions in the title, and speaks new ones. */
function useTitle(text: (count: number) => string): void {
  const waiting = useStore(live.waiting);
  const count = waiting.length;
  useEffect(() => {
    document.title = count > 0 ? `(${count}) Troupe Studio` : 'Troupe Studio';
    if (count > 0) speak(text(count));
  }, [count, text]);
}
